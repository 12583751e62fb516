import InklingModel

/// Messages that arrived while no front end showed their chat.
package struct WaitingMessages {
    package struct Message {
        let event: TimedEvent
        package let content: ReceivedMessage
        let rank: SenderRank

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
    /// The size of all messages for the limits, in bytes.
    package private(set) var size = 0

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
    package mutating func add(_ timed: TimedEvent, rank: SenderRank) {
        guard case .message(let content) = timed.event else { return }
        let (chat, user) = (content.chat, content.sender.user)
        let message = Message(event: timed, content: content, rank: rank)
        let messages = chats[chat]?.messages ?? []
        let place = (messages.lastIndex { $0.content.id < content.id } ?? -1) + 1
        chats[chat, default: Chat()].messages.insert(message, at: place)
        size += message.size
        while exceedsInChat(user, chat) { evict(in: [chat]) { $0.content.sender.user == user } }
        while sizeOfAll(by: user) > DaemonLimits.waitingBytesPerPerson {
            evict(in: Array(chats.keys)) { $0.content.sender.user == user }
        }
        while count(in: chat) > DaemonLimits.waitingMessages { evict(in: [chat]) { _ in true } }
        while size > DaemonLimits.waitingBytes {
            let rank = chats.values.flatMap { $0.messages.lazy.map(\.rank) }.min() ?? .stranger
            evict(in: largestChat(of: rank)) { $0.rank == rank }
        }
    }

    /// Returns the chat in which messages of a rank take the most room.
    private func largestChat(of rank: SenderRank) -> [String] {
        let sizes = chats.map { chat, state in
            (chat: chat, size: state.messages.reduce(0) { $1.rank == rank ? $0 + $1.size : $0 })
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
    package mutating func read(_ numbers: Set<MessageID>, in chat: String) {
        guard var state = chats[chat] else { return }
        state.lost = 0
        state.messages.removeAll { message in
            guard numbers.contains(message.content.id) else { return false }
            size -= message.size
            return true
        }
        chats[chat] = state.messages.isEmpty ? nil : state
    }

    /// Removes all messages of a chat that the node left.
    package mutating func forget(chat: String) {
        size -= messages(in: chat).reduce(0) { $0 + $1.size }
        chats[chat] = nil
    }

    private func exceedsInChat(_ user: UserID, _ chat: String) -> Bool {
        messages(in: chat).count { $0.content.sender.user == user } > DaemonLimits.waitingMessagesPerPerson
    }

    private func sizeOfAll(by user: UserID) -> Int {
        chats.values.reduce(0) { $0 + $1.messages.reduce(0) { $1.content.sender.user == user ? $0 + $1.size : $0 } }
    }

    private mutating func remove(_ index: Int, in chat: String) {
        guard let message = chats[chat]?.messages.remove(at: index) else { return }
        size -= message.size
        chats[chat]?.lost += 1
        chats[chat]?.lostAt = message.event.at
    }
}
