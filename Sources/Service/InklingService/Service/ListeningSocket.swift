import Glibc

/// The listening socket of a daemon, made at a path or handed over by a service manager.
package struct ListeningSocket: Sendable {
    /// The reason why the daemon can't listen at a path.
    package enum Failure: Error, Equatable {
        case pathTooLong
        /// Another process listens at the path.
        case inUse
        /// The path leads to something other than a socket.
        case notSocket
        /// The folder belongs to another user, or others may write to it.
        case folder
        /// An error of the system, by its code.
        case system(Int32)

        package var text: String {
            switch self {
            case .pathTooLong: "its path is too long; name a shorter --state-dir"
            case .inUse: "a daemon of yours is listening there already; to see what it does: inkling status"
            case .notSocket: "something else is in its place"
            case .folder: "others may write to its folder, or own it; allow only yourself: chmod 700"
            case .system(let code): String(cString: strerror(code))
            }
        }
    }

    /// The number of connections that may wait to be accepted.
    private static let backlog: Int32 = 64
    /// The first descriptor that a service manager hands over.
    private static let firstHandedOver: Int32 = 3

    package let descriptor: Int32
    /// The path of a socket that this process made; nil for a socket that was handed over.
    private let path: String?

    private init(descriptor: Int32, path: String?) {
        self.descriptor = descriptor
        self.path = path
    }

    /// Listens at a path, and makes its folder if it is missing. The caller holds the state directory.
    package init(at path: String) throws(Failure) {
        var name = try Self.name(path)
        try Self.prepareFolder(of: path)
        try Self.removeStale(path, &name)
        let socket = try Self.open()
        do throws(Failure) {
            // The new file gets the mode of the open socket. A later change by name could change another file.
            guard fchmod(socket, 0o600) == 0, Self.call(&name, { bind(socket, $0, $1) }) == 0,
                listen(socket, Self.backlog) == 0
            else { throw Failure.system(errno) }
        } catch {
            close(socket)
            throw error
        }
        self.init(descriptor: socket, path: path)
    }

    /// Takes the socket that a service manager hands over; nil if this process gets none.
    ///
    /// - Parameters:
    ///   - process: `LISTEN_PID`.
    ///   - count: `LISTEN_FDS`.
    package init?(process: String?, count: String?) {
        guard process.flatMap({ pid_t($0) }) == getpid(), let count = count.flatMap({ Int($0) }), count >= 1 else {
            return nil
        }
        let descriptor = Self.firstHandedOver
        var (isListening, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0, isListening != 0 else {
            return nil
        }
        for other in descriptor..<descriptor + Int32(min(count, 64)) { _ = fcntl(other, F_SETFD, FD_CLOEXEC) }
        let flags = fcntl(descriptor, F_GETFL)
        guard fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 else { return nil }
        self.init(descriptor: descriptor, path: nil)
    }

    /// Removes the socket's name, unless a service manager made it. The owner of the descriptor closes it.
    package func remove() {
        if let path { unlink(path) }
    }

    /// Makes the folder of a path if it is missing, and checks that only this user can write there.
    package static func prepareFolder(of path: String) throws(Failure) {
        guard let slash = path.lastIndex(of: "/") else { throw .system(ENOTDIR) }
        let folder = slash == path.startIndex ? "/" : String(path[..<slash])
        if mkdir(folder, 0o700) != 0, errno != EEXIST { throw .system(errno) }
        var status = stat()
        guard stat(folder, &status) == 0 else { throw .system(errno) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .system(ENOTDIR) }
        guard status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else { throw .folder }
    }

    /// Removes a socket on which no process listens. Throws if a process does.
    private static func removeStale(_ path: String, _ name: inout (sockaddr_un, socklen_t)) throws(Failure) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        // The link may be a signpost to a socket at another path.
        guard [S_IFSOCK, S_IFLNK].contains(status.st_mode & S_IFMT) else { throw .notSocket }
        let probe = try open()
        defer { close(probe) }
        let result = call(&name) { connect(probe, $0, $1) }
        // If a socket has no room for another connection, a process still listens.
        guard result != 0, errno == ECONNREFUSED || errno == ENOENT else { throw .inUse }
        guard unlink(path) == 0 || errno == ENOENT else { throw .system(errno) }
    }

    private static func open() throws(Failure) -> Int32 {
        let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let descriptor = socket(AF_UNIX, Int32(kind), 0)
        guard descriptor >= 0 else { throw .system(errno) }
        return descriptor
    }

    private static func name(_ path: String) throws(Failure) -> (sockaddr_un, socklen_t) {
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: name.sun_path) else { throw .pathTooLong }
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        return (name, socklen_t(MemoryLayout<sockaddr_un>.size))
    }

    private static func call(
        _ name: inout (sockaddr_un, socklen_t), _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        let length = name.1
        return withUnsafePointer(to: &name.0) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}
