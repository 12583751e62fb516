import InklingText

/// Draws an inline screen. Lines scroll into the terminal's own history. A block below them has the indicator, if
/// anybody types, and the input. The screen erases and redraws only that block.
package struct Screen: Sendable {
    /// The sequence that the program writes once when it takes the terminal over. Pasted text then comes in brackets.
    package static let begin = "\u{1B}[?2004h"
    /// The sequence that gives the terminal back, even after a crash: no emphasis, wrapping on, cursor shown, no
    /// brackets around pasted text.
    package static let reset = "\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?2004l"

    private static let hide = "\u{1B}[?25l"
    private static let show = "\u{1B}[?25h"
    private static let eraseBelow = "\u{1B}[J"
    private static let eraseRow = "\u{1B}[K"

    private var columns: Int
    private var rows: Int
    private let decorated: Bool
    private let isolatesNames: Bool
    private var drawn: Frame?
    private var mustRedraw = true

    /// Makes a screen without a block.
    ///
    /// - Parameters:
    ///   - decorated: whether to use bold and dim text.
    ///   - isolatesNames: whether the terminal knows UTF-8, and so the characters that isolate names.
    package init(columns: Int, rows: Int, decorated: Bool, isolatesNames: Bool = true) {
        self.columns = max(columns, 4)
        self.rows = max(rows, 2)
        self.decorated = decorated
        self.isolatesNames = isolatesNames
    }

    /// Sets another size of the terminal. The next drawing draws everything.
    package mutating func resize(columns: Int, rows: Int) {
        self.columns = max(columns, 4)
        self.rows = max(rows, 2)
        mustRedraw = true
    }

    /// Forgets the drawn rows, because another program had the terminal and moved the cursor.
    package mutating func forget() {
        drawn = nil
        mustRedraw = true
    }

    /// Returns the output that adds lines to the history, and draws the current block below.
    ///
    /// - Parameters:
    ///   - lines: new lines, safe to show.
    ///   - indicator: the text about people who are typing, with the dots; `nil` when nobody is.
    ///   - emphasis: the emphasis of the indicator, see `IndicatorText.emphasis`.
    ///   - prompt: the text before the input, safe to show.
    package mutating func draw(
        appending lines: [Line] = [], indicator: String?, emphasis: Line.Emphasis = .dim, prompt: String,
        editor: LineEditor
    ) -> [UInt8] {
        let frame = layout(indicator: indicator, emphasis: emphasis, prompt: prompt, editor: editor)
        var output = ""
        if lines.isEmpty, !mustRedraw, let drawn, drawn.rows.count == frame.rows.count {
            guard frame != drawn else { return [] }
            output = change(from: drawn, to: frame)
        } else {
            // The rows are already cut. Wrapping is off, because a terminal that counts columns differently could
            // otherwise begin a row in the middle of a message.
            output = Self.hide + "\u{1B}[?7l" + erased()
            for line in lines {
                for row in (isolatesNames ? line : line.withoutIsolates).wrapped(columns: columns) {
                    let text = row.rendered(decorated: decorated)
                    output += (line.isUnbroken ? "\u{1B}[?7h\(text)\u{1B}[?7l" : text) + "\r\n"
                }
            }
            output += frame.rows.map(\.text).joined(separator: "\r\n") + "\u{1B}[?7h"
            output += "\r" + Self.up(frame.rows.count - 1 - frame.cursorRow) + Self.right(frame.cursorColumn)
            output += Self.show
        }
        drawn = frame
        mustRedraw = false
        return Array(output.utf8)
    }

    /// Clears the whole screen. The next drawing begins in its last row.
    ///
    /// A prompt at the top would have blank rows below it. Some terminals, such as tmux, keep these when they get
    /// narrower. They push the wrapped prompt into their history, where nothing can erase it.
    package mutating func clear() -> [UInt8] {
        forget()
        return Array("\u{1B}[2J\u{1B}[\(rows);1H".utf8)
    }

    /// Erases the block, and leaves the terminal as it was before.
    package mutating func leave() -> [UInt8] {
        let output = erased() + Self.reset
        forget()
        return Array(output.utf8)
    }

    private struct Frame: Equatable {
        struct Row: Equatable {
            var text = ""
            var width = 0
        }

        var rows: [Row] = []
        var cursorRow = 0
        var cursorColumn = 0
    }

    private func layout(
        indicator: String?, emphasis: Line.Emphasis, prompt: String, editor: LineEditor
    ) -> Frame {
        var frame = inputFrame(prompt: prompt, editor: editor)
        fold(&frame, to: max(rows - 2, 1))
        if let indicator, !indicator.isEmpty {
            let known = isolatesNames ? indicator : NameIsolation.removed(from: indicator)
            let text = String(DisplayWidth.prefix(of: known, columns: columns))
            let shown = decorated && emphasis != .plain ? emphasis.sequence + text + "\u{1B}[0m" : text
            frame.rows.insert(Frame.Row(text: shown, width: DisplayWidth.of(text)), at: 0)
            frame.cursorRow += 1
        }
        return frame
    }

    /// Folds a long draft, like a long message. The beginning stays visible with the prompt, and so do the rows around
    /// the cursor.
    ///
    /// - Parameter visible: the number of rows that the draft may take.
    private func fold(_ frame: inout Frame, to visible: Int) {
        guard frame.rows.count > min(visible, Page.longestMessage) else { return }
        let shown = min(visible, Page.shownRows)
        guard shown >= 3 else { return scroll(&frame, to: shown) }
        let head = max(shown / 3, 1)
        let tail = shown - head - 1
        let hidden = frame.rows.count - head - tail
        guard frame.cursorRow >= head + tail else {
            frame.rows = frame.rows[..<(shown - 1)] + [ellipsisRow(hidden, below: 0)]
            return
        }
        // The row of the cursor is the last of the rows around it.
        let first = min(frame.cursorRow - tail + 1, frame.rows.count - tail)
        let above = first - head
        let ellipsis = ellipsisRow(above, below: hidden - above)
        frame.rows = frame.rows[..<head] + [ellipsis] + frame.rows[first..<(first + tail)]
        frame.cursorRow -= above - 1
    }

    private func scroll(_ frame: inout Frame, to shown: Int) {
        let first = min(max(frame.cursorRow - shown + 1, 0), frame.rows.count - shown)
        frame.rows = Array(frame.rows[first..<(first + shown)])
        frame.cursorRow -= first
    }

    /// Returns the row that replaces the hidden rows.
    private func ellipsisRow(_ lines: Int, below: Int) -> Frame.Row {
        let whole = "... \(lines) more \(lines == 1 ? "line" : "lines")" + (below > 0 ? ", \(below) below" : "")
        let text = String(DisplayWidth.prefix(of: whole, columns: columns))
        let shown = decorated ? Line.Emphasis.dim.sequence + text + "\u{1B}[0m" : text
        return Frame.Row(text: shown, width: DisplayWidth.of(text))
    }

    private func inputFrame(prompt: String, editor: LineEditor) -> Frame {
        let prompt = String(DisplayWidth.prefix(of: prompt, columns: columns - 2))
        var frame = Frame()
        var row = Frame.Row(text: prompt, width: DisplayWidth.of(prompt))
        for (index, character) in editor.characters.enumerated() {
            if character == "\n" {
                if index == editor.cursor {
                    (frame.cursorRow, frame.cursorColumn) = (frame.rows.count, min(row.width, columns - 1))
                }
                frame.rows.append(row)
                row = Frame.Row()
                continue
            }
            var shown = Self.visible(character)
            var width = DisplayWidth.of(shown)
            if width > columns - 2 && character != "\t" { (shown, width) = ("\u{FFFD}", 1) }
            if row.width + width > columns {
                frame.rows.append(row)
                row = Frame.Row()
            }
            if index == editor.cursor { (frame.cursorRow, frame.cursorColumn) = (frame.rows.count, row.width) }
            row.text += shown
            row.width += width
        }
        if editor.cursor == editor.characters.count {
            if row.width >= columns {
                frame.rows.append(row)
                row = Frame.Row()
            }
            (frame.cursorRow, frame.cursorColumn) = (frame.rows.count, row.width)
        } else if frame.cursorColumn >= columns {
            frame.cursorColumn = columns - 1
        }
        frame.rows.append(row)
        return frame
    }

    /// Returns the output that moves to the top of the block and erases everything below. After a resize, most
    /// terminals have wrapped the rows to the new width.
    private func erased() -> String {
        guard let drawn else { return "\r" + Self.eraseBelow }
        var above = drawn.cursorColumn / columns
        for row in drawn.rows[..<drawn.cursorRow] { above += max((row.width + columns - 1) / columns, 1) }
        return "\r" + Self.up(above) + Self.eraseBelow
    }

    /// Returns the output that draws only the changed rows. Wrapping is off: a terminal that counts columns differently
    /// can then spoil only the end of a row.
    private func change(from old: Frame, to new: Frame) -> String {
        var output = ""
        var at = old.cursorRow
        for (index, row) in new.rows.enumerated() where row != old.rows[index] {
            output += "\r" + Self.vertical(from: at, to: index) + Self.eraseRow + row.text
            at = index
        }
        let moved = "\r" + Self.vertical(from: at, to: new.cursorRow) + Self.right(new.cursorColumn)
        guard !output.isEmpty else { return moved }
        return Self.hide + "\u{1B}[?7l" + output + "\u{1B}[?7h" + moved + Self.show
    }

    private static func vertical(from: Int, to: Int) -> String {
        to < from ? up(from - to) : to > from ? "\u{1B}[\(to - from)B" : ""
    }

    private static func up(_ count: Int) -> String { count > 0 ? "\u{1B}[\(count)A" : "" }
    private static func right(_ count: Int) -> String { count > 0 ? "\u{1B}[\(count)C" : "" }

    /// Returns the visible form of a cluster of the input: a tab as blanks, and unprintable clusters as nothing.
    private static func visible(_ character: Character) -> String {
        character.isASCII && character >= " " ? String(character) : SafeText.message(String(character))
    }
}
