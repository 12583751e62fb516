import InklingCore

extension InstanceTable {
    /// The sightings that wait for a lookup, in the orders in which the table asks for them.
    ///
    /// The queue holds a sighting once for each ``Ticket`` that it had. The table knows which tickets are valid. The
    /// queue drops invalid ones when they come up, or when they are more than half. So no question scans all sightings.
    struct LookupQueue {
        /// A sighting with the time of its next lookup, its failed attempts, and its turn.
        struct Ticket: Hashable {
            let sighting: Sighting
            let due: Instant
            let attempt: Int
            let turn: UInt64
        }

        /// Orders tickets by one number and then another, the least first.
        private struct Place<First: Comparable>: Comparable {
            let first: First
            let second: UInt64
            let ticket: Ticket

            static func == (left: Self, right: Self) -> Bool {
                left.first == right.first && left.second == right.second
            }

            static func < (left: Self, right: Self) -> Bool {
                (left.first, left.second) < (right.first, right.second)
            }
        }

        /// Tickets whose time has not come, the earliest first.
        private var later = Heap<Place<Instant>>()
        /// Sightings that were never looked up, the newest last.
        private var untried: [Ticket] = []
        /// Sightings that were looked up before and whose time has come, by the number of attempts.
        private var tried = Heap<Place<Int>>()
        /// Sightings that never answered any of their lookups, the one with the most attempts first.
        private var vain = Heap<Place<Int>>()
        /// The number of tickets added since the queue last dropped invalid ones.
        private var added = 0
        /// Whether the next untried sighting is the newest one. Otherwise a random one is next.
        private var takesNewest = true

        /// Adds a ticket.
        ///
        /// - Parameter hasAnswered: Whether the sighting ever answered.
        mutating func add(_ ticket: Ticket, hasAnswered: Bool) {
            added += 1
            later.insert(Place(first: ticket.due, second: ticket.turn, ticket: ticket))
            if ticket.attempt > 0, !hasAnswered {
                vain.insert(Place(first: -ticket.attempt, second: ticket.turn, ticket: ticket))
            }
        }

        /// Drops invalid tickets, once many more were added than `count`, the number of sightings.
        mutating func compact(count: Int, holds: (Ticket) -> Bool) {
            guard added > 2 * count + 64 else { return }
            added = 0
            later = later.filtered { holds($0.ticket) }
            tried = tried.filtered { holds($0.ticket) }
            vain = vain.filtered { holds($0.ticket) }
            untried = untried.filter(holds)
        }

        /// Returns the sighting to look up now; nil if there is none.
        ///
        /// Untried sightings come first, the newest and a random one in turns. So neither many old ones nor many new
        /// ones can crowd a sighting out. The others follow by the number of attempts.
        mutating func next(
            _ now: Instant, using random: inout any RandomNumberGenerator & Sendable, holds: (Ticket) -> Bool
        ) -> Ticket? {
            moveDue(now)
            while let last = untried.last, !holds(last) { untried.removeLast() }
            if !untried.isEmpty {
                defer { takesNewest.toggle() }
                while !takesNewest, !untried.isEmpty {
                    let place = Int.random(in: untried.indices, using: &random)
                    let ticket = untried.remove(at: place)
                    if holds(ticket) { return ticket }
                }
                if let newest = untried.popLast() { return newest }
            }
            while let first = tried.popFirst() {
                if holds(first.ticket) { return first.ticket }
            }
            return nil
        }

        /// Returns the time of the next ticket, in the past if one is due now; nil if none waits.
        mutating func nextDeadline(holds: (Ticket) -> Bool) -> Instant? {
            while let last = untried.last, !holds(last) { untried.removeLast() }
            while let first = tried.first, !holds(first.ticket) { _ = tried.popFirst() }
            while let first = later.first, !holds(first.ticket) { _ = later.popFirst() }
            let ready = [untried.last?.due, tried.first?.ticket.due].compactMap(\.self).min()
            return ready ?? later.first?.first
        }

        /// Returns the unanswered sighting with the most attempts, and among equals the one with the first turn.
        mutating func mostTried(holds: (Ticket) -> Bool) -> Sighting? {
            while let first = vain.popFirst() {
                if holds(first.ticket) { return first.ticket.sighting }
            }
            return nil
        }

        private mutating func moveDue(_ now: Instant) {
            while let first = later.first, first.first <= now {
                _ = later.popFirst()
                if first.ticket.attempt == 0 {
                    untried.append(first.ticket)
                } else {
                    tried.insert(Place(first: first.ticket.attempt, second: first.ticket.turn, ticket: first.ticket))
                }
            }
        }
    }
}
