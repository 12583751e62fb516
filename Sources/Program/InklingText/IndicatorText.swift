/// The style in which ``IndicatorText`` combines the names of several people who are typing.
public enum IndicatorStyle: String, CaseIterable, Sendable {
    /// One to three names. From four people on, two names and a count: "Alice, Bob, and 2 others are typing".
    case standard
    /// One or two names. From three people on, one name and a count: "Alice and 2 others are typing".
    case short
    /// One or two names. From three people on, two names and a count: "Alice, Bob, and 1 more are typing".
    case list
}

/// The text that names the people who are typing, such as "Alice and Bob are typing".
public enum IndicatorText {
    /// The longest name that the text shows in full, in grapheme clusters.
    public static let longestName = 15

    /// Returns the text without dots; empty when nobody is typing.
    ///
    /// - Parameters:
    ///   - names: Names that ``SafeText/name(_:)`` made safe, in the order in which to name people, the latest start
    ///     first. An empty one is a person whose name can't be shown.
    ///   - style: The way to combine several names.
    public static func text(names: [String], style: IndicatorStyle = .standard) -> String {
        if names.count > 1 && names.allSatisfy(\.isEmpty) { return "\(names.count) people are typing" }
        return text(shown: names.map(shortened), style: style)
    }

    /// Returns the text for people with labels, without dots; empty when nobody is typing. Names are shortened;
    /// suffixes and the mark of a verified person are not.
    ///
    /// - Parameters:
    ///   - people: Their labels, in the order in which to name them.
    ///   - style: The way to combine several names.
    public static func text(people: [Labels.Label], style: IndicatorStyle = .standard) -> String {
        text(shown: people.map { $0.marked(shortened($0.name)) }, style: style)
    }

    /// Returns the text of ``text(people:style:)`` with each shortened name isolated. In a narrow terminal, names
    /// get shorter, so that the verb and the dots show.
    ///
    /// - Parameter columns: the room for the text with its dots.
    package static func isolatedText(people: [Labels.Label], style: IndicatorStyle, columns: Int = .max) -> String {
        guard !people.isEmpty else { return "" }
        let room = columns - 3
        for length in [longestName, 9, 5, 2] {
            let shown = people.map { NameIsolation.isolated($0.marked(shortened($0.name, to: length))) }
            let text = text(shown: shown, style: style)
            // No text has more columns than bytes.
            if text.utf8.count <= room || DisplayWidth.of(text) <= room { return text }
        }
        let count = "\(people.count) people are typing"
        return people.count > 1 && count.utf8.count <= room ? count : "typing"
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

    /// Returns the dots after the text: one to three in turn, or always three if the user wants no motion.
    ///
    /// - Parameters:
    ///   - step: Any number. The next number gives the next dots.
    ///   - reducedMotion: Whether the user wants no motion.
    public static func dots(step: Int, reducedMotion: Bool) -> String {
        guard !reducedMotion else { return "..." }
        let turn = ((step % 3) + 3) % 3
        return String(repeating: ".", count: turn + 1)
    }

    /// Returns the name as the indicator shows it: its first 15 characters and "...", or "Someone".
    public static func shortened(_ name: String) -> String { shortened(name, to: longestName) }

    private static func shortened(_ name: String, to length: Int) -> String {
        guard !name.isEmpty else { return "Someone" }
        // The mark takes the room of three more. Counting the bytes is quick, and no name has more clusters than bytes.
        let longest = length == longestName ? length : length + 3
        guard name.utf8.count > longest, name.count > longest else { return name }
        return name.prefix(length) + "..."
    }
}
