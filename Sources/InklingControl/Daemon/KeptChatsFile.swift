import Glibc
import InklingModel

/// The file of kept chats in a state directory, which only the user can read. Whoever uses it holds the directory.
package struct KeptChatsFile: Sendable {
    package static let name = "kept-chats.json"
    package static let damagedName = "kept-chats.damaged"
    private static let newName = "kept-chats.new"
    /// More than 32 chats of the longest names take.
    private static let maximumBytes = 1 << 20

    package enum Reading: Equatable {
        case missing
        case chats([Chat])
        /// It was moved aside, to ``damagedName``.
        case damaged
        /// A later version wrote it: it stays as it is, and nothing is kept.
        case newer
        /// It stays as it is, and nothing is kept.
        case unreadable(reason: String)
    }

    private let directory: String

    package init(in directory: String) {
        self.directory = directory
    }

    package func read() -> Reading {
        // O_NONBLOCK: a pipe in its place must not make us wait.
        let file = open("\(directory)/\(Self.name)", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return errno == ENOENT ? .missing : .unreadable(reason: Self.text(errno)) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_uid == geteuid() else {
            return .unreadable(reason: "it belongs to another user")
        }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= Self.maximumBytes else { return moveAside() }
        // Secrets are in it, wherever it was copied from.
        if status.st_mode & 0o077 != 0 { _ = fchmod(file, 0o600) }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var count = 0
        while count < bytes.count {
            let more = bytes[count...].withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else { return .unreadable(reason: Self.text(errno)) }
            if more == 0 { break }
            count += more
        }
        do {
            return .chats(try KeptChats(Array(bytes.prefix(count))).chats)
        } catch {
            return error == .newer ? .newer : moveAside()
        }
    }

    private func moveAside() -> Reading {
        guard rename("\(directory)/\(Self.name)", "\(directory)/\(Self.damagedName)") == 0 else {
            return .unreadable(reason: "it is damaged, and can't be moved: \(Self.text(errno))")
        }
        return .damaged
    }

    /// Puts these chats in the place of the former ones, wholly or not at all.
    ///
    /// - Returns: What went wrong.
    package func write(_ chats: [Chat]) -> String? {
        let (path, new) = ("\(directory)/\(Self.name)", "\(directory)/\(Self.newName)")
        unlink(new)
        let file = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { return Self.text(errno) }
        let bytes = KeptChats(chats).bytes
        var (written, code) = (0, Int32(0))
        while written < bytes.count, code == 0 {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count >= 0 { written += count } else if errno != EINTR { code = errno }
        }
        if code == 0, fchmod(file, 0o600) != 0 || fsync(file) != 0 { code = errno }
        close(file)
        if code == 0, rename(new, path) != 0 { code = errno }
        if code != 0 { unlink(new) }
        return code == 0 ? nil : Self.text(code)
    }

    private static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}
