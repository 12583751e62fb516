import InklingText

/// A line of output. Its pieces are safe text, each with an emphasis. Line feeds in it break the line.
package struct Line: Hashable, Sendable {
    package enum Emphasis: Hashable, Sendable {
        case plain
        case bold
        case dim
        /// A bold colour of the palette. Any number selects one.
        case person(Int)

        /// Returns the colour of a person, the same for an identity in every chat and after every start.
        package static func person(_ user: String) -> Emphasis {
            var hash: UInt32 = 2_166_136_261
            for byte in user.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
            return .person(Int(hash % UInt32(palette.count)))
        }

        /// The ANSI codes of red, green, yellow, magenta, cyan and bright blue. They are readable on dark and on light
        /// backgrounds.
        static let palette = [31, 32, 33, 35, 36, 94]

        /// The escape sequence that turns the emphasis on.
        var sequence: String {
            switch self {
            case .plain: ""
            case .bold: "\u{1B}[1m"
            case .dim: "\u{1B}[2m"
            case .person(let number):
                "\u{1B}[1;\(Self.palette[((number % Self.palette.count) + Self.palette.count) % Self.palette.count])m"
            }
        }
    }

    package struct Span: Hashable, Sendable {
        package var text: String
        package var emphasis: Emphasis

        package init(text: String, emphasis: Emphasis) {
            self.text = text
            self.emphasis = emphasis
        }
    }

    package var spans: [Span]
    /// The indent of all rows but the first if there is room for it; at least `indent`.
    package var hanging = Line.indent
    /// Whether the terminal wraps the line, so that the user can copy it in one piece. The line has ASCII alone.
    package var isUnbroken = false
    /// The folding of a line that may be too long to show completely.
    package var fold: Fold?

    /// The visible part of a line with too many rows.
    package struct Fold: Hashable, Sendable {
        /// The number of rows up to which the whole line is shown.
        package var longest: Int
        /// The number of shown rows of a longer line.
        package var shown: Int
        /// The command that shows the rest, as safe text.
        package var command: String

        package init(longest: Int, shown: Int, command: String) {
            self.longest = longest
            self.shown = shown
            self.command = command
        }
    }

    package init(_ text: String, _ emphasis: Emphasis = .plain) {
        self.init([Span(text: text, emphasis: emphasis)])
    }

    /// Makes a line. The isolates of names stay only if the line has a letter of a right-to-left script.
    package init(_ spans: [Span]) {
        self.spans = spans
        if !spans.contains(where: { NameIsolation.isNeeded(in: $0.text) }) { self = withoutIsolates }
    }

    /// The line without the isolates of names.
    var withoutIsolates: Line {
        var line = self
        for index in spans.indices { line.spans[index].text = NameIsolation.removed(from: spans[index].text) }
        return line
    }

    /// The text without emphasis.
    package var text: String { spans.map(\.text).joined() }

    /// The indent of all rows of a line but the first, so that no row looks like another line.
    package static let indent = 2

    /// The text without emphasis and wrapping, for output that is not a terminal. All rows but the first are indented.
    package var plain: String {
        let indent = "\n" + String(repeating: " ", count: Self.indent)
        return withoutIsolates.text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: indent)
    }

    /// Returns the rows of the line in output of that width, without emphasis. Even a terminal that draws the parts of
    /// a cluster separately has room for them.
    package func plainRows(columns: Int) -> [String] {
        withoutIsolates.wrapped(columns: columns, apart: true).map { $0.rendered(decorated: false) }
    }

    /// Cuts the line into rows that fit, between words if possible. All rows but the first are indented. Of too many
    /// rows, the first are shown, with the number of the others.
    ///
    /// - Parameter apart: whether a cluster counts as wide as its scalars side by side.
    func wrapped(columns: Int, apart: Bool = false) -> [Row] {
        let columns = isUnbroken ? Int.max : columns
        let indent = columns >= 8 * hanging ? hanging : columns >= 8 ? Self.indent : 1
        var rows: [Row] = []
        var row = Row()
        for span in spans {
            for character in span.text {
                if character == "\n" {
                    rows.append(row)
                    row = Row(indent: indent)
                    continue
                }
                let cell = Row.Cell(
                    character: character, emphasis: span.emphasis, limit: columns - indent, apart: apart)
                if row.width + cell.width > columns, !row.isBlank {
                    if character == " " {
                        rows.append(row)
                        row = Row(indent: indent)
                        continue
                    }
                    let (head, rest) = row.broken(indent: indent)
                    rows.append(head)
                    row = rest
                    if row.width + cell.width > columns, !row.isBlank {
                        rows.append(row)
                        row = Row(indent: indent)
                    }
                }
                row.append(cell)
            }
        }
        rows.append(row)
        guard let fold, rows.count > fold.longest else { return rows }
        // The line feed makes this note an indented row, like the rows above.
        var rest = Line("\n... \(rows.count - fold.shown) more lines: \(fold.command)", .dim)
        rest.hanging = hanging
        return Array(rows.prefix(fold.shown)) + rest.wrapped(columns: columns, apart: apart).dropFirst()
    }
}

/// The cells of one row of the screen.
struct Row {
    struct Cell {
        let character: Character
        let emphasis: Line.Emphasis
        let width: Int

        /// Makes a cell.
        ///
        /// - Parameter limit: a wider cluster shows as a replacement character.
        init(character: Character, emphasis: Line.Emphasis, limit: Int, apart: Bool) {
            let whole = DisplayWidth.of(character)
            let width = apart ? max(whole, DisplayWidth.ofScalars(character)) : whole
            self.character = width > limit ? "\u{FFFD}" : character
            self.emphasis = emphasis
            self.width = width > limit ? 1 : width
        }
    }

    private var cells: [Cell] = []
    private(set) var width = 0
    private let indent: Int

    init(indent: Int = 0) {
        self.indent = indent
        for _ in 0..<indent { append(Cell(character: " ", emphasis: .plain, limit: 1, apart: false)) }
    }

    /// Whether the row has nothing but the indent.
    var isBlank: Bool { cells.count == indent }

    mutating func append(_ cell: Cell) {
        cells.append(cell)
        width += cell.width
    }

    /// Breaks a full row after its last blank; at its end if it has none.
    func broken(indent: Int) -> (head: Row, rest: Row) {
        var rest = Row(indent: indent)
        guard let blank = cells[self.indent...].lastIndex(where: { $0.character == " " }), blank > self.indent,
            // A long word is cut if moving the word to the next row would leave most of this row empty.
            cells[(blank + 1)...].reduce(0, { $0 + $1.width }) <= width / 2
        else { return (self, rest) }
        var head = self
        for cell in cells[(blank + 1)...] { rest.append(cell) }
        head.cells.removeLast(cells.count - blank)
        head.width = head.cells.reduce(0) { $0 + $1.width }
        return (head, rest)
    }

    /// Returns the row as written to the terminal, with emphasis if `decorated`.
    func rendered(decorated: Bool) -> String {
        var result = ""
        var current = Line.Emphasis.plain
        for cell in cells {
            if decorated && cell.emphasis != current {
                current = cell.emphasis
                result += "\u{1B}[0m" + current.sequence
            }
            result.append(cell.character)
        }
        return current == .plain ? result : result + "\u{1B}[0m"
    }
}
