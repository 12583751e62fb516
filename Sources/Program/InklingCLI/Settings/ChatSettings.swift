import Glibc
import Inkling
import InklingConsole
import InklingService
import InklingModel
import InklingText
import Logging
import NIOCore
import NIOPosix

/// The settings of one run of `inkling chat`.
struct ChatSettings: Sendable {
    enum Mode: Sendable {
        /// JSON lines for programs.
        case json
        /// Whole lines, for files, pipes and screen readers.
        case plain
        /// The prompt.
        case terminal
    }

    var node: Configuration
    var chat: Chat
    /// Whether the user confirmed that the chat has this name (A-33).
    var isConfirmed = false
    /// The open chat that the settings name; nil if they name none.
    var settledChat: String?
    /// The chat as shell arguments for a further command, with a blank before them.
    var arguments: String
    var mode: Mode
    var indicator: IndicatorStyle
    var reducedMotion: Bool
    /// Whether to use bold and dim text.
    var decorated: Bool
    /// Whether the terminal rings when somebody mentions the user.
    var ringsForMentions = false
    var logLevel: Logger.Level
    /// The daemon or prompt to attach to; nil for a node of the program's own.
    var daemon: DaemonConnection?
    /// The path of the socket for other programs of the user; nil for a program that keeps nothing.
    var holderPath: String?
    /// The user's name in the settings file, and the file's path; nil if the file has no name.
    var settledName: (name: String, path: String)?
    /// The path of the settings file, existing or not; nil if the program reads no settings.
    var settingsPath: String?
    /// The path of the settings file that names the interfaces; nil if options name the interfaces, or nothing does.
    var interfacesPath: String?

    /// Returns the mode for the kinds of standard input and output.
    static func mode(json: Bool, plain: Bool) -> Mode {
        if json { return .json }
        let terminal = environment("TERM") ?? "dumb"
        let capable = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && terminal != "dumb"
        return plain || !capable ? .plain : .terminal
    }

    static func environment(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }

    /// Returns the user's login name, cut to the longest name.
    static func loginName() -> String {
        var name = environment("LOGNAME") ?? environment("USER") ?? ""
        if name.isEmpty, let entry = getpwuid(getuid()), let login = entry.pointee.pw_name {
            name = String(cString: login)
        }
        while name.utf8.count > 64 { name.removeLast() }
        return name.isEmpty ? "somebody" : name
    }
}

extension ChatSettings {
    /// The request to join the chat.
    var join: ServiceRequest { .join(chat, isConfirmed: isConfirmed) }

    /// Returns where the node of a session is.
    func place(of node: any ChatService) -> NodePlace {
        if let attached = node as? AttachedNode { return attached.isHolder ? .prompt : .daemon }
        return holderPath != nil && !node.identity.isTemporary ? .holder : .own
    }

    /// Returns the way in which a session of that form shows the chat.
    ///
    /// - Parameters:
    ///   - folds: whether a person reads, and can unfold messages.
    ///   - place: where the node is.
    func display(_ form: ChatDisplay.Form, folds: Bool, _ place: NodePlace) -> ChatDisplay {
        ChatDisplay(
            form: form, folds: folds, indicator: indicator, reducedMotion: reducedMotion, decorated: decorated,
            ringsForMentions: ringsForMentions, place: form == .pipe ? .own : place,
            confirmsName: isConfirmed, sendsTyping: node.sendsTyping, showsTyping: node.showsTyping)
    }

    /// Returns the texts about this machine for the model of a chat.
    func texts(port: UInt16) -> ChatTexts {
        ChatTexts(
            localTime: LocalTime.init(wall:), error: { $0.text }, notice: { $0.text }, reach: { reach(port: port) },
            newSecret: { .random() }, arguments: arguments)
    }

    /// Returns a sentence about where others can find the node.
    private func reach(port: UInt16) -> String {
        guard node.discovery else {
            return "Discovery is off, so others can't find this computer. Its port is \(port)."
        }
        let networks = networks
        guard !networks.isEmpty else { return "This computer has no usable network." }
        return "This computer can be found on \(networks.joined(separator: ", ")), port \(port)."
    }

    private var networks: [String] {
        if let address = node.bindAddress { return [SafeText.line(address)] }
        return (try? Node.interfaceNames(node)) ?? []
    }
}

extension LocalTime {
    /// Makes a time of day, in the zone of this machine.
    package init(wall timestamp: Timestamp) {
        var time = time_t(timestamp.rawValue.rounded(.down))
        var parts = tm()
        // Unlike `localtime`, `localtime_r` does not notice that the zone was changed.
        tzset()
        localtime_r(&time, &parts)
        self.init(
            day: Day(year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday)),
            hour: Int(parts.tm_hour), minute: Int(parts.tm_min))
    }
}

/// The user's name in the last chat, kept beside the identity. Other commands use it, so that people in the chat
/// recognise the same person.
package enum RememberedName {
    private static let maximumBytes = 64

    /// Returns the kept name; nil without one that a node can have.
    package static func read(in directory: String?) -> String? {
        guard let directory else { return nil }
        // O_NONBLOCK: a pipe in the file's place must not block the program.
        let file = open("\(directory)/name", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: maximumBytes + 2)
        let count = Glibc.read(file, &bytes, bytes.count)
        guard count > 0, let text = String(validating: bytes[..<count], as: UTF8.self), text.hasSuffix("\n") else {
            return nil
        }
        let name = String(text.dropLast())
        let isPossible =
            name.utf8.count <= maximumBytes && !name.allSatisfy(\.isWhitespace)
            && !name.unicodeScalars.contains { $0.properties.generalCategory == .control }
        return isPossible ? name : nil
    }

    /// Keeps the name.
    ///
    /// - Returns: The reason for a failure.
    @discardableResult
    package static func keep(_ name: String, in directory: String?) -> String? {
        guard let directory, name != read(in: directory) else { return nil }
        return StateFile(directory: directory, name: "name", newName: "name.new").write(Array("\(name)\n".utf8))
    }

    /// Returns a function that keeps names without blocking the event loop, and then calls back there. The notice reports
    /// a failure.
    static func keeper(
        in directory: String?, on loop: any EventLoop
    ) -> (String, _ completion: @escaping (Notice?) -> Void) -> Void {
        // One thread keeps the names in order.
        var threads: NIOThreadPool?
        return { name, completion in
            let pool = threads ?? .alone()
            threads = pool
            pool.runIfActive(eventLoop: loop) { keep(name, in: directory) }.assumeIsolated().whenComplete { result in
                let reason =
                    switch result {
                    case .success(let reason): reason
                    case .failure(let error): "\(error)"
                    }
                completion(
                    reason.map { reason in
                        .other(
                            code: "nick-not-kept",
                            text: "Your new name holds until Inkling ends: \(directory ?? "")/name can't be written "
                                + "(\(reason)).")
                    })
            }
        }
    }
}
