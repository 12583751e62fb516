/// The decision which entered lines the program does not keep for later runs.
enum HistoryLine {
    /// The longest word of a line that may be kept. A secret has 26 characters, and an exported identity and a key have
    /// more.
    private static let longestWord = 25

    /// Returns whether a line contains an invite, or a word that may be a secret.
    static func isSecret(_ line: String) -> Bool {
        if line.lowercased().contains("inkling:") { return true }
        var length = 0
        for byte in line.utf8 {
            let isLetter = (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
            length = isLetter ? length + 1 : 0
            if length > longestWord { return true }
        }
        return false
    }
}
