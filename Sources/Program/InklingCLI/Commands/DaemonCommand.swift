import ArgumentParser
import Glibc
import Inkling
import InklingConsole
import InklingService
import InklingModel
import InklingText
import Logging

struct DaemonCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "daemon",
        abstract: "Run one node all day, for all your other commands.",
        discussion: """
            It stays in the foreground, for a service manager or a terminal. While it runs, "inkling chat", "send", \
            "peers" and "watch" use its node: to others you are one person, who is there also when no chat is open. \
            SIGTERM says goodbye and ends it.

            These settings in config.toml are for the daemon alone: \
            on-message = ["COMMAND", "ARGUMENT"] starts a command for messages that come while no chat is open, with \
            INKLING_CHAT, INKLING_NAME, INKLING_TEXT, INKLING_USER and INKLING_VERIFIED in its environment; the last \
            one is 1 if you have verified the sender, else empty; \
            auto-away = false under [privacy] keeps you from being away while no chat is open. \
            SIGHUP reads them and your name again; other settings take effect at the next start.

            inkling daemon
            inkling daemon --name Alice --port 40123
            inkling join kitchen                      to stay in a chat
            """)

    @OptionGroup var node: NodeOptions

    func validate() throws {
        if let name = node.name, let fault = NameFault(ofOwnName: NormalForm.canonical(name)) {
            throw ValidationError(SafeText.line(NodeError.name(fault).text))
        }
    }

    func run() throws {
        try CommandFailure.reporting {
            let settings = try node.settingsOptions.settings()
            guard let path = SocketPath.path(stateDirectory: node.stateDir) else {
                throw CommandFailure(text: "there is no place for the socket; name one with --state-dir DIR")
            }
            var configuration = node.configuration(settings)
            configuration.sendsTyping = settings.sendsTyping ?? true
            configuration.showsTyping = settings.showsTyping ?? true
            try DaemonProgram.run(configuration, settings, at: path, node) { try node.settingsOptions.settings() }
        }
    }
}

/// The options of commands that need a daemon.
struct DaemonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Use the daemon of this state directory (default: inkling in $XDG_STATE_HOME or ~/.local/state).",
            valueName: "dir"),
        completion: .directory)
    var stateDir: String?

    /// Asks the daemon for one answer.
    ///
    /// - Returns: the answer, the identity of the daemon's node, and the version of its program.
    /// - Throws: `CommandFailure` if no daemon runs, and an `ExitCode` if the daemon refuses the request.
    func ask(_ request: ServiceRequest) throws -> (answer: ServiceAnswer, daemon: NodeIdentity, version: String) {
        try Self.ask(request, stateDirectory: stateDir)
    }

    /// Asks the daemon of a state directory; of the default one for nil.
    static func ask(
        _ request: ServiceRequest, stateDirectory: String?
    ) throws -> (answer: ServiceAnswer, daemon: NodeIdentity, version: String) {
        let connection: DaemonConnection
        do throws(DaemonConnection.Failure) {
            connection = try DaemonConnection(stateDirectory: stateDirectory)
        } catch {
            throw CommandFailure(text: error.text)
        }
        return try ask(request, of: connection)
    }

    /// Asks the daemon at the other end of a connection.
    static func ask(
        _ request: ServiceRequest, of connection: DaemonConnection
    ) throws -> (answer: ServiceAnswer, daemon: NodeIdentity, version: String) {
        let session = try ChatProgram.runCommand(try ChatSettings(asking: connection)) { host, node in
            QuestionSession(host, node, request)
        }
        guard let answer = session.answer else { throw ExitCode(1) }
        return (answer, session.identity, session.version)
    }
}

