import InklingModel

/// Messages that arrived while no front end showed their chat.
package struct UnreadMessages {
    package struct Message {
        let event: TimedEvent
        package let content: ReceivedMessage
        let rank: SenderRank
        /// The places of the front ends that took the message, as bits.
        fileprivate var takers: UInt128 = 0

        fileprivate init(_ event: TimedEvent, _ content: ReceivedMessage, _ rank: SenderRank) {
            (self.event, self.content, self.rank) = (event, content, rank)
        }

        /// Returns whether the front end at a place took the message.
        func isTaken(by place: Int) -> Bool { takers & 1 << place != 0 }

        /// Whether the node keeps the message on disk, where it has limits of its own.
        var isText: Bool { content.written != nil }
        /// Bytes, as the limits count them.
        var size: Int { content.text.utf8.count + DaemonLimits.messageOverhead }
    }

    private struct Chat {
        var messages: [MessageID: Message] = [:]
        /// The number of messages evicted since the last `read`, and the time of the latest one.
        var lost = 0
        var lostAt: Timestamp = 0
    }

    private var chats: [String: Chat] = [:]
    /// The messages that are only in memory.
    private var memory = UnreadPool(
        UnreadPool.Limits(
            messages: DaemonLimits.unreadMessages, messagesPerPerson: DaemonLimits.unreadMessagesPerPerson,
            bytes: DaemonLimits.unreadBytes, bytesPerPerson: DaemonLimits.unreadBytesPerPerson))
    /// The texts with an ID.
    private var disk = UnreadPool(
        UnreadPool.Limits(
            messages: DaemonLimits.unreadTexts, messagesPerPerson: DaemonLimits.unreadTextsPerPerson,
            bytes: DaemonLimits.unreadTextBytes, bytesPerPerson: DaemonLimits.unreadTextBytesPerPerson))

    package init() {}

    /// The size of all messages that are only in memory, for the limits, in bytes.
    package var size: Int { memory.size }

    /// Returns the number of unread messages of a chat.
    package func count(in chat: String) -> Int { chats[chat]?.messages.count ?? 0 }

    /// Returns the unread messages of a chat, in their order.
    package func messages(in chat: String) -> [Message] {
        (chats[chat]?.messages.values).map { $0.sorted { $0.content.id < $1.content.id } } ?? []
    }

    /// Returns an unread message of a chat; nil if it was read.
    package func message(_ number: MessageID, in chat: String) -> Message? { chats[chat]?.messages[number] }

    /// Returns the number of evicted messages of a chat and the time of the latest one, or nil.
    package func lost(in chat: String) -> (count: Int, at: Timestamp)? {
        chats[chat].flatMap { $0.lost > 0 ? ($0.lost, $0.lostAt) : nil }
    }

    /// Adds a message, and evicts messages of the lowest rank if there is no room.
    ///
    /// - Returns: The evicted texts with an ID, which the node need not keep any more.
    @discardableResult
    package mutating func add(_ timed: TimedEvent, rank: SenderRank) -> [ReceivedMessage] {
        guard case .message(let content) = timed.event, message(content.id, in: content.chat) == nil else { return [] }
        let message = Message(timed, content, rank)
        chats[content.chat, default: Chat()].messages[content.id] = message
        return message.isText ? Self.add(message, to: &disk, &chats) : Self.add(message, to: &memory, &chats)
    }

    private static func add(
        _ message: Message, to pool: inout UnreadPool, _ chats: inout [String: Chat]
    ) -> [ReceivedMessage] {
        pool.add(message)
        var evicted: [ReceivedMessage] = []
        while let (number, chat) = pool.evict(for: message) {
            guard let gone = chats[chat]?.messages.removeValue(forKey: number) else { continue }
            chats[chat]?.lost += 1
            chats[chat]?.lostAt = gone.event.at
            if gone.isText { evicted.append(gone.content) }
        }
        return evicted
    }

    /// Records that the front end at a place, 0 to 64, took a message.
    ///
    /// - Returns: Whether the message is unread.
    @discardableResult
    package mutating func take(_ number: MessageID, in chat: String, by place: Int) -> Bool {
        chats[chat]?.messages[number]?.takers |= 1 << place
        return chats[chat]?.messages[number] != nil
    }

    /// Forgets what the front end at a place took, in one chat or in all.
    package mutating func forgetTaken(by place: Int, in chat: String? = nil) {
        for name in chat.map({ [$0] }) ?? Array(chats.keys) {
            for number in chats[name]?.messages.keys.sorted() ?? [] {
                chats[name]?.messages[number]?.takers &= ~(1 << place)
            }
        }
    }

    /// Removes the messages that the user read at the front end of a place: those that it took.
    ///
    /// - Returns: The texts with an ID among them, which the node need not keep any more.
    @discardableResult
    package mutating func read(by place: Int, in chat: String) -> [ReceivedMessage] {
        guard var state = chats.removeValue(forKey: chat) else { return [] }
        state.lost = 0
        let numbers = state.messages.values.filter { $0.isTaken(by: place) }.map(\.content.id)
        let read = numbers.sorted().compactMap { state.messages.removeValue(forKey: $0) }
        if !state.messages.isEmpty { chats[chat] = state }
        for message in read { remove(message) }
        return read.filter(\.isText).map(\.content)
    }

    /// Removes all messages of a chat that the node left.
    package mutating func forget(chat: String) {
        for message in messages(in: chat) { remove(message) }
        chats[chat] = nil
    }

    private mutating func remove(_ message: Message) {
        if message.isText { disk.remove(message) } else { memory.remove(message) }
    }
}
