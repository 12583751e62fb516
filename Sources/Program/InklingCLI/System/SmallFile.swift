import Glibc

/// What a command reads as a whole: a file, a pipe, or standard input by the name "-".
package enum SmallFile {
    package enum Failure: Error, Equatable {
        case unreadable
        case tooLong
        case noText
    }

    package static func text(_ path: String, maximumBytes: Int) throws(Failure) -> String {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unreadable }
        defer { if path != "-" { close(descriptor) } }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: maximumBytes + 1)
        while bytes.count <= maximumBytes {
            let count = read(descriptor, &buffer, buffer.count)
            if count > 0 {
                bytes += buffer[..<count]
            } else if count == 0 {
                break
            } else if errno == EAGAIN {
                var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                poll(&wanted, 1, -1)
            } else if errno != EINTR {
                throw .unreadable
            }
        }
        guard bytes.count <= maximumBytes else { throw .tooLong }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .noText }
        return text
    }

    /// Makes the folders above a path that are missing, for their owner alone. What can't be made is not; whatever needs
    /// it says so.
    package static func makeFolders(above path: String) {
        for slash in path.indices where path[slash] == "/" && slash > path.startIndex {
            mkdir(String(path[..<slash]), 0o700)
        }
    }

    /// The permissions of a regular file; nil for all else.
    package static func mode(_ path: String) -> mode_t? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return status.st_mode & 0o777
    }

    /// The permissions of a regular file that is open; nil for all else.
    package static func mode(_ descriptor: Int32) -> mode_t? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return status.st_mode & 0o777
    }

    /// What is in a place, in words, if it is no regular file; nil if it is one, or nothing is there. A link is one itself,
    /// wherever it leads.
    package static func kindUnlessRegular(_ path: String) -> String? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return switch status.st_mode & S_IFMT {
        case S_IFREG: nil
        case S_IFDIR: "a directory"
        case S_IFLNK: "a symbolic link"
        case S_IFIFO: "a pipe"
        case S_IFSOCK: "a socket"
        default: "a device"
        }
    }

    /// Whether permissions let others than the owner read.
    package static func isReadableByOthers(_ mode: mode_t) -> Bool { mode & (S_IRGRP | S_IROTH) != 0 }

    /// Whether a path means standard input.
    package static func isStandardInput(_ path: String?) -> Bool {
        path.map { ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains($0) } ?? false
    }
}
