import InklingWire

/// The owner of a deadline. The order decides between deadlines of one instant.
enum Timer: Hashable, Comparable, Sendable {
    case node
    case chat(ChatID)
    case instance(InstanceID)
    case opening(PersonID)
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

/// A binary heap. Only the least element is directly accessible.
package struct Heap<Element: Comparable> {
    @usableFromInline var elements: [Element] = []

    @inlinable package init() {}

    /// The least element; nil if the heap is empty.
    @inlinable package var first: Element? { elements.first }

    @inlinable
    package mutating func insert(_ element: Element) {
        elements.append(element)
        var place = elements.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard element < elements[parent] else { break }
            elements[place] = elements[parent]
            place = parent
        }
        elements[place] = element
    }

    /// Returns a heap of the elements for which `isIncluded` is true.
    @inlinable
    package func filtered(_ isIncluded: (Element) -> Bool) -> Heap {
        var heap = Heap()
        for element in elements where isIncluded(element) { heap.insert(element) }
        return heap
    }

    /// Removes and returns the least element; nil if the heap is empty.
    @inlinable
    package mutating func popFirst() -> Element? {
        guard let first = elements.first, let last = elements.popLast() else { return nil }
        guard !elements.isEmpty else { return first }
        var place = 0
        while true {
            var child = 2 * place + 1
            guard child < elements.count else { break }
            if child + 1 < elements.count, elements[child + 1] < elements[child] { child += 1 }
            guard elements[child] < last else { break }
            elements[place] = elements[child]
            place = child
        }
        elements[place] = last
        return first
    }
}

extension Heap: Sendable where Element: Sendable {}

/// A point in monotonic time, in nanoseconds since an origin that the caller chose.
///
/// The core reads no clock: every input carries its instant, and instants never decrease from input to input.
package struct Instant: Hashable, Comparable, Sendable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The origin of the time scale.
    package static let zero = Instant(nanoseconds: 0)

    package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    package static func + (instant: Instant, duration: Duration) -> Instant {
        Instant(nanoseconds: instant.nanoseconds + duration.nanoseconds)
    }

    package static func - (later: Instant, earlier: Instant) -> Duration {
        Duration(attoseconds: Int128(later.nanoseconds - earlier.nanoseconds) * Duration.attosecondsPerNanosecond)
    }
}

extension Duration {
    /// The duration in whole nanoseconds, rounded toward zero.
    package var nanoseconds: Int64 { Int64(truncatingIfNeeded: attoseconds / Duration.attosecondsPerNanosecond) }

    fileprivate static let attosecondsPerNanosecond: Int128 = 1_000_000_000
}

/// Returns the earlier of two instants; if one is nil, the other.
func earliest(_ one: Instant?, _ other: Instant?) -> Instant? {
    guard let one else { return other }
    return earliest(other, or: one)
}

/// Returns the earlier of two instants, of which the first may be nil.
func earliest(_ one: Instant?, or other: Instant) -> Instant {
    guard let one, one < other else { return other }
    return one
}

/// A limit of events a second, with a burst.
struct TokenBucket: Sendable {
    private let nanosecondsPerToken: Int64
    private let capacity: Int64
    private var level: Int64
    private var updated: Instant

    /// A full bucket.
    init(perSecond rate: Int, burst: Int, now: Instant) {
        nanosecondsPerToken = 1_000_000_000 / Int64(max(rate, 1))
        capacity = Int64(max(burst, 1)) * nanosecondsPerToken
        level = capacity
        updated = now
    }

    /// Takes a token if there is one.
    ///
    /// - Parameters:
    ///   - reserve: The number of tokens that must remain.
    ///   - reserved: The number of tokens that ``reserve(_:reserved:)`` took and that are still unused. Together with
    ///     them the bucket holds at most its burst.
    mutating func take(_ now: Instant, leaving reserve: Int = 0, reserved: Int = 0) -> Bool {
        refill(now, reserved: reserved)
        guard level >= nanosecondsPerToken * Int64(1 + reserve) else { return false }
        level -= nanosecondsPerToken
        return true
    }

    /// Takes the next token, even one that does not exist yet.
    ///
    /// - Returns: The time from which the token exists.
    mutating func reserve(_ now: Instant, reserved: Int) -> Instant {
        refill(now, reserved: reserved)
        level -= nanosecondsPerToken
        return level < 0 ? Instant(nanoseconds: now.nanoseconds - level) : now
    }

    /// Returns the time when one of the reserved tokens may be used: now, or later if the bucket was full in the
    /// meantime.
    mutating func due(_ now: Instant, reserved: Int) -> Instant {
        refill(now, reserved: reserved)
        let missing = nanosecondsPerToken - level - Int64(reserved) * nanosecondsPerToken
        return missing > 0 ? Instant(nanoseconds: now.nanoseconds + missing) : now
    }

    /// Returns an unused token to the bucket.
    mutating func giveBack() { level = min(capacity, level + nanosecondsPerToken) }

    /// Returns whether the bucket has a token.
    func has(_ now: Instant) -> Bool {
        var copy = self
        return copy.take(now)
    }

    /// Returns the time of the next token.
    func nextToken(_ now: Instant) -> Instant {
        var copy = self
        copy.refill(now)
        let missing = nanosecondsPerToken - copy.level
        return missing > 0 ? Instant(nanoseconds: now.nanoseconds + missing) : now
    }

    private mutating func refill(_ now: Instant, reserved: Int = 0) {
        guard now > updated else { return }
        let elapsed = now.nanoseconds - updated.nanoseconds
        let room = capacity - Int64(reserved) * nanosecondsPerToken
        level = max(level, min(room, level + min(elapsed, capacity - level)))
        updated = now
    }
}

/// A limit of events within any second.
struct SlidingWindow: Sendable {
    private let limit: Int
    /// The times of the last events. Once there are `limit` of them, the oldest is at `next`.
    private var instants: [Instant] = []
    private var next = 0

    init(perSecond limit: Int) {
        self.limit = max(limit, 1)
    }

    /// Counts an event, even above the limit.
    ///
    /// - Returns: Whether the last second had more events than the limit.
    mutating func count(_ now: Instant) -> Bool {
        guard instants.count == limit else {
            instants.append(now)
            return false
        }
        defer {
            instants[next] = now
            next = (next + 1) % limit
        }
        return now - instants[next] < .seconds(1)
    }

    /// Returns whether the limit permits `count` more events.
    func hasRoom(_ now: Instant, for count: Int = 1) -> Bool {
        let needed = count - (limit - instants.count)
        guard needed > 0 else { return true }
        return needed <= instants.count && now - instants[(next + needed - 1) % limit] >= .seconds(1)
    }

    /// Counts an event if it is within the limit.
    mutating func take(_ now: Instant) -> Bool {
        guard instants.count == limit else {
            instants.append(now)
            return true
        }
        guard now - instants[next] >= .seconds(1) else { return false }
        instants[next] = now
        next = (next + 1) % limit
        return true
    }
}
