/// How long somebody who sends one message and goes waits for those who may be there: until somebody is, and nobody new
/// has come for ``NodeLimits/settling``. People who are there already when a node joins are found within that time, one
/// after the other.
package struct ArrivalWait: Sendable {
    private let longest: Duration
    private var present = 0
    /// When the wait is over, as things are, from its beginning.
    package private(set) var end: Duration

    /// - Parameter longest: How long to wait at most.
    package init(longest: Duration) {
        self.longest = longest
        end = longest
    }

    /// So many are there now.
    ///
    /// - Parameter elapsed: The time since the beginning.
    /// - Returns: Whether ``end`` is another one.
    package mutating func take(present count: Int, after elapsed: Duration) -> Bool {
        guard count != present else { return false }
        present = count
        end = count == 0 ? longest : min(elapsed + NodeLimits.settling, longest)
        return true
    }
}
