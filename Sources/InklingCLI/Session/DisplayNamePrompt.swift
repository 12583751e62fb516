import Glibc
import Inkling
import InklingConsole
import InklingModel
import InklingText

/// Asks somebody who comes for the first time what they want to be called, and keeps the answer.
enum DisplayNamePrompt {
    /// - Parameters:
    ///   - proposal: what an empty answer means.
    ///   - path: the settings file, which is made if there is none; nil if none is to be made.
    /// - Returns: a name that a node can have.
    static func ask(proposal: String, keepingIn path: String?) -> String {
        let shown = ChatLines.shown(proposal)
        while true {
            Output.standard.write(Array("Your name, as others will see it: [\(shown)] ".utf8))
            guard let line = readLine() else { return proposal }
            let answer = NormalForm.canonical(line.trimmed)
            guard !answer.isEmpty else { return proposal }
            guard answer.utf8.count <= 64, SafeText.name(answer) != nil else {
                Output.standard.write(line: "A name must contain a letter or a digit, and 64 bytes at most.")
                continue
            }
            if let path, keep(answer, in: path) {
                Output.standard.write(line: "Saved in \(SafeText.line(path)); override it once with --name.")
            }
            return answer
        }
    }

    /// Makes the settings file with the name in it; one that is there is left alone.
    private static func keep(_ name: String, in path: String) -> Bool {
        SmallFile.makeFolders(above: path)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return Output(descriptor: descriptor).write(line: "name = \(tomlString(name))")
    }
}
