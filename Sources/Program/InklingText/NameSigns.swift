import InklingModel

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
