import InklingModel
import InklingText

/// A step of the prompt with the history of a chat.
enum HistoryStep: Sendable {
    /// The messages from before the start.
    case earlier
    /// Whether the chat keeps a history, to show that.
    case state
    case on
    /// Whether there is something to lose: first whether the chat keeps a history, then whether that has a message.
    case check
    case off
    /// The kept messages with a text.
    case find(String)
}

/// The history of a chat.
extension ChatModel {
    /// The number of earlier messages that the start shows.
    static let earlierMessages = 20

    /// Asks for the last messages from before the start. Programs behind a pipe get only new ones.
    mutating func askForEarlier(in chat: Chat) {
        guard display.keeps, display.form != .pipe else { return }
        ask(.messages(chat: chat.name, count: Self.earlierMessages), for: .history(.earlier))
    }

    mutating func history(_ isOn: Bool?, isSure: Bool, in chat: Chat) {
        guard !chat.isOpen else {
            return answer(
                ChatLines.error("Only a private chat has a history, and this one is open. Make one: /invite NAME"))
        }
        guard display.keeps else {
            return answer(ChatLines.error("No history is kept, because this identity ends with the prompt"))
        }
        switch isOn {
        case nil: ask(.chats, for: .history(.state))
        case true?: ask(.history(true, chat: chat.name), for: .history(.on))
        case false? where isSure: ask(.history(false, chat: chat.name), for: .history(.off))
        case false?: ask(.chats, for: .history(.check))
        }
    }

    mutating func find(_ text: String, in index: Int) {
        let chat = states[index].chat
        guard display.keeps, !isDetached else { return showFound(text, nil, in: index) }
        ask(.messages(chat: chat.name, text: text), for: .history(.find(text)))
    }

    /// Receives an answer about the history.
    mutating func receive(_ answer: ServiceAnswer, to request: ServiceRequest, _ step: HistoryStep) {
        switch (step, request, answer) {
        case (.earlier, .messages(let chat, _, _, _), .messages(let messages)): showEarlier(messages, in: chat)
        // A daemon of an earlier version keeps no history.
        case (.earlier, _, _): break
        case (.find(let text), .messages(let chat, _, _, _), _):
            guard let index = index(of: chat) else { return }
            let messages: [RecentMessage]? = if case .messages(let messages) = answer { messages } else { nil }
            showFound(text, messages, in: index)
        case (_, _, .failed(let error)): self.answer(ChatLines.error(texts.error(error)))
        case (.state, _, .chats(let chats)):
            guard let open else { return }
            let isOn = chats.contains { $0.name == open.chat.name && $0.keepsHistory }
            self.answer(
                ChatLines.notice(
                    isOn
                        ? "The last 10,000 messages of this chat are kept on your computer. To end that and remove them: "
                            + "/history off"
                        : "No message of this chat is kept. To keep them on your computer from now on: /history on"))
        case (.on, _, .done):
            self.answer(
                ChatLines.notice(
                    "From now on, the messages of this chat are kept on your computer. /find searches them. To remove "
                        + "them: /history off"))
        case (.check, _, .chats(let chats)):
            guard let open else { return }
            guard chats.contains(where: { $0.name == open.chat.name && $0.keepsHistory }) else {
                return self.answer(ChatLines.notice("No message of this chat is kept. To begin: /history on"))
            }
            ask(.messages(chat: open.chat.name, count: 1), for: .history(.check))
        case (.check, .messages(let chat, _, _, _), .messages(let messages)):
            guard messages.allSatisfy({ $0.entry == nil }) else {
                return self.answer(
                    ChatLines.notice("This removes all kept messages of this chat, for good. To do so: /history off ok")
                )
            }
            ask(.history(false, chat: chat), for: .history(.off))
        case (.off, _, .done):
            self.answer(ChatLines.notice("No message of this chat is kept any more. To begin again: /history on"))
        default: break
        }
    }

    private mutating func showEarlier(_ messages: [RecentMessage], in chat: String) {
        guard let index = index(of: chat), index == openIndex else { return }
        var lines: [(line: Line, time: LocalTime)] = []
        // Messages that wait come below another line, soon.
        for message in messages where !message.isUnread {
            guard let line = states[index].line(ofKept: message, page: page) else { continue }
            lines.append((line, texts.localTime(message.at)))
        }
        if !lines.isEmpty { show(lines + [(ChatLines.earlier(), localTime)]) }
    }

    /// - Parameter messages: the kept messages; nil if the prompt could not ask for them.
    private mutating func showFound(_ text: String, _ messages: [RecentMessage]?, in index: Int) {
        let localTime = texts.localTime
        let kept = messages?.compactMap { states[index].said(in: $0, time: localTime($0.at)) }
        answer(states[index].find(text, kept: kept, showsTimes: display.showsTimes))
    }
}

