import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Reports that the interfaces or addresses of this host may have changed, until ``cancel()``.
///
/// The monitor ignores the content of the kernel's announcements. An announcement is only a reason to look again. Where
/// the kernel announces nothing, as in some containers, the monitor reports at intervals.
package final class InterfaceMonitor: Sendable {
    /// The time for which the monitor gathers announcements, because several come at once.
    private static let gatheringTime = TimeAmount.milliseconds(30)
    /// The interval of reports where the kernel announces nothing. The monitor also uses it because it may miss an
    /// announcement.
    private static let pollInterval = TimeAmount.seconds(2)
    private static let slowPollInterval = TimeAmount.seconds(30)

    /// Whether the kernel announces changes, so that the monitor reports them at once.
    package let isNotified: Bool
    private let poll: RepeatedTask
    /// The open socket for the kernel's announcements; nil if the kernel has none, and after ``cancel()``.
    private let channel: Mutex<EventLoopFuture<any Channel>?>

    /// - Parameter onChange: The monitor calls it on the event loop after each change, once for several within 30 ms,
    ///   and at intervals without a change.
    package init(on eventLoop: any EventLoop, onChange: @escaping @Sendable () -> Void) {
        let opening = InterfaceMonitor.subscribe().map { descriptor in
            NIOPipeBootstrap(group: eventLoop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(AnnouncementReceiver(onChange))
                    }
                }
                .takingOwnershipOfDescriptor(input: descriptor)
                .flatMapErrorThrowing { error in
                    Glibc.close(descriptor)
                    throw error
                }
        }
        isNotified = opening != nil
        let interval = opening == nil ? InterfaceMonitor.pollInterval : InterfaceMonitor.slowPollInterval
        poll = eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in onChange() }
        channel = Mutex(opening)
    }

    deinit {
        cancel()
    }

    /// Ends the reports.
    package func cancel() {
        poll.cancel()
        channel.withLock { $0.take() }?.whenSuccess { $0.close(promise: nil) }
    }

    /// Runs `body` after the monitor has gathered announcements for a moment.
    fileprivate static func afterGathering(_ eventLoop: any EventLoop, _ body: @escaping () -> Void) {
        eventLoop.assumeIsolated().scheduleTask(in: gatheringTime, body)
    }

    /// Returns a socket for the kernel's announcements of changed links and addresses; nil if the kernel refuses.
    private static func subscribe() -> CInt? {
        let kind = CInt(SOCK_RAW.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let route: CInt = 0  // NETLINK_ROUTE
        let descriptor = socket(AF_NETLINK, kind, route)
        guard descriptor >= 0 else { return nil }
        // Lost announcements cause no error (NETLINK_NO_ENOBUFS; SOL_NETLINK has no name here). Others arrived, and all
        // mean the same.
        var on: CInt = 1
        let (netlink, withoutError): (CInt, CInt) = (270, 5)
        setsockopt(descriptor, netlink, withoutError, &on, socklen_t(MemoryLayout<CInt>.size))
        // struct sockaddr_nl: family and padding, 16 bits each, port, groups. The module map of the C library lacks it.
        var name = [UInt32](repeating: 0, count: 3)
        name.withUnsafeMutableBytes { $0.storeBytes(of: sa_family_t(AF_NETLINK), as: sa_family_t.self) }
        name[2] = 0x001 | 0x010 | 0x100  // RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR
        let status = name.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { bind(descriptor, $0.baseAddress, socklen_t(bytes.count)) }
        }
        guard status == 0 else {
            Glibc.close(descriptor)
            return nil
        }
        return descriptor
    }
}

/// Gathers announcements.
private final class AnnouncementReceiver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let onChange: () -> Void
    private var isGathering = false

    init(_ onChange: @escaping () -> Void) {
        self.onChange = onChange
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isGathering else { return }
        isGathering = true
        let channel = context.channel
        InterfaceMonitor.afterGathering(context.eventLoop) { [self] in
            isGathering = false
            if channel.isActive { onChange() }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The next report at the interval covers missed changes.
    }
}
