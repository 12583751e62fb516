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
            The exit status is 0 if one runs, and 3 if not.

            inkling status
            inkling status --json | jq '[.chats[].waiting] | add'
            """)

    /// The exit status where none runs, as service managers have it.
    private static let notRunning: Int32 = 3

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        try CommandFailure.reporting {
            let connection: DaemonConnection
            // Who asks whether one runs does not start it.
            switch DaemonSearch(stateDirectory: daemon.stateDir) {
            case .found(let found): connection = found
            case .noNode: throw try notRunning("no daemon runs; start one with: inkling daemon")
            case .failure(let failure) where failure.isNobody:
                throw try notRunning("no daemon runs; a chat of yours does, with the same identity")
            case .failure(let failure): throw try notRunning(failure.text)
            }
            guard case (.status(let status), let identity, let version) = try daemon.ask(.status, of: connection) else {
                throw ExitCode(1)
            }
            guard json else {
                for line in Self.lines(status, identity, version) { try Output.standard.answer(line) }
                return
            }
            try Output.standard.answer(
                json: [
                    ("running", .boolean(true)), ("user", .string(identity.user.description)),
                    ("name", .string(identity.name)), ("port", .integer(Int(identity.port))),
                    ("since", .seconds(status.since)), ("version", .string(version)),
                    ("program", .string(programVersion)), ("away", .boolean(status.isAway)),
                    ("frontEnds", .integer(status.frontEnds - 1)), ("chats", .array(status.chats.map(\.value))),
                ])
        }
    }

    private func notRunning(_ text: String) throws -> CommandFailure {
        if json { try Output.standard.answer(json: [("running", .boolean(false))]) }
        return CommandFailure(text: text, status: Self.notRunning)
    }

    private static func lines(_ status: NodeStatus, _ identity: NodeIdentity, _ daemonVersion: String) -> [String] {
        let start = LocalTime(wall: status.since)
        let difference = VersionDifference.text(daemon: daemonVersion, program: programVersion)
        // This command is one of them.
        let others = status.frontEnds - 1
        return [
            "running since \(start.day.text) \(start.text), \(difference ?? "version \(programVersion)")",
            "you are \(SafeText.name(identity.name) ?? "Someone") (\(identity.user)), \(status.isAway ? "away" : "there"), "
                + "port \(identity.port)",
            others == 1 ? "1 program is attached" : "\(others) programs are attached",
        ] + (status.chats.isEmpty ? ["in no chat"] : status.chats.map(\.line))
    }
}
