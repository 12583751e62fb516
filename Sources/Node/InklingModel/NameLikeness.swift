/// The letters and digits by which a reader recognises a name. Two names that readers could confuse have a common entry
/// in ``keys``. If only a part of a name imitates another name, the imitated name's key is in ``parts``.
///
/// There are three spellings of the letters and digits. None of them has signs, blanks and ignorable scalars:
///
/// - the skeleton (UTS 39) of NFKC: "AIice" and "Alice", "Torn" and "Tom";
/// - the skeleton of NFKC after case folding. The skeleton itself is not folded, because "Ian" is not "Lan";
/// - NFKC after case folding, with the Latin letter in place of each look-alike: "Bob", "B0b" and "Bob_".
///
/// Accents stay: "José" is not "Jose".
package struct NameLikeness: Hashable, Sendable {
    /// The most words of a name that is not ``isLong``. Readers cannot see at a glance what a longer name contains. The
    /// number of parts would also grow with the square of the number of words.
    package static let words = 8
    /// The most scalars of a name that count both as "i" and as "l". If a name has more, all of them are read as the
    /// same letter.
    private static let ambiguous = 3

    /// One spelling of the whole name, in which "i", "l" and "1" are the same; empty if the name has no letters or
    /// digits. Applied to its own result, the spelling changes nothing. Files store it.
    package let whole: String
    /// The spellings of the whole name. A name without letters and digits has a single, empty spelling.
    package let keys: [String]
    /// The spellings of one or more adjacent words, each once, without ``keys``. A word ends before any character other
    /// than a letter or digit, between letters and digits, and before a capital after a small letter. A word before
    /// others also counts without an "s" at its end. Empty if the name is long.
    package let parts: [String]
    /// Whether the name has more words than ``words``.
    package let isLong: Bool

    /// The likeness of a name.
    ///
    /// - Parameter withParts: Whether to compute ``parts``, which takes time.
    package init(of name: String, withParts: Bool = true) {
        let words = Self.words(of: name)
        whole = Self.narrow(Self.joined(words.map { $0.folded }), as: "l", alsoI: true)
        isLong = words.count > Self.words
        keys = Self.keys(of: words[...])
        var parts: [String] = []
        if !isLong && withParts {
            for start in words.indices {
                for end in start..<words.count { parts += Self.keys(of: words[start...end]) }
                let word = words[start]
                if start < words.count - 1, word.folded.utf8.count > 2, word.folded.hasSuffix("s") {
                    parts += Self.keys(of: [word.withoutLast])
                }
            }
        }
        var seen = Set(keys)
        self.parts = parts.filter { seen.insert($0).inserted }
    }

    /// Returns whether readers could confuse two names.
    package func isAlike(_ other: NameLikeness) -> Bool { keys.contains(where: other.keys.contains) }

    private enum Kind {
        case small, capital, digit
    }

    /// A word in the three spellings. In `folded`, "1" stands for an ambiguous scalar, either "i" or "l".
    private struct Word {
        var folded = ""
        /// The word in NFKC.
        var shown = ""
        /// The word in NFKC with folded case.
        var lower = ""

        var withoutLast: Word {
            Word(
                folded: String(folded.dropLast()), shown: String(shown.dropLast()), lower: String(lower.dropLast()))
        }
    }

    private static func keys(of words: ArraySlice<Word>) -> [String] {
        let folded = joined(words.map { $0.folded })
        guard !folded.isEmpty else { return [""] }
        // Prefixes keep the three spellings apart: the skeleton of "Ian" is the text "lan".
        return [
            "s:" + Skeleton.of(words.map { $0.shown }.joined()), "f:" + Skeleton.of(words.map { $0.lower }.joined()),
        ]
            + readings(of: folded).map { "t:" + $0 }
    }

    /// Returns all readings of a text, in which each "1" is an "i" or an "l".
    private static func readings(of text: String) -> [String] {
        let count = text.utf8.count { $0 == UInt8(ascii: "1") }
        guard count > 0 else { return [text] }
        guard count <= ambiguous else { return [narrow(text, as: "l"), narrow(text, as: "i")] }
        var readings = [String.UnicodeScalarView()]
        for scalar in text.unicodeScalars {
            let choices: [Unicode.Scalar] = scalar == "1" ? ["l", "i"] : [scalar]
            readings = readings.flatMap { reading in choices.map { reading + [$0] } }
        }
        return readings.map { String($0) }
    }

    private static func narrow(_ text: String, as letter: Unicode.Scalar, alsoI: Bool = false) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { result.append(scalar == "1" || alsoI && scalar == "i" ? letter : scalar) }
        return String(result)
    }

    /// Returns the words of a name, without empty ones.
    private static func words(of name: String) -> [Word] {
        let scalars = Array(NormalForm.compatible(name).unicodeScalars).filter {
            !$0.properties.isDefaultIgnorableCodePoint
        }
        var words: [Word] = []
        var word = Word()
        var last: Kind?
        var keepsMarks = false
        func end() {
            if !word.folded.isEmpty { words.append(word) }
            word = Word()
            last = nil
        }
        for (index, scalar) in scalars.enumerated() {
            if isMark(scalar) {
                // Vowel signs and the like are letters of their scripts. Marks on a Latin letter are not.
                if !isDiacritic(scalar), keepsMarks, !word.folded.isEmpty {
                    word.folded.unicodeScalars.append(scalar)
                    word.shown.unicodeScalars.append(scalar)
                    word.lower.unicodeScalars.append(scalar)
                }
                continue
            }
            guard let kind = kind(of: scalar, in: scalars, at: index) else {
                end()
                continue
            }
            switch (last, kind) {
            case (.small, .capital), (.digit, .small), (.digit, .capital), (.small, .digit), (.capital, .digit): end()
            default: break
            }
            last = kind
            keepsMarks = !scalar.isASCII
            word.shown.unicodeScalars.append(scalar)
            for folded in folded(scalar) {
                word.lower.unicodeScalars.append(folded)
                if let alike = lookAlikes[folded] {
                    word.folded.unicodeScalars.append(alike)
                    keepsMarks = false
                } else {
                    word.folded.unicodeScalars.append(shape(of: scalar) ?? folded)
                }
            }
        }
        end()
        return words
    }

    /// Returns the lower-case letter whose shape a scalar has; nil if there is none.
    private static func shape(of scalar: Unicode.Scalar) -> Unicode.Scalar? {
        guard let shape = Skeleton.shape(of: scalar) else { return nil }
        return shape == "l" ? "1" : folded(shape).first.map { lookAlikes[$0] ?? $0 }
    }

    /// Returns the kind of a scalar; nil if the scalar separates words.
    private static func kind(of scalar: Unicode.Scalar, in scalars: [Unicode.Scalar], at index: Int) -> Kind? {
        // Strokes between letters count as letters. Elsewhere they form a frame around the name.
        if isStroke(scalar) {
            let isPassedOver = { isStroke($0) || isMark($0) }
            let before = scalars[..<index].last { !isPassedOver($0) }
            let after = scalars[(index + 1)...].first { !isPassedOver($0) }
            guard let before, let after else { return nil }
            return isLetterOrDigit(before) && isLetterOrDigit(after) ? .small : nil
        }
        if isSilent(scalar) { return nil }
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .titlecaseLetter: return .capital
        case .lowercaseLetter, .modifierLetter, .otherLetter: return .small
        case .decimalNumber, .letterNumber, .otherNumber: return .digit
        default:
            if lookAlikes[scalar] != nil { return .small }
            // A sign such as U+2228 counts as a letter if it stands beside letters.
            guard Skeleton.shape(of: scalar) != nil else { return nil }
            let isBeside = { scalars.indices.contains($0) && isLetterOrDigit(scalars[$0]) }
            return isBeside(index - 1) || isBeside(index + 1) ? .small : nil
        }
    }

    private static func isStroke(_ scalar: Unicode.Scalar) -> Bool { scalar == "|" || scalar == "\u{1C0}" }

    private static func isLetterOrDigit(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }

    private static func isDiacritic(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x300...0x36F, 0x483...0x489, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE20...0xFE2F: true
        default: false
        }
    }

    /// Returns whether a scalar is a letter that looks like a sign: modifiers, tones, clicks, the saltillo and the
    /// Arabic tatweel.
    private static func isSilent(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1C1...0x1C3, 0x2B0...0x2FF, 0x374, 0x559, 0x640, 0xA4F8...0xA4FD, 0xA717...0xA71F, 0xA788,
            0xA78B...0xA78C:
            true
        default: false
        }
    }

    private static func folded(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        if scalar.isASCII {
            return [("A"..."Z").contains(scalar) ? Unicode.Scalar(UInt8(scalar.value + 0x20)) : scalar]
        }
        return scalar.properties.uppercaseMapping.unicodeScalars.flatMap {
            $0.properties.lowercaseMapping.unicodeScalars
        }
        .filter { !isMark($0) }
    }

    /// Replaces pairs of narrow letters that readers take for one letter.
    private static func joined(_ words: [String]) -> String {
        let text = words.joined()
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "r") || $0 == UInt8(ascii: "v") }) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch (result.last, scalar) {
            case ("r", "n"): result.replaceSubrange(result.index(before: result.endIndex)..., with: ["m"])
            case ("v", "v"): result.replaceSubrange(result.index(before: result.endIndex)..., with: ["w"])
            default: result.append(scalar)
            }
        }
        return String(result)
    }

    /// The lower-case Latin letters, by the scalars that look like them. A scalar also counts if its capital looks like
    /// the capital letter.
    private static let lookAlikes: [Unicode.Scalar: Unicode.Scalar] = {
        let rows: [(Unicode.Scalar, String)] = [
            ("a", "аαɑᴀꭺꓮ"), ("b", "вβьЬʙᏼꓐⲃ"), ("c", "сϲᴄꮯꓚⲥ"), ("d", "ԁᴅꭰꓓ"), ("e", "еεєҽᴇꭼꓰⲉ"), ("f", "ϝꜰꓝ"),
            ("g", "ɡԍɢꮐꓖ"), ("h", "нηһʜꮋꓧⲏ"), ("1", "1|ǀӏꓲ"), ("i", "іιıɪⲓ"), ("j", "јϳᴊꭻꓙ"), ("k", "кκᴋꮶꓗⲕ"),
            ("l", "ʟꮮꓡ"), ("m", "мμᴍꮇꓟⲙ"),
            ("n", "νɴꓠⲛ"), ("o", "0оοσօᴏꓳⲟ"), ("p", "рρᴘꮲꓑⲣ"), ("q", "ԛգ"), ("r", "ʀꮢꓣ"), ("s", "ѕ5ꜱꮪꓢ"),
            ("t", "тτᴛꭲꓔⲧ"),
            ("u", "υսᴜꓴ"), ("v", "ѵᴠꮩꓦ"), ("w", "ѡωԝᴡꮃꓪ"), ("x", "хχꓫⲭ"), ("y", "уγүʏꮍꓬⲩ"), ("z", "ζᴢꮓꓜ"),
        ]
        var table: [Unicode.Scalar: Unicode.Scalar] = [:]
        for (latin, others) in rows { for other in others.unicodeScalars { table[other] = latin } }
        // No normal form exists for letters in dark circles and squares, and for the letters of flags.
        for (first, latin) in zip(UInt32(0)..., "abcdefghijklmnopqrstuvwxyz".unicodeScalars) {
            for begin in [0x1F150, 0x1F170, 0x1F1E6] as [UInt32] {
                if let scalar = Unicode.Scalar(begin + first) { table[scalar] = latin }
            }
        }
        return table
    }()
}
