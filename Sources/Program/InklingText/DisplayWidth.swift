/// The number of columns that text takes in a terminal.
public enum DisplayWidth {
    /// Returns the columns of a grapheme cluster: 2 for wide characters and pictures, 0 for combining or invisible
    /// ones.
    public static func of(_ character: Character) -> Int {
        if let ascii = character.asciiValue { return (0x20..<0x7F).contains(ascii) ? 1 : 0 }
        let scalars = character.unicodeScalars
        guard let first = scalars.first else { return 0 }
        if scalars.count == 1 { return of(first) }
        if first.properties.isEmoji {
            // A variation selector, a joiner or a flag's second half turns the whole cluster into one wide picture.
            for scalar in scalars.dropFirst() where pictureMakers.contains(scalar) || isRegional(scalar) {
                return 2
            }
            if first.properties.isEmojiModifierBase, scalars.dropFirst().contains(where: \.properties.isEmojiModifier) {
                return 2
            }
        }
        return scalars.reduce(0) { $0 + of($1) }
    }

    /// Returns the columns of a cluster's scalars side by side. A terminal that does not know the cluster shows it this
    /// way.
    public static func ofScalars(_ character: Character) -> Int {
        if let ascii = character.asciiValue { return (0x20..<0x7F).contains(ascii) ? 1 : 0 }
        return character.unicodeScalars.reduce(0) { $0 + of($1) }
    }

    /// Returns the columns of text without line breaks.
    public static func of(_ text: some StringProtocol) -> Int {
        text.reduce(0) { $0 + of($1) }
    }

    /// Returns the longest beginning of a text that fits into `columns`, cut between grapheme clusters.
    public static func prefix(of text: String, columns: Int) -> Substring {
        var used = 0
        var end = text.startIndex
        while end < text.endIndex {
            used += of(text[end])
            guard used <= columns else { break }
            end = text.index(after: end)
        }
        return text[..<end]
    }

    private static let pictureMakers: Set<Unicode.Scalar> = ["\u{FE0F}", "\u{200D}", "\u{20E3}"]

    private static func isRegional(_ scalar: Unicode.Scalar) -> Bool {
        (0x1F1E6...0x1F1FF).contains(scalar.value)
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        if scalar.value < 0x7F { return scalar.value < 0x20 ? 0 : 1 }
        let properties = scalar.properties
        switch properties.generalCategory {
        case .control, .nonspacingMark, .enclosingMark: return 0
        default: break
        }
        if properties.isDefaultIgnorableCodePoint || isBidirectional(scalar) { return 0 }
        // A terminal draws the vowels and final consonants of conjoining Hangul over the wide initial consonant.
        if (0x1160...0x11FF).contains(scalar.value) || (0xD7B0...0xD7FF).contains(scalar.value) { return 0 }
        return properties.isEmojiPresentation && !isRegional(scalar) || isWide(scalar.value) ? 2 : 1
    }

    private static func isBidirectional(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    private static func isWide(_ value: UInt32) -> Bool {
        guard value >= 0x1100 else { return false }
        var low = 0
        var high = wide.count
        while low < high {
            let middle = (low + high) / 2
            if value > wide[middle].upperBound {
                low = middle + 1
            } else if value < wide[middle].lowerBound {
                high = middle
            } else {
                return true
            }
        }
        return false
    }

    /// The blocks of East Asian wide and fullwidth characters. Wide emoji have a Unicode property of their own.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2630...0x2637, 0x268A...0x268F, 0x2E80...0x303E, 0x3041...0x3247,
        0x3250...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6B,
        0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x16FF6, 0x17000...0x18DFF, 0x1AFF0...0x1B2FB, 0x1D300...0x1D376,
        0x1F200...0x1F265, 0x1F900...0x1F90B, 0x20000...0x3FFFD,
    ]
}