extension ChatState {
    /// The number of kept messages with a text that a daemon lists at once (A-52).
    static let foundKept = 50

    /// Returns the line of a kept message; nil for one of a muted person.
    fileprivate mutating func line(ofKept message: RecentMessage, page: Page?) -> Line? {
        let text = NormalForm.canonical(message.text)
        let make: (String) -> Line
        switch message.content {
        case .received(let received, _):
            guard let label = label(ofKept: received.sender) else { return nil }
            make = { ChatLines.said($0, by: label) }
        case .own(let own, let delivered, let failed):
            var delivery = Delivery(text: text, recipients: own.recipients)
            for user in delivered { delivery.succeed(label(of: user)) }
            for failure in failed { delivery.fail(label(of: failure.user), why: failure.why) }
            let mark = own.recipients > 0 && delivery.isSettled ? delivery.mark : nil
            let name = ownName
            make = { ChatLines.saidMyself($0, name: name, mark: mark) }
        }
        let line = make(text)
        guard let page, page.isTooLong(line) else { return line }
        return make(ChatLines.excerpt(of: text, around: FoldedText("")))
    }

    /// Returns a kept message for an answer to /find; nil for one of a muted person.
    fileprivate mutating func said(in message: RecentMessage, time: LocalTime) -> Transcript.Message? {
        let text = NormalForm.canonical(message.text)
        guard case .received(let received, _) = message.content else {
            return Transcript.Message(text: text, time: time)
        }
        return label(ofKept: received.sender).map { Transcript.Message(user: $0.user, text: text, time: time) }
    }

    private mutating func label(ofKept person: Person) -> Labels.Label? {
        guard !muted.contains(person.user) else { return nil }
        if people[person.user] == nil { labels.update(Labels.Person(person)) }
        return label(of: person.user)
    }
}

/// The lines about unread messages and about searches.
extension ChatLines {
    /// The number of columns of a message that an answer to /find shows.
    private static let excerptColumns = 200

    /// The divider between the seen lines of a chat and the new ones.
    static func newMessages() -> Line { Line("--- new messages ---", .dim) }

    /// The divider below the messages from before the start.
    static func earlier() -> Line { Line("--- until here: earlier messages ---", .dim) }

    /// Returns the first line of an answer to /find.
    ///
    /// - Parameters:
    ///   - shown: the highest number of messages that the answer shows.
    ///   - isCut: whether earlier messages are forgotten.
    ///   - hasHistory: whether the daemon has looked for messages that it keeps.
    ///   - hasMore: whether the history may have more of them.
    static func found(_ count: Int, text: String, shown: Int, isCut: Bool, hasHistory: Bool, hasMore: Bool = false)
        -> Line
    {
        let wanted = "\"" + SafeText.line(text) + "\""
        let said = hasHistory ? "what is kept, or was said since the start" : "what was said since the start"
        let period = isCut ? "the latest messages" : said
        switch count {
        case 0: return notice("Nothing with \(wanted) in \(period)")
        case 1: return notice("1 message with \(wanted):")
        case ...shown: return notice("\(count) messages with \(wanted):")
        default: return notice("\(count)\(hasMore ? " or more" : "") messages with \(wanted), the last \(shown):")
        }
    }

    /// Returns the part of a message around the first occurrence of a text, in one line.
    static func excerpt(of message: String, around text: FoldedText) -> String {
        let rows = message.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let row = rows.first { text.occurs(in: $0) } ?? rows.first ?? ""
        let characters = Array(row)
        // The text before the match is its context.
        let place = text.ranges(in: characters, limit: 1).first?.lowerBound ?? 0
        let start = place > excerptColumns / 2 ? place - excerptColumns / 4 : 0
        let part = DisplayWidth.prefix(of: String(characters[start...]), columns: excerptColumns)
        let isEnd = start + part.count == characters.count
        return (start > 0 ? "..." : "") + part + (isEnd ? "" : "...")
    }
}

/// The decision which entered lines the program does not keep for later runs.
enum HistoryLine {
    /// The longest word of a line that may be kept. A secret has 26 characters, and an exported identity and a key have
    /// more.
    private static let longestWord = 25

    /// Returns whether a line contains an invite, or a word that may be a secret.
    static func isSecret(_ line: String) -> Bool {
        if line.lowercased().contains("inkling:") { return true }
        var length = 0
        for byte in line.utf8 {
            let isLetter = (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
            length = isLetter ? length + 1 : 0
            if length > longestWord { return true }
        }
        return false
    }
}
