import ArgumentParser
import Inkling
import InklingConsole
import InklingControl
import InklingModel
import InklingText

struct InviteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Print the invite of a private chat, which is made if you have none of that name.",
        discussion: """
            Anyone with the invite can join: pass it on through a channel you trust. From now on, the name means this \
            chat here. A daemon that runs is in the chat at once.

            inkling invite kitchen                            prints an invite
            inkling invite kitchen --output kitchen.invite    keeps it in a file for you alone
            inkling chat --invite-file kitchen.invite         joins its chat
            """)

    @Argument(help: "The name of the chat.")
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
            guard let invite = try invite() else { return }
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

    /// Returns the invite of the private chat of that name, which stays until the user leaves it.
    private func invite() throws -> String? {
        let new = try chat(of: owner())
        let daemon: DaemonConnection
        do throws(DaemonConnection.Failure) {
            daemon = try DaemonConnection(stateDirectory: options.stateDir)
        } catch {
            guard !error.isDaemon else { throw CommandFailure(text: error.text) }
            return try keptInvite(new)
        }
        guard case .chats(let chats) = try DaemonOptions.ask(.chats, of: daemon).answer else { throw ExitCode(1) }
        let isThere = chats.contains { $0.name == new.name && $0.hasSecret }
        let request: ServiceRequest = isThere ? .invite(chat: new.name) : .keep(new)
        return switch try DaemonOptions.ask(request, stateDirectory: options.stateDir).answer {
        case .invite(let invite): invite
        case .joined(let chat, _): chat.invite
        default: throw ExitCode(1)
        }
    }

    /// Returns the invite of the private chat of that name, without a daemon. If a node of the user runs, it keeps the
    /// chat when it joins it.
    private func keptInvite(_ new: Chat) throws -> String? {
        guard let directory = options.directory, !KeyStore.isAnothers(directory) else { return new.invite }
        let file = KeptChatsFile(in: directory)
        if case .chats(let chats, _) = file.read(), let chat = chats.first(where: { $0.name == new.name && !$0.isOpen })
        {
            return chat.invite
        }
        if let error = NameKeeper(in: directory).refusal(of: new, isConfirmed: false) { throw error }
        let store: KeyStore
        do {
            store = try KeyStore.open(directory: directory)
        } catch {
            throw NodeError.stateDirectory(error)
        }
        defer { store.close() }
        guard store.temporary == nil, let fault = file.change({ $0.put(new) }) else { return new.invite }
        throw CommandFailure(text: SafeText.line("\(directory)/\(KeptChatsFile.name) \(fault), so no chat is made"))
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
