/// Finds the word that somebody meant who mistyped it.
package enum NearestWord {
    /// Returns the word with the fewest mistakes, which are letters left out, added, replaced, or swapped with their
    /// neighbours; nil if none is near. Case does not count.
    ///
    /// - Parameter mistakes: The most mistakes, fewer than the typed word has letters. By default one, or a third of the
    ///   letters.
    package static func find(_ typed: String, among words: [String], mistakes: Int? = nil) -> String? {
        let word = Array(typed.lowercased())
        guard (2...32).contains(word.count) else { return nil }
        let ranked = words.map { (distance: distance(word, Array($0.lowercased())), word: $0) }
        guard let nearest = ranked.min(by: { $0.distance < $1.distance }),
            nearest.distance <= min(mistakes ?? max(word.count / 3, 1), word.count - 1)
        else { return nil }
        return nearest.word
    }

    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        // A word that is much longer is no match, and may be a peer's.
        guard right.count <= 2 * left.count else { return .max }
        var rows = [Array(0...right.count)]
        for (i, one) in left.enumerated() {
            var row = [i + 1]
            for (j, other) in right.enumerated() {
                var least = min(rows[i][j] + (one == other ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, one == right[j - 1], left[i - 1] == other {
                    least = min(least, rows[i - 1][j - 1] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
