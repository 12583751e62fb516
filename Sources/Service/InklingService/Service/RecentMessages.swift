import InklingModel
import NIOCore

/// The last messages of each chat, received and own ones, for front ends that start later.
package struct RecentMessages {
    private struct Chat {
        var messages = CircularBuffer<RecentMessage>()
        /// The size of all messages for the limit, in bytes.
        private var size = 0

        /// Adds a message, and evicts the oldest ones if there is no room.
        mutating func add(_ message: RecentMessage) {
            messages.append(message)
            size += RecentMessages.size(of: message)
            while messages.count > DaemonLimits.recentMessages || size > DaemonLimits.recentBytes {
                size -= RecentMessages.size(of: messages.removeFirst())
            }
        }

        /// Changes an own message; does nothing for an evicted one.
        mutating func update(_ number: MessageID, _ change: (inout RecentMessage) -> Void) {
            // Most outcomes are about one of the latest messages.
            for index in messages.indices.reversed() {
                guard case .own(let own, _, _) = messages[index].content, own.message == number else { continue }
                return change(&messages[index])
            }
        }

        /// Changes the outcomes of an own message, if the message is still here.
        mutating func update(
            _ number: MessageID, _ change: (inout [UserID], inout [RecentMessage.Failure]) -> Void
        ) {
            update(number) { message in
                guard case .own(let own, var delivered, var failed) = message.content else { return }
                change(&delivered, &failed)
                message.waiting.removeAll { delivered.last == $0 || failed.last?.user == $0 }
                message.content = .own(own, delivered: delivered, failed: failed)
            }
        }
    }

    private var chats: [String: Chat] = [:]

    package init() {}

    /// Returns the messages of a chat, in their order.
    package func messages(in chat: String) -> [RecentMessage] { chats[chat].map { Array($0.messages) } ?? [] }

    /// Returns the last message of a chat.
    func last(in chat: String) -> RecentMessage? { chats[chat]?.messages.last }

    /// Returns an own message; nil for an evicted one.
    func own(_ number: MessageID, in chat: String) -> RecentMessage? {
        chats[chat]?.messages.last { if case .own(let own, _, _) = $0.content { own.message == number } else { false } }
    }

    package mutating func add(_ message: ReceivedMessage, at time: Timestamp, isDelayed: Bool) {
        chats[message.chat, default: Chat()].add(RecentMessage(at: time, .received(message, isDelayed: isDelayed)))
    }

    package mutating func add(_ message: OwnMessage) {
        chats[message.chat, default: Chat()].add(
            RecentMessage(at: message.at, .own(message, delivered: [], failed: [])))
    }

    package mutating func record(_ receipt: DeliveryReceipt) {
        chats[receipt.chat]?.update(receipt.message) { delivered, _ in delivered.append(receipt.user) }
    }

    package mutating func record(_ failure: DeliveryFailure) {
        chats[failure.chat]?.update(failure.message) { _, failed in
            failed.append(RecentMessage.Failure(user: failure.user, why: failure.why))
        }
    }

    package mutating func record(_ receipt: WaitingReceipt) {
        chats[receipt.chat]?.update(receipt.message) { message in
            if !message.waiting.contains(receipt.user) { message.waiting.append(receipt.user) }
        }
    }

    /// Removes all messages of a chat that the node left.
    package mutating func forget(chat: String) { chats[chat] = nil }

    /// Returns the bytes that a message counts. The outcomes count from the beginning.
    static func size(of message: RecentMessage) -> Int {
        switch message.content {
        case .received(let received, _): received.text.utf8.count + DaemonLimits.messageOverhead
        case .own(let own, _, _):
            own.text.utf8.count + DaemonLimits.messageOverhead + own.recipients * DaemonLimits.recentOutcome
        }
    }
}
