import InklingText

/// The meaning of a line that the user entered at the prompt.
package enum PromptCommand: Equatable, Sendable {
    /// A message for the open chat.
    case message(String)
    /// An action of the user, such as "waves", for the open chat.
    case action(String)
    case who
    case whois(String)
    /// The name of the person whose fingerprint to show. With `isRight`, the user confirms that the compared
    /// fingerprints are equal.
    case verify(String, isRight: Bool)
    /// The name of the chat to join, or an invite.
    case join(String)
    /// The name of the chat to leave; nil for the open chat.
    case leave(String?)
    case open(Choice)
    case chats
    /// A person and a chat, or the name of a new private chat; nil for the invite of the open chat.
    case invite(String?)
    /// The person to remove from the open chat, perhaps with the user's confirmation.
    case remove(String)
    /// The person who is to own the open chat, perhaps with the user's confirmation.
    case owner(String)
    /// The name of a chat of the user's own and the confirmation, each perhaps missing.
    case own(String?)
    /// The person who may follow a chat that has moved.
    case admit(String)
    /// The person to talk with alone.
    case talk(String)
    /// The number of an invitation, nil for the only one, and the user's own name for its chat.
    case accept(Int?, name: String?)
    case decline(Int?)
    case away
    /// Whether the terminal should ring at the user's name; nil to show the setting.
    case notify(Bool?)
    /// Sends the messages again that failed or reached nobody.
    case resend
    case back
    case block(String)
    case unblock(String)
    /// The person to mute; nil to list the muted people.
    case mute(String?)
    case unmute(String)
    /// The person whose folded messages to show; nil for everybody's.
    case show(String?)
    /// Another name for the user. The program keeps the name, unless `isOnce` is true.
    case nick(String, isOnce: Bool)
    /// The text to find in messages.
    case find(String)
    /// Whether to keep the messages of the open chat; nil to show whether they are kept. With `isSure`, the user confirms
    /// that the kept ones are removed.
    case history(Bool?, isSure: Bool = false)
    /// Whether messages to the open chat wait for members who are offline; nil to list those that wait.
    case waiting(Bool?)
    /// The number of a waiting message to give up; nil for all.
    case forget(Int?)
    case clear
    /// The command to explain, without its slash; nil for a list of all commands.
    case help(String?)
    case quit
    /// An incomplete command, or one with a superfluous argument. The text is the command's name without the slash.
    case misused(String, Mistake)
    /// A word after a slash that is no command, as safe text, and the nearest command, if any.
    case unknown(String, nearest: String?)

    /// The chat to open.
    package enum Choice: Equatable, Sendable {
        /// The number of the chat in the list, from 1.
        case number(Int)
        case name(String)
    }

    package enum Mistake: Equatable, Sendable {
        case missing
        case surplus
    }

    /// Parses a line. A slash begins a command. Two slashes begin a message whose text begins with one. A name may have
    /// blanks, so the whole rest of the line is the argument.
    package init(_ line: String) {
        guard line.hasPrefix("/") else {
            self = .message(line)
            return
        }
        guard !line.hasPrefix("//") else {
            self = .message(String(line.dropFirst()))
            return
        }
        let word = line.dropFirst().prefix { !$0.isWhitespace }
        var argument = line.dropFirst(1 + word.count)[...]
        while argument.first?.isWhitespace == true { argument.removeFirst() }
        while argument.last?.isWhitespace == true { argument.removeLast() }
        let name = Self.aliases[word.lowercased()] ?? word.lowercased()
        guard let entry = Self.entry(name) else {
            let shown = "/" + DisplayWidth.prefix(of: SafeText.line(word), columns: 20)
            self = .unknown(shown, nearest: Self.nearest(to: name).map { "/" + $0 })
            return
        }
        switch (entry.takes, argument.isEmpty) {
        case (.nothing, false): self = .misused(name, .surplus)
        case (.something, true): self = .misused(name, .missing)
        case (.nothing, true), (.something, false), (.anything, _): self = Self.known(name, String(argument))
        }
    }

    /// The word of a command about a person, with its slash.
    var word: String {
        switch self {
        case .verify: "/verify"
        case .mute: "/mute"
        default: "/whois"
        }
    }

    /// Whether the command confirms that fingerprints are equal.
    var isConfirmation: Bool { if case .verify(_, isRight: true) = self { true } else { false } }

    /// The error text for a command that the prompt can't execute; `nil` for any other.
    package var complaint: String? {
        switch self {
        case .misused(let name, let mistake):
            guard let entry = Self.entry(name) else { return nil }
            return mistake == .missing
                ? "/\(name) needs \(entry.needs): \(entry.usage)"
                : entry.refusal ?? "/\(name) takes no argument. To begin a message with a slash, type two: //\(name)"
        case .unknown(let word, nearest: let nearest?):
            return "There is no command \(word). Did you mean \(nearest)?"
        case .unknown(let word, nearest: nil):
            return "There is no command \(word). /help lists them; to begin a message with a slash, type two."
        default: return nil
        }
    }

    /// All commands as users type them, in the order of the list.
    package static let names = table.map { "/" + $0.name }

    /// The descriptions of all commands, one line of at most 38 columns for each.
    package static let descriptions =
        table.map { pad($0.short) + $0.purpose } + [pad("//text") + "begin a message with /"]

    /// The descriptions of keys without a command, one line of at most 38 columns for each.
    package static let keyDescriptions = [
        pad("Alt-Enter") + "begin another line", pad("Tab") + "complete commands, names",
        pad("Ctrl-P, -N") + "earlier and later lines", pad("Ctrl-R") + "search earlier lines",
        pad("Ctrl-C") + "clear the line",
    ]

    /// Returns the lines that explain one command, with or without its slash; `nil` if there is no such command.
    package static func help(on command: String) -> [String]? {
        let word = (command.hasPrefix("/") ? String(command.dropFirst()) : command).lowercased()
        guard let entry = entry(aliases[word] ?? word) else { return nil }
        return [entry.usage] + entry.details
    }

    /// Returns the command whose name somebody mistyped after /help; nil if none is near.
    static func meant(by command: String) -> String? {
        nearest(to: (command.hasPrefix("/") ? String(command.dropFirst()) : command).lowercased())
    }

    private static func entry(_ name: String) -> Entry? { table.first { $0.name == name } }

    private static func pad(_ text: String) -> String {
        text + String(repeating: " ", count: max(14 - text.count, 1))
    }

    private static func known(_ name: String, _ argument: String) -> PromptCommand {
        switch name {
        case "who": .who
        case "whois": .whois(argument)
        case "verify": verify(argument)
        case "join": .join(unbroken(argument))
        case "leave": .leave(argument.isEmpty ? nil : argument)
        case "open": .open(Int(argument).flatMap { $0 > 0 ? .number($0) : nil } ?? .name(argument))
        case "chats": .chats
        case "invite": .invite(argument.isEmpty ? nil : argument)
        case "talk": .talk(argument)
        case "remove": .remove(argument)
        case "owner": .owner(argument)
        case "own": .own(argument.isEmpty ? nil : argument)
        case "admit": .admit(argument)
        case "accept": accept(argument)
        case "decline" where argument.isEmpty: .decline(nil)
        case "decline": number(argument).map(PromptCommand.decline) ?? .misused(name, .surplus)
        case "away": .away
        case "back": .back
        case "block": .block(argument)
        case "unblock": .unblock(argument)
        case "mute": .mute(argument.isEmpty ? nil : argument)
        case "unmute": .unmute(argument)
        case "show": .show(argument.isEmpty ? nil : argument)
        case "me": .action(argument)
        case "nick": nick(argument)
        case "notify": notify(argument)
        case "resend": .resend
        case "find": .find(argument)
        case "history": history(argument)
        case "waiting": waiting(argument)
        case "forget" where argument.lowercased() == "all": .forget(nil)
        case "forget": number(argument).map(PromptCommand.forget) ?? .misused("forget", .surplus)
        case "clear": .clear
        case "help": .help(argument.isEmpty ? nil : argument)
        default: .quit
        }
    }

    /// Returns a pasted text without the line breaks of a terminal, and without the indents after these.
    private static func unbroken(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).map(\.trimmed).joined()
    }

    private static func accept(_ argument: String) -> PromptCommand {
        guard !argument.isEmpty else { return .accept(nil, name: nil) }
        let words = argument.split(maxSplits: 1, whereSeparator: \.isWhitespace)
        guard let number = number(words[0]) else { return .misused("accept", .surplus) }
        return .accept(number, name: words.count == 2 ? words[1].trimmed : nil)
    }

    private static func number(_ text: some StringProtocol) -> Int? { Int(text).flatMap { $0 > 0 ? $0 : nil } }

    private static func nick(_ argument: String) -> PromptCommand {
        let words = argument.split(maxSplits: 1, whereSeparator: \.isWhitespace)
        guard words.first == "--once" else { return .nick(argument, isOnce: false) }
        return words.count == 2 ? .nick(words[1].trimmed, isOnce: true) : .misused("nick", .missing)
    }

    private static func notify(_ argument: String) -> PromptCommand {
        switch argument.lowercased() {
        case "": .notify(nil)
        case "on": .notify(true)
        case "off": .notify(false)
        default: .misused("notify", .surplus)
        }
    }

    private static func waiting(_ argument: String) -> PromptCommand {
        switch argument.lowercased() {
        case "": .waiting(nil)
        case "on": .waiting(true)
        case "off": .waiting(false)
        default: .misused("waiting", .surplus)
        }
    }

    private static func history(_ argument: String) -> PromptCommand {
        switch argument.lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ") {
        case "": .history(nil)
        case "on": .history(true)
        case "off": .history(false)
        case "off ok": .history(false, isSure: true)
        default: .misused("history", .surplus)
        }
    }

    private static func verify(_ argument: String) -> PromptCommand {
        confirmed(argument).map { .verify($0, isRight: true) } ?? .verify(argument, isRight: false)
    }

    /// Returns the name before the word "ok"; nil without that word.
    static func confirmed(_ argument: String) -> String? {
        guard let blank = argument.lastIndex(where: \.isWhitespace),
            argument[argument.index(after: blank)...].lowercased() == "ok"
        else { return nil }
        var name = argument[..<blank]
        while name.last?.isWhitespace == true { name.removeLast() }
        return String(name)
    }

    /// Returns the command that somebody meant, by its letters or by its beginning.
    private static func nearest(to word: String) -> String? {
        let names = table.map(\.name)
        return NearestWord.find(word, among: names) ?? (word.count < 2 ? nil : names.first { $0.hasPrefix(word) })
    }
}
