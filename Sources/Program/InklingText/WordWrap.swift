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
