import InklingModel

/// A point in time, as a model's driver supplies it.
package struct Moment: Hashable, Sendable {
    /// Milliseconds of a clock that never goes back, and includes sleep of the machine.
    package var steady: Int64
    /// The time of day.
    package var wall: Timestamp

    package init(steady: Int64, wall: Timestamp) {
        self.steady = steady
        self.wall = wall
    }
}
