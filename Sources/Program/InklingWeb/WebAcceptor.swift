import Glibc
import Inkling
import NIOCore
import Synchronization

/// Accepts the connections of the page's user, on a thread of its own, and ends all others at once.
///
/// Other users of this host can connect as fast as the host allows. Their connections never reach the event loop, so
/// the user's pages stay quick.
final class WebAcceptor: Sendable {
    private let descriptor: Int32
    private let address: WebAddress
    /// The number of accepted connections that have not proved a key.
    private let unproved = Atomic(0)

    /// - Parameter descriptor: A listening socket that does not block. The caller closes it after `ended`.
    init(_ descriptor: Int32, at address: WebAddress) {
        self.descriptor = descriptor
        self.address = address
    }

    /// Starts the thread, which calls all closures.
    ///
    /// - Parameters:
    ///   - report: Called with each line for the log.
    ///   - accepted: Called with the descriptor of each connection, which takes a place until ``freePlace()``.
    ///   - ended: Called after ``stop()``, or after an error of the listening socket.
    func start(
        report: @escaping @Sendable (String) -> Void, accepted: @escaping @Sendable (Int32) -> Void,
        ended: @escaping @Sendable () -> Void
    ) throws(IOError) {
        let thread = startThread("inkling-accept") {
            self.run(report, accepted)
            ended()
        }
        guard let thread else { throw IOError(errnoCode: EAGAIN, reason: "no thread") }
        pthread_detach(thread)
    }

    /// Ends the thread soon. The system refuses new connections from now on.
    func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Makes room for another connection, because an earlier connection has proved a key or ended.
    func freePlace() { unproved.subtract(1, ordering: .relaxed) }

    private func run(_ report: (String) -> Void, _ accepted: (Int32) -> Void) {
        var refusals = RefusalLog()
        let owners = ConnectionOwner()
        while true {
            var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            poll(&wanted, 1, Self.milliseconds(until: refusals.nextDeadline))
            switch acceptAll(&refusals, owners, report, accepted) {
            case EAGAIN: break
            // No descriptor or memory is free, and the next call would fail at once too.
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: usleep(Self.pause)
            default: return
            }
        }
    }

    /// The pause while the system lacks something, in microseconds.
    private static let pause: UInt32 = 10_000

    /// Accepts the connections that wait.
    ///
    /// - Returns: The error after the last one.
    private func acceptAll(
        _ refusals: inout RefusalLog, _ owners: borrowing ConnectionOwner, _ report: (String) -> Void,
        _ accepted: (Int32) -> Void
    ) -> Int32 {
        while true {
            if let line = refusals.line(at: .now()) { report(line) }
            var name = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let connection = withUnsafeMutablePointer(to: &name) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { accept(descriptor, $0, &length) }
            }
            guard connection >= 0 else {
                if errno == EINTR || errno == ECONNABORTED { continue }
                return errno
            }
            if let reason = refusal(of: connection, from: ConnectionOwner.End(name), owners) {
                refusals.record(reason)
                Self.reset(connection)
            } else {
                _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
                unproved.add(1, ordering: .relaxed)
                accepted(connection)
            }
        }
    }

    /// Returns the reason why a connection may not use this server, if any.
    private func refusal(
        of connection: Int32, from remote: ConnectionOwner.End, _ owners: borrowing ConnectionOwner
    ) -> String? {
        // The end of a connection is cheaper to see than its owner, and the system knows no owner after it.
        var byte: UInt8 = 0
        let hasEnded = recv(connection, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
        let user = hasEnded || remote.address >> 24 != 127 ? nil : owners.user(of: remote, to: address.end)
        guard let user, user == geteuid() || user == 0 else {
            return "a connection of another user was refused (\(user.map { "user ID \($0)" } ?? "unknown"))"
        }
        guard unproved.load(ordering: .relaxed) < WebLimits.unproved else {
            return "a connection was refused: \(WebLimits.unproved) have not proved a key"
        }
        return nil
    }

    /// Ends a connection without a wait for the other end, so that the system keeps nothing of it.
    private static func reset(_ connection: Int32) {
        var lingering = linger(l_onoff: 1, l_linger: 0)
        setsockopt(connection, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
        close(connection)
    }

    private static func milliseconds(until deadline: NIODeadline?) -> Int32 {
        guard let deadline else { return -1 }
        let rest = (deadline - .now()).nanoseconds
        return rest > 0 ? Int32(clamping: (rest + 999_999) / 1_000_000) : 0
    }
}

extension ConnectionOwner.End {
    /// The end at a socket's address.
    init(_ name: sockaddr_in) {
        self.init(address: UInt32(bigEndian: name.sin_addr.s_addr), port: UInt16(bigEndian: name.sin_port))
    }
}
