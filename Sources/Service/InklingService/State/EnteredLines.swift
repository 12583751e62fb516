import Glibc
import Inkling

/// The lines that the user entered at prompts, in a file that only the user can read. Several prompts may add lines.
package struct EnteredLines {
    package static let fileName = "history"
    /// The number of lines that users can recall. When the file may have twice as many, the program cuts it to this
    /// number.
    package static let most = 200
    /// The longest line in bytes. Longer lines, such as pasted texts, are not stored.
    package static let longestLine = 1_024

    /// The lines in the file when it was read, the earliest first.
    package let read: [String]
    private let directory: String
    private let file: StateFile
    private var count: Int
    private var last: String?

    package init(in directory: String) {
        self.directory = directory
        file = StateFile(directory: directory, name: Self.fileName, newName: Self.fileName + ".new")
        let lines = Self.lines(file)
        read = lines.suffix(Self.most)
        (count, last) = (lines.count, lines.last)
    }

    /// Adds a line. The lines are only a convenience, so the method ignores a failure.
    package mutating func add(_ line: String) {
        guard line != last, line.utf8.count <= Self.longestLine else { return }
        last = line
        count += 1
        append(line)
        if count >= 2 * Self.most { cut() }
    }

    private func append(_ line: String) {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let descriptor = open("\(directory)/\(Self.fileName)", flags, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            return
        }
        if status.st_mode & 0o077 != 0, fchmod(descriptor, 0o600) != 0 { return }
        // A single write keeps the lines of several prompts apart.
        let bytes = Array((Self.escaped(line) + "\n").utf8)
        _ = write(descriptor, bytes, bytes.count)
    }

    private mutating func cut() {
        let lines = Self.lines(file).suffix(Self.most)
        _ = file.write(Array(lines.map { Self.escaped($0) + "\n" }.joined().utf8))
        count = lines.count
    }

    private static func lines(_ file: StateFile) -> [String] {
        guard let bytes = try? file.read() else { return [] }
        return bytes.split(separator: UInt8(ascii: "\n"))
            .compactMap { String(validating: $0, as: UTF8.self).map(unescaped) }
            .filter { $0.utf8.count <= longestLine }
    }

    private static func escaped(_ line: String) -> String {
        String(line.flatMap { $0 == "\\" ? "\\\\" : $0.isNewline ? "\\n" : String($0) })
    }

    private static func unescaped(_ text: String) -> String {
        var result = ""
        var isEscaped = false
        for character in text {
            if isEscaped {
                result.append(character == "n" ? "\n" : character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else {
                result.append(character)
            }
        }
        return result
    }
}
