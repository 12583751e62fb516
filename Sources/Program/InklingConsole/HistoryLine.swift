/// Which entered lines are not kept for later runs.
enum HistoryLine {
    /// A secret has 26 characters, and an exported identity and a key have more.
    private static let longestWord = 25

    /// Whether a line has an invite in it, or what may be a secret.
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
