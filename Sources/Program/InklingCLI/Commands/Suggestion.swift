import ArgumentParser
import InklingText

/// The advice for a misspelled command.
package enum Suggestion {
    /// The most wrong letters in a word for which the program suggests a command.
    private static let mistakes = 2

    /// Returns the error for an unknown command; nil if the first word is a command.
    ///
    /// - Parameter arguments: the words after the program's name.
    package static func complaint(about arguments: [String]) -> String? {
        complaint(about: arguments[...], in: InklingCommand.self, path: "inkling")
    }

    private static func complaint(
        about arguments: ArraySlice<String>, in command: any ParsableCommand.Type, path: String
    ) -> String? {
        let commands = command.configuration.subcommands
        guard let word = arguments.first, !word.hasPrefix("-"), !commands.isEmpty else { return nil }
        if word == "help" { return complaint(about: arguments.dropFirst(), in: command, path: path) }
        let names = commands.compactMap { $0.configuration.commandName }
        if let index = names.firstIndex(of: word) {
            return complaint(about: arguments.dropFirst(), in: commands[index], path: path + " " + word)
        }
        let advice =
            nearest(to: word, among: names + ["help"]).map { "did you mean: \(path) \($0)" }
            ?? "the commands are \(names.joined(separator: ", "))"
        return "there is no command \"\(path) \(SafeText.line(word))\"; \(advice)"
    }

    /// Returns the word nearest to another word; nil if none is near.
    package static func nearest(to word: String, among words: [String]) -> String? {
        let word = Array(word.lowercased())
        let ranked = words.map { (distance: distance(word, Array($0)), text: $0) }.min { $0.distance < $1.distance }
        guard let ranked, ranked.distance <= mistakes, ranked.distance < word.count else { return nil }
        return ranked.text
    }

    /// Returns the number of letters that were left out, added, replaced, or swapped with their neighbours.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        guard left.count <= 32 else { return .max }
        var rows = [Array(0...right.count)]
        for (i, one) in left.enumerated() {
            var row = [i + 1]
            for (j, other) in right.enumerated() {
                var least = min(rows[i][j] + (one == other ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, one == right[j - 1], left[i - 1] == other {
                    least = min(least, rows[i - 1][j - 1] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
