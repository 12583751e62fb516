import InklingText

/// The dots behind an indicator. They begin again with each new indicator, and end with it.
///
/// Time is in milliseconds of a clock that never goes back.
struct TypingDots: Sendable {
    /// The duration of one step.
    static let stepTime: Int64 = 500

    private var run: Run?

    private struct Run {
        let since: Int64
        var step = 0
        var nextStep: Int64
        /// Whether the screen has drawn the indicator since it fully appeared.
        var hasAppeared = false
    }

    /// The number of the current step, which decides on the dots.
    var step: Int { run?.step ?? 0 }

    /// Returns the time of the next call of `tick(at:)`; nil for none.
    func nextDeadline(reducedMotion: Bool) -> Int64? {
        guard let run, !reducedMotion else { return nil }
        return run.hasAppeared ? run.nextStep : min(run.since + Self.appearance, run.nextStep)
    }

    /// Returns the time for which there has been an indicator.
    func age(at now: Int64) -> Duration { run.map { .milliseconds(now - $0.since) } ?? .zero }

    /// Begins the dots with an indicator, or ends them without one.
    mutating func follow(isShown: Bool, at now: Int64) {
        guard isShown else { return run = nil }
        if run == nil { run = Run(since: now, nextStep: now + Self.stepTime) }
    }

    mutating func tick(at now: Int64) {
        guard var run else { return }
        run.hasAppeared = now >= run.since + Self.appearance
        if now >= run.nextStep {
            run.step += 1
            run.nextStep = now + Self.stepTime
        }
        self.run = run
    }

    private static let appearance =
        IndicatorText.appearance.components.seconds * 1_000
        + IndicatorText.appearance.components.attoseconds / 1_000_000_000_000_000
}
