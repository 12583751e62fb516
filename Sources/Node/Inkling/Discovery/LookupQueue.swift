import InklingCore

extension InstanceTable {
    /// The sightings that wait for a lookup, in the orders in which the table asks for them.
    ///
    /// A sighting is in here once for each ``Ticket`` that it had. The table says which tickets still hold. Those that
    /// do not hold are dropped when they come up, or when they are more than half. So no question looks at all sightings.
    struct LookupQueue {
        /// A sighting that is due at a time, after so many failed attempts, in its turn.
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
        /// Other sightings whose time has come, by the number of attempts.
        private var tried = Heap<Place<Int>>()
        /// Sightings that were tried and never answered, the one with the most attempts first.
        private var vain = Heap<Place<Int>>()
        /// How many tickets came since those that no longer hold were dropped.
        private var added = 0
        /// Of the untried, the newest and one at random take turns.
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

        /// Drops the tickets that no longer hold, once more came than `count`, the number of sightings.
        mutating func compact(count: Int, holds: (Ticket) -> Bool) {
            guard added > 2 * count + 64 else { return }
            added = 0
            later = later.filtered { holds($0.ticket) }
            tried = tried.filtered { holds($0.ticket) }
            vain = vain.filtered { holds($0.ticket) }
            untried = untried.filter(holds)
        }

        /// The sighting to look up now; nil if there is none.
        ///
        /// First come those never tried, the newest and one at random in turns, so that neither a crowd of old ones nor
        /// one of new ones keeps somebody out; then the others by the number of attempts.
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

        /// Whether ``next(_:using:holds:)`` would return a ticket, and otherwise when.
        mutating func nextDeadline(holds: (Ticket) -> Bool) -> Instant? {
            while let last = untried.last, !holds(last) { untried.removeLast() }
            while let first = tried.first, !holds(first.ticket) { _ = tried.popFirst() }
            while let first = later.first, !holds(first.ticket) { _ = later.popFirst() }
            let ready = [untried.last?.due, tried.first?.ticket.due].compactMap(\.self).min()
            return ready ?? later.first?.first
        }

        /// The sighting with the most attempts that never answered, and of several the one whose turn was first.
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
