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
            Output.standard.write(line: saved(name, in: path, beside: directory))
            return name
        }
    }

    /// Keeps the name in a new settings file, or else in the directory.
    ///
    /// - Returns: The line that says where.
    private static func saved(_ name: String, in path: String?, beside directory: String?) -> String {
        if let path, access(path, F_OK) != 0, SettingsEdit.name(name).write(to: path) == nil {
            return "Saved in \(SafeText.line(path)); override it once with --name."
        }
        guard let directory else { return "This name holds until you quit." }
        // The first start makes the directory.
        let store = try? KeyStore.openShared(directory: directory)
        var reason = RememberedName.keep(name, in: directory)
        if case .unwritable(_, let cause) = store?.temporary { reason = cause }
        if let reason {
            return "This name holds until you quit, because \(SafeText.line(directory)) can't be written (\(reason))."
        }
        return "Saved in \(SafeText.line(directory)) for your next chats; change it with --name."
    }
}
