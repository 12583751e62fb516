import InklingModel

/// Lines that people copy into a shell.
package enum ShellQuoting {
    /// How to name to a command a chat that was joined without one, with a blank before it. No secret is repeated.
    package static func arguments(naming chat: Chat) -> String {
        chat.isOpen ? argument(chat.name) : " --invite INVITE"
    }

    /// A word that is no option, with a blank before it.
    package static func argument(_ text: String) -> String { (text.hasPrefix("-") ? " -- " : " ") + word(text) }

    /// A word as a shell takes it: in quotes, where it has to be.
    package static func word(_ text: String) -> String {
        // Scalars: a character may hide a quote, or anything else that a shell acts on, after its first one.
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
