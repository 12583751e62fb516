import InklingModel

/// Lines that people copy into a shell.
package enum ShellQuoting {
    /// Returns the arguments by which a further command names a chat, with a blank before them. They never repeat a
    /// secret.
    package static func arguments(naming chat: Chat) -> String {
        chat.isOpen ? argument(chat.name) : " --invite INVITE"
    }

    /// Returns a word that no command takes for an option, with a blank before it.
    package static func argument(_ text: String) -> String { (text.hasPrefix("-") ? " -- " : " ") + word(text) }

    /// Returns a word in the form for a shell, in quotes if necessary.
    package static func word(_ text: String) -> String {
        // Scalars, because a character may hide a quote, or another sign for the shell, after its first scalar.
        let isPlain = text.unicodeScalars.allSatisfy { scalar in
            scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                || "-._/:,+@%".unicodeScalars.contains(scalar)
        }
        guard !isPlain || text.isEmpty else { return text }
        var quoted = "'"
        for scalar in text.unicodeScalars {
            if scalar == "'" { quoted += #"'\''"# } else { quoted.unicodeScalars.append(scalar) }
        }
        return quoted + "'"
    }
}
