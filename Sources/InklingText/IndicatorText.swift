/// How the names of several people who are typing are combined (R17).
public enum IndicatorStyle: String, CaseIterable, Sendable {
    /// Up to three names, from four on two names and a count.
    case standard
    /// Up to two names, from three on one name and a count.
    case short
    /// Up to two names, from three on two names and a count.
    case list
}

/// The text that says who is typing.
public enum IndicatorText {
    /// The longest name that is shown in full, in characters as a person counts them (R19).
    public static let longestName = 15

    /// Says who is typing, without dots; empty when nobody is.
    ///
    /// - Parameter names: safe names in the order in which they are to be named, the latest start first;
    ///   an empty one is a person whose name can't be shown.
    public static func text(names: [String], style: IndicatorStyle = .standard) -> String {
        if names.count > 1 && names.allSatisfy(\.isEmpty) { return "\(names.count) people are typing" }
        return text(shown: names.map(shortened), style: style)
    }

    /// Says who is typing, by their labels: names are shortened, suffixes and the mark of somebody verified are not.
    public static func text(people: [Labels.Label], style: IndicatorStyle = .standard) -> String {
        text(shown: people.map { $0.marked(shortened($0.name)) }, style: style)
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

    /// The dots after the text: one to three in turn, or always three if motion is unwanted (R20).
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
