import ArgumentParser
import Inkling
import InklingConsole
import InklingModel
import InklingText

struct InviteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Make a secret chat and print its invite.",
        discussion: """
            Anyone with the invite can join: pass it on through a channel you trust.

            inkling invite kitchen                            prints an invite
            inkling invite kitchen --output kitchen.invite    keeps it in a file for you alone
            inkling chat --invite-file kitchen.invite         joins its chat
            """)

    @Argument(help: "The name of the new chat.")
    var name: String

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Write the invite into a file that only you can read.", valueName: "file"),
        completion: .file())
    var output: String?

    @Flag(help: "Replace the file if it exists.")
    var force = false

    @OptionGroup var options: IdentityCommand.DirectoryOptions

    func validate() throws {
        guard output != nil || !force else { throw ValidationError("--force needs --output.") }
        _ = try chat(of: nil)
    }

    func run() throws {
        try CommandFailure.reporting {
            guard let invite = try chat(of: owner()).invite else { return }
            if let output {
                try ProtectedFile.write(invite + "\n", to: output, replacing: force)
                Output.error.write(
                    line: "inkling: \(SafeText.line(output)) holds the invite: anyone with it can join. Join with: "
                        + "inkling chat --invite-file\(ShellQuoting.argument(output))")
                return
            }
            try Output.standard.answer(invite)
            if let mode = SmallFile.mode(Output.standard.descriptor), SmallFile.isReadableByOthers(mode) {
                Output.error.write(
                    line: "inkling: others on this machine can read the file, and so join the chat. Make the file "
                        + "private with chmod 600, or write it with --output FILE")
            }
        }
    }

    /// Returns the user's key, which owns the new chat and so can remove members later; nil without a lasting identity.
    /// Makes the identity if there is none.
    private func owner() throws -> PublicKey? {
        if let kept = try KeptIdentity.read(directory: options.directory) { return kept.key }
        guard !KeyStore.isAnothers(options.directory) else { return nil }
        let store: KeyStore
        do {
            store = try KeyStore.openShared(directory: options.directory)
        } catch {
            throw NodeError.stateDirectory(error)
        }
        return store.temporary == nil ? store.identity.publicKey : nil
    }

    private func chat(of owner: PublicKey?) throws -> Chat {
        guard !Chat.isInvite(name) else {
            throw ValidationError("This is already an invite; \"inkling chat INVITE\" joins its chat.")
        }
        do {
            return try Chat(NormalForm.canonical(name), secret: .random(), owner: owner)
        } catch {
            throw ValidationError(error.text)
        }
    }
}
