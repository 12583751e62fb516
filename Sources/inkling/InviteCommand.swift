import ArgumentParser
import Foundation
import Inkling

struct InviteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Make a secret chat and print its invite.",
        discussion: """
            Whoever has the invite can join: hand it over on a way that you trust.

            inkling invite kitchen                    prints an invite
            inkling invite kitchen > kitchen.txt      keeps it in a file
            inkling chat --invite-file kitchen.txt    joins its chat
            """)

    @Argument(help: "The name of the chat.")
    var name: String

    func run() throws {
        do {
            let chat = try Chat(name.precomposedStringWithCanonicalMapping, secret: .random())
            guard let invite = chat.invite else { return }
            Output.standard.write(line: invite)
        } catch {
            throw ValidationError(error.description)
        }
    }
}
