import InklingModel
import InklingText

/// The lines of messages that describe an action of their author, as in XEP-0245. Such messages begin with `/me`. Other
/// programs show them as sent.
extension ChatLines {
    private static let action = "/me "

    /// Returns the line of a message, or of an author's action: `Alice *waves*`.
    ///
    /// The line must not begin with a star, because notices do. Otherwise nobody could tell "* Bob is now verified"
    /// from the program's own notice.
    ///
    /// - Parameter own: the user's name, which is highlighted in the text.
    static func said(_ text: String, by label: Labels.Label, highlighting own: FoldedText? = nil) -> Line {
        let line =
            deed(in: text).map { deed in
                Line([
                    Line.Span(text: label.isolated, emphasis: .person(label.user)),
                    Line.Span(text: " *" + SafeText.message(deed) + "*", emphasis: .plain),
                ])
            } ?? message(from: label, text: text)
        return own.map { line.highlighting($0, from: 1) } ?? line
    }

    /// Returns the line of a message or action of this user.
    static func saidMyself(_ text: String, name: String, mark: String? = nil) -> Line {
        var line = own(text: text, mark: mark)
        if let deed = deed(in: text) {
            line.spans[0].text = NameIsolation.isolated(shown(name))
            line.spans[1].text = " *" + SafeText.message(deed) + "*"
        }
        return Line(line.spans)
    }

    /// Returns the message that describes an action of this user.
    static func message(ofDeed deed: String) -> String { action + deed }

    /// Returns the text of a message without the prefix of an action.
    static func spoken(_ text: String) -> String { deed(in: text) ?? text }

    /// Returns a message as one line of plain text, such as `Bob: hello` or `Bob *waves*`.
    ///
    /// - Parameters:
    ///   - label: the author's label.
    ///   - name: the author's label before an action, if different.
    package static func line(_ text: String, by label: String, orDoneBy name: String? = nil) -> String {
        if let deed = deed(in: text) { return "\(name ?? label) *\(SafeText.line(deed))*" }
        return "\(label): \(SafeText.line(text))"
    }

    /// Returns the action in a message, or nil.
    private static func deed(in text: String) -> String? {
        guard text.hasPrefix(action) else { return nil }
        let deed = text.dropFirst(action.count)
        return deed.contains { !$0.isWhitespace } ? String(deed) : nil
    }
}
