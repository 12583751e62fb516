import InklingCore

/// Monotonic time that continues while the machine is suspended, as the protocol counts it.
struct NodeClock: Sendable {
    private let origin = ContinuousClock.now

    var now: Instant { .zero + origin.duration(to: .now) }
}

/// Monotonic time that stands still while the machine is suspended.
struct AwakeClock: Sendable {
    private let origin = SuspendingClock.now

    var now: Instant { .zero + origin.duration(to: .now) }
}
