import Glibc

/// Sockets of the file system.
package enum UnixSocket {
    /// The reason why a connection failed.
    package enum Failure: Error, Equatable {
        case pathTooLong
        /// The system's code.
        case system(Int32)

        package var text: String {
            switch self {
            case .pathTooLong: "its path is too long"
            case .system(let code): String(cString: strerror(code))
            }
        }
    }

    /// Connects to the listener of a path.
    ///
    /// - Returns: A descriptor that neither blocks nor is inherited.
    package static func connect(to path: String) throws(Failure) -> Int32 {
        let (name, length) = try Self.name(Array(path.utf8))
        let socket = try open(SOCK_STREAM)
        let status = withUnsafePointer(to: name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(socket, $0, length) }
        }
        guard status == 0 else {
            let code = errno
            close(socket)
            throw .system(code)
        }
        return socket
    }

    /// Waits for the first line of a connection. The line stays unread in the socket.
    ///
    /// - Parameters:
    ///   - longest: the longest wait, in milliseconds.
    ///   - maximumBytes: the longest line.
    /// - Returns: The line without its line feed; nil if none comes.
    package static func firstLine(of descriptor: Int32, within longest: Int32, maximumBytes: Int) -> [UInt8]? {
        let end = Clock.steady + Int64(longest)
        var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
        while true {
            var readable = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let rest = end - Clock.steady
            guard rest > 0, poll(&readable, 1, Int32(rest)) >= 0 || errno == EINTR else { return nil }
            let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
            if count < 0, errno == EAGAIN || errno == EINTR { continue }
            guard count > 0 else { return nil }
            if let end = bytes[..<count].firstIndex(of: UInt8(ascii: "\n")) { return Array(bytes[..<end]) }
            guard count < bytes.count else { return nil }
            // A poll would return at once because of the bytes already there, so this loop sleeps.
            usleep(linePause)
        }
    }

    /// The interval of checks for the rest of a line, in microseconds.
    private static let linePause: UInt32 = 2_000

    /// Returns the user ID at the other end of a connection; nil if unknown.
    package static func user(of descriptor: Int32) -> uid_t? {
        // The fields of struct ucred: a process, a user and a group.
        var credentials: (pid_t, uid_t, gid_t) = (0, 0, 0)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
        return credentials.1
    }

    /// Returns whether a process of one of these users listens at a path. The system recorded the user at the call of
    /// listen (SO_PEERCRED).
    package static func isAnswered(at path: String, by users: Set<uid_t>) -> Bool {
        guard let descriptor = try? connect(to: path) else { return false }
        defer { close(descriptor) }
        return user(of: descriptor).map(users.contains) ?? false
    }

    /// Returns whether a process listens at a path, by the system's list of sockets. This check starts no daemon.
    static func isListening(at path: String) -> Bool {
        guard let table = try? SmallFile.text("/proc/net/unix", maximumBytes: longestTable) else { return false }
        return isListening(at: path, in: table)
    }

    /// The longest list that the program reads, in bytes.
    private static let longestTable = 16 << 20

    /// Returns whether a process listens at a path, by a list in the form of `/proc/net/unix`.
    package static func isListening(at path: String, in table: String) -> Bool {
        table.split(separator: "\n").contains { line in
            // The fields of a line are: Num RefCount Protocol Flags Type St Inode Path.
            let fields = line.split(separator: " ", maxSplits: 7)
            guard fields.count == 8, fields[7] == path, let flags = UInt32(fields[3], radix: 16) else { return false }
            return flags & acceptsConnections != 0
        }
    }

    /// The flag of a listening socket in that list: `SO_ACCEPTCON` of `linux/net.h`.
    private static let acceptsConnections: UInt32 = 1 << 16

    /// Sends a datagram to the socket at a path. A path that begins with `@` is abstract.
    ///
    /// - Returns: Whether the system accepted the datagram.
    @discardableResult
    package static func send(_ text: String, to path: String) -> Bool {
        var path = Array(path.utf8)
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        guard let (name, length) = try? Self.name(path), let socket = try? open(SOCK_DGRAM) else { return false }
        defer { close(socket) }
        let bytes = Array(text.utf8)
        let count = withUnsafePointer(to: name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, length)
            }
        }
        return count == bytes.count
    }

    private static func open(_ kind: __socket_type) throws(Failure) -> Int32 {
        let flags = Int32(kind.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let socket = Glibc.socket(AF_UNIX, flags, 0)
        guard socket >= 0 else { throw .system(errno) }
        return socket
    }

    private static func name(_ path: [UInt8]) throws(Failure) -> (sockaddr_un, socklen_t) {
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        guard !path.isEmpty, path.count < MemoryLayout.size(ofValue: name.sun_path) else { throw .pathTooLong }
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path) }
        let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        // An abstract socket's name has an explicit length, and no NUL at its end.
        let isAbstract = path[0] == 0
        return (name, socklen_t(offset + path.count + (isAbstract ? 0 : 1)))
    }
}
