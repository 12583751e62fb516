import InklingModel

/// The form of a name in a label.
extension Labels {
    /// Returns the name in the form for a label, or nil if no readable character is left. A shown name has no colon,
    /// which would end a name. It also has no check mark, no shield and no user ID. Its beginning differs from those of notices,
    /// errors and separators.
    public static func shown(_ name: String) -> String? { shown(name) { _ in false } }

    static func shown(_ name: String, isKnown: (String) -> Bool) -> String? {
        // Most names are short and plain. Nothing below changes them.
        if name.utf8.count < UserIDsInNames.length, SafeText.isWords(name) { return name }
        guard let safe = SafeText.name(name) else { return nil }
        let readable = UserIDsInNames.removed(from: safe, isKnown: isKnown) ?? safe
        var scalars = readable.unicodeScalars[...]
        while let first = scalars.first, beginsLine(first) { scalars.removeFirst() }
        var result = String.UnicodeScalarView()
        for scalar in scalars where !NameSigns.isMark(scalar) {
            result.append(colons.contains(scalar) ? "." : scalar)
        }
        return SafeText.name(String(result))
    }

    private static let colons: Set<Unicode.Scalar> = [
        ":", "\u{2D0}", "\u{589}", "\u{5C3}", "\u{703}", "\u{704}", "\u{16EC}", "\u{1803}", "\u{1809}", "\u{205A}",
        "\u{2236}", "\u{2982}", "\u{2A74}", "\u{A4FD}", "\u{A789}", "\u{FE13}", "\u{FE30}", "\u{FE55}", "\u{FF1A}",
    ]
    private static let harmlessSigns: Set<Unicode.Scalar> = [
        "'", "\"", "#", "&", "@", ".", "\u{A1}", "\u{BF}", "\u{B7}", "\u{2022}", "\u{2026}",
    ]

    private static func beginsLine(_ scalar: Unicode.Scalar) -> Bool {
        if harmlessSigns.contains(scalar) { return false }
        switch scalar.properties.generalCategory {
        case .otherPunctuation, .dashPunctuation, .connectorPunctuation, .mathSymbol, .modifierSymbol, .spaceSeparator:
            return true
        case .otherLetter: return scalar == "\u{1C3}"
        case .otherSymbol:
            // These are stars, and pictures of signs. Names may have other pictures.
            return (0x2721...0x274B).contains(scalar.value) || (0x2753...0x2757).contains(scalar.value)
                || (0x2500...0x259F).contains(scalar.value) || (0x26A0...0x26A1).contains(scalar.value)
        default: return false
        }
    }
}
