import ArgumentParser
import Glibc
import Inkling
import InklingModel
import InklingText

struct StopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "End the daemon.",
        discussion: """
            The daemon says goodbye to everybody and ends; the command waits for that. Chats that the daemon keeps stay \
            kept: the next start joins them again. Unread messages are lost.

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
                throw CommandFailure(text: "no daemon is running; a chat of yours is, with the same identity")
            case .failure(.hanging):
                throw CommandFailure(
                    text: "the daemon does not answer, so it can't be asked to end. Find its process with: pgrep -af "
                        + "'inkling daemon', and end it with: kill -KILL PROCESS")
            case .failure(let failure): throw CommandFailure(text: failure.text)
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
        let lost = chats.reduce(0) { $0 + ($1.isKept && $1.holdsTexts ? 0 : $1.waiting) }
        return ["The daemon has ended"]
            + (kept.isEmpty ? [] : ["Kept for the next start: \(kept.joined(separator: ", "))"])
            + (lost == 0 ? [] : [lost == 1 ? "1 unread message is lost" : "\(lost) unread messages are lost"])
    }
}
