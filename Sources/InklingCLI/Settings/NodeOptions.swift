import ArgumentParser
import Inkling
import InklingConsole
import InklingModel
import InklingText
import Logging

extension Logger.Level: @retroactive ExpressibleByArgument {}

/// The options of all commands that join a chat.
struct NodeOptions: ParsableArguments {
    @Option(help: "Set your name (default: that of your last chat, or your login name).")
    var name: String?

    @Option(help: ArgumentHelp("Give the secret of the chat: 26 characters.", valueName: "secret"))
    var secret: String?

    @Option(
        help: ArgumentHelp("Read the secret from a file; - for standard input.", valueName: "file"),
        completion: .file())
    var secretFile: String?

    @Option(help: "Give an invite: inkling:NAME#SECRET.")
    var invite: String?

    @Option(
        help: ArgumentHelp("Read the invite from a file; - for standard input.", valueName: "file"),
        completion: .file())
    var inviteFile: String?

    @Option(
        help: ArgumentHelp("Reach a peer without discovery; may be repeated.", valueName: "host:port"),
        transform: Self.peer)
    var peer: [String] = []

    @Option(parsing: .unconditional, help: "Use this UDP port (default: any).", transform: Self.port)
    var port: UInt16?

    @Flag(help: "Accept peers from beyond your networks, whoever reaches the port.")
    var routed = false

    @Option(help: ArgumentHelp("Use this address of your machine.", valueName: "address"))
    var bind: String?

    @Option(
        help: ArgumentHelp("Use this network interface; may be repeated (default: all).", valueName: "name"),
        completion: .shellCommand("ls /sys/class/net"))
    var interface: [String] = []

    @Option(
        help: ArgumentHelp("Leave out this network interface; may be repeated.", valueName: "name"),
        completion: .shellCommand("ls /sys/class/net"))
    var withoutInterface: [String] = []

    @Flag(help: "Neither announce this node nor look for others.")
    var noDiscovery = false

    @Option(
        help: ArgumentHelp("Set where identity and known peers are kept.", valueName: "dir"), completion: .directory)
    var stateDir: String?

    @OptionGroup var settingsOptions: SettingsOptions

    @Option(help: "Set what is logged on standard error.")
    var logLevel: Logger.Level?

    func validate() throws {
        let options = [secret, secretFile, invite, inviteFile].compactMap { $0 }
        guard options.count <= 1 else {
            throw ValidationError("Give only one of --secret, --secret-file, --invite and --invite-file.")
        }
        guard interface.isEmpty || withoutInterface.isEmpty else {
            throw ValidationError("--interface and --without-interface are mutually exclusive.")
        }
        if let name, !(1...64).contains(NormalForm.canonical(name).utf8.count) {
            throw ValidationError("--name takes 1 to 64 bytes.")
        }
    }

    private static func port(_ text: String) throws -> UInt16 {
        guard let port = UInt16(text) else { throw ValidationError("A port is a number from 0 (any) to 65535.") }
        return port
    }

    private static func peer(_ text: String) throws -> String {
        do {
            try Resolution.checkPeer(text)
        } catch {
            throw ValidationError(SafeText.line(error.text))
        }
        return text
    }

    /// What a node is started with. It shares the identity with the node of a chat that the user has open, if `isCommand`.
    func configuration(_ settings: SettingsFile, isCommand: Bool) -> Configuration {
        let directory = stateDir ?? Configuration.defaultStateDirectory
        let given = name ?? settings.name ?? RememberedName.read(in: directory) ?? ChatSettings.loginName()
        var node = Configuration(name: NormalForm.canonical(given))
        node.stateDirectory = directory
        node.sharesIdentity = isCommand
        node.port = port ?? 0
        node.bindAddress = bind
        if interface.isEmpty && withoutInterface.isEmpty {
            node.interfaces = settings.interfaces ?? []
            node.excludedInterfaces = settings.excludedInterfaces ?? []
        } else {
            node.interfaces = interface
            node.excludedInterfaces = withoutInterface
        }
        node.discovery = !noDiscovery
        node.peers = peer
        node.acceptsRouted = routed
        return node
    }

    /// The path of the settings file if the interfaces to use are those that it names.
    func interfacesPath(_ settings: SettingsFile, isForProgram: Bool = false) -> String? {
        guard interface.isEmpty, withoutInterface.isEmpty, settings.interfaces != nil else { return nil }
        return settingsOptions.path(isForProgram: isForProgram)
    }

    /// Refuses at once what needs no file to be refused.
    ///
    /// - Parameter isForProgram: Whether a program asked, which may use whatever names and paths it likes.
    func validate(chat: String?, isForProgram: Bool = false) throws {
        if !isForProgram {
            if let name, let fault = NameFault(ofOwnName: NormalForm.canonical(name)) {
                throw ValidationError(SafeText.line(NodeError.name(fault).text))
            }
            if let chat, Self.isInviteFile(chat) {
                throw ValidationError(
                    "\(SafeText.line(chat)) is a file, not the name of a chat. To join the chat of the invite in it: "
                        + "--invite-file\(ShellQuoting.argument(chat))")
            }
        }
        let isWithFile = secretFile != nil || inviteFile != nil
        if !isWithFile || chat.map(Chat.isInvite) == true { _ = try chatToJoin(chat, default: nil) }
    }

