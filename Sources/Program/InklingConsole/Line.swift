import InklingText

/// A line of output: pieces of safe text with an emphasis each. Line feeds in it break the line.
package struct Line: Hashable, Sendable {
    package enum Emphasis: Hashable, Sendable {
        case plain
        case bold
        case dim
        /// A colour of the palette, bold; any number selects one.
        case person(Int)

        /// The colour of a person, the same for the same identity in every chat and after every start.
        package static func person(_ user: String) -> Emphasis {
            var hash: UInt32 = 2_166_136_261
            for byte in user.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
            return .person(Int(hash % UInt32(palette.count)))
        }

        /// Red, green, yellow, magenta, cyan and bright blue, which are readable on dark and on light.
        static let palette = [31, 32, 33, 35, 36, 94]

        /// The sequence that turns it on.
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
    /// How far rows that are not the first are indented where there is room; at least `indent`.
    package var hanging = Line.indent
    /// Set for a line that may be too much to be shown as a whole.
    package var fold: Fold?

    /// The visible part of a line that has too many rows.
    package struct Fold: Hashable, Sendable {
        /// A line of so many rows still shows as a whole.
        package var longest: Int
        /// How many rows of a longer one show.
        package var shown: Int
        /// The command that shows the rest, safe to show.
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

    /// The isolates of names stay where the line has a letter that is written from right to left.
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

    /// The text alone.
    package var text: String { spans.map(\.text).joined() }

    /// The indent of all rows of a line but the first, so that no row looks like another line.
    package static let indent = 2

    /// The text without emphasis and wrapping, for output that is not a terminal; further lines are indented.
    package var plain: String {
        let indent = "\n" + String(repeating: " ", count: Self.indent)
        return withoutIsolates.text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: indent)
    }

    /// The rows that the line takes in output of that width, without emphasis. A terminal that draws the parts of a
    /// cluster one by one finds room for them too.
    package func plainRows(columns: Int) -> [String] {
        withoutIsolates.wrapped(columns: columns, apart: true).map { $0.rendered(decorated: false) }
    }

    /// Cuts the line into rows that fit, between words where it can. Each row but the first is indented. Of too many
    /// rows the first show, and how many are left out.
    ///
    /// - Parameter apart: whether a cluster counts as wide as its scalars are side by side.
    func wrapped(columns: Int, apart: Bool = false) -> [Row] {
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
        // The line feed makes the row that says so an indented one, like those above it.
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

        /// - Parameter limit: a cluster that is wider shows as a replacement character.
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

    /// Whether there is nothing but the indent in the row.
    var isBlank: Bool { cells.count == indent }

    mutating func append(_ cell: Cell) {
        cells.append(cell)
        width += cell.width
    }

    /// Breaks a full row: after its last blank, or at its end if it has none.
    func broken(indent: Int) -> (head: Row, rest: Row) {
        var rest = Row(indent: indent)
        guard let blank = cells[self.indent...].lastIndex(where: { $0.character == " " }), blank > self.indent,
            // A long word is cut rather than moved when moving would leave most of a row empty.
            cells[(blank + 1)...].reduce(0, { $0 + $1.width }) <= width / 2
        else { return (self, rest) }
        var head = self
        for cell in cells[(blank + 1)...] { rest.append(cell) }
        head.cells.removeLast(cells.count - blank)
        head.width = head.cells.reduce(0) { $0 + $1.width }
        return (head, rest)
    }

    /// The row as it is written, with its emphasis where that is wanted.
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
