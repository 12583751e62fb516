#if !IN_ONE_MODULE
    import InklingModel
#endif

/// Makes text from outside harmless before it reaches a terminal or a log.
///
/// The rules apply to Unicode scalars, because a `Character` may hide any number of them (S-5).
public enum SafeText {
    /// The number of marks, joiners and variation selectors that may follow one base character.
    public static let marksPerBase = 4
    /// The number of scalars that joiners may combine into one picture.
    public static let joinedPerPicture = 10
    /// The widest name that the program shows, in columns.
    public static let nameColumns = 32

    /// Returns a message, which may have several lines. Line breaks become LF, and tabs four blanks. Control characters
    /// show as escapes such as `\x1b`. Scalars that reverse the text around them or pile up on a letter are removed.
    /// Joiners and variation selectors of emoji stay.
    public static func message(_ text: some StringProtocol) -> String {
        filter(text, as: .message)
    }

    /// Returns text for one line, such as an error, a notice or the name of a chat. A line break shows as `\x0a`.
    /// Joiners and variation selectors are removed. The rest is as in ``message(_:)``.
    public static func line(_ text: some StringProtocol) -> String {
        filter(text, as: .line)
    }

    /// Returns a person's name as sent, in NFC and at most ``nameColumns`` wide. Returns nil if it has control
    /// characters or no readable character.
    public static func name(_ text: some StringProtocol) -> String? {
        // The rules change no such name, and take 14,000 instructions.
        let name = String(text)
        if isPlain(name: name) { return name }
        let refused: (Unicode.Scalar) -> Bool = {
            lineBreaks.contains($0) || $0.properties.generalCategory == .control
        }
        let text = NormalForm.canonical(name)
        guard !text.unicodeScalars.contains(where: refused) else { return nil }
        var folded = ""
        var readable = false
        var marksAllowed = false
        for scalar in filter(text, as: .line).unicodeScalars {
            if scalar.properties.isWhitespace {
                if !folded.isEmpty && folded.unicodeScalars.last != " " { folded.unicodeScalars.append(" ") }
                marksAllowed = false
            } else if !isMark(scalar) || marksAllowed {
                readable = readable || isReadable(scalar)
                marksAllowed = true
                folded.unicodeScalars.append(scalar)
            }
        }
        guard readable else { return nil }
        var cut = DisplayWidth.prefix(of: folded, columns: nameColumns)
        if cut.last == " " { cut.removeLast() }
        // Cutting may have removed the readable part.
        return cut.unicodeScalars.contains(where: isReadable) ? String(cut) : nil
    }

    /// Returns whether a name fits, and has only ASCII letters, ASCII digits, and single blanks in between.
    static func isWords(_ name: String) -> Bool {
        isPlain(name: name) && name.utf8.allSatisfy { $0 == 0x20 || isLetterOrDigit($0) }
    }

