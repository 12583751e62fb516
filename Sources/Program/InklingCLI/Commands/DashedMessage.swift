import ArgumentParser
import InklingText

/// A message of `inkling send` that begins with a dash, as options do: it must not be taken for one, be it for a wish for
/// help, with which the command would seem to have done well.
package enum DashedMessage {
    /// Why the words can't be used; one line that says what to do.
    package struct Refusal: Error, Equatable {
        package let text: String
    }

    /// Words that make the parser tell something, and the program end well.
    private static let questions: Set<String> = ["-h", "-help", "--help", "--help-hidden", "--version"]
    /// Stands for a message while the words are tried. No argument of a program has a NUL.
    private static let standIn = "\0"

    /// The words for the parser. A message that no option can be, as it has a blank, comes to stand behind `--`.
    ///
    /// - Parameter words: what follows the program's name.
    /// - Throws: ``Refusal`` for another message that begins with a dash.
    package static func arranged(_ words: [String]) throws(Refusal) -> [String] {
        guard words.first == "send", words.count > 2 else { return words }
        let end = words.firstIndex(of: "--") ?? words.endIndex
        let dashed = words[..<end].indices.filter { words[$0].hasPrefix("-") && words[$0] != "-" }
        for index in dashed where isMessage(index, in: words) {
            let word = words[index]
            guard word.contains(where: \.isWhitespace) else {
                // The parser has the better answer where an option is one, and the message is missing.
                if parsed(words[..<end] + [standIn] + words[end...]) != nil { continue }
                throw refusal(word)
            }
            var others = words
            others.remove(at: index)
            return others + (end == words.endIndex ? ["--"] : []) + [word]
        }
        // In letters behind one dash the parser finds the -h of the help, whatever the others are.
        let group = dashed.map { words[$0] }.first { !$0.hasPrefix("--") && $0.contains("h") }
        if let group, !dashed.contains(where: { questions.contains(words[$0]) }) { throw refusal(group) }
        return words
    }

    /// Whether the message is at that place, as the parser reads the words.
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
