import ArgumentParser
import Foundation
import Inkling
import InklingText

@main
enum Program {
    static func main() async {
        // The compatibility library prints a warning of many lines otherwise. Set before any thread exists.
        setenv("AVAHI_COMPAT_NOWARN", "1", 1)
        holdStandardStreams()
        // A reader that went away is an error of write(2) here, not a reason to die.
        signal(SIGPIPE, SIG_IGN)
        await InklingCommand.main()
    }

    /// Takes the places of standard streams that are closed, before a socket gets one and what is written goes there.
    /// Reading finds the end, and writing is the error that it was.
    private static func holdStandardStreams() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", O_RDONLY)
        }
    }
}

/// The program's version.
let programVersion = "0.1.0"

struct InklingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inkling",
        abstract: "Chat on the local network and see who is typing, without a server.",
        discussion: """
            inkling chat                  joins the open chat "lobby"
            inkling invite team           makes a secret chat, prints its invite
            inkling chat --invite INVITE  joins the chat of an invite
            inkling doctor                finds out why two machines don't see each other
            """,
        version: programVersion,
        subcommands: [
            ChatCommand.self, InviteCommand.self, PeersCommand.self, SendCommand.self, WatchCommand.self,
            DoctorCommand.self, IdentityCommand.self,
        ])

    /// Runs the command that the arguments name.
    package static func main() async {
        if let complaint = Suggestion.complaint(about: Array(CommandLine.arguments.dropFirst())) {
            exit(withError: CommandFailure(text: complaint, status: 64).report())
        }
        await main(nil)
    }
}

/// Tells why the program can't go on, in one line on standard error.
struct CommandFailure: Error {
    let text: String
    /// 64 for what was asked for wrongly.
    var status: Int32 = 1

    /// Says it and gives the exit status to leave with.
    func report() -> ExitCode {
        Output.error.write(line: "inkling: " + text)
        return ExitCode(status)
    }

    /// Runs a command, and reports its failure.
    @MainActor
    static func reporting<Result>(_ body: @MainActor () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let failure as CommandFailure {
            throw failure.report()
        } catch let error as NodeError {
            throw CommandFailure(text: SafeText.line(error.text)).report()
        }
    }
}
