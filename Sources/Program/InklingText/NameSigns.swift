#if !IN_ONE_MODULE
    import InklingModel
#endif

/// Signs in names that readers could take for output of the program. The prompt, the page and the command for messages
/// share this list.
package enum NameSigns {
    /// Returns whether a sign looks like the mark of a verified person: the check mark of the prompt, or the shield of the
    /// page. Shown names contain no such sign.
    package static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x221A...0x221C, 0x2123, 0x23B7, 0x237B, 0x2611, 0x26C9, 0x26CA, 0x26E8, 0x2705, 0x2713, 0x2714, 0xAA9C,
            0x10102, 0x1F5F8, 0x1F5F9, 0x1F6E1, 0x1FBB1:
            true
        default: false
        }
    }

    /// Returns the name of a chat, made safe to show, without such signs.
    package static func shown(chat name: String) -> String {
        let scalars = name.unicodeScalars.filter { !isMark($0) }
        return SafeText.line(String(String.UnicodeScalarView(scalars)).split(separator: " ").joined(separator: " "))
    }

    /// Returns whether a name with this sign needs a suffix. An apostrophe needs one only if no letter follows it.
    package static func isSign(_ scalar: Unicode.Scalar) -> Bool {
        isBadge(scalar) || isSeparator(scalar) && !isApostrophe(scalar)
    }

    /// Returns whether a name has brackets, commas, quotes, or signs such as arrows, boxes, stars, locks and shields.
    /// An apostrophe before a letter, a heart and most pictures do not count.
    package static func areIn(_ name: String) -> Bool {
        if name.unicodeScalars.contains(where: isBadge) { return true }
        let scalars = Array(NormalForm.compatible(name).unicodeScalars)
        return scalars.indices.contains { index in
            if isApostrophe(scalars[index]) {
                return !(scalars.indices.contains(index + 1) && scalars[index + 1].properties.isAlphabetic)
            }
            return isSeparator(scalars[index])
        }
    }

    /// Returns whether a label in a list needs quotes, because readers could take one name for two.
    static func canBeReadAsTwo(_ name: String) -> Bool {
        name.unicodeScalars.contains { $0 == "\"" || commas.contains($0) }
            || name.lowercased().split { !$0.isLetter }.contains("and")
    }

    private static func isApostrophe(_ scalar: Unicode.Scalar) -> Bool { scalar == "'" || scalar == "\u{2019}" }

    private static let commas: Set<Unicode.Scalar> = [
        ",", ";", "\u{37E}", "\u{55D}", "\u{60C}", "\u{61B}", "\u{7F8}", "\u{1363}", "\u{1364}", "\u{1802}", "\u{1808}",
        "\u{204F}", "\u{2E32}", "\u{2E34}", "\u{2E35}", "\u{2E41}", "\u{3001}", "\u{A4FE}", "\u{A60D}", "\u{A6F5}",
        "\u{FE10}", "\u{FE11}", "\u{FE14}", "\u{FE45}", "\u{FE50}", "\u{FE51}", "\u{FE54}", "\u{FF0C}", "\u{FF1B}",
        "\u{FF64}",
    ]
    private static let otherSeparators: Set<Unicode.Scalar> = ["\"", "`", "\u{B4}", "<", ">", "|", "\u{1C0}"]

    private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
        if commas.contains(scalar) || otherSeparators.contains(scalar) { return true }
        switch scalar.properties.generalCategory {
        case .openPunctuation, .closePunctuation, .initialPunctuation, .finalPunctuation: return true
        default: return false
        }
    }

    private static func isBadge(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value > 0x7F else { return false }
        switch scalar.value {
        case 0x2605, 0x2606, 0x2610...0x2612, 0x2694, 0x26A0, 0x26A1, 0x26AA...0x26AC, 0x26BF, 0x26C9, 0x26CA, 0x26E8,
            0x2728, 0x274C, 0x274E,
            0x2753...0x2757, 0x2795...0x2797, 0x2B1B...0x2B1C, 0x2B50, 0x2B55, 0x1F18E...0x1F19A, 0x1F4A0, 0x1F4AC,
            0x1F4AF, 0x1F50F...0x1F513, 0x1F530...0x1F539, 0x1F53A...0x1F53D, 0x1F7E0...0x1F7EB:
            return true
        // Weather, games, signs of the zodiac and hearts are harmless pictures.
        case 0x2600...0x26FF, 0x2763...0x2767: return false
        default: break
        }
        switch scalar.properties.generalCategory {
        case .mathSymbol, .modifierSymbol, .otherSymbol: return !scalar.properties.isEmojiPresentation
        default: return false
        }
    }
}

