import CProcess
import Glibc
import NIOCore
import Synchronization

/// The node's side of the last will: starts the helper and keeps it informed.
///
/// The helper is a separate process. The helper holds sealed byes and no keys, has the node's UDP socket, and ignores
/// the signals of the terminal. If the node's end of the connection closes without a farewell, the helper sends the
/// byes over that socket.
final class LastWill: Sendable {
    enum Failure: Error {
        /// The path to the helper has no program.
        case missing(String)
        case system(String)
    }

    private struct Connection {
        /// The node's end of the control connection; -1 after closing.
        var control: CInt
        /// The messages for which the helper's end has no room yet, the last for each session.
        var waiting: [UInt32: [UInt8]] = [:]
    }

    private enum Outcome { case sent, full, gone }

    private let connection: Mutex<Connection>
    private let process: pid_t
    /// The event loop on which waiting messages are retried.
    private let eventLoop: any EventLoop
    /// The shortest and the longest pause before a retry.
    private static let pauses = TimeAmount.milliseconds(1)...TimeAmount.milliseconds(100)

    /// Starts the helper.
    ///
    /// - Parameters:
    ///   - path: Its program; nil for `inkling-lastwill` beside the running program.
    ///   - socket: The node's UDP socket.
    init(path: String?, socket: CInt, eventLoop: any EventLoop) throws(Failure) {
        let program = path ?? LastWill.besideProgram()
        guard access(program, X_OK) == 0 else { throw .missing(program) }
        var pair: [CInt] = [-1, -1]
        let kind = CInt(SOCK_SEQPACKET.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &pair) == 0 else { throw .system(UDPSocket.errorText(errno)) }
        defer { Glibc.close(pair[1]) }
        let (error, process) = LastWill.spawn(program, control: pair[1], socket: socket)
        guard error == 0 else {
            Glibc.close(pair[0])
            throw .system(UDPSocket.errorText(error))
        }
        connection = Mutex(Connection(control: pair[0]))
        self.process = process
        self.eventLoop = eventLoop
    }

    deinit {
        close()
    }

    private static func besideProgram() -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let path = String(decoding: buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.prefix(through: path.lastIndex(of: "/") ?? path.startIndex) + "inkling-lastwill"
    }

    /// Starts the helper in a process group of its own. Standard input is the control connection, and descriptor 3 the
    /// UDP socket. Standard output and error go nowhere. The helper gets no other descriptor: the last action closes
    /// all from 4 on.
    private static func spawn(_ program: String, control: CInt, socket: CInt) -> (CInt, pid_t) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // First moves both sockets away from the numbers 0 to 3, which the helper's descriptors get.
        let held = fcntl(socket, F_DUPFD_CLOEXEC, 10)
        let heldControl = fcntl(control, F_DUPFD_CLOEXEC, 10)
        defer {
            if held >= 0 { Glibc.close(held) }
            if heldControl >= 0 { Glibc.close(heldControl) }
        }
        guard held >= 0, heldControl >= 0 else { return (errno, 0) }
        posix_spawn_file_actions_adddup2(&actions, heldControl, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, held, 3)
        posix_spawn_file_actions_addclosefrom_np(&actions, 4)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        var process = pid_t()
        let name = strdup(program)
        defer { free(name) }
        let error = posix_spawn(&process, program, &actions, &attributes, [name, nil], [nil])
        return (error, process)
    }

    /// Makes the helper keep a sealed farewell of a session, in place of the session's previous one.
    ///
    /// - Returns: Whether the helper is running.
    func keep(_ session: UInt32, _ datagram: [UInt8], to name: [UInt8]) -> Bool {
        write([1] + bytes(of: session) + [UInt8(name.count)] + name + datagram, of: session)
    }

    /// Makes the helper forget the farewell of a session.
    func drop(_ session: UInt32) -> Bool { write([2] + bytes(of: session), of: session) }

    /// Dismisses the helper after the node sent its farewells itself. The helper ends without sending, and the call
    /// waits for its end.
    func dismiss() {
        var outcome = Outcome.full
        for _ in 0..<100 {
            outcome = connection.withLock { LastWill.send([3], over: $0.control) }
            guard case .full = outcome else { break }
            usleep(1_000)
        }
        // A helper that did not read the dismissal must not mistake the closed connection for the node's death.
        if case .full = outcome { kill(process, SIGKILL) }
        end()
    }

    /// Closes the connection, and waits for the helper's end.
    func end() {
        guard close() else { return }
        var status: CInt = 0
        // A helper ends within milliseconds. A stopped helper does not end; only SIGKILL reaches it.
        for _ in 0..<100 {
            guard waitpid(process, &status, WNOHANG) == 0 else { return }
            usleep(1_000)
        }
        kill(process, SIGKILL)
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
    }

    @discardableResult
    private func close() -> Bool {
        connection.withLock { connection in
            guard connection.control >= 0 else { return false }
            Glibc.close(connection.control)
            connection = Connection(control: -1)
            return true
        }
    }

    private func bytes(of session: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: session >> (24 - 8 * UInt32($0))) }
    }

    /// Sends a message, or keeps it until there is room. A helper that is stopped or slow to read still counts as
    /// running.
    private func write(_ message: [UInt8], of session: UInt32) -> Bool {
        let (isThere, isFirst) = connection.withLock { connection in
            if connection.waiting.isEmpty {
                switch LastWill.send(message, over: connection.control) {
                case .sent: return (true, false)
                case .gone: return (false, false)
                case .full: break
                }
            }
            defer { connection.waiting[session] = message }
            return (true, connection.waiting.isEmpty)
        }
        if isFirst { sendWaiting(after: LastWill.pauses.lowerBound) }
        return isThere
    }

    private func sendWaiting(after pause: TimeAmount) {
        eventLoop.scheduleTask(in: pause) { [weak self] in
            guard let self, !self.sendWaiting() else { return }
            self.sendWaiting(after: min(pause * 2, LastWill.pauses.upperBound))
        }
    }

    /// Sends waiting messages as far as there is room.
    ///
    /// - Returns: Whether no message waits any more.
    private func sendWaiting() -> Bool {
        connection.withLock { connection in
            while let (session, message) = connection.waiting.first {
                switch LastWill.send(message, over: connection.control) {
                case .sent: connection.waiting[session] = nil
                case .full: return false
                // The next call of `write` reports it to the node.
                case .gone: connection.waiting = [:]
                }
            }
            return true
        }
    }

    private static func send(_ message: [UInt8], over control: CInt) -> Outcome {
        guard control >= 0 else { return .gone }
        let count = Glibc.send(control, message, message.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
        if count == message.count { return .sent }
        return [EAGAIN, EINTR, ENOBUFS, ENOMEM].contains(errno) ? .full : .gone
    }
}