extension ChatSettings {
    /// The settings of a command that asks a daemon and joins no chat.
    fileprivate init(asking daemon: DaemonConnection) throws {
        self.init(
            node: Configuration(name: ""), chat: try Chat("lobby"), arguments: "", mode: .plain, indicator: .standard,
            reducedMotion: true, decorated: false, logLevel: .error, daemon: daemon)
    }
}

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Tell whether a daemon runs, and what it does.",
        discussion: """
            It starts none. The exit status is 0 if one is running, 3 if not, and 4 if there is one that can't be \
            asked.

            inkling status
            inkling status --json | jq '[.chats[].unread] | add'
            """)

    /// The exit status if no daemon runs, by the convention of service managers.
    private static let notRunning: Int32 = 3
    /// The exit status if a daemon does not answer, or its state is unknown.
    private static let unknown: Int32 = 4

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        try CommandFailure.reporting {
            let connection: DaemonConnection
            // This command starts no daemon.
            switch DaemonSearch(stateDirectory: daemon.stateDir) {
            case .found(let found): connection = found
            case .noNode where isListenedFor:
                throw try notRunning("no daemon is running; the next command that needs one starts it", onDemand: true)
            case .noNode: throw try notRunning("no daemon is running; to start one: inkling daemon")
            case .failure(let failure) where failure.isNobody:
                throw try notRunning("no daemon is running; another program of yours uses the identity")
            case .failure(let failure):
                try answersNothing(isDaemon: failure.isDaemon)
                throw CommandFailure(text: failure.text, status: Self.unknown)
            }
            let isHolder = connection.daemon?.isHolder == true
            let (status, identity, version) = try status(of: connection)
            guard json else {
                for line in Self.lines(status, identity, version, isHolder: isHolder) {
                    try Output.standard.answer(line)
                }
                return
            }
            try Output.standard.answer(
                json: [
                    ("running", .boolean(true)), ("answers", .boolean(true)), ("holder", .boolean(isHolder)),
                    ("user", .string(identity.user.description)), ("name", .string(identity.name)),
                    ("port", .integer(Int(identity.port))),
                    ("since", .seconds(status.since)), ("version", .string(version)),
                    ("program", .string(programVersion)), ("away", .boolean(status.isAway)),
                    ("frontEnds", .integer(status.frontEnds - 1)), ("chats", .array(status.chats.map(\.value))),
                ])
        }
    }

    private func status(
        of connection: DaemonConnection
    ) throws -> (status: NodeStatus, identity: NodeIdentity, version: String) {
        do {
            guard case (.status(let status), let identity, let version) = try DaemonOptions.ask(.status, of: connection)
            else {
                throw ExitCode(1)
            }
            return (status, identity, version)
        } catch let error as NodeError {
            try answersNothing(isDaemon: true)
            throw CommandFailure(text: SafeText.line(error.text), status: Self.unknown)
        } catch is ExitCode {
            // The request has already reported the reason.
            try answersNothing(isDaemon: true)
            throw ExitCode(Self.unknown)
        }
    }

    /// Whether a service manager listens for a daemon, and starts the daemon at the first connection.
    private var isListenedFor: Bool {
        SocketPath.places(stateDirectory: daemon.stateDir).contains(where: UnixSocket.isListening(at:))
    }

    private func answersNothing(isDaemon: Bool) throws {
        guard json else { return }
        try Output.standard.answer(json: [("running", .boolean(isDaemon)), ("answers", .boolean(false))])
    }

    private func notRunning(_ text: String, onDemand: Bool = false) throws -> CommandFailure {
        if json {
            try Output.standard.answer(json: [("running", .boolean(false)), ("onDemand", .boolean(onDemand))])
        }
        return CommandFailure(text: text, status: Self.notRunning)
    }

    private static func lines(
        _ status: NodeStatus, _ identity: NodeIdentity, _ daemonVersion: String, isHolder: Bool
    ) -> [String] {
        let start = LocalTime(wall: status.since)
        let difference = VersionDifference.text(daemon: daemonVersion, program: programVersion)
        // This command is one of the front ends.
        let others = status.frontEnds - (isHolder ? 2 : 1)
        return [
            "running \(isHolder ? "in a prompt " : "")since \(start.day.text) \(start.text), \(difference ?? "version \(programVersion)")",
            "\(SafeText.name(identity.name) ?? "Someone"), \(status.isAway ? "away" : "active"), port \(identity.port)",
            others == 1 ? "1 program is attached" : "\(others) programs are attached",
        ] + (status.chats.isEmpty ? ["in no chat"] : status.chats.map(\.line))
    }
}

struct StopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "End the daemon.",
        discussion: """
            The daemon says goodbye to everybody and ends; the command waits for that. Chats that the daemon keeps stay \
            kept: the next start joins them again. Unread messages stay where messages wait, in \
            private chats; others are lost.

            inkling stop
            """)

    /// The longest time for the daemon's end, in milliseconds.
    private static let patience: Int64 = 10_000
    /// The interval of checks of the daemon's state directory, in microseconds.
    private static let step: UInt32 = 20_000

    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        try CommandFailure.reporting {
            let connection: DaemonConnection
            switch DaemonSearch(stateDirectory: daemon.stateDir) {
            case .found(let found): connection = found
            case .noNode:
                Output.error.write(line: "inkling: no daemon is running")
                return
            case .failure(let failure) where failure.isNobody:
                throw CommandFailure(text: "no daemon is running; another program of yours uses the identity")
            case .failure(.hanging):
                throw CommandFailure(
                    text: "the daemon does not answer, so it can't be asked to end. Find its process with: pgrep -af "
                        + "'inkling daemon', and end it with: kill -KILL PROCESS")
            case .failure(let failure): throw CommandFailure(text: failure.text)
            }
            guard connection.daemon?.isHolder != true else {
                connection.close()
                throw CommandFailure(
                    text: "no daemon is running; a prompt of yours runs Inkling, and ends it with /quit")
            }
            let path = connection.path
            guard case (.chats(let chats), _, _) = try DaemonOptions.ask(.chats, of: connection) else {
                throw ExitCode(1)
            }
            guard case (.done, _, _) = try daemon.ask(.shutDown) else { throw ExitCode(1) }
            try waitForEnd()
            for line in DaemonEnd.lines(chats) { try Output.standard.answer(line) }
            guard UnixSocket.isListening(at: path) else { return }
            try Output.standard.answer("The next command that needs the daemon starts it again")
        }
    }

    private func waitForEnd() throws {
        let end = Clock.steady + Self.patience
        while KeyStore.isInUse(directory: daemon.stateDir) {
            guard Clock.steady < end else {
                throw CommandFailure(
                    text: "the daemon has not ended within \(Self.patience / 1_000) s; look at its log")
            }
            usleep(Self.step)
        }
    }
}

/// The effects of a daemon's end on its chats.
package enum DaemonEnd {
    package static func lines(_ chats: [ChatStatus]) -> [String] {
        let kept = chats.filter(\.isKept).map { SafeText.line($0.name) }
        // Unread messages are on disk where messages wait.
        let lost = chats.reduce(0) { $0 + ($1.isKept && $1.holdsTexts ? 0 : $1.unread) }
        return ["The daemon has ended"]
            + (kept.isEmpty ? [] : ["Kept for the next start: \(kept.joined(separator: ", "))"])
            + (lost == 0 ? [] : [lost == 1 ? "1 unread message is lost" : "\(lost) unread messages are lost"])
    }
}
