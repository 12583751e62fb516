import InklingWire

/// Our messages that somebody has not acknowledged whole, and what becomes of them.
struct Outbox {
    /// For each message and person the links over which it may still be delivered.
    private var messages: [UInt64: [PublicKey: Set<LinkID>]] = [:]
    private var newest: UInt64 = 0
    /// The pace of the records that carry them.
    var pacer: RecordPacer

    init(now: Instant) { pacer = RecordPacer(now: now) }

    var count: Int { messages.count }

    // MARK: Inputs

    /// A message goes out over those links.
    ///
    /// - Returns: Its number, and to how many people it goes.
    mutating func add(over links: [(id: LinkID, key: PublicKey)]) -> (number: UInt64, recipients: Int) {
        newest += 1
        var waiting: [PublicKey: Set<LinkID>] = [:]
        for link in links { waiting[link.key, default: []].insert(link.id) }
        if !waiting.isEmpty { messages[newest] = waiting }
        return (newest, waiting.count)
    }

    /// A message was acknowledged whole over a link; nothing more is reported for other links to the same person.
    mutating func delivered(_ number: UInt64, to person: PersonID, over link: LinkID, _ effects: inout Effects) {
        guard let links = messages[number]?[person.key], links.contains(link) else { return }
        finish(number, for: person.key)
        effects.counters.messagesDelivered += 1
        effects.tell(.delivered(message: number, person.chat, person.key))
    }

    /// A message will not be acknowledged over a link. It has failed with a person when no link is left over which it
    /// could be.
    mutating func failed(
        _ number: UInt64, to person: PersonID, over link: LinkID, _ reason: FailureReason, _ effects: inout Effects
    ) {
        guard var waiting = messages[number], var links = waiting[person.key], links.remove(link) != nil else { return }
        guard links.isEmpty else {
            waiting[person.key] = links
            messages[number] = waiting
            return
        }
        finish(number, for: person.key)
        effects.counters.messagesFailed += 1
        effects.tell(.failed(message: number, person.chat, person.key, reason))
    }

    private mutating func finish(_ number: UInt64, for key: PublicKey) {
        guard var waiting = messages.removeValue(forKey: number) else { return }
        waiting[key] = nil
        if !waiting.isEmpty { messages[number] = waiting }
    }
}
