import ArgumentParser
import Foundation
import Inkling
import InklingConsole
import Logging

extension Logger.Level: @retroactive ExpressibleByArgument {}

/// The options of all commands that join a chat.
struct NodeOptions: ParsableArguments {
    @Option(help: "Your name (default: your login name).")
    var name: String?

    @Option(help: ArgumentHelp("The secret of the chat: 26 characters.", valueName: "secret"))
    var secret: String?

    @Option(help: ArgumentHelp("A file that holds the secret.", valueName: "file"), completion: .file())
    var secretFile: String?

    @Option(help: "An invite: inkling:NAME#SECRET.")
    var invite: String?

    @Option(help: ArgumentHelp("A file that holds the invite.", valueName: "file"), completion: .file())
    var inviteFile: String?

    @Option(help: ArgumentHelp("A peer to reach without discovery; may be repeated.", valueName: "host:port"))
    var peer: [String] = []

    @Option(help: "The UDP port (default: any).")
    var port: UInt16 = 0

    @Option(help: ArgumentHelp("The own address to use.", valueName: "address"))
    var bind: String?

    @Option(
        help: ArgumentHelp("A network interface to use; may be repeated (default: all).", valueName: "name"),
        completion: .shellCommand("ls /sys/class/net"))
    var interface: [String] = []

    @Option(
        help: ArgumentHelp("A network interface to leave out; may be repeated.", valueName: "name"),
        completion: .shellCommand("ls /sys/class/net"))
    var withoutInterface: [String] = []

    @Flag(help: "Neither announce this node nor look for others.")
    var noDiscovery = false

    @Option(
        help: ArgumentHelp("Where identity and known peers are kept.", valueName: "dir"), completion: .directory)
    var stateDir: String?

    @OptionGroup var settingsOptions: SettingsOptions

    @Option(help: "What is logged on standard error.")
    var logLevel: Logger.Level?

    func validate() throws {
        let options = [secret, secretFile, invite, inviteFile].compactMap { $0 }
        guard options.count <= 1 else {
            throw ValidationError("Give only one of --secret, --secret-file, --invite and --invite-file.")
        }
        guard interface.isEmpty || withoutInterface.isEmpty else {
            throw ValidationError("--interface and --without-interface exclude each other.")
        }
        if let name, !(1...64).contains(name.precomposedStringWithCanonicalMapping.utf8.count) {
            throw ValidationError("--name takes 1 to 64 bytes.")
        }
    }

    /// What a node is started with. It shares the identity with the node of a chat that the user has open, if `isTool`.
    func configuration(_ settings: SettingsFile, isTool: Bool) -> Configuration {
        let given = name ?? settings.name ?? ChatSettings.loginName()
        var node = Configuration(name: given.precomposedStringWithCanonicalMapping)
        node.stateDirectory = stateDir ?? ChatSettings.defaultStateDirectory()
        node.sharesIdentity = isTool
        node.port = port
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
        return node
    }

    /// Refuses at once what needs no file to be refused.
    func validate(chat: String?) throws {
        if secretFile == nil && inviteFile == nil { _ = try chatToJoin(chat, default: nil) }
    }

    /// The chat that the options and the environment name.
    func chatToJoin(_ chat: String?, default fallback: String?) throws -> Chat {
        let source = try secretSource()
        let name = (chat ?? fallback ?? "lobby").precomposedStringWithCanonicalMapping
        do {
            switch source {
            case .none:
                return try Chat(name)
            case .secret(let text):
                return try Chat(name, secret: try Secret(text))
            case .invite(let text):
                let invited = try Chat(invite: text)
                if let chat, chat.precomposedStringWithCanonicalMapping != invited.name {
                    throw ValidationError("The invite is for another chat than the one named; leave the name out.")
                }
                return invited
            }
        } catch let error as NodeError {
            throw ValidationError(SafeText.line(error.description))
        }
    }

    private enum SecretSource {
        case none
        case secret(String)
        case invite(String)
    }

    private func secretSource() throws -> SecretSource {
        if let secret { return .secret(secret) }
        if let invite { return .invite(invite) }
        if let secretFile { return .secret(try Self.contents(of: secretFile)) }
        if let inviteFile { return .invite(try Self.contents(of: inviteFile)) }
        switch (ChatSettings.environment("INKLING_SECRET"), ChatSettings.environment("INKLING_INVITE")) {
        case (nil, nil): return .none
        case (let secret?, nil): return .secret(secret)
        case (nil, let invite?): return .invite(invite)
        case (_?, _?): throw ValidationError("INKLING_SECRET and INKLING_INVITE exclude each other; unset one.")
        }
    }

    private static func contents(of path: String) throws -> String {
        do {
            let text = try String(contentsOfFile: path, encoding: .utf8)
            return text.trimmingCharacters(in: .whitespacesAndNewlines)
        } catch {
            throw StartFailure(text: "can't read \(SafeText.line(path)) as text; check its path and who may read it")
        }
    }
}

/// Which settings file is read.
struct SettingsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The settings file (default: inkling/config.toml in $XDG_CONFIG_HOME or ~/.config).", valueName: "file"),
        completion: .file(extensions: ["toml"]))
    var config: String?

    @Flag(help: "Read no settings file.")
    var noConfig = false

    func validate() throws {
        guard config == nil || !noConfig else {
            throw ValidationError("--config and --no-config exclude each other.")
        }
    }

    /// Where settings may be kept that nobody has written down yet.
    var pathToMake: String? {
        config == nil && !noConfig ? SettingsFile.defaultPath(environment: ChatSettings.environment) : nil
    }

    /// - Parameter isForProgram: Whether a program asked, which shall get what its options say: then only a file that
    ///   is named is read.
    func settings(isForProgram: Bool = false) throws -> SettingsFile {
        do throws(SettingsFile.Refusal) {
            if let config { return try SettingsFile.read(config, isNamed: true) }
            guard !noConfig, !isForProgram,
                let path = SettingsFile.defaultPath(environment: ChatSettings.environment)
            else { return SettingsFile() }
            return try SettingsFile.read(path, isNamed: false)
        } catch {
            throw StartFailure(text: error.text, status: 64)
        }
    }
}
