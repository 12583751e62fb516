import InklingModel

/// The outcome of a message that ``Node/deliver(_:to:within:)`` sent, by person.
public struct DeliveryOutcome: Hashable, Sendable {
    /// The number of the message, as events report it.
    public let message: MessageID
    /// The number of recipients. 0 if nobody was there: the message is then lost, as a node keeps no messages.
    public let recipients: Int
    /// The people who have acknowledged the whole message, in the order of their answers.
    public fileprivate(set) var delivered: [Peer] = []
    /// The people who don't have the message, or may not have it, in the order of the failures.
    public fileprivate(set) var failed: [Failure] = []
    /// The people for whom the message waits on the disk of this user's daemon, because they are away.
    public fileprivate(set) var waiting: [Peer] = []
    /// The people who did not answer in time. They may still get the message.
    public fileprivate(set) var unanswered: [Peer] = []

    /// A person who may not have the message.
    public struct Failure: Hashable, Sendable {
        /// The person, as known when the message was sent.
        public let peer: Peer
        /// The reason why they may not have the message.
        public let why: FailureReason
    }

    /// Whether the message had recipients, and all of them have it.
    public var reachedAll: Bool { recipients > 0 && delivered.count == recipients }
    /// Whether the message had recipients, and each has it or gets it when they are back.
    package var isKeptForAll: Bool { recipients > 0 && delivered.count + waiting.count == recipients }
}

/// A message that was just sent, and its outcomes so far.
package struct Delivery: Sendable {
    private let chat: String
    /// All people known in the chat, including those without a link when the message was sent. Their outcomes later
    /// show who was a recipient.
    private let people: [Peer]
    private var open: Set<UserID>
    private var outcome: DeliveryOutcome

    /// Begins without outcomes.
    ///
    /// - Parameters:
    ///   - message: The message's number.
    ///   - people: All people known in the chat when the message was sent, by name.
    package init(_ message: MessageID, to chat: String, recipients: Int, people: [Peer]) {
        self.chat = chat
        self.people = people
        open = Set(people.filter { $0.presence != .offline }.map(\.user))
        outcome = DeliveryOutcome(message: message, recipients: recipients)
    }

    /// Applies an event, which may concern this message.
    package mutating func take(_ event: Event) {
        switch event {
        case .delivered(let receipt) where receipt.chat == chat && receipt.message == outcome.message:
            outcome.delivered += people.filter { $0.user == receipt.user }.prefix(1)
            outcome.waiting.removeAll { $0.user == receipt.user }
            open.remove(receipt.user)
        case .waiting(let receipt) where receipt.chat == chat && receipt.message == outcome.message:
            guard !outcome.waiting.contains(where: { $0.user == receipt.user }) else { break }
            outcome.waiting += people.filter { $0.user == receipt.user }.prefix(1)
            open.remove(receipt.user)
        case .failed(let failure) where failure.chat == chat && failure.message == outcome.message:
            outcome.failed += people.filter { $0.user == failure.user }.prefix(1).map {
                .init(peer: $0, why: failure.why)
            }
            outcome.waiting.removeAll { $0.user == failure.user }
            open.remove(failure.user)
        default: break
        }
    }

    /// Whether all recipients have an outcome, or the message waits for them.
    package var isComplete: Bool {
        outcome.delivered.count + outcome.failed.count + outcome.waiting.count >= outcome.recipients
    }

    /// The outcome if the wait ended now.
    package var result: DeliveryOutcome {
        guard !isComplete else { return outcome }
        var result = outcome
        result.unanswered = people.filter { open.contains($0.user) }
        return result
    }
}
