/// Isolates around names. Without them, a name in a right-to-left script could move the text beside it.
package enum NameIsolation {
    private static let first: Unicode.Scalar = "\u{2068}"
    private static let last: Unicode.Scalar = "\u{2069}"

    /// Returns a name between the characters FSI and PDI.
    package static func isolated(_ name: String) -> String { "\u{2068}" + name + "\u{2069}" }

    /// Returns the text without isolates.
    package static func removed(from text: String) -> String {
        guard has(text, in: 0x2066...0x2069) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.filter { !(0x2066...0x2069).contains($0.value) }))
    }

    /// Returns a text on one line, made safe, that keeps its isolates. Each of them ends within the text.
    package static func line(_ text: String) -> String {
        guard has(text, in: 0x2066...0x2069) else { return SafeText.line(text) }
        var result = ""
        var depth = 0
        var rest = text.unicodeScalars[...]
        while let index = rest.firstIndex(where: { $0 == first || $0 == last }) {
            result += SafeText.line(String(rest[..<index]))
            if rest[index] == first || depth > 0 {
                depth += rest[index] == first ? 1 : -1
                result.unicodeScalars.append(rest[index])
            }
            rest = rest[rest.index(after: index)...]
        }
        return result + SafeText.line(String(rest)) + String(repeating: "\u{2069}", count: depth)
    }

    /// Returns whether a text has a letter of a right-to-left script.
    package static func isNeeded(in text: String) -> Bool {
        guard text.utf8.contains(where: { $0 >= 0xD6 }) else { return false }
        return text.unicodeScalars.contains { scalar in
            switch scalar.value {
            case 0x590...0x8FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFC, 0x10800...0x10FFF, 0x1E800...0x1EFFF: true
            default: false
            }
        }
    }

    private static func has(_ text: String, in range: ClosedRange<UInt32>) -> Bool {
        text.utf8.contains { $0 == 0xE2 } && text.unicodeScalars.contains { range.contains($0.value) }
    }
}

extension Labels.Label {
    /// The shown label, isolated from the text beside it.
    package var isolated: String { NameIsolation.isolated(marked) }
}
