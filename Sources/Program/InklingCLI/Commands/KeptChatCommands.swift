import ArgumentParser
import Inkling
import InklingConsole
import InklingControl
import InklingModel
import InklingText

struct JoinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Have the daemon be in a chat, and stay in it.",
        discussion: """
            It stays until you leave the chat, also when it is started again. Messages that come while you have the \
            chat open nowhere wait for you in the daemon.

            inkling join kitchen
            inkling join --invite-file kitchen.invite
            """)

    @Argument(help: "The name of the chat, or its invite; left out where an option gives the invite.")
    var chat: String?

    @OptionGroup var secrets: SecretOptions

    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        guard chat != nil || secrets.namesInvite else {
            throw ValidationError("There is no chat. Give its name or invite: inkling join CHAT")
        }
        try secrets.validate(chat: chat)
    }

    func run() throws {
        try CommandFailure.reporting {
            let wanted = try secrets.chatToJoin(chat, default: nil)
            let request = ServiceRequest.keep(wanted, isConfirmed: secrets.confirms(wanted, given: self.chat))
            guard case (.joined(let chat, let peers), _, _) = try daemon.ask(request) else { throw ExitCode(1) }
            if chat.isOpen { Output.error.warn(ofOpen: chat) }
            let present = peers.count { $0.presence != .offline }
            let others = try present == 0 ? othersText(in: chat) : "\(present) there now"
            try Output.standard.answer("The daemon is in \(SafeText.line(chat.name)) from now on; \(others)")
        }
    }

    /// Returns a text if no other person is in the chat, or if the daemon has not looked for long enough to know.
    private func othersText(in chat: Chat) throws -> String {
        guard case (.chats(let chats), _, _) = try daemon.ask(.chats) else { throw ExitCode(1) }
        let isLooking = chats.contains { $0.name == chat.name && $0.isLooking }
        let command = "inkling peers" + ShellQuoting.argument(chat.name)
        return isLooking ? "still looking for others. To see who is there: \(command)" : "nobody else is there now"
    }
}

struct LeaveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave", abstract: "Have the daemon leave a chat for good.",
        discussion: """
            A prompt that has the chat open stays in it until it ends.

            inkling leave kitchen
            """)

    @Argument(help: "The name of the chat, or its invite.")
    var chat: String

    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        try CommandFailure.reporting {
            let name = Chat.isInvite(chat) ? try Chat(invite: chat).name : NormalForm.canonical(chat)
            _ = try daemon.ask(.leave(chat: name))
            try Output.standard.answer("The daemon no longer stays in \(SafeText.line(name))")
        }
    }
}

struct ChatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chats", abstract: "List the chats that the daemon is in.",
        discussion: """
            inkling chats
            inkling chats --json | jq -r '.chats[] | select(.waiting > 0) | .chat'
            """)

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        try CommandFailure.reporting {
            guard case (.chats(let chats), _, _) = try daemon.ask(.chats) else { throw ExitCode(1) }
            if json { return try Output.standard.answer(json: [("chats", .array(chats.map(\.value)))]) }
            if chats.isEmpty {
                Output.error.write(line: "inkling: the daemon is in no chat; to join one: inkling join CHAT")
            }
            for chat in chats { try Output.standard.answer(chat.line) }
        }
    }
}

extension ChatStatus {
    /// The line of a chat, such as "kitchen (open): 2 there, 3 unread, kept".
    package var line: String {
        var parts = isLooking ? (present > 0 ? ["\(present) there"] : []) + ["still looking"] : ["\(present) there"]
        if waiting > 0 { parts.append("\(waiting) unread") }
        if isKept { parts.append("kept") }
        return "\(SafeText.line(name))\(hasSecret ? "" : " (open)"): \(parts.joined(separator: ", "))"
    }

    var value: JSONValue {
        .object([
            ("chat", .string(name)), ("secret", .boolean(hasSecret)), ("kept", .boolean(isKept)),
            ("present", .integer(present)), ("waiting", .integer(waiting)), ("looking", .boolean(isLooking)),
        ])
    }
}
