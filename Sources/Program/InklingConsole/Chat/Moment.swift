/// A point in time, as a model's driver supplies it.
package struct Moment: Hashable, Sendable {
    /// Milliseconds of a clock that never goes back, whether or not the machine sleeps.
    package var steady: Int64
    /// Seconds since 1970.
    package var wall: Double

    package init(steady: Int64, wall: Double) {
        self.steady = steady
        self.wall = wall
    }
}
