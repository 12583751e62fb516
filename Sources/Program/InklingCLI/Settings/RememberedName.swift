import Glibc

/// The user's name in the last chat, kept beside the identity. Other commands use it, so that people in the chat
/// recognise the same person.
package enum RememberedName {
    private static let maximumBytes = 64

    /// Returns the kept name; nil without one that a node can have.
    package static func read(in directory: String?) -> String? {
        guard let directory else { return nil }
        // O_NONBLOCK: a pipe in the file's place must not block the program.
        let file = open("\(directory)/name", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: maximumBytes + 2)
        let count = Glibc.read(file, &bytes, bytes.count)
        guard count > 0, let text = String(validating: bytes[..<count], as: UTF8.self), text.hasSuffix("\n") else {
            return nil
        }
        let name = String(text.dropLast())
        let isPossible =
            name.utf8.count <= maximumBytes && !name.allSatisfy(\.isWhitespace)
            && !name.unicodeScalars.contains { $0.properties.generalCategory == .control }
        return isPossible ? name : nil
    }

    /// Keeps the name. The name is only a convenience, so the function ignores a failure.
    package static func keep(_ name: String, in directory: String?) {
        guard let directory, name != read(in: directory) else { return }
        let (path, new) = ("\(directory)/name", "\(directory)/name.new")
        unlink(new)
        let file = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        let isWhole = Output(descriptor: file).write(line: name)
        close(file)
        if !isWhole || rename(new, path) != 0 { unlink(new) }
    }
}
