import Inkling
import InklingModel
import InklingService
import InklingWeb
import NIOCore
import NIOPosix

/// The page's file in the state directory, and the checks that a page asks for.
final class PageStore {
    private let stateDirectory: String?
    /// The file; nil without a state directory.
    private let file: StateFile?
    /// The memory on disk.
    private var stored: PageMemory
    /// The threads that write the file and await the doctor. Pages wait for neither.
    private let (writer, waiter) = (NIOThreadPool.alone(), NIOThreadPool.alone())
    private let loop: any EventLoop

    private static let longest = 4 << 10
    /// The longest time for the doctor.
    private static let patience = Duration.seconds(40)

    init(stateDirectory: String?, on loop: any EventLoop) {
        self.stateDirectory = stateDirectory
        self.loop = loop
        let settings =
            SettingsFile.defaultPath(environment: ChatSettings.environment)
            .flatMap { try? SettingsFile.read($0, isNamed: false) } ?? SettingsFile()
        file = (stateDirectory ?? Configuration.defaultStateDirectory).map {
            StateFile(directory: $0, name: "page.json", newName: "page.new", maximumBytes: Self.longest)
        }
        stored = PageMemory()
        let members = (try? file?.read()).flatMap { try? JSONMembers($0) }
        let isNamed = settings.name != nil || members?.number("named") == 1
        stored.proposal = isNamed ? nil : NormalForm.canonical(ChatSettings.loginName())
        stored.lobby = settings.openChat
        stored.shown = members?.text("shown")
    }

    var host: PageHost {
        PageHost(
            memory: stored, store: { [self] in store($0) },
            examine: { [self] chat, completion in examine(chat, completion) }, icon: { TrayAutostart.isOn },
            setIcon: { [self] in setIcon($0) })
    }

    private func store(_ memory: PageMemory) {
        guard let file, memory != stored else { return }
        stored = memory
        let named = memory.proposal == nil ? [("named", JSONValue.integer(1))] : []
        let shown = memory.shown.map { [("shown", JSONValue.string($0))] } ?? []
        let bytes = Array("\(JSONValue.object(named + shown).text)\n".utf8)
        // After a failure, the next page asks for the name again, or opens no chat. The end of the server cancels no write.
        writer.submit { _ in _ = file.write(bytes) }
    }

    /// Switches the start of the icon at login. Returns what went wrong.
    private func setIcon(_ isOn: Bool) -> String? {
        do throws(TrayAutostart.Failure) {
            _ = try TrayAutostart(stateDirectory: stateDirectory).set(isOn)
            return nil
        } catch {
            return error.text
        }
    }

    /// Waits until the file is written.
    func finish() { try? writer.syncShutdownGracefully() }

    /// Runs the doctor as a separate program. In the server, its checks would block the pages.
    private func examine(_ chat: String, _ completion: @escaping (String?) -> Void) {
        let place = stateDirectory.map { ["--state-dir", $0] } ?? []
        let command = ["inkling", "doctor", "--json"] + place
        // Other users of the machine could read the name of a private chat in an argument.
        let variables = ["INKLING_DOCTOR_CHAT": chat]
        waiter.runIfActive(eventLoop: loop) {
            HostTools.run(DaemonStart.program, command, with: variables, within: Self.patience)?.0
        }.assumeIsolated().whenComplete { completion((try? $0.get()) ?? nil) }
    }
}
