/// How the names of several people who are typing are combined. ``IndicatorText`` says what of.
public enum IndicatorStyle: String, CaseIterable, Sendable {
    /// Up to three names; from four people on, two names and a count: "Alice, Bob, and 2 others are typing".
    case standard
    /// Up to two names; from three people on, one name and a count: "Alice and 2 others are typing".
    case short
    /// Up to two names; from three people on, two names and a count: "Alice, Bob, and 1 more are typing".
    case list
}

/// The text that says who is typing, such as "Alice and Bob are typing".
public enum IndicatorText {
    /// The longest name that is shown in full, in characters as a person counts them: grapheme clusters.
    public static let longestName = 15

    /// Says who is typing, without dots; empty when nobody is.
    ///
    /// - Parameters:
    ///   - names: Names that ``SafeText/name(_:)`` made safe, in the order in which to name people, the latest start
    ///     first. An empty one is a person whose name can't be shown.
    ///   - style: How several names are combined.
    public static func text(names: [String], style: IndicatorStyle = .standard) -> String {
        if names.count > 1 && names.allSatisfy(\.isEmpty) { return "\(names.count) people are typing" }
        return text(shown: names.map(shortened), style: style)
    }

    /// Says who is typing, by their labels; empty when nobody is. Names are shortened; suffixes and the mark of
    /// somebody verified are not.
    ///
    /// - Parameters:
    ///   - people: Their labels, in the order in which to name them.
    ///   - style: How several names are combined.
    public static func text(people: [Labels.Label], style: IndicatorStyle = .standard) -> String {
        text(shown: people.map { $0.marked(shortened($0.name)) }, style: style)
    }

    /// The same with each name isolated after it was shortened.
    package static func isolatedText(people: [Labels.Label], style: IndicatorStyle) -> String {
        text(shown: people.map { NameIsolation.isolated($0.marked(shortened($0.name))) }, style: style)
    }

    private static func text(shown: [String], style: IndicatorStyle) -> String {
        guard !shown.isEmpty else { return "" }
        switch (style, shown.count) {
        case (_, 1):
            return "\(shown[0]) is typing"
        case (_, 2):
            return "\(shown[0]) and \(shown[1]) are typing"
        case (.standard, 3):
            return "\(shown[0]), \(shown[1]), and \(shown[2]) are typing"
        case (.standard, let count):
            return "\(shown[0]), \(shown[1]), and \(count - 2) others are typing"
        case (.short, let count):
            return "\(shown[0]) and \(count - 1) others are typing"
        case (.list, let count):
            return "\(shown[0]), \(shown[1]), and \(count - 2) more are typing"
        }
    }

    /// The dots after the text: one to three in turn, or always three if motion is unwanted.
    ///
    /// - Parameters:
    ///   - step: Any number; the next one gives the next of the turn.
    ///   - reducedMotion: Whether the user wants nothing to move.
    public static func dots(step: Int, reducedMotion: Bool) -> String {
        guard !reducedMotion else { return "..." }
        let turn = ((step % 3) + 3) % 3
        return String(repeating: ".", count: turn + 1)
    }

    /// The name as the indicator shows it: its first 15 characters and "...", or "Someone".
    public static func shortened(_ name: String) -> String {
        guard !name.isEmpty else { return "Someone" }
        guard name.count > longestName else { return name }
        return name.prefix(longestName) + "..."
    }
}
