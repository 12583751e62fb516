/// The text that the user is typing, and the cursor in it, counted in grapheme clusters.
///
/// Several chats share one editor, with its history and its killed texts. `exchange(_:)` replaces the text by the draft
/// of another chat.
package struct LineEditor: Sendable {
    /// The longest text, in bytes of UTF-8: one message.
    package static let longestText = 65_536
    /// The number of lines in the history.
    package static let historyLimit = 200

    /// The text, one element for each grapheme cluster.
    package private(set) var characters: [Character] = []
    /// The number of clusters before the cursor.
    package private(set) var cursor = 0

    private var history: [String] = []
    private var browsing: Browsing?
    /// The search of the history, or nil.
    package private(set) var search: Search?
    /// The killed texts, the latest last. As in Emacs, a killed text can be put in again.
    private var killed: [String] = []
    private var previous = Previous.other

    /// The number of killed texts that are kept.
    private static let killedLimit = 16

    /// The effect of the previous key, for cases where the next key's meaning depends on it.
    private enum Previous {
        case kill
        /// A killed text was put in: its index, and its range in the text.
        case yank(index: Int, range: Range<Int>)
        case other
    }

    /// The position in the history, and the edited texts, to which the user can return until the next line. The user's
    /// own text follows the lines of the history.
    private struct Browsing {
        var index: Int
        var edited: [Int: [Character]] = [:]
    }

    /// A search of the history, backwards from the latest line. The field shows the line found last.
    package struct Search: Sendable {
        /// The text to find.
        package fileprivate(set) var query = ""
        /// Whether a line with the query was found.
        package fileprivate(set) var isFound = true
        /// The line that was found last.
        fileprivate var index: Int
        /// The user's own text before the search.
        fileprivate var draft: Draft
    }

    /// The text of a chat that is not open. The text comes back when its chat is opened again.
    package struct Draft: Sendable {
        var characters: [Character] = []
        var cursor = 0

        /// An empty draft.
        package init() {}

        /// A draft with the cursor behind the text.
        package init(_ text: String) {
            characters = Array(text)
            cursor = characters.count
        }

        package var isEmpty: Bool { characters.isEmpty }
    }

    package init() {}

    /// Puts lines of earlier runs into the history before those of this run.
    package mutating func recall(_ lines: [String]) { history = Array((lines + history).suffix(Self.historyLimit)) }

    package var text: String { String(characters) }
    package var isEmpty: Bool { characters.isEmpty }

    /// A key's request to the program.
    package enum Answer: Equatable, Sendable {
        /// No request. The cursor may have moved.
        case nothing
        /// The text has changed.
        case edited
        /// The program should send this text. The field is empty again.
        case submit(String)
        /// Ctrl-C was pressed in an empty field.
        case interrupt
        /// Ctrl-D was pressed in an empty field.
        case endOfInput
        /// Ctrl-Z was pressed.
        case suspend
        /// Ctrl-L was pressed: the program should draw the screen again.
        case redraw
        /// Tab was pressed: the program should complete the text before the cursor, see `Completion`.
        case complete
        /// Alt-1 to Alt-9 was pressed: the program should open another chat.
        case openChat(Int)
        /// The key has no effect, for example because there is no change to undo.
        case refused
        /// The key has no effect, because the text would exceed the longest message.
        case full
    }

    /// Applies a key.
    package mutating func handle(_ key: Key) -> Answer {
        if let search { return handle(key, in: search) }
        let before = previous
        previous = .other
        return switch key {
        case .text(let scalar): insert(String(Character(scalar)))
        case .paste(let text): insert(Self.pasteable(text))
        case .altEnter: insert("\n")
        case .enter: submit()
        case .control(let letter): handleControl(letter, after: before)
        case .alt(let letter): handleAlt(letter, after: before)
        case .backspace: remove(max(cursor - 1, 0)..<cursor)
        case .delete: remove(cursor..<min(cursor + 1, characters.count))
        case .altBackspace: kill(wordStart..<cursor, after: before)
        case .left: move(to: cursor - 1)
        case .right: move(to: cursor + 1)
        case .wordLeft: move(to: wordStart)
        case .wordRight: move(to: wordEnd)
        case .home: move(to: 0)
        case .end: move(to: characters.count)
        case .up: browse(by: -1)
        case .down: browse(by: 1)
        case .tab: .complete
        case .backTab, .escape, .unknown: .nothing
        }
    }

    /// Replaces the clusters from `start` to the cursor by a text.
    package mutating func complete(from start: Int, with text: String) -> Answer {
        previous = .other
        let replaced = characters[min(max(start, 0), cursor)..<cursor]
        guard String(replaced) != text else { return .nothing }
        guard self.text.utf8.count - String(replaced).utf8.count + text.utf8.count <= Self.longestText else {
            return .full
        }
        replace(replaced.startIndex..<cursor, with: text)
        return .edited
    }

    /// Replaces the current draft by another one, and returns the current one. A line from the history becomes part of
    /// the returned draft.
    package mutating func exchange(_ draft: Draft) -> Draft {
        var present = Draft()
        (present.characters, present.cursor) = (characters, cursor)
        (characters, cursor) = (draft.characters, draft.cursor)
        (browsing, search) = (nil, nil)
        previous = .other
        return present
    }

    private mutating func handleControl(_ letter: Unicode.Scalar, after before: Previous) -> Answer {
        switch letter {
        case "a": move(to: 0)
        case "b": move(to: cursor - 1)
        case "c": isEmpty ? .interrupt : clear()
        case "d": isEmpty ? .endOfInput : remove(cursor..<min(cursor + 1, characters.count))
        case "e": move(to: characters.count)
        case "f": move(to: cursor + 1)
        case "k": kill(cursor..<characters.count, after: before)
        case "l": .redraw
        case "n": browse(by: 1)
        case "p": browse(by: -1)
        case "r": beginSearch()
        case "u": kill(0..<cursor, after: before)
        case "t": transpose()
        case "w": kill(blankDelimitedStart..<cursor, after: before)
        case "y": yank()
        case "z": .suspend
        default: .nothing
        }
    }

    private mutating func handleAlt(_ letter: Unicode.Scalar, after before: Previous) -> Answer {
        switch letter {
        case "1"..."9": .openChat(Int(letter.value) - 0x30)
        case "b", "B": move(to: wordStart)
        case "f", "F": move(to: wordEnd)
        case "d", "D": kill(cursor..<wordEnd, after: before)
        case "y", "Y": rotate(after: before)
        default: .nothing
        }
    }

    // Clusters can merge at the ends of the change, so the whole text is divided into clusters again.
    private mutating func replace(_ range: Range<Int>, with text: String) {
        var joined = String(characters[..<range.lowerBound])
        joined += text
        let scalarsBefore = joined.unicodeScalars.count
        joined += String(characters[range.upperBound...])
        characters = Array(joined)
        cursor = 0
        var counted = 0
        while counted < scalarsBefore && cursor < characters.count {
            counted += characters[cursor].unicodeScalars.count
            cursor += 1
        }
    }

    private mutating func insert(_ text: String) -> Answer {
        guard !text.isEmpty else { return .nothing }
        guard self.text.utf8.count + text.utf8.count <= Self.longestText else { return .full }
        replace(cursor..<cursor, with: text)
        return .edited
    }

    private mutating func remove(_ range: Range<Int>) -> Answer {
        guard !range.isEmpty else { return .nothing }
        replace(range, with: "")
        return .edited
    }

    /// Kills a range of text. Consecutive kills form one killed text.
    private mutating func kill(_ range: Range<Int>, after before: Previous) -> Answer {
        guard !range.isEmpty else {
            previous = before
            return .nothing
        }
        let text = String(characters[range])
        if case .kill = before, let last = killed.popLast() {
            killed.append(range.upperBound == cursor ? text + last : last + text)
        } else {
            killed.append(text)
        }
        if killed.count > Self.killedLimit { killed.removeFirst() }
        let answer = remove(range)
        previous = .kill
        return answer
    }

    /// Kills the whole text, as a separate killed text.
    private mutating func clear() -> Answer {
        browsing = nil
        return kill(0..<characters.count, after: .other)
    }

    private mutating func yank() -> Answer {
        guard let last = killed.last else { return .refused }
        let start = cursor
        let answer = insert(last)
        if case .edited = answer, start <= cursor { previous = .yank(index: killed.count - 1, range: start..<cursor) }
        return answer
    }

    /// Replaces the killed text that was just put in by the one killed before it.
    private mutating func rotate(after before: Previous) -> Answer {
        guard case .yank(let index, let range) = before, range.upperBound == cursor,
            range.upperBound <= characters.count
        else { return .refused }
        let next = index > 0 ? index - 1 : killed.count - 1
        let answer = complete(from: range.lowerBound, with: killed[next])
        if answer != .full, range.lowerBound <= cursor {
            previous = .yank(index: next, range: range.lowerBound..<cursor)
        }
        return answer
    }

    /// Swaps the clusters around the cursor, or at the end of the text the last two.
    private mutating func transpose() -> Answer {
        guard characters.count >= 2, cursor > 0 else { return .refused }
        let second = min(cursor, characters.count - 1)
        let text = String(characters[second]) + String(characters[second - 1])
        replace((second - 1)..<(second + 1), with: text)
        return .edited
    }

    private mutating func move(to position: Int) -> Answer {
        cursor = min(max(position, 0), characters.count)
        return .nothing
    }

    private mutating func submit() -> Answer {
        guard characters.contains(where: { !$0.isWhitespace }) else { return .nothing }
        let text = self.text
        if history.last != text { history.append(text) }
        if history.count > Self.historyLimit { history.removeFirst() }
        browsing = nil
        characters = []
        cursor = 0
        return .submit(text)
    }

    private mutating func browse(by step: Int) -> Answer {
        var browsing = browsing ?? Browsing(index: history.count)
        let target = browsing.index + step
        guard target >= 0, target <= history.count else { return .refused }
        browsing.edited[browsing.index] = characters
        browsing.index = target
        self.browsing = browsing
        characters = browsing.edited[target] ?? Array(history[target])
        cursor = characters.count
        return .edited
    }

    // MARK: Search

    private mutating func beginSearch() -> Answer {
        guard !history.isEmpty else { return .refused }
        var draft = Draft()
        (draft.characters, draft.cursor) = (characters, cursor)
        search = Search(index: history.count, draft: draft)
        return .nothing
    }

    /// Applies a key during a search. Keys edit the query, continue the search or end it. Any other key applies to the
    /// found line.
    private mutating func handle(_ key: Key, in search: Search) -> Answer {
        var search = search
        switch key {
        case .text(let scalar):
            search.query.unicodeScalars.append(scalar)
            return find(search, from: min(search.index, history.count - 1))
        case .paste(let text):
            search.query += Self.pasteable(text)
            return find(search, from: min(search.index, history.count - 1))
        case .backspace:
            guard !search.query.isEmpty else { return .refused }
            search.query.removeLast()
            return find(search, from: history.count - 1)
        case .control("r"):
            guard !search.query.isEmpty else { return .refused }
            return find(search, from: search.index - 1)
        case .control("g"), .control("c"), .escape:
            self.search = nil
            let isSame = characters == search.draft.characters
            (characters, cursor) = (search.draft.characters, search.draft.cursor)
            return isSame ? .nothing : .edited
        default:
            self.search = nil
            return handle(key)
        }
    }

    /// Finds the latest line with the query at or before `last`. If there is none, the text stays.
    private mutating func find(_ search: Search, from last: Int) -> Answer {
        var search = search
        let wanted = search.query.lowercased()
        let found = wanted.isEmpty ? nil : history.prefix(last + 1).lastIndex { $0.lowercased().contains(wanted) }
        search.isFound = found != nil || wanted.isEmpty
        guard let found else {
            self.search = search
            return wanted.isEmpty ? .nothing : .refused
        }
        search.index = found
        self.search = search
        browsing = nil
        guard text != history[found] else { return .nothing }
        characters = Array(history[found])
        cursor = characters.count
        return .edited
    }

    private var wordStart: Int {
        var position = cursor
        while position > 0, !Self.isWord(characters[position - 1]) { position -= 1 }
        while position > 0, Self.isWord(characters[position - 1]) { position -= 1 }
        return position
    }

    private var wordEnd: Int {
        var position = cursor
        while position < characters.count, !Self.isWord(characters[position]) { position += 1 }
        while position < characters.count, Self.isWord(characters[position]) { position += 1 }
        return position
    }

    private var blankDelimitedStart: Int {
        var position = cursor
        while position > 0, characters[position - 1].isWhitespace { position -= 1 }
        while position > 0, !characters[position - 1].isWhitespace { position -= 1 }
        return position
    }

    private static func isWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_"
    }

    /// Returns text in the form for the input. Line breaks become LF. Other control characters except tabs are dropped,
    /// and so is a line break at the end.
    private static func pasteable(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        var previous: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n" where previous == "\r": break
            case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": result.append("\n")
            case "\t": result.append(scalar)
            default:
                if scalar.properties.generalCategory != .control { result.append(scalar) }
            }
            previous = scalar
        }
        if result.last == "\n" { result.removeLast() }
        return String(result)
    }
}
