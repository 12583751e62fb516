import ArgumentParser
import Glibc
import Inkling
import InklingConsole
import InklingControl
import InklingModel
import InklingText

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Tell whether a daemon runs, and what it does.",
        discussion: """
            It starts none. The exit status is 0 if one is running, 3 if not, and 4 if there is one that can't be \
            asked.

            inkling status
            inkling status --json | jq '[.chats[].waiting] | add'
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
                throw try notRunning("no daemon is running; a chat of yours is, with the same identity")
            case .failure(let failure):
                try answersNothing(isDaemon: failure.isDaemon)
                throw CommandFailure(text: failure.text, status: Self.unknown)
            }
            let (status, identity, version) = try status(of: connection)
            guard json else {
                for line in Self.lines(status, identity, version) { try Output.standard.answer(line) }
                return
            }
            try Output.standard.answer(
                json: [
                    ("running", .boolean(true)), ("answers", .boolean(true)),
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

    private static func lines(_ status: NodeStatus, _ identity: NodeIdentity, _ daemonVersion: String) -> [String] {
        let start = LocalTime(wall: status.since)
        let difference = VersionDifference.text(daemon: daemonVersion, program: programVersion)
        // This command is one of the front ends.
        let others = status.frontEnds - 1
        return [
            "running since \(start.day.text) \(start.text), \(difference ?? "version \(programVersion)")",
            "\(SafeText.name(identity.name) ?? "Someone"), \(status.isAway ? "away" : "active"), port \(identity.port)",
            others == 1 ? "1 program is attached" : "\(others) programs are attached",
        ] + (status.chats.isEmpty ? ["in no chat"] : status.chats.map(\.line))
    }
}
