import ArgumentParser
import Foundation

@main
enum Program {
    static func main() async {
        // The compatibility library prints a warning of many lines otherwise. Set before any thread exists.
        setenv("AVAHI_COMPAT_NOWARN", "1", 1)
        // A reader that went away is an error of write(2) here, not a reason to die.
        signal(SIGPIPE, SIG_IGN)
        await InklingCommand.main()
    }
}

/// The program's version.
let programVersion = "0.1.0"

struct InklingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inkling",
        abstract: "Chat on the local network, with who is typing, without a server.",
        discussion: """
            inkling chat                  joins the open chat "lobby"
            inkling invite team           makes a secret chat, prints its invite
            inkling chat --invite INVITE  joins the chat of an invite
            """,
        version: programVersion,
        subcommands: [ChatCommand.self, InviteCommand.self])
}

/// Tells why the program can't go on, in one line on standard error.
struct StartFailure: Error {
    let text: String

    /// Says it and gives the exit status to leave with.
    func report() -> ExitCode {
        Output.error.write(line: "inkling: " + text)
        return ExitCode(1)
    }
}
