import InklingModel
import InklingText

/// The meaning of an answer to the question for the user's name.
package enum NameAnswer: Equatable, Sendable {
    /// The name that the user chose, in NFC.
    case name(String)
    /// The user leaves without a name.
    case quit
    /// The answer is not a valid name. The text gives the reason and is safe to show. The program asks again.
    case refused(String)

    /// Interprets an answer.
    ///
    /// - Parameter proposal: The name that an empty answer chooses.
    package init(_ line: String, proposal: String) {
        let answer = NormalForm.canonical(line.trimmed)
        if answer.hasPrefix("/") {
            guard PromptCommand(answer) != .quit else {
                self = .quit
                return
            }
            self = .refused(
                "A slash begins a command, and of these there is only /quit yet. Type your name, or press Enter.")
            return
        }
        let name = answer.isEmpty ? NormalForm.canonical(proposal) : answer
        if let fault = NameFault(ofOwnName: name) {
            self = .refused(SafeText.line(NodeError.name(fault).fact) + " Choose another.")
        } else {
            self = .name(name)
        }
    }
}
