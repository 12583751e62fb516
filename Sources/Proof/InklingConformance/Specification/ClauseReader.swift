/// Reads the numbered rules of a text in `Protocol/`. A rule is the whole list item, with its lists and paragraphs. If
/// the item names "the table below", the rule includes the rows of the next table.
struct ClauseReader {
    private var clauses: [(number: String, text: String)] = []
    /// Whether the next line can belong to the last clause.
    private var isOpen = false
    /// The indices of clauses whose table comes next, or is being read.
    private var awaitingTable: [Int] = []
    private var isFenced = false
    private var isInTable = false
    /// Whether a blank line comes before this one.
    private var isApart = false

    static func clauses(of lines: [Substring]) -> [Clause] {
        var reader = ClauseReader()
        for line in lines { reader.read(line) }
        reader.close()
        return reader.clauses.map { number, text in
            let words = text.split { !($0.isASCII && $0.isLetter) }
            return Clause(number: number, level: words.contains("MUST") ? .must : .should, text: text)
        }
    }

    private mutating func read(_ line: Substring) {
        let text = line.drop { $0 == " " }
        let isFence = text.hasPrefix("```")
        let isRow = line.hasPrefix("|")
        if isFence || isRow { close() }
        if isFence { isFenced.toggle() }
        if isFenced || isFence { return }
        if isRow {
            isInTable = true
            guard !line.allSatisfy({ "| :-".contains($0) }) else { return }
            for index in awaitingTable { clauses[index].text += "\n" + line }
            return
        }
        if isInTable {
            isInTable = false
            awaitingTable = []
        }
        guard !text.isEmpty else {
            isApart = true
            return
        }
        let isItem = Self.isItem(text)
        if isOpen, line.hasPrefix("#") || text.count == line.count && (isItem || isApart) { close() }
        if let (number, rest) = Self.beginning(of: line) {
            clauses.append((number, rest))
            isOpen = true
        } else if isOpen {
            clauses[clauses.count - 1].text += (isItem || isApart ? "\n" : " ") + text
        }
        isApart = false
    }

    private mutating func close() {
        if isOpen, clauses.last?.text.contains("the table below") == true { awaitingTable.append(clauses.count - 1) }
        isOpen = false
    }

    /// Returns whether a line begins an item of a list, such as `- ` or `1. `.
    private static func isItem(_ text: Substring) -> Bool {
        let rest = text.drop(while: \.isWholeNumber)
        let mark = rest.first
        let isMark = rest.count == text.count ? mark == "-" || mark == "*" || mark == "+" : mark == "."
        return isMark && rest.dropFirst().first == " "
    }

    /// Returns the number of the clause that begins with `- [W-3] `, and the words behind it.
    private static func beginning(of line: Substring) -> (number: String, rest: String)? {
        guard line.hasPrefix("- ["), let end = line.firstIndex(of: "]") else { return nil }
        let number = line[..<end].dropFirst(3)
        let parts = number.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts[0].allSatisfy({ ("A"..."Z").contains($0) }),
            Int(parts[1]) != nil, line[end...].hasPrefix("] ")
        else { return nil }
        return (String(number), String(line[end...].dropFirst(2)))
    }
}
