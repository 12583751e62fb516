import InklingCore

/// Monotonic time that runs through suspend, as the protocol counts it.
struct NodeClock: Sendable {
    private let origin = ContinuousClock.now

    var now: Instant { .zero + origin.duration(to: .now) }
}

/// Monotonic time that stands still in suspend.
struct AwakeClock: Sendable {
    private let origin = SuspendingClock.now

    var now: Instant { .zero + origin.duration(to: .now) }
}