/// The scripts and digits within the words of a name.
enum NameScripts {
    /// Returns whether a word of the name mixes two scripts with similar letters. A foreign digit with the shape of an
    /// ASCII letter or digit counts too. Different words may have different scripts: "Олена Lena".
    static func areMixed(in name: String) -> Bool {
        var scripts: Set<Script> = []
        var hasForeign = false
        for scalar in NormalForm.compatible(name).unicodeScalars {
            guard isInWord(scalar) else {
                (scripts, hasForeign) = ([], false)
                continue
            }
            if let script = Script(of: scalar) {
                scripts.insert(script)
            } else if !scalar.isASCII, Skeleton.shape(of: scalar) != nil {
                hasForeign = true
            }
            if scripts.count > 1 || hasForeign && !scripts.isEmpty { return true }
        }
        return false
    }

    private static func isInWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber, .format:
            true
        default: false
        }
    }

    /// The scripts whose letters mostly have the same shapes.
    private enum Script {
        case latin, greek, cyrillic, armenian, cherokee, lisu, coptic

        init?(of scalar: Unicode.Scalar) {
            switch scalar.value {
            case 0x41...0x5A, 0x61...0x7A, 0xAA, 0xBA, 0xC0...0x24F, 0x250...0x2AF, 0x1D00...0x1D25, 0x1E00...0x1EFF,
                0x2C60...0x2C7F, 0xA722...0xA7FF, 0xAB30...0xAB64, 0xFF21...0xFF3A, 0xFF41...0xFF5A:
                self = .latin
            case 0x370...0x3FF, 0x1D26...0x1D2A, 0x1F00...0x1FFF: self = .greek
            case 0x400...0x52F, 0x1C80...0x1C8F, 0x1D2B, 0x2DE0...0x2DFF, 0xA640...0xA69F: self = .cyrillic
            case 0x530...0x58F: self = .armenian
            case 0x13A0...0x13FF, 0xAB70...0xABBF: self = .cherokee
            case 0xA4D0...0xA4FF, 0x11FB0: self = .lisu
            case 0x2C80...0x2CFF: self = .coptic
            default: return nil
            }
        }
    }
}

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

/// User IDs within names. A name proves no identity, so a user ID in it can only mislead.
enum UserIDsInNames {
    /// The number of characters of a user ID.
    static let length = 16

    /// Returns the name with "..." in the place of each user ID; nil if it has none.
    ///
    /// A word is replaced if it contains a known user ID, or 16 characters of base32 with a digit before a letter.
    /// Nearly all user IDs have such a digit, and hardly any name has.
    static func removed(from name: String, isKnown: (String) -> Bool) -> String? {
        if let rest = replaced(in: name, isKnown) { return rest }
        let compatible = NormalForm.compatible(name)
        return compatible == name ? nil : replaced(in: compatible, isKnown)
    }

    /// Returns whether the name contains a known user ID, even with signs and blanks between its characters.
    static func isSpelled(in name: String, isKnown: (String) -> Bool) -> Bool {
        windows(of: NormalForm.compatible(name).utf8.filter(isLetterOrDigit).map(lowercased)).contains(where: isKnown)
    }

    /// Returns whether the name has a word of at least 16 letters and digits, with a digit before a letter. Readers
    /// can't tell such words apart.
    static func hasLongCode(_ name: String) -> Bool {
        NormalForm.compatible(name).utf8.split { !isLetterOrDigit($0) }.contains { word in
            word.count >= length && word.contains(where: isDigit)
                && !word.drop(while: { !isDigit($0) }).allSatisfy(isDigit)
        }
    }

    private static func replaced(in name: String, _ isKnown: (String) -> Bool) -> String? {
        var result: [UInt8] = []
        var word: [UInt8] = []
        var found = false
        func finishWord() {
            let isID = word.count >= length && isUserID(word.map(lowercased), isKnown)
            result += isID ? Array("...".utf8) : word
            found = found || isID
            word = []
        }
        for byte in name.utf8 {
            if isLetterOrDigit(byte) {
                word.append(byte)
            } else {
                finishWord()
                result.append(byte)
            }
        }
        finishWord()
        return found ? String(decoding: result, as: UTF8.self) : nil
    }

    private static func isUserID(_ word: [UInt8], _ isKnown: (String) -> Bool) -> Bool {
        windows(of: word).contains { part in
            let rest = part.utf8.drop { !isDigit($0) }
            return isKnown(part) || rest.contains { !isDigit($0) } && part.utf8.allSatisfy(isBase32)
        }
    }

    private static func windows(of bytes: [UInt8]) -> [String] {
        guard bytes.count >= length else { return [] }
        return (0...bytes.count - length).map { String(decoding: bytes[$0..<$0 + length], as: UTF8.self) }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: isDigit(byte)
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// Whether a character can be in a user ID.
    private static func isBase32(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "2")...UInt8(ascii: "7")).contains(byte)
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte + 0x20 : byte
    }
}
