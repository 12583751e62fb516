import ArgumentParser
import Foundation
import Inkling
import InklingConsole
import Logging

extension IndicatorStyle: ExpressibleByArgument {}
extension Logger.Level: @retroactive ExpressibleByArgument {}

struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "Join a chat.",
        discussion: """
            A chat without a secret is open: anybody on the network may join it. Secrets are best given in a file
            or in INKLING_SECRET or INKLING_INVITE, out of the sight of other users of this machine; an option
            goes before the environment.
            """)

    @Argument(help: "The name of the chat (default: lobby; an invite brings its own).")
    var chat: String?

    @Option(help: "Your name (default: your login name).")
    var name: String?

    @Flag(help: "Speak JSON, one object a line, on standard input and output.")
    var json = false

    @Flag(help: "Only whole lines: no cursor movement, no colour, no animation.")
    var plain = false

    @Option(help: ArgumentHelp("The secret of the chat: 26 characters.", valueName: "secret"))
    var secret: String?

    @Option(help: ArgumentHelp("A file that holds the secret.", valueName: "file"))
    var secretFile: String?

    @Option(help: "An invite: inkling:NAME#SECRET.")
    var invite: String?

    @Option(help: ArgumentHelp("A file that holds the invite.", valueName: "file"))
    var inviteFile: String?

    @Option(help: ArgumentHelp("A peer to reach without discovery; may be repeated.", valueName: "host:port"))
    var peer: [String] = []

    @Option(help: "The UDP port (default: any).")
    var port: UInt16 = 0

    @Option(help: ArgumentHelp("The own address to use.", valueName: "address"))
    var bind: String?

    @Option(help: ArgumentHelp("A network interface to use; may be repeated (default: all).", valueName: "name"))
    var interface: [String] = []

    @Flag(help: "Neither announce this node nor look for others.")
    var noDiscovery = false

    @Option(help: ArgumentHelp("Where identity and known peers are kept.", valueName: "dir"))
    var stateDir: String?

    @Option(help: "How several typists are named.")
    var indicator: IndicatorStyle = .standard

    @Flag(help: "Let the dots stand still.")
    var reduceMotion = false

    @Flag(help: "Don't tell others that you are typing.")
    var noSendTyping = false

    @Flag(help: "Don't show that others are typing.")
    var noShowTyping = false

    @Option(help: "What is logged on standard error.")
    var logLevel: Logger.Level?

    func validate() throws {
        guard !(json && plain) else { throw ValidationError("--json and --plain exclude each other.") }
        let options = [secret, secretFile, invite, inviteFile].compactMap { $0 }
        guard options.count <= 1 else {
            throw ValidationError("Give only one of --secret, --secret-file, --invite and --invite-file.")
        }
        if let name, !(1...64).contains(name.precomposedStringWithCanonicalMapping.utf8.count) {
            throw ValidationError("--name takes 1 to 64 bytes.")
        }
        if secretFile == nil && inviteFile == nil { _ = try chatToJoin() }
    }

    func run() async throws {
        do {
            let status = try await ChatProgram.run(settings())
            if status != 0 { throw ExitCode(status) }
        } catch let failure as StartFailure {
            throw failure.report()
        }
    }

    private func settings() throws -> ChatSettings {
        let login = ChatSettings.loginName()
        var node = Configuration(name: (name ?? login).precomposedStringWithCanonicalMapping)
        node.stateDirectory = stateDir ?? ChatSettings.defaultStateDirectory()
        node.port = port
        node.bindAddress = bind
        node.interfaces = interface
        node.discovery = !noDiscovery
        node.peers = peer
        node.sendsTyping = !noSendTyping
        node.showsTyping = !noShowTyping
        let mode = ChatSettings.mode(json: json, plain: plain)
        return ChatSettings(
            node: node, chat: try chatToJoin(), mode: mode, indicator: indicator,
            reducedMotion: reduceMotion || mode != .terminal,
            decorated: (ChatSettings.environment("NO_COLOR") ?? "").isEmpty,
            logLevel: logLevel ?? (mode == .json ? .warning : .error))
    }

    /// The chat that the options and the environment name.
    private func chatToJoin() throws -> Chat {
        let source = try secretSource()
        do {
            switch source {
            case .none:
                return try Chat((chat ?? "lobby").precomposedStringWithCanonicalMapping)
            case .secret(let text):
                let secret = try Secret(text)
                return try Chat((chat ?? "lobby").precomposedStringWithCanonicalMapping, secret: secret)
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
