import InklingCore

/// The future events of the virtual LAN, earliest first. Events of one instant keep their order of insertion.
struct EventQueue<Event> {
    private var heap = Heap<QueuedEvent>()
    private var events: [Event?] = []
    private var freePlaces: [Int] = []
    private var lastNumber: UInt64 = 0

    mutating func add(_ event: Event, at instant: Instant) {
        lastNumber += 1
        let place = freePlaces.popLast() ?? events.count
        if place == events.count { events.append(event) } else { events[place] = event }
        heap.insert(QueuedEvent(at: instant, number: lastNumber, place: place))
    }

    mutating func popFirst() -> (at: Instant, event: Event)? {
        guard let first = heap.popFirst(), let event = events[first.place] else { return nil }
        events[first.place] = nil
        freePlaces.append(first.place)
        return (first.at, event)
    }
}

/// The time of an event, and the place where the event is stored. A heap moves its elements often, so they are small.
private struct QueuedEvent: Comparable {
    let at: Instant
    let number: UInt64
    let place: Int

    static func < (left: QueuedEvent, right: QueuedEvent) -> Bool {
        left.at == right.at ? left.number < right.number : left.at < right.at
    }
}
