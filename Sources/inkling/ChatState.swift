import Foundation
import Inkling
import InklingConsole

/// What a session that shows text knows of its chat: turns events into lines, and tells who is typing.
struct ChatState {
    let chat: Chat
    private let ownName: String
    private let style: IndicatorStyle
    private var names: [UserID: String] = [:]
    private var online: Set<UserID> = []
    /// Who was there when the program was stopped, and has not shown since.
    private var awaited: Set<UserID> = []
    private var sent: [UInt64: Sent] = [:]
    /// Who is typing in the chat, as the indicator says it; empty when nobody is.
    private(set) var indicator = ""
    /// Whether anybody has been online since the start.
    private(set) var metAnybody = false
    /// How many deliveries and failures were told.
    private(set) var answers = 0
    /// How many messages were not delivered to anybody at all.
    private(set) var lostMessages = 0

    /// A message that not all of its recipients have answered for.
    private struct Sent {
        let text: String
        var unanswered: Int
        var delivered = 0
    }

    init(_ settings: ChatSettings, ownName: String) {
        chat = settings.chat
        style = settings.indicator
        self.ownName = ownName
    }

    var hasUnanswered: Bool { !sent.isEmpty }
    var anybodyOnline: Bool { !online.isEmpty }
    var prompt: String { ChatLines.prompt(chat: chat.name, isOpen: chat.isOpen) }

    /// The lines that a session begins with.
    var greeting: [Line] {
        (chat.isOpen ? [ChatLines.openWarning(chat: chat.name)] : []) + [ChatLines.waiting()]
    }

    /// Takes an event and returns what it gives to show.
    mutating func take(_ event: Event) -> [Line] {
        switch event {
        case .peer(chat.name, let person, let presence, let why):
            return takePresence(person, presence, why: why)
        case .typing(chat.name, let people):
            indicator = IndicatorText.text(names: people.map { Names.shown($0.name) ?? "" }, style: style)
            return []
        case .message(chat.name, let from, _, let text):
            return [ChatLines.message(from: Self.composed(from.name), text: Self.composed(text))]
        case .delivered(chat.name, let message, _):
            sent[message]?.delivered += 1
            answer(message)
            return []
        case .failed(chat.name, let message, let user, let why):
            guard let text = sent[message]?.text else { return [] }
            answer(message)
            return [ChatLines.notDelivered(to: names[user] ?? "", text: text, why: why)]
        case .notice(_, let text):
            return [ChatLines.notice(text)]
        case .peer, .typing, .message, .delivered, .failed:
            // Of a chat that is not shown.
            return []
        }
    }

    /// Takes a message that was sent and returns what shows for it; the own line only where it is asked for.
    mutating func takeSent(_ text: String, number: UInt64, recipients: Int, shown: Bool) -> [Line] {
        var lines = shown ? [ChatLines.message(from: Self.composed(ownName), text: Self.composed(text))] : []
        if recipients > 0 {
            sent[number] = Sent(text: String(text.prefix(100)), unanswered: recipients)
        } else {
            lostMessages += 1
            lines.append(ChatLines.reachedNobody(text: text))
        }
        return lines
    }

    /// The program is about to be stopped: that the others vanish then, and come back, is nothing to show.
    mutating func willSuspend() { awaited = online }

    /// Those who should be back by now. Returns what there is to say of the others.
    mutating func returned() -> [Line] {
        let gone = awaited.subtracting(online).sorted()
        awaited = []
        return gone.map { ChatLines.presence(name: names[$0] ?? "", .left) }
    }

    /// The answer to /who.
    func who(_ peers: [Peer], now: Double = Date().timeIntervalSince1970) -> [Line] {
        guard !peers.isEmpty else { return [ChatLines.notice("Nobody else has been here yet")] }
        return peers.map { peer in
            let detail =
                switch peer.presence {
                case .online: PresenceText.online
                case .away: PresenceText.away
                case .offline: PresenceText.lastSeen(age: peer.lastSeen.map { .seconds(max(now - $0, 0)) })
                }
            return ChatLines.person(name: Self.composed(peer.name), user: peer.user.description, detail: detail)
        }
    }

    private mutating func takePresence(_ person: Person, _ presence: Presence, why: String) -> [Line] {
        let name = Self.composed(person.name)
        names[person.user] = name
        let wasOnline = online.contains(person.user)
        switch (presence, why) {
        case (.online, _):
            online.insert(person.user)
            metAnybody = true
            if awaited.remove(person.user) != nil { return [] }
            return [ChatLines.presence(name: name, wasOnline || why == "back" ? .back : .online)]
        case (.away, _):
            online.insert(person.user)
            metAnybody = true
            return [ChatLines.presence(name: name, .away)]
        case (.offline, let why):
            online.remove(person.user)
            // Whom one has blocked leaves without a word, and somebody unseen can't leave.
            guard wasOnline, why != "blocked", !awaited.contains(person.user) else { return [] }
            return [ChatLines.presence(name: name, why == "silence" ? .silent : .left)]
        }
    }

    private mutating func answer(_ message: UInt64) {
        answers += 1
        guard var entry = sent[message] else { return }
        entry.unanswered -= 1
        sent[message] = entry.unanswered > 0 ? entry : nil
        if entry.unanswered <= 0 && entry.delivered == 0 { lostMessages += 1 }
    }

    private static func composed(_ text: String) -> String { text.precomposedStringWithCanonicalMapping }
}
