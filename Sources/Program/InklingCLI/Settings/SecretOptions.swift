import ArgumentParser
import Inkling
import InklingConsole
import InklingService
import InklingModel
import InklingText

/// The options that name a chat by a secret or an invite, from an option or the environment.
struct SecretOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Give the secret of the chat: 26 characters (default: $INKLING_SECRET).", valueName: "secret"))
    var secret: String?

    @Option(
        help: ArgumentHelp("Read the secret from a file; - for standard input.", valueName: "file"),
        completion: .file())
    var secretFile: String?

    @Option(help: "Give an invite: inkling:NAME#SECRET (default: $INKLING_INVITE).")
    var invite: String?

    @Option(
        help: ArgumentHelp("Read the invite from a file; - for standard input.", valueName: "file"),
        completion: .file())
    var inviteFile: String?

    @Flag(
        help: """
            Join the open chat of that name, which anybody can read, although a private chat of yours has or had it.
            """)
    var open = false

    func validate() throws {
        guard !open || (secret ?? secretFile ?? invite ?? inviteFile) == nil else {
            throw ValidationError("--open is for a chat without a secret; leave it or the secret out.")
        }
        let options = [secret, secretFile, invite, inviteFile].compactMap { $0 }
        guard options.count <= 1 else {
            throw ValidationError("Give only one of --secret, --secret-file, --invite and --invite-file.")
        }
    }

    /// Refuses wrong options early, as far as the command can tell without reading a file.
    ///
    /// - Parameter isForProgram: Whether a program runs the command. A program may use any names and paths.
    func validate(chat: String?, isForProgram: Bool = false) throws {
        if !isForProgram, let chat, Self.isInviteFile(chat) {
            throw ValidationError(
                "\(SafeText.line(chat)) is a file, not the name of a chat. To join the chat of the invite in it: "
                    + "--invite-file\(ShellQuoting.argument(chat))")
        }
        let isWithFile = secretFile != nil || inviteFile != nil
        if !isWithFile || chat.map(Chat.isInvite) == true { _ = try chatToJoin(chat, default: nil) }
    }

    /// Returns whether the user gave an invite file as the name of a chat. Such a file has the ending of invites, is in
    /// a named folder, or has an invite in it.
    private static func isInviteFile(_ chat: String) -> Bool {
        guard !Chat.isInvite(chat) else { return false }
        if Chat.endsAsInviteFile(chat) { return true }
        guard SmallFile.mode(chat) != nil else { return false }
        if chat.contains("/") { return true }
        return (try? SmallFile.text(chat, maximumBytes: 4_096)).map(Chat.isInvite) ?? false
    }

    /// Returns whether the user confirmed the name of the chat. For an open chat, `--open` confirms it. For a private
    /// one, the given name does.
    ///
    /// - Parameter given: The argument that named the chat.
    func confirms(_ chat: Chat, given: String?) -> Bool {
        chat.isOpen ? open : given.map { !Chat.isInvite($0) } ?? false
    }

    /// Whether an invite names the chat, so that the command needs no name.
    var namesInvite: Bool {
        if invite != nil || inviteFile != nil { return true }
        guard secret == nil, secretFile == nil, !open else { return false }
        return ChatSettings.environment("INKLING_INVITE") != nil
    }

    /// Whether standard input has a secret or an invite.
    var readsStandardInput: Bool {
        SmallFile.isStandardInput(secretFile) || SmallFile.isStandardInput(inviteFile)
    }

    /// Returns the chat of the options, else of the environment, else of the settings. An invite may take the place of
    /// the name.
    func chatToJoin(_ chat: String?, default fallback: String?) throws -> Chat {
        do {
            if open { return try openChat(chat, default: fallback) }
            if let chat, Chat.isInvite(chat) {
                guard [secret, secretFile, self.invite, inviteFile].allSatisfy({ $0 == nil }) else {
                    throw ValidationError(
                        "The chat is named by an invite, which brings its own secret: leave the other option out.")
                }
                return try Chat(invite: chat)
            }
            let source = try secretSource()
            if case .invite(let text) = source {
                let invited = try Chat(invite: text)
                if let chat, NormalForm.canonical(chat) != invited.name {
                    throw ValidationError("The invite is for another chat than the one named; leave the name out.")
                }
                return invited
            }
            let name = NormalForm.canonical(chat ?? fallback ?? NameKeeper.defaultName)
            guard Chat.isInvite(name) else {
                if case .secret(let text) = source { return try Chat(name, secret: try Secret(text)) }
                return try Chat(name)
            }
            if case .secret = source {
                throw ValidationError(
                    "The settings name the chat by an invite, which has its own secret: leave the other one out.")
            }
            return try Chat(invite: name)
        } catch let error as NodeError {
            throw ValidationError(SafeText.line(error.text))
        }
    }

    /// Returns the named open chat. The environment's secret or invite does not apply to an open chat.
    private func openChat(_ chat: String?, default fallback: String?) throws -> Chat {
        let name = chat ?? fallback ?? NameKeeper.defaultName
        guard !Chat.isInvite(name) else {
            throw ValidationError("--open takes the name of a chat, not an invite.")
        }
        return try Chat(name)
    }

    /// Returns the chat as shell arguments for a further command, with a blank before. No argument repeats a secret.
    ///
    /// - Parameter given: The argument that named the chat in this command.
    func arguments(naming chat: Chat, given: String?) -> String {
        /// Returns the argument for a file in a further command. That command can't read the same pipe again.
        func word(_ file: String) -> String {
            file == "-" || file.hasPrefix("/dev/") ? "FILE" : ShellQuoting.word(file)
        }
        if let inviteFile { return " --invite-file \(word(inviteFile))" }
        if invite != nil || given.map(Chat.isInvite) == true { return " --invite INVITE" }
        if open { return " --open" + ShellQuoting.argument(chat.name) }
        var words = ""
        if let secretFile { words = " --secret-file \(word(secretFile))" }
        if secret != nil { words = " --secret SECRET" }
        // The environment or the settings name a private chat without arguments.
        guard chat.isOpen || given != nil || !words.isEmpty else { return "" }
        return words + ShellQuoting.argument(chat.name)
    }

    private enum SecretSource {
        case none
        case secret(String)
        case invite(String)
    }

    private func secretSource() throws -> SecretSource {
        if let secret { return .secret(secret) }
        if let invite { return .invite(invite) }
        if let secretFile { return .secret(try Self.contents(of: secretFile) { (try? Secret($0)) != nil }) }
        if let inviteFile { return .invite(try Self.contents(of: inviteFile) { (try? Chat(invite: $0)) != nil }) }
        switch (ChatSettings.environment("INKLING_SECRET"), ChatSettings.environment("INKLING_INVITE")) {
        case (nil, nil): return .none
        case (let secret?, nil): return .secret(secret)
        case (nil, let invite?): return .invite(invite)
        case (_?, _?): throw ValidationError("INKLING_SECRET and INKLING_INVITE are mutually exclusive; unset one.")
        }
    }

    /// Reads a file, and warns where others can read a secret file.
    ///
    /// - Parameter opensChat: whether a reader of the text could join a chat.
    private static func contents(of path: String, opensChat: (String) -> Bool) throws -> String {
        let shown = path == "-" ? "standard input" : SafeText.line(path)
        let text: String
        do throws(SmallFile.Failure) {
            text = try SmallFile.text(path, maximumBytes: 4_096).trimmed
        } catch {
            switch error {
            case .unreadable: throw CommandFailure(text: "can't read \(shown); check its path and permissions")
            case .tooLong, .noText: throw CommandFailure(text: "\(shown) holds neither secret nor invite", status: 64)
            }
        }
        if opensChat(text), let mode = SmallFile.mode(path), SmallFile.isReadableByOthers(mode) {
            Output.error.write(
                line: "inkling: others on this machine can read \(shown), and so join the chat. Make the file private: "
                    + "chmod 600\(ShellQuoting.argument(path))")
        }
        return text
    }
}
