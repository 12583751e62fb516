import ArgumentParser
import InklingText

/// A message of `inkling send` that begins with a dash. The parser would take such a message for an option. If the
/// message looked like `--help`, the command would succeed without sending a message.
package enum DashedMessage {
    /// The reason to refuse the words, with advice, in one line.
    package struct Refusal: Error, Equatable {
        package let text: String
    }

    /// Words for which the parser only prints a text and the program exits with 0.
    private static let questions: Set<String> = ["-h", "-help", "--help", "--help-hidden", "--version"]
    /// The stand-in for a message in a trial run of the parser. No argument of a program has a NUL.
    private static let standIn = "\0"

    /// Returns the words for the parser. A message with a blank can't be an option, so the function moves the message
    /// behind `--`.
    ///
    /// - Parameter words: the words after the program's name.
    /// - Throws: ``Refusal`` for another message that begins with a dash.
    package static func arranged(_ words: [String]) throws(Refusal) -> [String] {
        guard words.first == "send", words.count > 2 else { return words }
        let end = words.firstIndex(of: "--") ?? words.endIndex
        let dashed = words[..<end].indices.filter { words[$0].hasPrefix("-") && words[$0] != "-" }
        for index in dashed where isMessage(index, in: words) {
            let word = words[index]
            guard word.contains(where: \.isWhitespace) else {
                // If the word is an option and the message is missing, the parser's own error is better.
                if parsed(words[..<end] + [standIn] + words[end...]) != nil { continue }
                throw refusal(word)
            }
            var others = words
            others.remove(at: index)
            return others + (end == words.endIndex ? ["--"] : []) + [word]
        }
        // The parser finds the -h of the help even in a group of letters behind one dash.
        let group = dashed.map { words[$0] }.first { !$0.hasPrefix("--") && $0.contains("h") }
        if let group, !dashed.contains(where: { questions.contains(words[$0]) }) { throw refusal(group) }
        return words
    }

    /// Whether the parser reads the word at this index as the message.
    private static func isMessage(_ index: Int, in words: [String]) -> Bool {
        var words = words
        words[index] = standIn
        return parsed(words[...])?.message == standIn
    }

    private static func parsed(_ words: ArraySlice<String>) -> SendCommand? {
        try? InklingCommand.parseAsRoot(Array(words)) as? SendCommand
    }

    private static func refusal(_ word: String) -> Refusal {
        let help = questions.contains(word) ? "; for help: inkling help send" : ""
        return Refusal(
            text: "put -- before a message that begins with a dash: "
                + "inkling send CHAT -- \"\(SafeText.line(word))\"\(help)")
    }
}
