import ArgumentParser
import Inkling
import InklingConsole
import InklingModel
import InklingText
import Logging

extension Logger.Level: @retroactive ExpressibleByArgument {}

/// The options of a node, independent of its chats.
struct NodeOptions: ParsableArguments {
    @Option(
        help: """
            Set your name (default: that in the settings, else the one you last had, else your login name).
            """)
    var name: String?

    @Option(
        help: ArgumentHelp("Reach a peer without discovery; may be repeated.", valueName: "host:port"),
        transform: Self.peer)
    var peer: [String] = []

    @Option(parsing: .unconditional, help: "Use this UDP port (default: any).", transform: Self.port)
    var port: UInt16?

    @Flag(help: "Accept peers from beyond your networks, whoever reaches the port.")
    var routed = false

    @Option(help: ArgumentHelp("Use this address of your machine (default: all).", valueName: "address"))
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
        help: ArgumentHelp(
            "Set where identity and known peers are kept (default: inkling in $XDG_STATE_HOME or ~/.local/state).",
            valueName: "dir"),
        completion: .directory)
    var stateDir: String?

    @OptionGroup var settingsOptions: SettingsOptions

    @Option(
        help: ArgumentHelp(
            """
            Set what is logged on standard error (default: error; notice in a daemon, warning in a chat with --json, \
            critical in doctor).
            """, valueName: "level"))
    var logLevel: Logger.Level?

    func validate() throws {
        guard interface.isEmpty || withoutInterface.isEmpty else {
            throw ValidationError("--interface and --without-interface are mutually exclusive.")
        }
        if let name { try Self.checkSize(of: NormalForm.canonical(name)) }
    }

    /// Checks only the size of a name, because some commands accept names with other faults.
    private static func checkSize(of name: String) throws {
        guard let fault = NameFault(ofOwnName: name) else { return }
        switch fault {
        case .empty, .tooLong: throw ValidationError(SafeText.line(NodeError.name(fault).text))
        case .controlCharacter, .invisibleCharacter, .invite, .unreadable, .userID: break
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

    /// Returns the configuration of a node. With `isCommand`, the node shares the identity with a chat that the user
    /// has open.
    func configuration(_ settings: SettingsFile, isCommand: Bool) -> Configuration {
        let directory = stateDir ?? Configuration.defaultStateDirectory
        let given = name ?? settings.name ?? RememberedName.read(in: directory) ?? ChatSettings.loginName()
        var node = Configuration(name: NormalForm.canonical(given))
        node.stateDirectory = directory
        node.sharesIdentity = isCommand
        node.port = port ?? 0
        node.bindAddress = bind
        if !choosesInterfaces {
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

    /// Whether options replace the interfaces of the settings.
    var choosesInterfaces: Bool { !interface.isEmpty || !withoutInterface.isEmpty }

    /// Returns the path of the settings file if that file names the interfaces.
    func interfacesPath(_ settings: SettingsFile, isForProgram: Bool = false) -> String? {
        guard !choosesInterfaces, settings.interfaces != nil else { return nil }
        return settingsOptions.path(isForProgram: isForProgram)
    }

    /// The given options as arguments for a further command in a shell, each with a blank before it.
    var words: String {
        let settings = [("--state-dir", stateDir), ("--config", settingsOptions.config)]
        let flags = [("--no-config", settingsOptions.noConfig)]
        return (ownWords + Self.words(settings, flags: flags)).map { " " + $0 }.joined()
    }

    /// The options that only the command's own node can follow. They have no effect on a daemon's node.
    var ownWords: [String] {
        var options = [("--name", name), ("--port", port.map(String.init)), ("--bind", bind)]
        options += peer.map { ("--peer", $0) } + interface.map { ("--interface", $0) }
        options += withoutInterface.map { ("--without-interface", $0) }
        return Self.words(options, flags: [("--no-discovery", noDiscovery), ("--routed", routed)])
    }

    private static func words(_ options: [(String, String?)], flags: [(String, Bool)]) -> [String] {
        let given = options.compactMap { option, value in
            value.map { option + ($0.hasPrefix("-") ? "=" : " ") + ShellQuoting.word($0) }
        }
        return given + flags.filter(\.1).map(\.0)
    }
}

/// The choice of the settings file.
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

    /// The path for a new settings file.
    var pathToMake: String? {
        config == nil && !noConfig ? SettingsFile.defaultPath(environment: ChatSettings.environment) : nil
    }

    /// Returns the path of the settings file, existing or not; nil where the program reads none.
    ///
    /// - Parameter isForProgram: Whether a program runs the command. A program gets only its options, and settings only
    ///   from a file that an option names.
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
