import InklingText

extension IndicatorText {
    /// The emphasis of the text: dim when it has just appeared, for a gentle beginning, and plain from then on.
    ///
    /// - Parameter age: how long an indicator has been on the screen, even if its names changed.
    package static func emphasis(age: Duration, decorated: Bool, reducedMotion: Bool) -> Line.Emphasis {
        decorated && !reducedMotion && age < appearance ? .dim : .plain
    }

    /// How long the beginning takes.
    package static let appearance = Duration.milliseconds(300)
}
