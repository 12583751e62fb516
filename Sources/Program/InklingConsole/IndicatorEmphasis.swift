import InklingText

extension IndicatorText {
    /// How the text shows: dim when it has just appeared, for a gentle beginning, and plain from then on.
    ///
    /// - Parameter age: since when there is an indicator, whoever it named first.
    package static func emphasis(age: Duration, decorated: Bool, reducedMotion: Bool) -> Line.Emphasis {
        decorated && !reducedMotion && age < appearance ? .dim : .plain
    }

    /// How long the beginning takes.
    package static let appearance = Duration.milliseconds(300)
}
