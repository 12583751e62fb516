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

/// The registered deadline of each owner. Each datagram asks for the node's and a link's, which need no hashing here.
private struct RegisteredDeadlines: Sendable {
    private var node: Instant?
    /// The deadlines of links, in the order of the links. The order of identifiers is the order of their making.
    private var links: [(id: LinkID, instant: Instant)] = []
    private var others: [Timer: Instant] = [:]

    subscript(timer: Timer) -> Instant? {
        get {
            switch timer {
            case .node: return node
            case .link(let id):
                let place = place(of: id)
                return place < links.count && links[place].id == id ? links[place].instant : nil
            default: return others[timer]
            }
        }
        set {
            switch timer {
            case .node: node = newValue
            case .link(let id): set(id, newValue)
            default: others[timer] = newValue
            }
        }
    }

    private mutating func set(_ id: LinkID, _ instant: Instant?) {
        let place = place(of: id)
        let isKnown = place < links.count && links[place].id == id
        switch (instant, isKnown) {
        case (let instant?, true): links[place].instant = instant
        case (let instant?, false): links.insert((id, instant), at: place)
        case (nil, true): links.remove(at: place)
        case (nil, false): break
        }
    }

    /// Returns the number of links below one.
    private func place(of id: LinkID) -> Int {
        var (low, high) = (0, links.count)
        while low < high {
            let middle = (low + high) / 2
            if links[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
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
    private var registered = RegisteredDeadlines()

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
