import InklingText

/// The dots behind an indicator. They start again with each new indicator, and end with it.
///
/// Time is in milliseconds of a clock that never goes back.
struct TypingDots: Sendable {
    /// How long one step takes.
    static let stepTime: Int64 = 500

    private var run: Run?

    private struct Run {
        let since: Int64
        var step = 0
        var nextStep: Int64
        /// Whether it was drawn since it has fully appeared.
        var hasAppeared = false
    }

    /// Which dots show.
    var step: Int { run?.step ?? 0 }

    /// When to call `tick(at:)`, if at all.
    func nextDeadline(reducedMotion: Bool) -> Int64? {
        guard let run, !reducedMotion else { return nil }
        return run.hasAppeared ? run.nextStep : min(run.since + Self.appearance, run.nextStep)
    }

    /// For how long there has been an indicator.
    func age(at now: Int64) -> Duration { run.map { .milliseconds(now - $0.since) } ?? .zero }

    /// There is an indicator, or none.
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
