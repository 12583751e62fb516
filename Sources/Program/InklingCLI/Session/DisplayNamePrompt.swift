import ArgumentParser
import Glibc
import Inkling
import InklingConsole
import InklingModel
import InklingText

/// Asks a new user for a name, and keeps the answer.
enum DisplayNamePrompt {
    /// Asks for a name.
    ///
    /// - Parameters:
    ///   - proposal: the name that an empty answer means.
    ///   - path: the settings file, made if missing; nil to make none.
    ///   - directory: the directory that keeps the last chat's name; nil for none.
    /// - Returns: a valid name for a node.
    /// - Throws: the status of an interrupted program at the end of the input, and success after /quit.
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

    /// Makes the settings file with the name. An existing file stays as it is.
    private static func keep(_ name: String, in path: String) -> Bool {
        SmallFile.makeFolders(above: path)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return Output(descriptor: descriptor).write(line: "name = \(tomlString(name))")
    }
}
