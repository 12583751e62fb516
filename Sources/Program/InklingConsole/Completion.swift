/// Completes commands, people and chats at the cursor. The first Tab adds the common beginning of all candidates. If
/// nothing can be added, the next Tab lists them.
package struct Completion: Sendable {
    /// The texts that the completion can add.
    package struct Candidates: Sendable {
        /// The labels of the people in the chat.
        package var people: [String]
        /// The names of the joined chats.
        package var chats: [String]
        /// The labels of the muted people.
        package var muted: [String]
        /// The labels of the people whose messages are folded.
        package var folded: [String]

        package init(people: [String] = [], chats: [String] = [], muted: [String] = [], folded: [String] = []) {
            self.people = people
            self.chats = chats
            self.muted = muted
            self.folded = folded
        }
    }

    package enum Answer: Equatable, Sendable {
        /// The text has changed.
        case completed
        /// The candidates. The prompt should show them.
        case choices([String])
        /// The text is unchanged: no candidate fits, or only a further Tab will list the candidates.
        case nothing
    }

    /// The text and the cursor for which the last Tab found several candidates.
    private var undecided: (text: String, cursor: Int)?

    package init() {}

    /// Completes the text before the cursor, after a Tab.
    package mutating func complete(_ editor: inout LineEditor, among candidates: Candidates) -> Answer {
        let wasUndecided = undecided.map { $0 == (editor.text, editor.cursor) } ?? false
        undecided = nil
        guard let found = Self.found(editor, candidates), let first = found.candidates.first else { return .nothing }
        if found.candidates.count == 1 {
            return editor.complete(from: found.start, with: first + found.ending) == .edited ? .completed : .nothing
        }
        let common = Self.commonBeginning(found.candidates)
        let typed = editor.cursor - found.start
        var answer = Answer.nothing
        if common.count > typed, editor.complete(from: found.start, with: common) == .edited {
            answer = .completed
        } else if wasUndecided {
            answer = .choices(found.candidates)
        }
        undecided = (editor.text, editor.cursor)
        return answer
    }

    private struct Found {
        /// The start of the text that the candidates replace, in clusters.
        var start: Int
        var candidates: [String]
        /// The text to add behind a single candidate.
        var ending: String
    }

    private static let personCommands: Set<String> = [
        "/whois", "/verify", "/block", "/unblock", "/mute", "/talk", "/invite", "/remove",
        "/owner",
    ]
    private static let chatCommands: Set<String> = ["/open", "/leave"]

    private static func found(_ editor: LineEditor, _ candidates: Candidates) -> Found? {
        let before = Array(editor.characters[..<editor.cursor])
        guard before.first == "/", before.dropFirst().first != "/" else { return person(before, candidates.people) }
        guard let blank = before.firstIndex(where: \.isWhitespace) else {
            return matches(before, from: 0, among: PromptCommand.names, ending: " ")
        }
        let start = before[blank...].firstIndex { !$0.isWhitespace } ?? before.count
        switch String(before[..<blank]).lowercased() {
        case let command where personCommands.contains(command):
            let ending = ["/verify", "/invite"].contains(command) ? " " : ""
            return matches(before, from: name(before, start), among: candidates.people, ending: ending)
        case "/unmute": return matches(before, from: name(before, start), among: candidates.muted, ending: "")
        case "/show": return matches(before, from: name(before, start), among: candidates.folded, ending: "")
        case let command where chatCommands.contains(command):
            return matches(before, from: start, among: candidates.chats, ending: "")
        case "/help", "/?":
            return matches(before, from: start, among: PromptCommand.names.map { String($0.dropFirst()) }, ending: "")
        default: return nil
        }
    }

    /// Returns the start of a person's name, which may have an @ before it.
    private static func name(_ before: [Character], _ start: Int) -> Int {
        start < before.count && before[start] == "@" ? start + 1 : start
    }

    /// Finds a label in a message. A label may have blanks, so the longest beginning of a label that ends at the cursor
    /// counts.
    private static func person(_ before: [Character], _ people: [String]) -> Found? {
        let starts = before.indices.filter { !before[$0].isWhitespace && ($0 == 0 || before[$0 - 1].isWhitespace) }
        for start in starts.suffix(longestLabelInWords) {
            let start = before[start] == "@" ? start + 1 : start
            guard start < before.count else { continue }
            if let found = matches(before, from: start, among: people, ending: " ") { return found }
        }
        // A single @ offers all people.
        guard before.last == "@", starts.last == before.count - 1 else { return nil }
        return matches(before, from: before.count, among: people, ending: " ")
    }

    private static let longestLabelInWords = 16

    private static func matches(
        _ before: [Character], from start: Int, among candidates: [String], ending: String
    ) -> Found? {
        let begun = String(before[start...]).lowercased()
        let matching = candidates.filter { $0.lowercased().hasPrefix(begun) }
        return matching.isEmpty ? nil : Found(start: start, candidates: matching, ending: ending)
    }

    private static func commonBeginning(_ candidates: [String]) -> String {
        guard var common = candidates.first.map(Array.init) else { return "" }
        for candidate in candidates.dropFirst() {
            let shared = zip(common, candidate).prefix { $0.0.lowercased() == $0.1.lowercased() }.count
            common.removeLast(common.count - shared)
        }
        return String(common)
    }
}
