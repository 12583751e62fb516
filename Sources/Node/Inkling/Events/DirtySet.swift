import NIOCore

/// The states that wait, in the order in which they began to. A state that changes again keeps its place.
struct DirtySet<State: Hashable & Sendable>: Sendable {
    /// The number of the arrival that made each state wait.
    private var arrivals: [State: Int] = [:]
    /// The same in order, with states that wait no more.
    private var order = CircularBuffer<(state: State, arrival: Int)>(initialCapacity: 0)

    /// Whether no state waits.
    @inline(__always)
    var isEmpty: Bool { arrivals.isEmpty }
    /// The number of stored places, including outdated ones.
    var placeCount: Int { order.count }

    /// The state that has waited longest; nil if none waits.
    var first: (state: State, arrival: Int)? {
        mutating get {
            while let place = order.first {
                if arrivals[place.state] == place.arrival { return place }
                order.removeFirst()
            }
            return nil
        }
    }

    /// Returns the number of the arrival that made a state wait; 0 if it does not wait.
    func place(of state: State) -> Int { arrivals[state] ?? 0 }

    /// Makes a state wait. A state that begins to wait takes the next number of `count` arrivals.
    mutating func insert(_ state: State, arrivals count: inout Int) {
        guard arrivals[state] == nil else { return }
        count += 1
        arrivals[state] = count
        order.append((state, count))
        // States that come and go must not fill the order while the reader takes nothing.
        guard order.count > 2 * arrivals.count + 64 else { return }
        order = CircularBuffer(order.filter { arrivals[$0.state] == $0.arrival })
    }

    /// Lets a state wait no more.
    ///
    /// - Returns: Whether the state waited.
    @discardableResult
    mutating func remove(_ state: State) -> Bool { arrivals.removeValue(forKey: state) != nil }
}
