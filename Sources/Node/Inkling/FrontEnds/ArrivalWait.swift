/// The wait of a short-lived sender for people in a chat. The wait ends when ``NodeLimits/settling`` has passed without
/// another arrival. A node that joins a chat finds all people there within that time of each other.
package struct ArrivalWait: Sendable {
    private let longest: Duration
    private var present = 0
    /// The current end of the wait, counted from its beginning.
    package private(set) var end: Duration

    /// - Parameter longest: The longest wait.
    package init(longest: Duration) {
        self.longest = longest
        end = longest
    }

    /// Updates the number of people present.
    ///
    /// - Parameter elapsed: The time since the beginning.
    /// - Returns: Whether ``end`` has changed.
    package mutating func take(present count: Int, after elapsed: Duration) -> Bool {
        guard count != present else { return false }
        present = count
        end = count == 0 ? longest : min(elapsed + NodeLimits.settling, longest)
        return true
    }
}
