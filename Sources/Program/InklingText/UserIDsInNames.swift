import InklingModel

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
            return isKnown(part) || rest.contains { !isDigit($0) } && UserID(part) != nil
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

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte + 0x20 : byte
    }
}
