/// Lines that people copy into a shell.
package enum Shell {
    /// A word as a shell takes it: in quotes, where it has to be.
    package static func word(_ text: String) -> String {
        let isPlain = text.allSatisfy { $0.isLetter || $0.isNumber || "-._/:,+@%".contains($0) }
        return isPlain && !text.isEmpty ? text : "'" + text.replacing("'", with: #"'\''"#) + "'"
    }
}
