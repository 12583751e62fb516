import ArgumentParser
import Inkling
import InklingModel
import InklingText
import Logging

extension IndicatorStyle: ExpressibleByArgument {}

struct ChatCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "Join a chat.",
        discussion: """
            A chat without a secret is open: anybody on the network can join it. Give a secret in a file, or in \
            INKLING_SECRET or INKLING_INVITE, where other users of this machine can't see it. An option \
            overrides the environment.

            inkling chat                              the open chat "lobby"
            inkling chat kitchen --name Alice         another open chat, under a name
            inkling chat --invite-file kitchen.txt    the private chat of an invite
            inkling chat --peer 192.0.2.7:40123       where peers don't find each other
            """)

    @Argument(help: "The name of the chat, or its invite (default: that in the settings, else lobby).")
    var chat: String?

    @Flag(help: "Speak JSON, one object a line, on standard input and output.")
    var json = false

    @Flag(help: "Print only whole lines: no cursor movement, no colour, no animation.")
    var plain = false

    @OptionGroup var options: ChatOptions

    @Flag(help: "Be somebody new, who is forgotten at the end.")
    var ephemeral = false

    @Option(help: ArgumentHelp("Choose how several typists are named (default: standard).", valueName: "style"))
    var indicator: IndicatorStyle?

    @Flag(inversion: .prefixedNo, help: "Keep the dots still (default: --no-reduce-motion).")
    var reduceMotion: Bool?

    @Flag(inversion: .prefixedNo, help: "Tell others that you are typing (default: --send-typing).")
    var sendTyping: Bool?

    @Flag(inversion: .prefixedNo, help: "Show that others are typing (default: --show-typing).")
    var showTyping: Bool?

    func validate() throws {
        guard !(json && plain) else { throw ValidationError("--json and --plain are mutually exclusive.") }
        guard !options.secrets.readsStandardInput else {
            throw ValidationError(
                "Standard input is for the messages; give the secret or invite in a file or in the environment.")
        }
        guard !(ephemeral && options.attachment.attach) else {
            throw ValidationError("--ephemeral and --attach are mutually exclusive: a daemon has its own identity.")
        }
        try options.validate(chat: chat, isForProgram: json)
    }

    func run() throws {
        try CommandFailure.reporting {
            try ChatProgram.run(settings()) { ChatProgram.session($0, $1) }
        }
    }

    private func settings() throws -> ChatSettings {
        var file = try options.settingsOptions.settings(isForProgram: json)
        var node = options.node.configuration(file)
        node.isEphemeral = ephemeral
        node.sendsTyping = sendTyping ?? file.sendsTyping ?? true
        node.showsTyping = showTyping ?? file.showsTyping ?? true
        let mode = ChatSettings.mode(json: json, plain: plain)
        let given = chat
        let chat = try options.secrets.chatToJoin(given, default: file.chat)
        let daemon = try daemon()
        if mode == .terminal, daemon == nil, !ephemeral, options.node.name == nil, file.name == nil,
            RememberedName.read(in: node.stateDirectory) == nil
        {
            node.name = try DisplayNamePrompt.ask(
                proposal: node.name, keepingIn: options.settingsOptions.pathToMake, beside: node.stateDirectory)
            // By now the settings file may have the user's answer.
            file = try options.settingsOptions.settings()
        }
        return ChatSettings(
            node: node, chat: chat, isConfirmed: options.secrets.confirms(chat, given: given),
            settledChat: file.openChat, arguments: options.secrets.arguments(naming: chat, given: given), mode: mode,
            indicator: indicator ?? file.indicator ?? .standard,
            reducedMotion: reduceMotion ?? file.reducedMotion ?? false || mode != .terminal,
            decorated: (ChatSettings.environment("NO_COLOR") ?? "").isEmpty,
            ringsForMentions: file.ringsForMentions ?? false,
            logLevel: options.node.logLevel ?? (mode == .json ? .warning : .error),
            daemon: daemon,
            holderPath: mode == .json || ephemeral ? nil : SocketPath.path(stateDirectory: options.node.stateDir),
            settledName: file.name.flatMap { name in
                options.settingsOptions.path(isForProgram: json).map { (NormalForm.canonical(name), $0) }
            },
            settingsPath: options.settingsOptions.path(isForProgram: json),
            interfacesPath: options.node.interfacesPath(file, isForProgram: json))
    }

    /// The daemon to attach to. Without it, peers would take a second node of the same person for a stranger, and warn
    /// about a known name with a different key.
    private func daemon() throws -> DaemonConnection? {
        guard !ephemeral else { return nil }
        let daemon = try options.attachment.daemon(options.node, patience: AttachmentOptions.chatPatience)
        guard options.attachment.standalone else { return daemon }
        guard KeyStore.isInUse(directory: options.node.stateDir) else { return nil }
        throw CommandFailure(
            text: "a node of yours runs here already, a daemon or a chat: to others, a second one would be a stranger "
                + "who has taken your name; leave --standalone out to use the daemon, end the other chat, or add "
                + "--ephemeral to be somebody new",
            status: 64)
    }
}

/// A message of `inkling send` that begins with a dash. The parser would take such a message for an option. If the
/// message looked like `--help`, the command would succeed without sending a message.
package enum DashedMessage {
    /// The reason to refuse the words, with advice, in one line.
    package struct Refusal: Error, Equatable {
        package let text: String
    }

    /// Words for which the parser only prints a text and the program exits with 0.
    private static let questions: Set<String> = ["-h", "-help", "--help", "--help-hidden", "--version"]
    /// The stand-in for a message in a trial run of the parser. No argument of a program has a NUL.
    private static let standIn = "\0"

    /// Returns the words for the parser. A message with a blank can't be an option, so the function moves the message
    /// behind `--`.
    ///
    /// - Parameter words: the words after the program's name.
    /// - Throws: ``Refusal`` for another message that begins with a dash.
    package static func arranged(_ words: [String]) throws(Refusal) -> [String] {
        guard words.first == "send", words.count > 2 else { return words }
        let end = words.firstIndex(of: "--") ?? words.endIndex
        let dashed = words[..<end].indices.filter { words[$0].hasPrefix("-") && words[$0] != "-" }
        for index in dashed where isMessage(index, in: words) {
            let word = words[index]
            guard word.contains(where: \.isWhitespace) else {
                // If the word is an option and the message is missing, the parser's own error is better.
                if parsed(words[..<end] + [standIn] + words[end...]) != nil { continue }
                throw refusal(word)
            }
            var others = words
            others.remove(at: index)
            return others + (end == words.endIndex ? ["--"] : []) + [word]
        }
        // The parser finds the -h of the help even in a group of letters behind one dash.
        let group = dashed.map { words[$0] }.first { !$0.hasPrefix("--") && $0.contains("h") }
        if let group, !dashed.contains(where: { questions.contains(words[$0]) }) { throw refusal(group) }
        return words
    }

    /// Whether the parser reads the word at this index as the message.
    private static func isMessage(_ index: Int, in words: [String]) -> Bool {
        var words = words
        words[index] = standIn
        return parsed(words[...])?.message == standIn
    }

    private static func parsed(_ words: ArraySlice<String>) -> SendCommand? {
        try? InklingCommand.parseAsRoot(Array(words)) as? SendCommand
    }

    private static func refusal(_ word: String) -> Refusal {
        let help = questions.contains(word) ? "; for help: inkling help send" : ""
        return Refusal(
            text: "put -- before a message that begins with a dash: "
                + "inkling send CHAT -- \"\(SafeText.line(word))\"\(help)")
    }
}
