/// What a person recognises a name by: its letters and digits. Names that could be taken for each other have the same
/// likeness; a name that dresses up as another has it as a part.
///
/// A likeness is what is left after NFKC and case folding, with the Latin letter in the place of each letter or digit
/// that looks like it, and without anything that is not a letter or digit: "Bob", "B0B", "@Bob" and "Bob_" have the same.
/// Accents stay: "José" is not "Jose".
package struct NameLikeness: Hashable, Sendable {
    /// How many words a name may have before it is ``isLong``. With more, nobody sees at a glance what is in it, and the
    /// number of its parts would grow with their square.
    package static let words = 8

    /// Of the whole name; empty if it has no letters or digits. The likeness of this text is this text again.
    package let whole: String
    /// Those of one or more words of the name side by side, each once, without the whole. A word ends at anything other
    /// than a letter or digit, between letters and digits, and where a capital follows a small letter; one that others
    /// follow also counts without an "s" at its end. Empty if the name is long.
    package let parts: [String]
    /// Whether the name has more words than ``words``.
    package let isLong: Bool

    /// That of a name.
    package init(of name: String) {
        let words = Self.words(of: name)
        whole = Self.joined(words[...])
        isLong = words.count > Self.words
        var parts: [String] = []
        if !isLong {
            for start in words.indices {
                for end in start..<words.count { parts.append(Self.joined(words[start...end])) }
                if start < words.count - 1, words[start].utf8.count > 2, words[start].hasSuffix("s") {
                    parts.append(Self.joined([String(words[start].dropLast())]))
                }
            }
        }
        var seen: Set<String> = [whole]
        self.parts = parts.filter { seen.insert($0).inserted }
    }

    private enum Kind {
        case small, capital, digit
    }

    /// The folded words of a name; none is empty.
    private static func words(of name: String) -> [String] {
        let scalars = Array(NormalForm.compatible(name).unicodeScalars).filter {
            !$0.properties.isDefaultIgnorableCodePoint
        }
        var words: [String] = []
        var word = String.UnicodeScalarView()
        var last: Kind?
        func end() {
            if !word.isEmpty { words.append(String(word)) }
            word = String.UnicodeScalarView()
            last = nil
        }
        for (index, scalar) in scalars.enumerated() {
            if isMark(scalar) {
                // Vowel signs and the like are letters of their scripts; what is put on a Latin letter is not.
                if !isDiacritic(scalar), let base = word.last, !base.isASCII { word.append(scalar) }
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
            for folded in folded(scalar) { word.append(lookAlikes[folded] ?? folded) }
        }
        end()
        return words
    }

    /// Nil for what separates words.
    private static func kind(of scalar: Unicode.Scalar, in scalars: [Unicode.Scalar], at index: Int) -> Kind? {
        // One or more strokes are letters between letters, and a frame elsewhere.
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
        default: return lookAlikes[scalar] == nil ? nil : .small
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

    /// Letters that look like signs: modifiers, tones, clicks, the saltillo and the stretched joint of Arabic.
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

    /// Two narrow letters side by side are read as one.
    private static func joined(_ words: ArraySlice<String>) -> String {
        let text = words.count == 1 ? words.first ?? "" : words.joined()
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

    /// What can hardly be distinguished from a Latin letter, or whose capital can't, in lower case.
    private static let lookAlikes: [Unicode.Scalar: Unicode.Scalar] = {
        let rows: [(Unicode.Scalar, String)] = [
            ("a", "аαɑᴀꭺꓮ"), ("b", "вβьЬʙᏼꓐⲃ"), ("c", "сϲᴄꮯꓚⲥ"), ("d", "ԁᴅꭰꓓ"), ("e", "еεєҽᴇꭼꓰⲉ"), ("f", "ϝꜰꓝ"),
            ("g", "ɡԍɢꮐꓖ"), ("h", "нηһʜꮋꓧⲏ"), ("j", "јϳᴊꭻꓙ"), ("k", "кκᴋꮶꓗⲕ"), ("l", "1i|іιӏıǀɪʟꮮꓡꓲⲓ"), ("m", "мμᴍꮇꓟⲙ"),
            ("n", "νɴꓠⲛ"), ("o", "0оοσօᴏꓳⲟ"), ("p", "рρᴘꮲꓑⲣ"), ("q", "ԛգ"), ("r", "ʀꮢꓣ"), ("s", "ѕ5ꜱꮪꓢ"),
            ("t", "тτᴛꭲꓔⲧ"),
            ("u", "υսᴜꓴ"), ("v", "ѵᴠꮩꓦ"), ("w", "ѡωԝᴡꮃꓪ"), ("x", "хχꓫⲭ"), ("y", "уγүʏꮍꓬⲩ"), ("z", "ζᴢꮓꓜ"),
        ]
        var table: [Unicode.Scalar: Unicode.Scalar] = [:]
        for (latin, others) in rows { for other in others.unicodeScalars { table[other] = latin } }
        // Letters in dark circles and squares, and those that flags are made of, have no other form.
        for (first, latin) in zip(UInt32(0)..., "abcdefghijklmnopqrstuvwxyz".unicodeScalars) {
            for begin in [0x1F150, 0x1F170, 0x1F1E6] as [UInt32] {
                if let scalar = Unicode.Scalar(begin + first) { table[scalar] = latin }
            }
        }
        return table
    }()
}
