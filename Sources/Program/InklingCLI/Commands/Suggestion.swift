import ArgumentParser
import InklingConsole
import InklingText

/// The advice for a misspelled command.
package enum Suggestion {
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
            NearestWord.find(word, among: names + ["help"], mistakes: 2).map { "did you mean: \(path) \($0)" }
            ?? ("the commands are \(names.joined(separator: ", "))"
                + (path == "inkling" && SafeText.line(word) == word
                    ? "; to open a chat: inkling chat\(ShellQuoting.argument(word))" : ""))
        return "there is no command \"\(path) \(SafeText.line(word))\"; \(advice)"
    }
}
