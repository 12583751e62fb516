import InklingWire

/// The owner of a deadline. The order decides between deadlines of one instant.
enum Timer: Hashable, Comparable, Sendable {
    case node
    case chat(ChatID)
    case instance(InstanceID)
    case opening(PersonID)
    case remembered(PersonID)
    /// A pending handshake or an unconfirmed session, by its index.
    case handshake(UInt32)
    case link(LinkID)
    case reports(ChatID)
}

/// The deadlines of all parts of a node, earliest first.
///
/// An owner whose deadline moves later keeps its earlier entry. The node asks the owner again at the time of that
/// entry. So a datagram that postpones a deadline needs no new entry. `earliest` may be too early, never too late.
struct Deadlines: Sendable {
    private struct Entry: Comparable {
        let instant: Instant
        let timer: Timer

        static func < (left: Entry, right: Entry) -> Bool {
            left.instant == right.instant ? left.timer < right.timer : left.instant < right.instant
        }
    }

    private var heap = Heap<Entry>()
    private var registered: [Timer: Instant] = [:]

    /// The time of the first entry; nil if there is none.
    var earliest: Instant? { heap.first?.instant }

    /// Registers `instant` as the deadline of `timer`; nil removes the deadline.
    mutating func set(_ timer: Timer, to instant: Instant?) {
        guard let instant else {
            registered[timer] = nil
            dropStale()
            return
        }
        if let current = registered[timer], current <= instant { return }
        registered[timer] = instant
        heap.insert(Entry(instant: instant, timer: timer))
    }

    /// Removes and returns the first owner whose entry is due at `now`.
    mutating func popDue(_ now: Instant) -> Timer? {
        dropStale()
        guard let first = heap.first, first.instant <= now else { return nil }
        registered[first.timer] = nil
        _ = heap.popFirst()
        dropStale()
        return first.timer
    }

    private mutating func dropStale() {
        while let first = heap.first, registered[first.timer] != first.instant { _ = heap.popFirst() }
    }
}
