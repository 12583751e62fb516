/// The text that is being typed, and the cursor in it, counted in grapheme clusters.
package struct LineEditor: Sendable {
    /// The longest text, in bytes of UTF-8: one message.
    package static let longestText = 65_536
    /// How many lines are remembered.
    package static let historyLimit = 200

    /// The text, one element for each grapheme cluster.
    package private(set) var characters: [Character] = []
    /// How many clusters stand before the cursor.
    package private(set) var cursor = 0

    private var history: [String] = []
    private var browsing: Browsing?
    private var killed = ""

    /// Where in the history one is, and the text that was left for it.
    private struct Browsing {
        var index: Int
        var draft: String
    }

    package init() {}

    package var text: String { String(characters) }
    package var isEmpty: Bool { characters.isEmpty }

    /// What a key asks of the program.
    package enum Answer: Equatable, Sendable {
        /// Nothing that concerns others; the cursor may have moved.
        case nothing
        /// The text is another one now.
        case edited
        /// Send this text; the field is empty again.
        case submit(String)
        /// Ctrl-C.
        case interrupt
        /// Ctrl-D in an empty field.
        case endOfInput
        /// Ctrl-Z.
        case suspend
        /// Ctrl-L.
        case redraw
        /// What the key was to do can't be done: the text is full, or there is nothing to take back.
        case refused
    }

    /// Applies a key.
    package mutating func handle(_ key: Key) -> Answer {
        switch key {
        case .text(let scalar): insert(String(Character(scalar)))
        case .paste(let text): insert(Self.pasteable(text))
        case .altEnter: insert("\n")
        case .enter: submit()
        case .control(let letter): handleControl(letter)
        case .alt(let letter): handleAlt(letter)
        case .backspace: remove(max(cursor - 1, 0)..<cursor)
        case .delete: remove(cursor..<min(cursor + 1, characters.count))
        case .altBackspace: kill(wordStart..<cursor)
        case .left: move(to: cursor - 1)
        case .right: move(to: cursor + 1)
        case .wordLeft: move(to: wordStart)
        case .wordRight: move(to: wordEnd)
        case .home: move(to: 0)
        case .end: move(to: characters.count)
        case .up: browse(by: -1)
        case .down: browse(by: 1)
        case .tab, .backTab, .escape, .unknown: .nothing
        }
    }

    private mutating func handleControl(_ letter: Unicode.Scalar) -> Answer {
        switch letter {
        case "a": move(to: 0)
        case "b": move(to: cursor - 1)
        case "c": .interrupt
        case "d": isEmpty ? .endOfInput : remove(cursor..<min(cursor + 1, characters.count))
        case "e": move(to: characters.count)
        case "f": move(to: cursor + 1)
        case "k": kill(cursor..<characters.count)
        case "l": .redraw
        case "n": browse(by: 1)
        case "p": browse(by: -1)
        case "u": kill(0..<cursor)
        case "w": kill(blankDelimitedStart..<cursor)
        case "y": insert(killed)
        case "z": .suspend
        default: .nothing
        }
    }

    private mutating func handleAlt(_ letter: Unicode.Scalar) -> Answer {
        switch letter {
        case "b", "B": move(to: wordStart)
        case "f", "F": move(to: wordEnd)
        case "d", "D": kill(cursor..<wordEnd)
        default: .nothing
        }
    }

    // Clusters can merge where text is put in or taken out, so the whole is cut into clusters anew.
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
        guard self.text.utf8.count + text.utf8.count <= Self.longestText else { return .refused }
        replace(cursor..<cursor, with: text)
        return .edited
    }

    private mutating func remove(_ range: Range<Int>) -> Answer {
        guard !range.isEmpty else { return .nothing }
        replace(range, with: "")
        return .edited
    }

    private mutating func kill(_ range: Range<Int>) -> Answer {
        guard !range.isEmpty else { return .nothing }
        killed = String(characters[range])
        return remove(range)
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
        let from = browsing?.index ?? history.count
        let target = from + step
        guard target >= 0, target <= history.count else { return .refused }
        let draft = browsing?.draft ?? text
        browsing = target == history.count ? nil : Browsing(index: target, draft: draft)
        characters = Array(target == history.count ? draft : history[target])
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

    /// Line breaks become LF; other control characters, tabs apart, are left out; so is what ends the text.
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
