import ArgumentParser
import Glibc
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

    func configuration(_ settings: SettingsFile) -> Configuration {
        let directory = stateDir ?? Configuration.defaultStateDirectory
        let given = name ?? settings.name ?? RememberedName.read(in: directory) ?? ChatSettings.loginName()
        var node = Configuration(name: NormalForm.canonical(given))
        node.stateDirectory = directory
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

/// The choice between a daemon's node and the command's own node.
struct AttachmentOptions: ParsableArguments {
    @Flag(help: "Use a node of this command's own, also where a daemon runs.")
    var standalone = false

    @Flag(help: "Use the daemon's node, and fail where none runs.")
    var attach = false

    func validate() throws {
        guard !(standalone && attach) else {
            throw ValidationError("--standalone and --attach are mutually exclusive.")
        }
    }

    /// The longest wait for a program that uses the identity and does not listen, in milliseconds. Such a program may have
    /// just begun, or be about to end. A chat waits less than a command, because a chat can do with another identity.
    static let (commandPatience, chatPatience): (Int64, Int64) = (10_000, 1_000)
    /// The interval of looks for it, in microseconds.
    private static let step: UInt32 = 20_000

    /// The daemon or prompt to attach to; nil for a node of the command's own.
    ///
    /// - Parameters:
    ///   - node: the options of the command's own node, which another node can't follow.
    ///   - patience: the longest wait for another program that uses the identity, in milliseconds.
    func daemon(_ node: NodeOptions, patience: Int64) throws -> DaemonConnection? {
        guard !standalone, node.ownWords.isEmpty else {
            let found = standalone ? nil : try refuse(node)
            Self.waitUntilFree(node.stateDir, standalone ? Self.chatPatience : patience)
            return found
        }
        let end = Clock.steady + patience
        while true {
            do throws(DaemonConnection.Failure) {
                return try DaemonConnection(stateDirectory: node.stateDir)
            } catch {
                guard attach || error.isDaemon || error.isNobody else { return nil }
                guard error.isNobody, !attach else { throw CommandFailure(text: error.text) }
                guard KeyStore.isInUse(directory: node.stateDir), Clock.steady < end else { return nil }
            }
            usleep(Self.step)
        }
    }

    private static func waitUntilFree(_ stateDirectory: String?, _ patience: Int64) {
        let end = Clock.steady + patience
        while Clock.steady < end, KeyStore.isInUse(directory: stateDirectory) { usleep(step) }
    }

    /// Refuses options that only the command's own node can follow. The refusal starts no daemon.
    private func refuse(_ node: NodeOptions) throws -> DaemonConnection? {
        switch DaemonSearch(stateDirectory: node.stateDir) {
        case .found(let connection):
            connection.close()
            if connection.daemon?.isHolder == true, !attach {
                throw CommandFailure(
                    text: "a prompt of yours runs Inkling here, and it has its own options: quit it first, or leave out"
                        + node.ownWords.map { " " + $0 }.joined(),
                    status: 64)
            }
        case .failure(let failure) where failure.isDaemon: break
        case .noNode, .failure:
            guard attach else { return nil }
        }
        let words = node.ownWords
        let option = words.count == 1 ? words[0] : "these options"
        throw CommandFailure(
            text: "\(attach ? "a daemon is to be used" : "a daemon runs here"), and \(option) can only be given to it: "
                + "inkling daemon \(words.joined(separator: " "))\(node.name == nil ? "" : " (or /nick at the prompt)"); "
                + "for a node of this command's own \(attach ? "use" : "add") --standalone, and --ephemeral for an "
                + "identity of its own too",
            status: 64)
    }
}

/// The options of all commands that use a node in a chat, their own or a daemon's.
struct ChatOptions: ParsableArguments {
    @OptionGroup var secrets: SecretOptions

    @OptionGroup var node: NodeOptions

    @OptionGroup var attachment: AttachmentOptions

    var settingsOptions: SettingsOptions { node.settingsOptions }

    /// The daemon or prompt to attach to; nil for a node of the command's own, which then holds the identity alone.
    func daemon() throws -> DaemonConnection? {
        if let daemon = try attachment.daemon(node, patience: AttachmentOptions.commandPatience) { return daemon }
        guard KeyStore.isInUse(directory: node.stateDir) else { return nil }
        throw CommandFailure(
            text: "another program of yours uses the identity: end it first, "
                + (attachment.standalone ? "leave --standalone out, " : "") + "or name another --state-dir")
    }

    /// Refuses wrong options early, as far as the command can tell without reading a file.
    ///
    /// - Parameter isForProgram: Whether a program runs the command. A program may use any names and paths.
    func validate(chat: String?, isForProgram: Bool = false) throws {
        if !isForProgram, let name = node.name, let fault = NameFault(ofOwnName: NormalForm.canonical(name)) {
            throw ValidationError(SafeText.line(NodeError.name(fault).text))
        }
        try secrets.validate(chat: chat, isForProgram: isForProgram)
    }
}

/// The place where a state directory's daemon listens, and front ends connect (A-11).
package enum SocketPath {
    /// The longest path of a socket, in bytes of UTF-8: `sun_path` without the NUL at its end.
    package static let maximumBytes = 107

    /// - Parameters:
    ///   - given: the state directory that an option names; nil where none does.
    ///   - fallback: the state directory where no option names one; nil for a user without a home.
    ///   - runtimeDirectory: `$XDG_RUNTIME_DIR`. The convention ignores a path that is not absolute.
    ///   - userFolder: `/run/user/UID`; nil if the folder belongs to another user.
    /// - Returns: nil if there is no place.
    package static func path(
        stateDirectory given: String?, default fallback: String?, runtimeDirectory: String?, userFolder: String?
    ) -> String? {
        if let given { return given + "/socket" }
        if let runtimeDirectory, runtimeDirectory.hasPrefix("/") { return runtimeDirectory + "/inkling/socket" }
        if let userFolder { return userFolder + "/inkling/socket" }
        return fallback.map { $0 + "/socket" }
    }

    /// Returns the path for this user and environment.
    ///
    /// - Parameter given: the state directory that an option names; nil where none does.
    static func path(stateDirectory given: String?) -> String? {
        path(
            stateDirectory: given, default: Configuration.defaultStateDirectory,
            runtimeDirectory: ChatSettings.environment("XDG_RUNTIME_DIR"), userFolder: userFolder)
    }

    /// Returns the places to look for the daemon: first the place for this environment, then those for other
    /// environments.
    ///
    /// - Parameter given: the state directory that an option names; nil where none does.
    static func places(stateDirectory given: String?) -> [String] {
        places(stateDirectory: given, default: Configuration.defaultStateDirectory, userFolder: userFolder)
    }

    /// Returns the places for a user, who may be another one.
    static func places(
        stateDirectory given: String?, default fallback: String?, userFolder: String?
    ) -> [String] {
        let environment = ChatSettings.environment("XDG_RUNTIME_DIR")
        let all = [(environment, userFolder), (nil, userFolder), (nil, nil)].compactMap {
            path(stateDirectory: given, default: fallback, runtimeDirectory: $0, userFolder: $1)
        }
        return all.enumerated().filter { !all.prefix($0.offset).contains($0.element) }.map(\.element)
    }

    private static var userFolder: String? {
        let path = "/run/user/\(geteuid())"
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else {
            return nil
        }
        return path
    }
}
