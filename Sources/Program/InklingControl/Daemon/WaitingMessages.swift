import InklingModel

/// Messages that arrived while no front end showed their chat.
package struct WaitingMessages {
    package struct Message {
        let event: TimedEvent
        package let content: ReceivedMessage
        let rank: SenderRank

        /// Whether the node keeps the message on disk, where it has limits of its own.
        var isText: Bool { content.written != nil }
        /// Bytes, as the limits count them.
        var size: Int { content.text.utf8.count + DaemonLimits.messageOverhead }
    }

    private struct Chat {
        var messages: [Message] = []
        /// The number of messages evicted since the last `read`, and the time of the latest one.
        var lost = 0
        var lostAt: Timestamp = 0
    }

    private var chats: [String: Chat] = [:]
    /// The size of all messages that are only in memory, for the limits, in bytes.
    package private(set) var size = 0
    /// The size of all texts with an ID, for the limits, in bytes.
    private var textSize = 0
    /// The texts with an ID that were evicted by the last addition.
    private var evictedTexts: [ReceivedMessage] = []

    package init() {}

    /// Returns the number of messages that wait in a chat.
    package func count(in chat: String) -> Int { chats[chat]?.messages.count ?? 0 }

    /// Returns the messages that wait in a chat, in their order.
    package func messages(in chat: String) -> [Message] { chats[chat]?.messages ?? [] }

    /// Returns the number of evicted messages of a chat and the time of the latest one, or nil.
    package func lost(in chat: String) -> (count: Int, at: Timestamp)? {
        chats[chat].flatMap { $0.lost > 0 ? ($0.lost, $0.lostAt) : nil }
    }

    /// Adds a message, and evicts messages of the lowest rank if there is no room.
    ///
    /// - Returns: The evicted texts with an ID, which the node need not keep any more.
    @discardableResult
    package mutating func add(_ timed: TimedEvent, rank: SenderRank) -> [ReceivedMessage] {
        guard case .message(let content) = timed.event else { return [] }
        evictedTexts = []
        let (chat, user) = (content.chat, content.sender.user)
        let message = Message(event: timed, content: content, rank: rank)
        let messages = chats[chat]?.messages ?? []
        let place = (messages.lastIndex { $0.content.id < content.id } ?? -1) + 1
        chats[chat, default: Chat()].messages.insert(message, at: place)
        count(message, 1)
        let isText = message.isText
        let limits = isText ? Self.textLimits : Self.limits
        while exceedsInChat(user, chat, isText, limits) {
            evict(in: [chat]) { $0.isText == isText && $0.content.sender.user == user }
        }
        while sizeOfAll(by: user, isText) > limits.bytesPerPerson {
            evict(in: Array(chats.keys)) { $0.isText == isText && $0.content.sender.user == user }
        }
        while self.messages(in: chat).count(where: { $0.isText == isText }) > limits.messages {
            evict(in: [chat]) { $0.isText == isText }
        }
        while (isText ? textSize : size) > limits.bytes {
            let ranks = chats.values.flatMap { $0.messages.lazy.filter { $0.isText == isText }.map(\.rank) }
            let rank = ranks.min() ?? .stranger
            evict(in: largestChat(of: rank, isText)) { $0.isText == isText && $0.rank == rank }
        }
        return evictedTexts
    }

    private struct Limits {
        let messages: Int
        let messagesPerPerson: Int
        let bytes: Int
        let bytesPerPerson: Int
    }

    private static let limits = Limits(
        messages: DaemonLimits.waitingMessages, messagesPerPerson: DaemonLimits.waitingMessagesPerPerson,
        bytes: DaemonLimits.waitingBytes, bytesPerPerson: DaemonLimits.waitingBytesPerPerson)
    private static let textLimits = Limits(
        messages: DaemonLimits.waitingTexts, messagesPerPerson: DaemonLimits.waitingTextsPerPerson,
        bytes: DaemonLimits.waitingTextBytes, bytesPerPerson: DaemonLimits.waitingTextBytesPerPerson)

    private mutating func count(_ message: Message, _ sign: Int) {
        if message.isText { textSize += sign * message.size } else { size += sign * message.size }
    }

    /// Returns the chat in which messages of a rank take the most room.
    private func largestChat(of rank: SenderRank, _ isText: Bool) -> [String] {
        let sizes = chats.map { chat, state in
            (chat: chat, size: state.messages.reduce(0) { $1.rank == rank && $1.isText == isText ? $0 + $1.size : $0 })
        }
        return sizes.max { ($0.size, $1.chat) < ($1.size, $0.chat) }.map { [$0.chat] } ?? []
    }

    /// Evicts one of the messages for which `isMeant` is true, of the lowest rank. If strangers sent it, the newest one
    /// goes, else the oldest. So strangers displace only messages of strangers, and in one chat no earlier ones.
    private mutating func evict(in names: [String], _ isMeant: (Message) -> Bool) {
        let meant = names.flatMap { name in
            (chats[name]?.messages ?? []).enumerated().filter { isMeant($0.element) }.map {
                (chat: name, index: $0.offset, message: $0.element)
            }
        }
        guard let rank = meant.map(\.message.rank).min() else { return }
        let lowest = meant.filter { $0.message.rank == rank }
        // Message numbers count all messages that the node received, so they give the order.
        let victim =
            rank == .stranger
            ? lowest.max { $0.message.content.id < $1.message.content.id }
            : lowest.min { $0.message.content.id < $1.message.content.id }
        if let victim { remove(victim.index, in: victim.chat) }
    }

    /// Removes messages that the user read.
    ///
    /// - Returns: The texts with an ID among them, which the node need not keep any more.
    @discardableResult
    package mutating func read(_ numbers: Set<MessageID>, in chat: String) -> [ReceivedMessage] {
        guard var state = chats[chat] else { return [] }
        state.lost = 0
        let read = state.messages.filter { numbers.contains($0.content.id) }
        for message in read { count(message, -1) }
        state.messages.removeAll { numbers.contains($0.content.id) }
        chats[chat] = state.messages.isEmpty ? nil : state
        return read.filter(\.isText).map(\.content)
    }

    /// Removes all messages of a chat that the node left.
    package mutating func forget(chat: String) {
        for message in messages(in: chat) { count(message, -1) }
        chats[chat] = nil
    }

    private func exceedsInChat(_ user: UserID, _ chat: String, _ isText: Bool, _ limits: Limits) -> Bool {
        messages(in: chat).count { $0.isText == isText && $0.content.sender.user == user } > limits.messagesPerPerson
    }

    private func sizeOfAll(by user: UserID, _ isText: Bool) -> Int {
        chats.values.reduce(0) { sum, chat in
            chat.messages.reduce(sum) {
                $1.isText == isText && $1.content.sender.user == user ? $0 + $1.size : $0
            }
        }
    }

    private mutating func remove(_ index: Int, in chat: String) {
        guard let message = chats[chat]?.messages.remove(at: index) else { return }
        count(message, -1)
        if message.isText { evictedTexts.append(message.content) }
        chats[chat]?.lost += 1
        chats[chat]?.lostAt = message.event.at
    }
}
