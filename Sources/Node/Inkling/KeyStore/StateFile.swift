import Glibc

/// A small file in a state directory. Only the user can read it, and each write replaces it completely or not at all.
package struct StateFile: Sendable {
    package enum Failure: Error, Equatable {
        case missing
        /// The path leads to another kind of file, or the file is too long.
        case damaged
        case unreadable(reason: String)
    }

    private let directory: String
    private let name: String
    /// The file's name during a write.
    private let newName: String
    /// The longest file that the program reads, in bytes.
    private let maximumBytes: Int

    package init(directory: String, name: String, newName: String, maximumBytes: Int = 1 << 20) {
        self.directory = directory
        self.name = name
        self.newName = newName
        self.maximumBytes = maximumBytes
    }

    package func read() throws(Failure) -> [UInt8] {
        // O_NONBLOCK: the open must not wait if the file is a pipe.
        let file = open("\(directory)/\(name)", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw errno == ENOENT ? .missing : .unreadable(reason: Self.text(errno)) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_uid == geteuid() else {
            throw .unreadable(reason: "it belongs to another user")
        }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= maximumBytes else { throw .damaged }
        // The file holds secrets, and a copy may have another mode.
        if status.st_mode & 0o077 != 0 { _ = fchmod(file, 0o600) }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var count = 0
        while count < bytes.count {
            let more = bytes[count...].withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else { throw .unreadable(reason: Self.text(errno)) }
            if more == 0 { break }
            count += more
        }
        return Array(bytes.prefix(count))
    }

    /// Replaces the file, and waits until it is on disk.
    ///
    /// - Returns: The reason for a failure.
    package func write(_ bytes: [UInt8]) -> String? {
        let (path, new) = ("\(directory)/\(name)", "\(directory)/\(newName)")
        unlink(new)
        let file = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { return Self.text(errno) }
        var (written, code) = (0, Int32(0))
        while written < bytes.count, code == 0 {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count >= 0 { written += count } else if errno != EINTR { code = errno }
        }
        if code == 0, fchmod(file, 0o600) != 0 || fsync(file) != 0 { code = errno }
        close(file)
        if code == 0, rename(new, path) != 0 { code = errno }
        if code != 0 { unlink(new) }
        return code == 0 ? Self.syncDirectory(directory) : Self.text(code)
    }

    /// Flushes the directory. Without this, the new name of a file may not be on disk.
    static func syncDirectory(_ directory: String) -> String? {
        let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return Self.text(errno) }
        defer { close(folder) }
        return fsync(folder) == 0 ? nil : Self.text(errno)
    }

    package static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}
