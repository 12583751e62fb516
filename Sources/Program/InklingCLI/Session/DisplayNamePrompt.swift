import ArgumentParser
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
    ///   - directory: where the name of the last chat is kept; nil if nowhere.
    /// - Returns: a name that a node can have.
    /// - Throws: the status of a program that was interrupted, at the end of the input: nobody has said yes; success
    ///   after /quit.
    static func ask(proposal: String, keepingIn path: String?, beside directory: String?) throws -> String {
        let shown = ChatLines.shown(proposal)
        while true {
            Output.standard.write(Array("Your name, as others will see it: [\(shown)] ".utf8))
            guard let line = readLine() else {
                Output.standard.write(line: "")
                throw ExitCode(128 + SIGINT)
            }
            let name: String
            switch NameAnswer(line, proposal: proposal) {
            case .name(let chosen): name = chosen
            case .quit: throw ExitCode.success
            case .refused(let why):
                Output.standard.write(line: why)
                continue
            }
            if let path, keep(name, in: path) {
                Output.standard.write(line: "Saved in \(SafeText.line(path)); override it once with --name.")
            } else if let directory {
                Output.standard.write(
                    line: "Saved in \(SafeText.line(directory)) for your next chats; change it with --name.")
            }
            return name
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
