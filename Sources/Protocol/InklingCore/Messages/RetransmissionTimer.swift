import InklingWire

/// The one retransmission timer of a link (M-32), computed as RFC 6298, section 2 (M-11).
struct RetransmissionTimer {
    /// Whether the link's address is on-link. The limits of the timer are shorter then (M-11).
    var isOnLink: Bool {
        didSet { if isOnLink != oldValue { deadline = startedAt.map { $0 + timeout } } }
    }
    /// The smoothed round trip; nil before the first sample.
    private(set) var smoothed: Duration?
    /// The time when the timer expires; nil while it is stopped.
    private(set) var deadline: Instant?
    private var startedAt: Instant?
    private var variation = Duration.zero
    private var doublings = 0

    init(isOnLink: Bool) { self.isOnLink = isOnLink }

    /// The time from a transmission to its repeat. Each expiry of the timer has doubled the time.
    var timeout: Duration {
        let (initial, shortest, longest) = RetransmissionTimer.bounds(isOnLink)
        let computed = smoothed.map { $0 + max(.milliseconds(1), variation * 4) } ?? initial
        return min(max(computed, shortest) * (1 << doublings), longest)
    }

    private static func bounds(_ isOnLink: Bool) -> (initial: Duration, shortest: Duration, longest: Duration) {
        isOnLink
            ? (Limits.initialTimerOnLink, Limits.minimumTimerOnLink, Limits.maximumTimerOnLink)
            : (Limits.initialTimerOffLink, Limits.minimumTimerOffLink, Limits.maximumTimerOffLink)
    }

    /// Starts the timer if it does not run yet, or stops it.
    mutating func run(_ isRunning: Bool, _ now: Instant) {
        startedAt = isRunning ? startedAt ?? now : nil
        deadline = isRunning ? deadline ?? now + timeout : nil
    }

    /// Applies the round trip of a record that was sent only once. The doublings end (M-32).
    mutating func measure(_ sample: Duration) {
        if let smoothed {
            let deviation = smoothed > sample ? smoothed - sample : sample - smoothed
            variation = variation * 3 / 4 + deviation / 4
            self.smoothed = smoothed * 7 / 8 + sample / 8
        } else {
            smoothed = sample
            variation = sample / 2
        }
        doublings = 0
    }

    /// Stops an expired timer and doubles its time.
    ///
    /// - Returns: Whether the timer had expired.
    mutating func expire(_ now: Instant) -> Bool {
        guard let deadline, deadline <= now else { return false }
        self.deadline = nil
        startedAt = nil
        // Six doublings of the shortest timer exceed every longest timer.
        doublings = min(doublings + 1, 6)
        return true
    }
}

/// A stopwatch: measures the total time of an activity with pauses.
struct Stopwatch {
    private var counted = Duration.zero
    private var runsSince: Instant?

    func reading(_ now: Instant) -> Duration { counted + (runsSince.map { now - $0 } ?? .zero) }

    /// Returns the time when the stopwatch will show `reading` if it does not pause before; nil while it pauses.
    func instant(of reading: Duration) -> Instant? { runsSince.map { $0 + (reading - counted) } }

    mutating func run(_ isRunning: Bool, _ now: Instant) {
        guard isRunning != (runsSince != nil) else { return }
        counted = reading(now)
        runsSince = isRunning ? now : nil
    }
}
