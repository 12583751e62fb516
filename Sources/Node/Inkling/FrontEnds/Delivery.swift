import InklingModel

/// What became of a message that ``Node/deliver(_:to:within:)`` sent, by person.
public struct DeliveryOutcome: Hashable, Sendable {
    /// The number of the message, as events report it.
    public let message: UInt64
    /// How many people it was sent to. 0 if nobody was there: then it is lost, as messages are not kept.
    public let recipients: Int
    /// Who has acknowledged it whole, in the order of their answers.
    public fileprivate(set) var delivered: [Peer] = []
    /// Who doesn't have it, or may not have it, in the order in which that became known.
    public fileprivate(set) var failed: [Failure] = []
    /// Who did not answer in time. They may still get the message.
    public fileprivate(set) var unanswered: [Peer] = []

    /// Somebody who may not have the message.
    public struct Failure: Hashable, Sendable {
        /// Who it is, as they were known when the message was sent.
        public let peer: Peer
        /// Why they may not have it.
        public let why: InklingModel.FailureReason
    }

    /// Whether somebody was there, and all of them have it.
    public var reachedAll: Bool { recipients > 0 && delivered.count == recipients }
}

/// A message that was sent a moment ago, and what events have said about it.
package struct Delivery: Sendable {
    private let chat: String
    /// This includes people without a link when it was sent: their answers tell them apart.
    private let people: [Peer]
    private var open: Set<UserID>
    private var outcome: DeliveryOutcome

    /// - Parameters:
    ///   - message: Its number.
    ///   - people: All who were known of in the chat when it was sent, by name.
    package init(_ message: UInt64, to chat: String, recipients: Int, people: [Peer]) {
        self.chat = chat
        self.people = people
        open = Set(people.filter { $0.presence != .offline }.map(\.user))
        outcome = DeliveryOutcome(message: message, recipients: recipients)
    }

    /// Something happened, perhaps to this message.
    package mutating func take(_ event: Event) {
        switch event {
        case .delivered(chat, outcome.message, let user):
            outcome.delivered += people.filter { $0.user == user }.prefix(1)
            open.remove(user)
        case .failed(chat, outcome.message, let user, let why):
            outcome.failed += people.filter { $0.user == user }.prefix(1).map { .init(peer: $0, why: why) }
            open.remove(user)
        default: break
        }
    }

    /// Whether it is known of everybody it was sent to.
    package var isComplete: Bool { outcome.delivered.count + outcome.failed.count >= outcome.recipients }

    /// What became of it, if nobody is waited for any longer.
    package var result: DeliveryOutcome {
        guard !isComplete else { return outcome }
        var result = outcome
        result.unanswered = people.filter { open.contains($0.user) }
        return result
    }
}
