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
    /// Starts the icon of the desktop at each login, or no longer.
    case autostart(Bool)
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
        switch argument.lowercased().split(whereSeparator: \.isWhitespace) {
        case []: .notify(nil)
        case ["on"]: .notify(true)
        case ["off"]: .notify(false)
        case ["icon", "on"]: .autostart(true)
        case ["icon", "off"]: .autostart(false)
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

/// The commands, their short forms and their help.
extension PromptCommand {
    enum Takes {
        case nothing
        case something
        case anything
    }

    struct Entry {
        let name: String
        let takes: Takes
        /// The short form in the list, in at most 13 columns.
        let short: String
        /// The purpose in the list, in at most 24 columns.
        let purpose: String
        let usage: String
        /// The name of a necessary argument; empty if the command needs none.
        var needs = ""
        /// The error text for an unwanted argument, if not the usual one.
        var refusal: String?
        let details: [String]
    }

    static let aliases = ["exit": "quit", "q": "quit", "?": "help"]

    static let table = [
        Entry(
            name: "who", takes: .nothing, short: "/who", purpose: "see who is or was here", usage: "/who",
            details: ["Show everybody in this chat, and when those who are gone were last here."]),
        Entry(
            name: "whois", takes: .something, short: "/whois NAME", purpose: "show more about somebody",
            usage: "/whois NAME",
            needs: "a name",
            details: ["Show the identity of somebody, and when you first met them. Example: /whois Bob"]),
        Entry(
            name: "verify", takes: .something, short: "/verify NAME", purpose: "compare fingerprints",
            usage: "/verify NAME [ok]", needs: "a name",
            details: [
                "Show digits that must be the same on your screen and theirs. Compare face to face or by telephone.",
                "Example: /verify Bob, and if they are the same: /verify Bob ok",
            ]),
        Entry(
            name: "join", takes: .something, short: "/join CHAT", purpose: "join another chat",
            usage: "/join NAME or INVITE [NAME]", needs: "the name of a chat, or an invite",
            details: [
                "Join a chat and open it. By name it is open to anybody; by invite it is private.",
                "After an invite, give your own name for its chat if you want another one.",
            ]
        ),
        Entry(
            name: "leave", takes: .anything, short: "/leave [NAME]", purpose: "leave a chat", usage: "/leave [NAME]",
            details: ["Leave the chat of that name, or the one that is open here."]),
        Entry(
            name: "open", takes: .something, short: "/open CHAT", purpose: "go to a chat (Alt-1...9)",
            usage: "/open NAME or NUMBER", needs: "the name or the number of a chat",
            details: ["Go to another of your chats. /chats shows their numbers. Example: /open 2, or Alt-2"]),
        Entry(
            name: "chats", takes: .nothing, short: "/chats", purpose: "list your chats", usage: "/chats",
            details: ["List your chats with their numbers and how many messages are unread."]),
        Entry(
            name: "invite", takes: .anything, short: "/invite NAME", purpose: "invite others",
            usage: "/invite [NAME [CHAT]]",
            details: [
                "Show the line with which others join this chat. It contains the secret: pass it on with care.",
                "With a name: make a private chat of that name, and show its invite.",
                "With somebody's name and one of your private chats: send them its invite. Example: /invite Bob team",
            ]
        ),
        Entry(
            name: "accept", takes: .anything, short: "/accept [N]", purpose: "accept an invitation",
            usage: "/accept [NUMBER [NAME]]",
            refusal: "/accept needs the number of an invitation first: /accept NUMBER NAME",
            details: [
                "Join the chat to which somebody has invited you, perhaps under a name of your own. "
                    + "Example: /accept 1 work"
            ]),
        Entry(
            name: "decline", takes: .anything, short: "/decline [N]", purpose: "decline an invitation",
            usage: "/decline [NUMBER]", refusal: "/decline takes the number of an invitation: /decline NUMBER",
            details: ["Join nothing. Who has invited you does not notice."]),
        Entry(
            name: "talk", takes: .something, short: "/talk NAME", purpose: "talk to one alone",
            usage: "/talk NAME", needs: "a name",
            details: [
                "Open a chat for you and that person alone, and let them know. Nobody else can join it. "
                    + "Example: /talk Bob"
            ]),
        Entry(
            name: "remove", takes: .something, short: "/remove NAME", purpose: "remove a member",
            usage: "/remove NAME [ok]", needs: "a name",
            details: [
                "Remove somebody from a private chat of your own: the others move to a new secret. The command shows who "
                    + "moves, and asks first. Example: /remove Bob"
            ]),
        Entry(
            name: "owner", takes: .something, short: "/owner NAME", purpose: "hand a chat over",
            usage: "/owner NAME [ok]", needs: "a name",
            details: [
                "Make somebody else the owner of a private chat of your own. The command shows who moves, and asks first. "
                    + "Example: /owner Carol"
            ]),
        Entry(
            name: "own", takes: .anything, short: "/own", purpose: "make a chat your own", usage: "/own [NAME] [ok]",
            details: [
                "Make a private chat that you own, in place of one without an owner, and invite who is here. The command "
                    + "shows whom, and asks first. Example: /own, then: /own ok"
            ]),
        Entry(
            name: "admit", takes: .something, short: "/admit NAME", purpose: "let somebody follow",
            usage: "/admit NAME", needs: "a name",
            details: ["Let somebody follow who looks for a chat that has moved without them. Example: /admit Bob"]),
        Entry(
            name: "away", takes: .nothing, short: "/away", purpose: "say that you are away", usage: "/away",
            refusal: "/away takes no reason, because others would not see it. Tell them first, then: /away",
            details: ["Show others that you are away. Messages still reach you. To return: /back"]),
        Entry(
            name: "back", takes: .nothing, short: "/back", purpose: "say that you are back", usage: "/back",
            details: ["Show others that you are here again."]),
        Entry(
            name: "show", takes: .anything, short: "/show [NAME]", purpose: "show what was folded",
            usage: "/show [NAME]",
            details: [
                "Show the messages that came too fast to be read, and whole those that are too long: those of one "
                    + "person, or all in this chat. The latest ones are kept until you have seen them."
            ]),
        Entry(
            name: "mute", takes: .anything, short: "/mute [NAME]", purpose: "silence somebody",
            usage: "/mute [NAME]",
            details: [
                "Show nothing from that person in any chat until you quit: no messages, no typing, no coming and "
                    + "going. They don't notice, and still get your messages. To undo it: /unmute NAME",
                "Without a name: list who is muted.",
            ]),
        Entry(
            name: "unmute", takes: .something, short: "/unmute NAME", purpose: "undo /mute",
            usage: "/unmute NAME", needs: "a name",
            details: ["Show again what comes from that person. Example: /unmute Bob"]),
        Entry(
            name: "block", takes: .something, short: "/block NAME", purpose: "hide from each other",
            usage: "/block NAME [ok]",
            needs: "a name",
            details: [
                "Hide everything from that person. They see you as gone and get nothing from you. "
                    + "To undo it: /unblock NAME",
                "Somebody whom you have verified is blocked only by: /block NAME ok",
            ]),
        Entry(
            name: "unblock", takes: .something, short: "/unblock NAME", purpose: "undo /block",
            usage: "/unblock NAME", needs: "a name",
            details: ["Let each other be seen and heard again. Example: /unblock Bob"]),
        Entry(
            name: "me", takes: .something, short: "/me ACTION", purpose: "say what you do", usage: "/me ACTION",
            needs: "what you do",
            details: ["Say what you do instead of what you say. Others see your name and: *waves*. Example: /me waves"]
        ),
        Entry(
            name: "nick", takes: .something, short: "/nick NAME", purpose: "change your name",
            usage: "/nick [--once] NAME", needs: "a name",
            details: [
                "Be called something else from now on, in all your chats, and in later ones unless you add --once. "
                    + "Example: /nick Alice"
            ]),
        Entry(
            name: "notify", takes: .anything, short: "/notify on", purpose: "ring at your name",
            usage: "/notify [icon] on or off", refusal: "/notify takes on, off, icon on or icon off",
            details: [
                "Have the terminal ring when somebody says your name, from now on and in later runs. "
                    + "The settings keep it, as mentions.bell. Without on or off: say whether it does.",
                "/notify icon on starts the icon of \"inkling tray\", which shows notifications, at each login of yours.",
            ]),
        Entry(
            name: "resend", takes: .nothing, short: "/resend", purpose: "send again what failed", usage: "/resend",
            details: [
                "Send the messages of this chat again that failed or reached nobody. "
                    + "Those who have one of them already get it twice."
            ]),
        Entry(
            name: "find", takes: .something, short: "/find TEXT", purpose: "search what was said",
            usage: "/find TEXT", needs: "a text",
            details: [
                "Show the latest messages in this chat that contain a text, since you started the program, and those "
                    + "that /history keeps. Case does not matter. Example: /find tomorrow"
            ]),
        Entry(
            name: "history", takes: .anything, short: "/history on", purpose: "keep what is said",
            usage: "/history on or off", refusal: "/history takes on or off",
            details: [
                "Keep the last 10,000 messages of this private chat on your computer, from now on. The "
                    + "next start shows the last ones, and /find searches them. off removes them for good. Without on "
                    + "or off: say whether it keeps them."
            ]),
        Entry(
            name: "waiting", takes: .anything, short: "/waiting", purpose: "see what waits for whom",
            usage: "/waiting [on or off]", refusal: "/waiting takes on or off",
            details: [
                "List the messages that wait on your computer for people who are offline. They go out while Inkling runs, when "
                    + "these people are back. After 7 days they are given up.",
                "on or off: whether messages to this chat wait. They do in a private chat. off gives up those that wait.",
            ]),
        Entry(
            name: "forget", takes: .something, short: "/forget N", purpose: "give up what waits",
            usage: "/forget NUMBER or all", needs: "the number of a message, or all",
            refusal: "/forget takes the number of a message, or all",
            details: ["Give up a message that waits. /waiting shows the numbers. Example: /forget 1"]),
        Entry(
            name: "clear", takes: .nothing, short: "/clear", purpose: "clear the screen", usage: "/clear",
            details: ["Clear the screen. Ctrl-L does the same."]),
        Entry(
            name: "help", takes: .anything, short: "/help [NAME]", purpose: "explain the commands",
            usage: "/help [NAME]",
            details: ["List all commands, or explain one. Example: /help verify"]),
        Entry(
            name: "quit", takes: .nothing, short: "/quit", purpose: "leave (also Ctrl-D)", usage: "/quit",
            details: [
                "End the program. Your private chats stay yours. Ctrl-D on an empty line does the same, as does "
                    + "Ctrl-C twice."
            ]),
    ]
}