    /// Whether the name of a chat is meant as the path of a file with an invite: it ends as such files do, or is the path
    /// of a file in a folder, or of one that holds an invite.
    static func isInviteFile(_ chat: String) -> Bool {
        guard !Chat.isInvite(chat) else { return false }
        if Chat.endsAsInviteFile(chat) { return true }
        guard SmallFile.mode(chat) != nil else { return false }
        if chat.contains("/") { return true }
        return (try? SmallFile.text(chat, maximumBytes: 4_096)).map(Chat.isInvite) ?? false
    }

    /// Whether an invite names the chat, so that no name has to.
    var namesInvite: Bool {
        if invite != nil || inviteFile != nil { return true }
        guard secret == nil, secretFile == nil else { return false }
        return ChatSettings.environment("INKLING_INVITE") != nil
    }

    /// Whether a secret or an invite comes from standard input.
    var readsStandardInput: Bool {
        SmallFile.isStandardInput(secretFile) || SmallFile.isStandardInput(inviteFile)
    }

    /// The chat that the options, the environment and, where those name none, the settings name. Wherever a name can
    /// stand, an invite is taken as what it is.
    func chatToJoin(_ chat: String?, default fallback: String?) throws -> Chat {
        do {
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
            let name = NormalForm.canonical(chat ?? fallback ?? "lobby")
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

    /// How a shell names the chat to a further command, with a blank before it. No secret is repeated.
    ///
    /// - Parameter given: The argument that named it here.
    func arguments(naming chat: Chat, given: String?) -> String {
        /// A pipe can't be named once more.
        func word(_ file: String) -> String {
            file == "-" || file.hasPrefix("/dev/") ? "FILE" : ShellQuoting.word(file)
        }
        if let inviteFile { return " --invite-file \(word(inviteFile))" }
        if invite != nil || given.map(Chat.isInvite) == true { return " --invite INVITE" }
        var words = ""
        if let secretFile { words = " --secret-file \(word(secretFile))" }
        if secret != nil { words = " --secret SECRET" }
        // Of a secret chat that neither is named for, environment or settings know.
        guard chat.isOpen || given != nil || !words.isEmpty else { return "" }
        return words + ShellQuoting.argument(chat.name)
    }

    /// What is no matter of the chat, as a shell takes it for a further command: each option with a blank before it.
    var words: String {
        var options = [
            ("--name", name), ("--port", port.map(String.init)), ("--bind", bind), ("--state-dir", stateDir),
            ("--config", settingsOptions.config),
        ]
        options += peer.map { ("--peer", $0) } + interface.map { ("--interface", $0) }
        options += withoutInterface.map { ("--without-interface", $0) }
        let flags = [("--no-discovery", noDiscovery), ("--no-config", settingsOptions.noConfig)]
        let given = options.compactMap { option, value in
            value.map { option + ($0.hasPrefix("-") ? "=" : " ") + ShellQuoting.word($0) }
        }
        return (given + flags.filter(\.1).map(\.0)).map { " " + $0 }.joined()
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

    /// Reads a file, and warns if others can read what is to be kept from them.
    ///
    /// - Parameter opensChat: whether a chat can be joined by the text.
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
                line: "inkling: others on this machine can read \(shown), and so join the chat; make it private: "
                    + "chmod 600\(ShellQuoting.argument(path))")
        }
        return text
    }
}

/// Which settings file is read.
struct SettingsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read this settings file (default: inkling/config.toml in $XDG_CONFIG_HOME or ~/.config).",
            valueName: "file"),
        completion: .file(extensions: ["toml"]))
    var config: String?

    @Flag(help: "Read no settings file.")
    var noConfig = false

    func validate() throws {
        guard config == nil || !noConfig else {
            throw ValidationError("--config and --no-config are mutually exclusive.")
        }
    }

    /// Where settings may be kept that nobody has written down yet.
    var pathToMake: String? {
        config == nil && !noConfig ? SettingsFile.defaultPath(environment: ChatSettings.environment) : nil
    }

    /// Where the settings are read from, whether or not there is such a file; nil if they are not read.
    ///
    /// - Parameter isForProgram: Whether a program asked, which gets just what its options say: then only a file that
    ///   is named is read.
    func path(isForProgram: Bool = false) -> String? { config ?? (isForProgram ? nil : pathToMake) }

    /// - Parameter isForProgram: as for ``path(isForProgram:)``.
    func settings(isForProgram: Bool = false) throws -> SettingsFile {
        guard let path = path(isForProgram: isForProgram) else { return SettingsFile() }
        do throws(SettingsFile.Refusal) {
            return try read(path, isNamed: config != nil)
        } catch {
            throw CommandFailure(text: error.text, status: 64)
        }
    }

    private func read(_ path: String, isNamed: Bool) throws(SettingsFile.Refusal) -> SettingsFile {
        let settings = try SettingsFile.read(path, isNamed: isNamed)
        if let warning = settings.warning(path: path, mode: SmallFile.mode(path)) {
            Output.error.write(line: "inkling: " + warning)
        }
        return settings
    }
}
