import InklingModel

/// The outputs that a reader misses, counted by chat.
package struct Gaps: Sendable {
    /// The number of dropped outputs in a chat.
    package struct Gap: Sendable {
        package var messages = 0
        package var outcomes = 0
        /// The time of the latest dropped output.
        package var at: Timestamp
    }

    private(set) var byChat: [String: Gap] = [:]

    var count: Int { byChat.count }
    var isEmpty: Bool { byChat.isEmpty }

    mutating func add(_ gap: Gap, in chat: String) {
        let before = byChat[chat]
        byChat[chat] = Gap(
            messages: (before?.messages ?? 0) + gap.messages, outcomes: (before?.outcomes ?? 0) + gap.outcomes,
            at: gap.at)
    }

    /// Takes the counts of the first chat by name; nil if nothing was missed.
    mutating func takeFirst() -> TimedEvent? {
        guard let chat = byChat.keys.min(), let gap = byChat.removeValue(forKey: chat) else { return nil }
        let missed = MissedEvents(chat: chat, messages: gap.messages, outcomes: gap.outcomes)
        return TimedEvent(at: gap.at, event: .missed(missed))
    }
}
