import InklingModel
import NIOCore

/// The last messages of each chat, received and own ones, for front ends that start later.
package struct RecentMessages {
    private struct Chat {
        var messages = CircularBuffer<RecentMessage>()
        /// The number of messages that were evicted.
        private(set) var evicted: UInt64 = 0
        /// The size of all messages for the limit, in bytes.
        private var size = 0

        /// Adds a message, and evicts the oldest ones if there is no room.
        ///
        /// - Returns: The evicted messages.
        mutating func add(_ message: RecentMessage) -> [RecentMessage] {
            messages.append(message)
            size += RecentMessages.size(of: message)
            var gone: [RecentMessage] = []
            while messages.count > DaemonLimits.recentMessages || size > DaemonLimits.recentBytes {
                let oldest = messages.removeFirst()
                size -= RecentMessages.size(of: oldest)
                evicted += 1
                gone.append(oldest)
            }
            return gone
        }

        mutating func number(_ message: RecentMessage, _ entry: UInt64) {
            guard let place = messages.lastIndex(where: { $0.isSame(as: message) }) else { return }
            messages[place].entry = entry
        }

        /// Changes an own message.
        ///
        /// - Returns: False for an evicted one.
        mutating func update(_ number: MessageID, _ change: (inout RecentMessage) -> Void) -> Bool {
            // Most outcomes are about one of the latest messages.
            for index in messages.indices.reversed() {
                guard case .own(let own, _, _) = messages[index].content, own.message == number else { continue }
                change(&messages[index])
                return true
            }
            return false
        }
    }

    /// An own message. Numbers grow within a run.
    private struct Own: Hashable {
        let chat: String
        let number: MessageID
    }

    private var chats: [String: Chat] = [:]
    /// Own messages of histories that were evicted while outcomes are due.
    private var open: [Own: RecentMessage] = [:]
    /// The bytes of these messages.
    private var openSize = 0
    /// The most such messages and their bytes, as many as texts that wait.
    private static let openLimit = (messages: 1_000, bytes: 8 << 20)

    package init() {}

    /// Returns messages of a chat without a history, in their order. Their numbers begin with 1.
    package func messages(_ query: HistoryQuery, in chat: String) -> [RecentMessage] {
        guard let chat = chats[chat] else { return [] }
        var found: [RecentMessage] = []
        for (place, message) in chat.messages.enumerated() where query.text?.occurs(in: message.text) ?? true {
            var message = message
            message.entry = chat.evicted + UInt64(place) + 1
            if message.entry.map({ $0 < query.before }) == true { found.append(message) }
        }
        return found.suffix(query.count)
    }

    /// Returns a page of a chat's history with the outcomes so far, and with the messages that the history lacks.
    /// Those stand at their places in the page, behind the last page, or before the first one.
    package func completed(_ page: HistoryPage, of query: HistoryQuery, in chat: String) -> [RecentMessage] {
        let recent = chats[chat].map { Array($0.messages) } ?? []
        let own = open.lazy.filter { $0.key.chat == chat }.map(\.value)
        let known = Dictionary((recent + own).compactMap { message in message.entry.map { ($0, message) } }) { $1 }
        var messages = page.messages.map { message in
            guard let entry = message.entry, let recent = known[entry], recent.isSame(as: message) else {
                return message
            }
            return recent
        }
        let isLast = query.before == .max
        guard isLast || !messages.isEmpty else { return messages }
        let first = page.isBeginning ? nil : messages.first?.at, last = isLast ? nil : messages.last?.at
        let lacking = recent.filter { message in
            message.entry == nil && first.map { message.at >= $0 } ?? true && last.map { message.at <= $0 } ?? true
                && query.text?.occurs(in: message.text) ?? true
        }
        for message in lacking {
            messages.insert(message, at: messages.firstIndex { $0.at > message.at } ?? messages.count)
        }
        return messages
    }

    /// Records the number of the last message in the chat's history, which has no number yet and came at that time.
    mutating func record(_ entry: UInt64, of message: RecentMessage, in chat: String) {
        chats[chat]?.number(message, entry)
    }

    /// Returns the last message of a chat.
    func last(in chat: String) -> RecentMessage? { chats[chat]?.messages.last }

    /// Removes an own message with all its outcomes from those that wait, and returns it; nil if memory has it no longer.
    mutating func close(_ number: MessageID, in chat: String) -> RecentMessage? {
        if let message = removeOpen(Own(chat: chat, number: number)) { return message }
        return chats[chat]?.messages.last {
            if case .own(let own, _, _) = $0.content { own.message == number } else { false }
        }
    }

    package mutating func add(_ message: ReceivedMessage, at time: Timestamp, isDelayed: Bool) {
        add(RecentMessage(at: time, .received(message, isDelayed: isDelayed)), in: message.chat)
    }

    package mutating func add(_ message: OwnMessage) {
        add(RecentMessage(at: message.at, .own(message, delivered: [], failed: [])), in: message.chat)
    }

    private mutating func add(_ message: RecentMessage, in chat: String) {
        for evicted in chats[chat, default: Chat()].add(message) {
            guard evicted.entry != nil, case .own(let own, let delivered, let failed) = evicted.content,
                delivered.count + failed.count < own.recipients
            else { continue }
            open[Own(chat: chat, number: own.message)] = evicted
            openSize += Self.size(of: evicted)
        }
        while open.count > Self.openLimit.messages || openSize > Self.openLimit.bytes,
            let oldest = open.keys.min(by: { $0.number < $1.number })
        { removeOpen(oldest) }
    }

    @discardableResult
    private mutating func removeOpen(_ own: Own) -> RecentMessage? {
        guard let message = open.removeValue(forKey: own) else { return nil }
        openSize -= Self.size(of: message)
        return message
    }

    package mutating func record(_ receipt: DeliveryReceipt) {
        update(receipt.message, in: receipt.chat) { delivered, _ in delivered.append(receipt.user) }
    }

    package mutating func record(_ failure: DeliveryFailure) {
        update(failure.message, in: failure.chat) { _, failed in
            failed.append(RecentMessage.Failure(user: failure.user, why: failure.why))
        }
    }

    package mutating func record(_ receipt: WaitingReceipt) {
        update(receipt.message, in: receipt.chat) { message in
            if !message.waiting.contains(receipt.user) { message.waiting.append(receipt.user) }
        }
    }

    /// Changes an own message that is still in memory.
    private mutating func update(_ number: MessageID, in chat: String, _ change: (inout RecentMessage) -> Void) {
        if chats[chat]?.update(number, change) == true { return }
        let own = Own(chat: chat, number: number)
        if var message = open[own] {
            change(&message)
            open[own] = message
        }
    }

    /// Changes the outcomes of an own message that is still in memory.
    private mutating func update(
        _ number: MessageID, in chat: String, _ change: (inout [UserID], inout [RecentMessage.Failure]) -> Void
    ) {
        update(number, in: chat) { message in
            guard case .own(let own, var delivered, var failed) = message.content else { return }
            change(&delivered, &failed)
            message.waiting.removeAll { delivered.last == $0 || failed.last?.user == $0 }
            message.content = .own(own, delivered: delivered, failed: failed)
        }
    }

    /// Removes all messages of a chat that the node left.
    package mutating func forget(chat: String) {
        chats[chat] = nil
        for own in open.keys where own.chat == chat { removeOpen(own) }
    }

    /// Returns the bytes that a message counts. The outcomes count from the beginning.
    static func size(of message: RecentMessage) -> Int {
        switch message.content {
        case .received(let received, _): received.text.utf8.count + DaemonLimits.messageOverhead
        case .own(let own, _, _):
            own.text.utf8.count + DaemonLimits.messageOverhead + own.recipients * DaemonLimits.recentOutcome
        }
    }
}

extension RecentMessage {
    /// Whether two messages are one. Numbers of messages begin again in each run, and a file has microseconds.
    fileprivate func isSame(as other: RecentMessage) -> Bool {
        guard abs(at.seconds(since: other.at)) < 0.001 else { return false }
        return switch (content, other.content) {
        case (.received(let mine, _), .received(let theirs, _)): mine.id == theirs.id
        case (.own(let mine, _, _), .own(let theirs, _, _)): mine.message == theirs.message
        default: false
        }
    }
}
