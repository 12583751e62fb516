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
            usage: "/notify on or off", refusal: "/notify takes on or off",
            details: [
                "Have the terminal ring when somebody says your name, from now on and in later runs. "
                    + "The settings keep it, as mentions.bell. Without on or off: say whether it does."
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
                "Have the daemon keep the last 10,000 messages of this private chat on your computer, from now on. The "
                    + "next start shows the last ones, and /find searches them. off removes them for good. Without on "
                    + "or off: say whether it keeps them."
            ]),
        Entry(
            name: "waiting", takes: .anything, short: "/waiting", purpose: "see what waits for whom",
            usage: "/waiting [on or off]", refusal: "/waiting takes on or off",
            details: [
                "List the messages that the daemon keeps for people who are offline. It sends them when they are back, and "
                    + "gives them up after 7 days.",
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
