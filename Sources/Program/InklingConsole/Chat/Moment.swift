/// A point in time by two clocks. The program passes it to a model.
package struct Moment: Hashable, Sendable {
    /// Milliseconds of a clock that never goes back, and includes sleep of the machine.
    package var steady: Int64
    /// Seconds since 1970.
    package var wall: Double

    package init(steady: Int64, wall: Double) {
        self.steady = steady
        self.wall = wall
    }
}
