import ArgumentParser
import Inkling
import InklingText

/// The version in `--version`, in `ready`, on the control socket, and in the name of the package.
let programVersion = "0.3.0"

package struct InklingCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "inkling",
        abstract: "Chat on the local network and see who is typing, without a server.",
        discussion: """
            inkling chat                  joins the open chat "lobby"
            inkling invite team           makes a private chat, prints its invite
            inkling chat --invite INVITE  joins the chat of an invite
            inkling doctor                finds out why two machines don't see each other
            """,
        version: programVersion,
        subcommands: [
            ChatCommand.self, InviteCommand.self, PeersCommand.self, SendCommand.self, WatchCommand.self,
            WebCommand.self,
            DaemonCommand.self, StatusCommand.self, StopCommand.self, JoinCommand.self, LeaveCommand.self,
            ChatsCommand.self,
            DoctorCommand.self, IdentityCommand.self,
        ])

    package init() {}

    /// Runs the command that the arguments name, and ends the program. The calling thread becomes the event loop of a
    /// node.
    package static func runAndExit() -> Never {
        let words = Array(CommandLine.arguments.dropFirst())
        if let complaint = Suggestion.complaint(about: words) {
            exit(withError: CommandFailure(text: complaint, status: 64).report())
        }
        do {
            var command = try parseAsRoot(DashedMessage.arranged(words))
            try command.run()
            exit()
        } catch let refusal as DashedMessage.Refusal {
            exit(withError: CommandFailure(text: refusal.text, status: 64).report())
        } catch {
            exit(withError: error)
        }
    }
}

/// The reason why the program stops, in one line on standard error.
struct CommandFailure: Error {
    let text: String
    /// The exit status: 64 for a wrong use of the command, else 1.
    var status: Int32 = 1

    /// Prints the reason and returns the exit status.
    func report() -> ExitCode {
        Output.error.write(line: "inkling: " + text)
        return ExitCode(status)
    }

    /// Runs a command, and reports its failure.
    static func reporting<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let failure as CommandFailure {
            throw failure.report()
        } catch let error as NodeError {
            throw CommandFailure(text: SafeText.line(error.text)).report()
        }
    }
}
