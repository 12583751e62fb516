import InklingText

/// What a line that was entered at the prompt means.
package enum PromptCommand: Equatable, Sendable {
    /// A message for the open chat.
    case message(String)
    case who
    case whois(String)
    /// The fingerprint of somebody, or that it was compared and is right.
    case verify(String, isRight: Bool)
    /// The name of a chat, or an invite.
    case join(String)
    /// The chat of that name, or the one at the prompt.
    case leave(String?)
    case open(Choice)
    case chats
    case invite
    case away
    case back
    case block(String)
    case unblock(String)
    /// All commands, or one of them without its slash.
    case help(String?)
    case quit
    /// A command that is not complete, or is too much: its name without the slash.
    case misused(String, Mistake)
    /// A word behind a slash that names no command; safe to show. With the command that comes nearest, if one does.
    case unknown(String, nearest: String?)

    /// Which chat is meant.
    package enum Choice: Equatable, Sendable {
        /// Its number in the list of chats, from 1.
        case number(Int)
        case name(String)
    }

    package enum Mistake: Equatable, Sendable {
        case missing
        case surplus
    }

    /// Reads a line: a slash begins a command, two of them a message that begins with one. Names may have blanks: what
    /// stands behind the command, whole, is its argument.
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

    /// What to say of a command that can't be followed, `nil` of any other.
    package var complaint: String? {
        switch self {
        case .misused(let name, let mistake):
            guard let entry = Self.entry(name) else { return nil }
            return mistake == .missing
                ? "/\(name) needs \(entry.needs): \(entry.usage)"
                : "/\(name) takes nothing behind it. For a message that begins with a slash, type two: //\(name)"
        case .unknown(let word, nearest: let nearest?):
            return "There is no command \(word). Did you mean \(nearest)?"
        case .unknown(let word, nearest: nil):
            return "There is no command \(word). /help lists them; a message that begins with a slash begins with two."
        default: return nil
        }
    }

    /// All commands as one types them, in the order of the list.
    package static let names = table.map { "/" + $0.name }

    /// One line for each command, of at most 38 columns.
    package static let descriptions =
        table.map { pad($0.short) + $0.purpose } + [pad("//text") + "a message that begins with /"]

    /// The lines that explain one command, with or without its slash; `nil` if there is none of that name.
    package static func help(on command: String) -> [String]? {
        let word = (command.hasPrefix("/") ? String(command.dropFirst()) : command).lowercased()
        guard let entry = entry(aliases[word] ?? word) else { return nil }
        return [entry.usage] + entry.details
    }

    private enum Takes {
        case nothing
        case something
        case anything
    }

    private struct Entry {
        let name: String
        let takes: Takes
        /// How the list names it, in at most 13 columns.
        let short: String
        /// In at most 25 columns.
        let purpose: String
        let usage: String
        /// What an argument would say; empty where none is needed.
        var needs = ""
        let details: [String]
    }

    private static func entry(_ name: String) -> Entry? { table.first { $0.name == name } }

    private static func pad(_ text: String) -> String {
        text + String(repeating: " ", count: max(13 - text.count, 1))
    }

    private static func known(_ name: String, _ argument: String) -> PromptCommand {
        switch name {
        case "who": .who
        case "whois": .whois(argument)
        case "verify": verify(argument)
        case "join": .join(argument)
        case "leave": .leave(argument.isEmpty ? nil : argument)
        case "open": .open(Int(argument).flatMap { $0 > 0 ? .number($0) : nil } ?? .name(argument))
        case "chats": .chats
        case "invite": .invite
        case "away": .away
        case "back": .back
        case "block": .block(argument)
        case "unblock": .unblock(argument)
        case "help": .help(argument.isEmpty ? nil : argument)
        default: .quit
        }
    }

    private static func verify(_ argument: String) -> PromptCommand {
        guard let blank = argument.lastIndex(where: \.isWhitespace),
            argument[argument.index(after: blank)...].lowercased() == "ok"
        else { return .verify(argument, isRight: false) }
        var name = argument[..<blank]
        while name.last?.isWhitespace == true { name.removeLast() }
        return .verify(String(name), isRight: true)
    }

    /// The command that takes the fewest changed characters, up to a third of the word.
    private static func nearest(to word: String) -> String? {
        guard (2...20).contains(word.count) else { return nil }
        let scored = table.map { (name: $0.name, distance: distance(word, $0.name)) }
        guard let best = scored.min(by: { $0.distance < $1.distance }) else { return nil }
        if best.distance <= max(word.count / 3, 1) { return best.name }
        return table.map(\.name).filter { $0.hasPrefix(word) }.first
    }

    /// How many characters have to be put in, taken out, replaced or exchanged with their neighbour.
    private static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        var rows = [Array(0...right.count)]
        for (i, a) in left.enumerated() {
            var row = [i + 1]
            for (j, b) in right.enumerated() {
                var cost = min(rows[i][j] + (a == b ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a == right[j - 1], left[i - 1] == b { cost = min(cost, rows[i - 1][j - 1] + 1) }
                row.append(cost)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }

    private static let aliases = ["exit": "quit", "q": "quit", "?": "help"]

    private static let table = [
        Entry(
            name: "who", takes: .nothing, short: "/who", purpose: "who is here, who was", usage: "/who",
            details: ["Shows everybody in this chat, and since when the others are gone."]),
        Entry(
            name: "whois", takes: .something, short: "/whois NAME", purpose: "more about somebody",
            usage: "/whois NAME",
            needs: "a name",
            details: ["Shows the identity behind a name, and since when you know it. Example: /whois Bob"]),
        Entry(
            name: "verify", takes: .something, short: "/verify NAME", purpose: "compare fingerprints",
            usage: "/verify NAME [ok]", needs: "a name",
            details: [
                "Shows digits that must be the same at yours and at theirs. Compare them face to face or by telephone.",
                "Example: /verify Bob, and if they are the same: /verify Bob ok",
            ]),
        Entry(
            name: "join", takes: .something, short: "/join CHAT", purpose: "join one more chat",
            usage: "/join NAME or INVITE", needs: "the name of a chat, or an invite",
            details: ["Joins a chat and opens it. Anybody may join a chat that you name; with an invite it is private."]
        ),
        Entry(
            name: "leave", takes: .anything, short: "/leave [CHAT]", purpose: "leave a chat", usage: "/leave [NAME]",
            details: ["Leaves the chat of that name, or the one that is open here."]),
        Entry(
            name: "open", takes: .something, short: "/open CHAT", purpose: "go to a chat (Alt-1...9)",
            usage: "/open NAME or NUMBER", needs: "the name or the number of a chat",
            details: ["Goes to another of your chats. /chats shows their numbers. Example: /open 2, or Alt-2"]),
        Entry(
            name: "chats", takes: .nothing, short: "/chats", purpose: "your chats", usage: "/chats",
            details: ["Shows your chats with their numbers, and how much is unread."]),
        Entry(
            name: "invite", takes: .nothing, short: "/invite", purpose: "invite others", usage: "/invite",
            details: ["Shows the line with which others join this chat. It has the secret in it: pass it on with care."]
        ),
        Entry(
            name: "away", takes: .nothing, short: "/away", purpose: "tell that you are away", usage: "/away",
            details: ["Others see that you are away. Messages still reach you. /back ends it."]),
        Entry(
            name: "back", takes: .nothing, short: "/back", purpose: "tell that you are back", usage: "/back",
            details: ["Others see that you are here again."]),
        Entry(
            name: "block", takes: .something, short: "/block NAME", purpose: "hide from each other",
            usage: "/block NAME",
            needs: "a name",
            details: [
                "Nothing of that person is shown any more, and they see you as gone and get nothing of you. "
                    + "/unblock NAME ends it."
            ]),
        Entry(
            name: "unblock", takes: .something, short: "/unblock NAME", purpose: "end that",
            usage: "/unblock NAME", needs: "a name",
            details: ["You see and reach each other again. Example: /unblock Bob"]),
        Entry(
            name: "help", takes: .anything, short: "/help [NAME]", purpose: "this list, or one",
            usage: "/help [COMMAND]",
            details: ["Shows all commands, or explains one. Example: /help verify"]),
        Entry(
            name: "quit", takes: .nothing, short: "/quit", purpose: "leave (also Ctrl-C, -D)", usage: "/quit",
            details: ["Leaves all chats and ends the program. Ctrl-C does it too, and Ctrl-D where nothing is typed."]),
    ]
}
