import InklingText

/// How messages show that say what their author does: those that begin with `/me`, as in XEP-0245. Who does not know
/// that reads them as they are.
extension ChatLines {
    private static let action = "/me "

    /// A message, or what somebody does: `Alice *waves*`.
    ///
    /// A notice begins with a star, so such a line must not: nobody could tell "* Bob is now verified" from the
    /// program's own.
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

    /// The same of a message of this user's.
    static func saidMyself(_ text: String, name: String, mark: String? = nil) -> Line {
        var line = own(text: text, mark: mark)
        if let deed = deed(in: text) {
            line.spans[0].text = NameIsolation.isolated(shown(name))
            line.spans[1].text = " *" + SafeText.message(deed) + "*"
        }
        return Line(line.spans)
    }

    /// The message that says what this user does.
    static func message(ofDeed deed: String) -> String { action + deed }

    /// What a message says, without what makes it a deed.
    static func spoken(_ text: String) -> String { deed(in: text) ?? text }

    /// A message in one line of plain text, as `Bob: hello` or `Bob *waves*`.
    ///
    /// - Parameters:
    ///   - label: what the author is called.
    ///   - name: what the author of a deed is called, if not the same.
    package static func line(_ text: String, by label: String, orDoneBy name: String? = nil) -> String {
        if let deed = deed(in: text) { return "\(name ?? label) *\(SafeText.line(deed))*" }
        return "\(label): \(SafeText.line(text))"
    }

    /// What a message says that its author does.
    private static func deed(in text: String) -> String? {
        guard text.hasPrefix(action) else { return nil }
        let deed = text.dropFirst(action.count)
        return deed.contains { !$0.isWhitespace } ? String(deed) : nil
    }
}
