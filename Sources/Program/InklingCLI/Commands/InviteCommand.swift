import ArgumentParser
import Inkling
import InklingConsole
import InklingService
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
        help: ArgumentHelp(
            "Write the invite into a file that only you can read; - is standard output.", valueName: "file"),
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
            if let output, output != "-" {
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
        guard !chats.contains(where: { $0.name == new.name && !$0.hasSecret }) else {
            let name = SafeText.line(new.name)
            throw CommandFailure(
                text: "you are in the open chat \(name). Choose another name for a private chat, or leave it: "
                    + "inkling leave\(ShellQuoting.argument(new.name))")
        }
        let isThere = chats.contains { $0.name == new.name && $0.hasSecret }
        let request: ServiceRequest = isThere ? .invite(chat: new.name) : .join(new, isKept: true)
        return switch try DaemonOptions.ask(request, stateDirectory: options.stateDir).answer {
        case .invite(let invite): invite
        case .joined(let chat, _): chat.invite
        default: throw ExitCode(1)
        }
    }

    /// Returns the invite of the private chat of that name, without a daemon. Throws if the chat can't be kept: the name
    /// would not mean it later. A program that drives a node keeps the chat when it joins it.
    private func keptInvite(_ new: Chat) throws -> String? {
        guard let directory = options.directory else {
            throw Self.unkept("HOME is not set", "Set it, or choose a directory with --state-dir")
        }
        guard !KeyStore.isAnothers(directory) else { throw Self.unwritable(directory, "it is another user's") }
        let store: KeyStore
        do {
            store = try KeyStore.open(directory: directory)
        } catch {
            throw NodeError.stateDirectory(error)
        }
        defer { store.close() }
        let tables = StateTables(in: directory, isHeld: store.isHeld)
        defer { for fault in tables.takeFaults() { Output.error.write(line: "inkling: \(SafeText.line(fault.text))") } }
        var chats = tables.contents.chats
        if let chat = chats.chats.first(where: { $0.name == new.name && !$0.isOpen }) { return chat.invite }
        let names = NameKeeper(fault: tables.namesFault) { tables.contents.names }
        if let error = names.doubt(about: new) { throw error }
        switch store.temporary {
        case nil, .noHome: break
        case .unwritable(_, let reason): throw Self.unwritable(directory, reason)
        case .inUse:
            Output.error.write(
                line:
                    "inkling: another program of yours runs Inkling, so \(SafeText.line(new.name)) is not kept yet. Join "
                    + "the chat there by this invite. Until then, its name alone means an open chat")
            return new.invite
        }
        chats.put(new)
        let reason = chats.chats.count > KeptChats.limit ? "There is no room for another chat" : tables.keep(chats)
        guard let reason else { return new.invite }
        throw CommandFailure(text: SafeText.line("\(reason), so no chat is made"))
    }

    /// Returns the error for a chat that can't be kept.
    private static func unkept(_ fact: String, _ advice: String) -> CommandFailure {
        CommandFailure(text: "\(fact), so no chat is made. \(advice)")
    }

    private static func unwritable(_ directory: String, _ reason: String) -> CommandFailure {
        unkept(
            "Nothing can be kept in \(SafeText.line(directory)) (\(reason))",
            "Make it writable, or choose another directory with --state-dir")
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

struct JoinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Be in a chat, and stay in it.",
        discussion: """
            It stays until you leave the chat, also when it is started again. Messages that come while you have the \
            chat open nowhere wait for you in the daemon.

            inkling join kitchen
            inkling join --invite-file kitchen.invite
            """)

    @Argument(help: "The name of the chat, or its invite; left out where an option gives the invite.")
    var chat: String?

    @OptionGroup var secrets: SecretOptions

    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        guard chat != nil || secrets.namesInvite else {
            throw ValidationError("There is no chat. Give its name or invite: inkling join CHAT")
        }
        try secrets.validate(chat: chat)
    }

    func run() throws {
        try CommandFailure.reporting {
            let wanted = try secrets.chatToJoin(chat, default: nil)
            let isConfirmed = secrets.confirms(wanted, given: self.chat)
            let request = ServiceRequest.join(wanted, isKept: true, isConfirmed: isConfirmed)
            guard case (.joined(let chat, let peers), _, _) = try daemon.ask(request) else { throw ExitCode(1) }
            if chat.isOpen { Output.error.warn(ofOpen: chat) }
            let present = peers.count { $0.presence != .offline }
            let others = try present == 0 ? othersText(in: chat) : "\(present) there now"
            try Output.standard.answer("Inkling is in \(SafeText.line(chat.name)) from now on; \(others)")
        }
    }

    /// Returns a text if no other person is in the chat, or if the daemon has not looked for long enough to know.
    private func othersText(in chat: Chat) throws -> String {
        guard case (.chats(let chats), _, _) = try daemon.ask(.chats) else { throw ExitCode(1) }
        let isLooking = chats.contains { $0.name == chat.name && $0.isLooking }
        let command = "inkling peers" + ShellQuoting.argument(chat.name)
        return isLooking ? "still looking for others. To see who is there: \(command)" : "nobody else is there now"
    }
}

struct LeaveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave", abstract: "Leave a chat for good.",
        discussion: """
            A prompt that has the chat open stays in it until it ends.

            inkling leave kitchen
            """)

    @Argument(help: "The name of the chat, or its invite.")
    var chat: String

    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        try CommandFailure.reporting {
            let name = Chat.isInvite(chat) ? try Chat(invite: chat).name : NormalForm.canonical(chat)
            _ = try daemon.ask(.leave(chat: name))
            try Output.standard.answer("Inkling no longer stays in \(SafeText.line(name))")
        }
    }
}

struct ChatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chats", abstract: "List the chats that you are in.",
        discussion: """
            inkling chats
            inkling chats --json | jq -r '.chats[] | select(.unread > 0) | .chat'
            """)

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        try CommandFailure.reporting {
            guard case (.chats(let chats), _, _) = try daemon.ask(.chats) else { throw ExitCode(1) }
            if json { return try Output.standard.answer(json: [("chats", .array(chats.map(\.value)))]) }
            if chats.isEmpty {
                Output.error.write(line: "inkling: you are in no chat; to join one: inkling join CHAT")
            }
            for chat in chats { try Output.standard.answer(chat.line) }
        }
    }
}

extension ChatStatus {
    /// The line of a chat, such as "kitchen (open): 2 there, 3 unread, kept".
    package var line: String {
        var parts = isLooking ? (present > 0 ? ["\(present) there"] : []) + ["still looking"] : ["\(present) there"]
        if unread > 0 { parts.append("\(unread) unread") }
        if isKept { parts.append("kept") }
        return "\(SafeText.line(name))\(hasSecret ? "" : " (open)"): \(parts.joined(separator: ", "))"
    }

    var value: JSONValue {
        .object([
            ("chat", .string(name)), ("secret", .boolean(hasSecret)), ("kept", .boolean(isKept)),
            ("present", .integer(present)), ("unread", .integer(unread)), ("looking", .boolean(isLooking)),
        ])
    }
}
