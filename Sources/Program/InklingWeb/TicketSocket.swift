import Glibc
import InklingService
import NIOCore
import NIOPosix

/// The Unix socket at which a running server gives its user's programs the address of the page, with a fresh ticket.
package final class TicketSocket {
    private let lock: Int32
    private let socket: ListeningSocket
    private var channel: (any Channel)?

    /// The name of the socket, beside the daemon's.
    package static let name = "web"

    /// Takes the place of the user's server; nil if another process has it.
    ///
    /// - Parameter path: The path of the socket. A lock file beside it shows whether a server runs.
    package init?(at path: String) throws(ListeningSocket.Failure) {
        try ListeningSocket.prepareFolder(of: path)
        let lock = Glibc.open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw .system(errno) }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            Glibc.close(lock)
            return nil
        }
        do throws(ListeningSocket.Failure) {
            socket = try ListeningSocket(at: path)
        } catch {
            Glibc.close(lock)
            throw error
        }
        self.lock = lock
    }

    /// Starts to answer each connection by one line.
    package func listen(on eventLoop: any EventLoop, link: @escaping () -> String) {
        let answer = NIOLoopBound(link, eventLoop: eventLoop)
        ServerBootstrap(group: eventLoop)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(TicketHandler(answer.value))
                }
            }
            .withBoundSocket(socket.descriptor)
            .assumeIsolated().whenSuccess { self.channel = $0 }
    }

    /// Stops answering, before the event loop ends.
    package func stopListening() {
        channel?.close(promise: nil)
        channel = nil
    }

    /// Removes the name of the socket, and lets another server take its place.
    package func close() {
        socket.remove()
        Glibc.close(lock)
    }
}

/// A connection of a ``TicketSocket``.
private final class TicketHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let link: () -> String

    init(_ link: @escaping () -> String) {
        self.link = link
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        var user: uid_t?
        let pipeline = context.pipeline.syncOperations
        try? pipeline.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { descriptor in
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            // The fields of struct ucred: a process, a user and a group.
            var credentials: (pid_t, uid_t, gid_t) = (0, 0, 0)
            var length = socklen_t(MemoryLayout.size(ofValue: credentials))
            guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return }
            user = credentials.1
        }
        guard user == geteuid() else { return channel.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: link() + "\n")))
            .whenComplete { _ in channel.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
