/// The node's own messages that a person has not completely acknowledged. Each message has one outcome for each person
/// (M-17).
struct Outbox<LinkID: Hashable & Sendable, PersonID: Hashable & Sendable>: Sendable {
    /// The outcome of a message for one person.
    struct Outcome: Hashable, Sendable {
        let message: UInt64
        let person: PersonID
        /// The reason for a failure; nil if the message was delivered.
        let failure: FailureReason?
    }

    /// The result of adding a message.
    enum Admission: Equatable, Sendable {
        /// A peer's queue is full, so the node sends the message to nobody (M-14, M-30).
        case refused
        /// The node queues the message on these links. For the people in `failed`, the message failed at once (M-30,
        /// M-84).
        case accepted(message: UInt64, over: [LinkID], failed: [Outcome])
    }

    /// The links on which a message may still be delivered, by message and person.
    private var messages: [UInt64: [PersonID: Set<LinkID>]] = [:]
    private var newest: UInt64 = 0

    /// The number of messages that wait for an outcome.
    var count: Int { messages.count }

    // MARK: Inputs

    /// Adds a message for named links, whether they are up, suspect or down (M-36).
    mutating func add(to links: [(link: LinkID, person: PersonID, room: RecordSender.Room)]) -> Admission {
        let open = links.filter { $0.room == .fits }
        let isForNobody = open.isEmpty && !links.isEmpty && !links.contains { $0.room == .waits }
        guard !isForNobody, !links.contains(where: { $0.room == .full }) else { return .refused }
        newest += 1
        var waiting: [PersonID: Set<LinkID>] = [:]
        for link in open { waiting[link.person, default: []].insert(link.link) }
        if !waiting.isEmpty { messages[newest] = waiting }
        var failed: [Outcome] = []
        for link in links where waiting[link.person] == nil && !failed.contains(where: { $0.person == link.person }) {
            failed.append(Outcome(message: newest, person: link.person, failure: .stalled))
        }
        return .accepted(message: newest, over: open.map(\.link), failed: failed)
    }

    /// Adds links to a message that waits for a person (M-86).
    mutating func extend(_ message: UInt64, to person: PersonID, over links: [LinkID]) {
        messages[message]?[person]?.formUnion(links)
    }

    /// Ends a message for a person without an outcome.
    mutating func withdraw(_ message: UInt64, to person: PersonID) { finish(message, person) }

    /// Records that a link acknowledged a message completely.
    ///
    /// - Returns: The outcome; nil if the person has one already.
    mutating func delivered(_ message: UInt64, to person: PersonID, over link: LinkID) -> Outcome? {
        guard let links = messages[message]?[person], links.contains(link) else { return nil }
        finish(message, person)
        return Outcome(message: message, person: person, failure: nil)
    }

    /// Records that a link will not acknowledge a message completely.
    ///
    /// - Returns: The outcome; nil if another link of the person may still deliver the message, or if the person has an
    ///   outcome already (M-18).
    mutating func failed(
        _ message: UInt64, to person: PersonID, over link: LinkID, _ reason: FailureReason
    ) -> Outcome? {
        guard messages[message]?[person]?.remove(link) != nil else { return nil }
        guard messages[message]?[person]?.isEmpty == true else { return nil }
        finish(message, person)
        return Outcome(message: message, person: person, failure: reason)
    }

    private mutating func finish(_ message: UInt64, _ person: PersonID) {
        messages[message]?[person] = nil
        if messages[message]?.isEmpty == true { messages[message] = nil }
    }
}
