import InklingModel

/// Messages that came while nobody looked at their chat.
package struct WaitingMessages {
    package struct Message {
        let event: TimedEvent
        let user: UserID
        package let number: UInt64
        let text: String

        /// Bytes, as the limits count them.
        var size: Int { text.utf8.count + DaemonLimits.messageOverhead }
    }

    private struct Chat {
        var messages: [Message] = []
        /// How many went for lack of room since somebody last read, and when the last of them came.
        var lost = 0
        var lostAt = 0.0
    }

    private var chats: [String: Chat] = [:]
    /// The bytes of all of them, as the limits count them.
    package private(set) var size = 0

    package init() {}

    /// How many wait in a chat.
    package func count(in chat: String) -> Int { chats[chat]?.messages.count ?? 0 }

    /// Those that wait in a chat, in their order.
    package func messages(in chat: String) -> [Message] { chats[chat]?.messages ?? [] }

    /// How many of a chat went, and when the last of these came; nil if none did.
    package func lost(in chat: String) -> (count: Int, at: Double)? {
        chats[chat].flatMap { $0.lost > 0 ? ($0.lost, $0.lostAt) : nil }
    }

    /// A message came. Where there is no room for it, the oldest go.
    package mutating func add(_ timed: TimedEvent) {
        guard case .message(let chat, let person, let number, let text) = timed.event else { return }
        let message = Message(event: timed, user: person.user, number: number, text: text)
        let messages = chats[chat]?.messages ?? []
        let place = (messages.lastIndex { $0.number < number } ?? -1) + 1
        chats[chat, default: Chat()].messages.insert(message, at: place)
        size += message.size
        while exceedsInChat(message.user, chat) { remove(oldest { $0.user == message.user }, in: chat) }
        while sizeOfAll(by: message.user) > DaemonLimits.waitingBytesPerPerson {
            removeOldest { $0.user == message.user }
        }
        while count(in: chat) > DaemonLimits.waitingMessages { remove(oldest { _ in true }, in: chat) }
        while size > DaemonLimits.waitingBytes { removeOldest { _ in true } }

        func oldest(_ isMeant: (Message) -> Bool) -> Int? { chats[chat]?.messages.firstIndex(where: isMeant) }
    }

    /// These were read.
    package mutating func read(_ numbers: Set<UInt64>, in chat: String) {
        guard var state = chats[chat] else { return }
        state.lost = 0
        state.messages.removeAll { message in
            guard numbers.contains(message.number) else { return false }
            size -= message.size
            return true
        }
        chats[chat] = state.messages.isEmpty ? nil : state
    }

    /// The node is not in the chat any more.
    package mutating func forget(chat: String) {
        size -= messages(in: chat).reduce(0) { $0 + $1.size }
        chats[chat] = nil
    }

    private func exceedsInChat(_ user: UserID, _ chat: String) -> Bool {
        messages(in: chat).count { $0.user == user } > DaemonLimits.waitingMessagesPerPerson
    }

    private func sizeOfAll(by user: UserID) -> Int {
        chats.values.reduce(0) { $0 + $1.messages.reduce(0) { $1.user == user ? $0 + $1.size : $0 } }
    }

    /// The oldest of all chats: numbers count all messages that the node received.
    private mutating func removeOldest(_ isMeant: (Message) -> Bool) {
        let firsts = chats.compactMap { chat, state in
            state.messages.firstIndex(where: isMeant).map { (chat: chat, index: $0, number: state.messages[$0].number) }
        }
        guard let oldest = firsts.min(by: { $0.number < $1.number }) else { return }
        remove(oldest.index, in: oldest.chat)
    }

    private mutating func remove(_ index: Int?, in chat: String) {
        guard let index, let message = chats[chat]?.messages.remove(at: index) else { return }
        size -= message.size
        chats[chat]?.lost += 1
        chats[chat]?.lostAt = message.event.at
    }
}
