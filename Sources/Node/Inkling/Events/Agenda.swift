/// The position of an item in the order of delivery: by `start`, and for equal starts, by `arrival`.
struct Turn: Comparable, Hashable {
    /// The start on the queue's clock, which advances only with deliveries.
    let start: Int
    /// The number of the arrival.
    let arrival: Int

    static func < (one: Turn, other: Turn) -> Bool { (one.start, one.arrival) < (other.start, other.arrival) }
}

/// The waiting items of one origin, such as one sender. The first few keep their order of arrival among all items. Each
/// further item gets a start one step later on the queue's clock.
///
/// So origins with waiting items share the reader's attention (start-time fair queueing). While few items wait, the
/// reader gets everything in order of arrival.
struct Flow: Sendable {
    private let burst: Int
    private var finish = 0
    /// The number of waiting items.
    private(set) var waiting = 0

    /// Makes a flow without items.
    ///
    /// - Parameter burst: The number of items that keep their order of arrival; at least 1.
    init(burst: Int) {
        self.burst = burst
    }

    /// Adds a waiting item. Returns its turn.
    mutating func enter(clock: Int, arrival: Int) -> Turn {
        finish = (waiting == 0 ? clock : max(clock, finish)) + 1
        waiting += 1
        return Turn(start: max(clock, finish - burst), arrival: arrival)
    }

    /// Removes a waiting item.
    mutating func leave() { waiting -= 1 }
}

/// The items to deliver, each at most once, ordered by turn.
struct Agenda<Item: Hashable & Sendable>: Sendable {
    /// A binary heap of turns. An entry is valid only if it is the item's current turn.
    private var heap: [(turn: Turn, item: Item)] = []
    private var turns: [Item: Turn] = [:]

    var isEmpty: Bool { turns.isEmpty }
    /// The number of stored turns, including outdated ones.
    var turnCount: Int { heap.count }

    /// The turn of an item; nil for an item that does not wait.
    subscript(item: Item) -> Turn? {
        get { turns[item] }
        set {
            guard newValue != turns[item] else { return }
            turns[item] = newValue
            if let newValue { push((newValue, item)) }
            // Frequent changes must not fill the heap while the reader takes nothing.
            guard heap.count > 2 * turns.count + 64 else { return }
            heap = turns.map { ($1, $0) }.sorted { $0.turn < $1.turn }
        }
    }

    /// Returns the item with the first turn.
    mutating func first() -> Item? {
        while let top = heap.first {
            if turns[top.item] == top.turn { return top.item }
            pop()
        }
        return nil
    }

    private mutating func push(_ entry: (turn: Turn, item: Item)) {
        heap.append(entry)
        var child = heap.count - 1
        while child > 0, heap[child].turn < heap[(child - 1) / 2].turn {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func pop() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if heap[child].turn < heap[least].turn { least = child }
            }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