    /// Returns whether a name has only visible ASCII and single blanks in between, fits, and is readable.
    private static func isPlain(name: String) -> Bool {
        guard name.utf8.count <= nameColumns else { return false }
        var isReadable = false
        // A blank must not begin the name.
        var isAfterBlank = true
        for byte in name.utf8 {
            guard (0x20...0x7E).contains(byte), byte != 0x20 || !isAfterBlank else { return false }
            isAfterBlank = byte == 0x20
            isReadable = isReadable || isLetterOrDigit(byte)
        }
        return isReadable && !isAfterBlank
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    private enum Purpose {
        case message
        case line
    }

    private static let lineBreaks: Set<Unicode.Scalar> = ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"]
    private static let bidirectional: Set<Unicode.Scalar> = [
        "\u{61C}", "\u{200E}", "\u{200F}", "\u{202A}", "\u{202B}", "\u{202C}", "\u{202D}", "\u{202E}", "\u{2066}",
        "\u{2067}", "\u{2068}", "\u{2069}",
    ]
    private static let joiners: Set<Unicode.Scalar> = ["\u{200C}", "\u{200D}", "\u{FE0F}"]

    private static func filter(_ text: some StringProtocol, as purpose: Purpose) -> String {
        var result = String.UnicodeScalarView()
        var cluster = ClusterLimits()
        var previous: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            defer { previous = scalar }
            if (0x20..<0x7F).contains(scalar.value) {
                cluster.begin()
                result.append(scalar)
            } else if lineBreaks.contains(scalar) {
                if scalar == "\n" && previous == "\r" { continue }
                result.append(contentsOf: purpose == .message ? "\n".unicodeScalars : "\\x0a".unicodeScalars)
                cluster = ClusterLimits()
            } else if scalar == "\t" && purpose == .message {
                result.append(contentsOf: "    ".unicodeScalars)
                cluster = ClusterLimits()
            } else if scalar.properties.generalCategory == .control {
                result.append(contentsOf: escape(scalar).unicodeScalars)
                cluster = ClusterLimits()
            } else if joiners.contains(scalar) {
                if purpose == .message && cluster.admitsJoiner(scalar) { result.append(scalar) }
            } else if bidirectional.contains(scalar) || scalar.properties.isDefaultIgnorableCodePoint {
                continue
            } else if scalar.properties.isEmojiModifier {
                // A skin tone combines with any scalar before it. So it is dropped unless it follows a picture that can
                // have one.
                let hasBase = previous?.properties.isEmojiModifierBase ?? false
                if hasBase && cluster.admitsMark() { result.append(scalar) }
            } else if isMark(scalar) || piles(scalar) {
                if cluster.admitsMark() { result.append(scalar) }
            } else {
                cluster.begin()
                result.append(isUnusable(scalar) ? "\u{FFFD}" : scalar)
            }
        }
        return String(result)
    }

    /// Counts the marks on the current base character, and the characters that joiners have combined.
    private struct ClusterLimits {
        private var marks = SafeText.marksPerBase
        private var chained = 0
        private var joined = false

        mutating func begin() {
            marks = 0
            chained = joined ? chained + 1 : 1
            joined = false
        }

        mutating func admitsMark() -> Bool {
            guard marks < SafeText.marksPerBase else { return false }
            marks += 1
            return true
        }

        mutating func admitsJoiner(_ scalar: Unicode.Scalar) -> Bool {
            guard scalar != "\u{200D}" || chained < SafeText.joinedPerPicture, admitsMark() else { return false }
            joined = joined || scalar == "\u{200D}"
            return true
        }
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16)
        return "\\x" + (digits.count < 2 ? "0" : "") + digits
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }

    /// Returns whether a letter piles up on the base before it like a mark. Such are the vowels and final consonants of
    /// conjoining Hangul, and halfwidth voicing marks.
    private static func piles(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1160...0x11FF, 0xD7B0...0xD7FF, 0xFF9E...0xFF9F: true
        default: false
        }
    }

    private static func isReadable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber, .otherNumber:
            true
        default: false
        }
    }

    private static func isUnusable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .unassigned, .privateUse, .surrogate: true
        case .format: (0xFFF9...0xFFFB).contains(scalar.value)
        default: false
        }
    }
}

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
            if first.properties.isEmojiModifierBase,
                scalars.dropFirst().contains(where: { $0.properties.isEmojiModifier })
            {
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

/// Breaks lines of plain text between words. Without this, a terminal would break them anywhere.
package enum WordWrap {
    /// Returns the line in rows that fit. All rows but the first are indented by two blanks.
    ///
    /// A word that is wider than a row stays whole, such as an invite or a path. A terminal joins it again when the
    /// user copies it. A line that begins with a blank stays unchanged, since users copy commands from it.
    package static func text(_ line: String, columns: Int) -> String {
        guard columns >= 20, DisplayWidth.of(line) > columns, line.first != " " else { return line }
        var rows: [String] = []
        for word in line.split(separator: " ", omittingEmptySubsequences: false) {
            if let row = rows.last, DisplayWidth.of(row) + 1 + DisplayWidth.of(word) <= columns {
                rows[rows.count - 1] = row + " " + word
            } else {
                rows.append((rows.isEmpty ? "" : "  ") + word)
            }
        }
        return rows.joined(separator: "\n")
    }
}
