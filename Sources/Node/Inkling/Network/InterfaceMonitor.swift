import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Says when the interfaces or addresses of this host may have changed, until it is cancelled.
///
/// The kernel's announcements are not read for what they say: each only means that it is time to look again. Where the
/// kernel gives none, as in some containers, it says so at intervals.
package final class InterfaceMonitor: Sendable {
    /// How long announcements are gathered, for they come in bunches.
    private static let gatheringTime = TimeAmount.milliseconds(30)
    /// The interval where there are no announcements, and the one for what they may miss.
    private static let pollInterval = TimeAmount.seconds(2)
    private static let slowPollInterval = TimeAmount.seconds(30)

    /// Whether changes are heard of at once, not at intervals.
    package let isNotified: Bool
    private let poll: RepeatedTask
    /// The open socket on which the kernel announces; nil where it announces nothing, and once cancelled.
    private let channel: Mutex<EventLoopFuture<any Channel>?>

    /// - Parameter onChange: Called on the event loop after each change, or once for several within 30 ms, and now and
    ///   then without one.
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

    /// Nothing more is said.
    package func cancel() {
        poll.cancel()
        channel.withLock { $0.take() }?.whenSuccess { $0.close(promise: nil) }
    }

    /// How long announcements are gathered.
    fileprivate static func afterGathering(_ eventLoop: any EventLoop, _ body: @escaping () -> Void) {
        eventLoop.assumeIsolated().scheduleTask(in: gatheringTime, body)
    }

    /// A socket on which the kernel announces changes of links and addresses; nil if it refuses.
    private static func subscribe() -> CInt? {
        let kind = CInt(SOCK_RAW.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let route: CInt = 0  // NETLINK_ROUTE
        let descriptor = socket(AF_NETLINK, kind, route)
        guard descriptor >= 0 else { return nil }
        // That announcements were lost is no error (NETLINK_NO_ENOBUFS, which comes without SOL_NETLINK's name): others
        // came, and each means the same.
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
        // What is missed shows when it is looked at without an announcement.
    }
}
