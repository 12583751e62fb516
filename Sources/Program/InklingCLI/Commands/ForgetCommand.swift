import ArgumentParser
import Inkling
import InklingText

struct ForgetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Remove the messages on this computer.",
        discussion: """
            The messages of histories, those that wait for people who are offline, and those that you have not read are \
            removed, their keys first. Your identity, the people you know and your chats stay. End the daemon before: \
            inkling stop

            inkling forget --yes
            """)

    @OptionGroup var options: IdentityCommand.DirectoryOptions

    @Flag(help: "Remove them. Without it, the command only counts them.")
    var yes = false

    func run() throws {
        try CommandFailure.reporting {
            let directory = options.directory ?? ""
            let found = (try? StoredMessages(in: directory)).map(\.text) ?? "messages that can't be read"
            guard yes else {
                return try Output.standard.answer(
                    "\(SafeText.line(directory)) has \(found). To remove them: inkling forget --yes")
            }
            try StoredMessages.remove(in: options.stateDir)
            try Output.standard.answer("Removed from \(SafeText.line(directory)): \(found).")
        }
    }
}

extension StoredMessages {
    /// The counts and the size, in words.
    var text: String {
        "\(kept) kept, \(waiting) waiting and \(unread) unread messages in \((bytes + 1_023) / 1_024) KiB"
    }
}
