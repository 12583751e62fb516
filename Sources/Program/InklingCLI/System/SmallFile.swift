import Glibc

/// The content of a file, of a pipe, or of standard input with the name "-".
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

    /// Makes the missing folders above a path, which only their owner may use. The function ignores a failure, because
    /// a later use of the path reports the failure.
    package static func makeFolders(above path: String) {
        for slash in path.indices where path[slash] == "/" && slash > path.startIndex {
            mkdir(String(path[..<slash]), 0o700)
        }
    }

    /// Returns the permissions of a regular file; nil for any other path.
    package static func mode(_ path: String) -> mode_t? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return status.st_mode & 0o777
    }

    /// Returns the permissions of an open regular file; nil for any other descriptor.
    package static func mode(_ descriptor: Int32) -> mode_t? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return status.st_mode & 0o777
    }

    /// Returns the kind of a file in words; nil for a regular or missing file. The function does not follow links.
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

    /// Returns whether permissions let other users read.
    package static func isReadableByOthers(_ mode: mode_t) -> Bool { mode & (S_IRGRP | S_IROTH) != 0 }

    /// Whether a path means standard input.
    package static func isStandardInput(_ path: String?) -> Bool {
        path.map { ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains($0) } ?? false
    }
}
