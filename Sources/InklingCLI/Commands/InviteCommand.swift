import ArgumentParser
import Inkling
import InklingModel

struct InviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Make a secret chat and print its invite.",
        discussion: """
            Anyone with the invite can join: pass it on through a channel you trust.

            inkling invite kitchen                    prints an invite
            inkling invite kitchen > kitchen.txt      keeps it in a file
            inkling chat --invite-file kitchen.txt    joins its chat
            """)

    @Argument(help: "The name of the new chat.")
    var name: String

    func validate() throws { _ = try chat() }

    func run() async throws {
        try await CommandFailure.reporting {
            guard let invite = try chat().invite else { return }
            try Output.standard.answer(invite)
        }
    }

    private func chat() throws -> Chat {
        guard !Chat.isInvite(name) else {
            throw ValidationError("This is already an invite; \"inkling chat INVITE\" joins its chat.")
        }
        do {
            return try Chat(NormalForm.canonical(name), secret: .random())
        } catch {
            throw ValidationError(error.text)
        }
    }
}
