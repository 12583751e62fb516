import InklingCore

/// What will happen on the virtual LAN, earliest first; what falls on one instant happens in the order of its making.
struct EventQueue<Event> {
    private struct Entry {
        let at: Instant
        let number: UInt64
        let event: Event

        static func < (left: Entry, right: Entry) -> Bool {
            left.at == right.at ? left.number < right.number : left.at < right.at
        }
    }

    private var heap: [Entry] = []
    private var lastNumber: UInt64 = 0

    mutating func add(_ event: Event, at instant: Instant) {
        lastNumber += 1
        heap.append(Entry(at: instant, number: lastNumber, event: event))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    mutating func popFirst() -> (at: Instant, event: Event)? {
        guard let first = heap.first else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child] < heap[smallest] {
                smallest = child
            }
            guard smallest != parent else { break }
            heap.swapAt(parent, smallest)
            parent = smallest
        }
        return (first.at, first.event)
    }
}
