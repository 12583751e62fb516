import InklingConsole
import InklingText

/// A terminal that understands just the sequences that the screen writes, and records any other.
struct TinyTerminal {
    private(set) var columns: Int
    let rows: Int
    private(set) var row = 0
    private(set) var column = 0
    private(set) var wraps = true
    private(set) var cursorShown = true
    private(set) var pastesBracketed = false
    private(set) var notUnderstood: [String] = []

    private struct Cells {
        var cells: [String]
        /// Whether the terminal itself went on in the next row.
        var continues = false
    }

    private var grid: [Cells]
    private var past: [Cells] = []
    private var mustWrap = false
    private let width: @Sendable (Character) -> Int

    /// - Parameter width: how the terminal counts columns, which may be another way than ours.
    init(columns: Int, rows: Int, width: @escaping @Sendable (Character) -> Int = { DisplayWidth.of($0) }) {
        self.columns = columns
        self.rows = rows
        self.width = width
        grid = Array(repeating: Self.blank(columns), count: rows)
    }

    /// The rows on the screen without what is blank at their ends and below them.
    var screen: [String] {
        var lines = grid.map(Self.trimmed)
        while lines.last == "" { lines.removeLast() }
        return lines
    }

    /// The rows that have left the screen at its top.
    var history: [String] { past.map(Self.trimmed) }

    /// All rows that were ever completed, and those on the screen.
    var everything: [String] { history + screen }

    mutating func write(_ bytes: [UInt8]) {
        var run = String.UnicodeScalarView()
        let scalars = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
        var index = 0
        while index < scalars.count {
            let scalar = scalars[index]
            index += 1
            guard scalar.properties.generalCategory == .control else {
                run.append(scalar)
                continue
            }
            for character in String(run) { put(character) }
            run = String.UnicodeScalarView()
            switch scalar {
            case "\r":
                column = 0
                mustWrap = false
            case "\n": lineFeed()
            case "\u{7}": break
            case "\u{1B}" where index < scalars.count && scalars[index] == "[":
                var end = index + 1
                while end < scalars.count, !(0x40...0x7E).contains(scalars[end].value) { end += 1 }
                var parameters = String.UnicodeScalarView()
                parameters.append(contentsOf: scalars[(index + 1)..<end])
                control(String(parameters), final: end < scalars.count ? scalars[end] : "?")
                index = end + 1
            default: notUnderstood.append("U+" + String(scalar.value, radix: 16))
            }
        }
        for character in String(run) { put(character) }
    }

    /// Changes the width of the window. As most terminals do, this one cuts the rows that are too long now and joins
    /// the rows that it cut itself. The cursor keeps its cell.
    ///
    /// - Parameter keepsBlanks: whether blank rows below the text stay, as in tmux, and the top goes instead.
    mutating func resize(columns new: Int, keepsBlanks: Bool = false) {
        var lines: [[String]] = []
        var cursor = (line: 0, cell: 0)
        var open = false
        for (index, cells) in (past + grid).enumerated() {
            if !open { lines.append([]) }
            let isCursorRow = index == past.count + row
            if isCursorRow { cursor = (lines.count - 1, lines[lines.count - 1].count + column) }
            var kept = cells.cells
            while !cells.continues, kept.last == " ", !isCursorRow || kept.count > column { kept.removeLast() }
            lines[lines.count - 1] += kept
            open = cells.continues
        }
        while !keepsBlanks, let last = lines.last, last.isEmpty, lines.count - 1 > cursor.line { lines.removeLast() }
        var cut: [Cells] = []
        var place = (row: 0, column: 0)
        for (index, line) in lines.enumerated() {
            var start = 0
            repeat {
                var end = min(start + new, line.count)
                // A wide character is not cut in two.
                if end < line.count, line[end].isEmpty { end -= 1 }
                if index == cursor.line, cursor.cell >= start, cursor.cell < end || end == line.count {
                    place = (cut.count, min(cursor.cell - start, new - 1))
                }
                let cells = Array(line[start..<end]) + Array(repeating: " ", count: new - (end - start))
                cut.append(Cells(cells: cells, continues: end < line.count))
                start = end
            } while start < line.count
        }
        columns = new
        let top = max(cut.count - rows, 0)
        past = Array(cut[..<top])
        grid = Array(cut[top...]) + Array(repeating: Self.blank(new), count: max(rows - cut.count, 0))
        (row, column) = (max(place.row - top, 0), place.column)
        mustWrap = false
    }

    private mutating func control(_ parameters: String, final: Unicode.Scalar) {
        let count = max(Int(parameters) ?? 1, 1)
        mustWrap = mustWrap && "mhl".unicodeScalars.contains(final)
        switch (final, parameters) {
        case ("A", _): row = max(row - count, 0)
        case ("B", _): row = min(row + count, rows - 1)
        case ("C", _): column = min(column + count, columns - 1)
        case ("H", ""): (row, column) = (0, 0)
        case ("H", "\(rows);1"): (row, column) = (rows - 1, 0)
        case ("J", ""):
            erase(from: column)
            for below in (row + 1)..<max(rows, row + 1) { grid[below] = Self.blank(columns) }
        case ("J", "2"): grid = Array(repeating: Self.blank(columns), count: rows)
        case ("K", ""): erase(from: column)
        case ("m", "0"), ("m", "1"), ("m", "2"): break
        case ("m", "1;31"), ("m", "1;32"), ("m", "1;33"), ("m", "1;35"), ("m", "1;36"), ("m", "1;94"): break
        case ("h", "?7"): wraps = true
        case ("l", "?7"): wraps = false
        case ("h", "?25"): cursorShown = true
        case ("l", "?25"): cursorShown = false
        case ("h", "?2004"): pastesBracketed = true
        case ("l", "?2004"): pastesBracketed = false
        default: notUnderstood.append("CSI \(parameters)\(final)")
        }
    }

    private mutating func put(_ character: Character) {
        let width = min(width(character), columns)
        guard width > 0 else { return }
        if mustWrap || column + width > columns {
            if wraps {
                grid[row].continues = true
                column = 0
                lineFeed()
            } else {
                column = max(columns - width, 0)
            }
            mustWrap = false
        }
        grid[row].cells[column] = String(character)
        for further in (column + 1)..<max(column + width, column + 1) where further < columns {
            grid[row].cells[further] = ""
        }
        column += width
        if column >= columns {
            column = columns - 1
            mustWrap = wraps
        }
    }

    private mutating func lineFeed() {
        mustWrap = false
        guard row == rows - 1 else {
            row += 1
            return
        }
        past.append(grid.removeFirst())
        grid.append(Self.blank(columns))
    }

    private mutating func erase(from start: Int) {
        for index in start..<columns { grid[row].cells[index] = " " }
        grid[row].continues = false
    }

    private static func blank(_ columns: Int) -> Cells { Cells(cells: Array(repeating: " ", count: columns)) }

    private static func trimmed(_ cells: Cells) -> String {
        let last = cells.cells.lastIndex { $0 != " " && !$0.isEmpty }
        return cells.cells[...(last ?? -1)].joined()
    }
}
