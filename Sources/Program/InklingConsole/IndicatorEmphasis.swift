import InklingText

extension IndicatorText {
    /// Returns the emphasis of the indicator: dim at first, so that it appears gently, and plain from then on.
    ///
    /// - Parameter age: the time for which an indicator has been on the screen, even if its names changed.
    package static func emphasis(age: Duration, decorated: Bool, reducedMotion: Bool) -> Line.Emphasis {
        decorated && !reducedMotion && age < appearance ? .dim : .plain
    }

    /// The time for which the indicator is dim.
    package static let appearance = Duration.milliseconds(300)
}
