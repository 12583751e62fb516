/// When something that waits is told: by `start`, and of those that start together, in the order of their arrival.
struct Turn: Comparable, Hashable {
    /// On the clock of the queue, which moves only as what waits is told.
    let start: Int
    /// Counts what came.
    let arrival: Int

    static func < (one: Turn, other: Turn) -> Bool { (one.start, one.arrival) < (other.start, other.arrival) }
}

/// Things of one origin that wait: the first few keep the order in which they came among all others, and each one
/// beyond starts one step of the clock later.
///
/// So origins that wait share what a reader takes (start-time fair queueing), and while nothing piles up, everything
/// is told in the order in which it came.
struct Flow: Sendable {
    private let burst: Int
    private var finish = 0
    /// How many wait.
    private(set) var waiting = 0

    /// - Parameter burst: How many of them keep their order; at least 1.
    init(burst: Int) {
        self.burst = burst
    }

    /// One more waits. Returns its turn.
    mutating func enter(clock: Int, arrival: Int) -> Turn {
        finish = (waiting == 0 ? clock : max(clock, finish)) + 1
        waiting += 1
        return Turn(start: max(clock, finish - burst), arrival: arrival)
    }

    /// One was told, or waits no more.
    mutating func leave() { waiting -= 1 }
}

/// What is to be told, each item at most once, by turns.
struct Agenda<Item: Hashable & Sendable>: Sendable {
    /// A binary heap. An entry counts only if it is the item's turn still.
    private var heap: [(turn: Turn, item: Item)] = []
    private var turns: [Item: Turn] = [:]

    var isEmpty: Bool { turns.isEmpty }
    /// How many turns are remembered, past ones included.
    var turnCount: Int { heap.count }

    /// The turn of an item; nil for one that does not wait.
    subscript(item: Item) -> Turn? {
        get { turns[item] }
        set {
            guard newValue != turns[item] else { return }
            turns[item] = newValue
            if let newValue { push((newValue, item)) }
            // What changes often while nothing is taken may not pile up here.
            guard heap.count > 2 * turns.count + 64 else { return }
            heap = turns.map { ($1, $0) }.sorted { $0.turn < $1.turn }
        }
    }

    /// The item whose turn comes first.
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
