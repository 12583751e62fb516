import Dispatch
import Glibc
import Synchronization

/// Says when the interfaces or addresses of this host may have changed, for as long as it exists.
///
/// The kernel's announcements are not read for what they say: each only means that it is time to look again. Where the
/// kernel gives none, as in some containers, it says so at intervals.
package final class InterfaceMonitor {
    /// How long announcements are gathered, for they come in bunches.
    private static let gatheringTime = DispatchTimeInterval.milliseconds(30)
    /// The interval where there are no announcements, and the one for what they may miss.
    private static let pollInterval = DispatchTimeInterval.seconds(2)
    private static let slowPollInterval = DispatchTimeInterval.seconds(30)

    /// Nil where the kernel announces nothing.
    private let announcements: (any DispatchSourceRead)?
    private let poll: any DispatchSourceTimer

    /// Whether changes are heard of at once, not at intervals.
    package var isNotified: Bool { announcements != nil }

    /// - Parameter onChange: Called on a queue of its own after each change, or once for several within 30 ms, and now and
    ///   then without one.
    package init(onChange: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "inkling.interfaces")
        announcements = InterfaceMonitor.subscribe().map { descriptor in
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            let gathering = Gathering()
            source.setEventHandler {
                InterfaceMonitor.empty(descriptor)
                guard gathering.begin() else { return }
                queue.asyncAfter(deadline: .now() + InterfaceMonitor.gatheringTime) {
                    gathering.end()
                    onChange()
                }
            }
            source.setCancelHandler { Glibc.close(descriptor) }
            source.activate()
            return source
        }
        let interval =
            announcements == nil ? InterfaceMonitor.pollInterval : InterfaceMonitor.slowPollInterval
        poll = DispatchSource.makeTimerSource(queue: queue)
        poll.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(100))
        poll.setEventHandler(handler: onChange)
        poll.activate()
    }

    deinit {
        announcements?.cancel()
        poll.cancel()
    }

    // MARK: The kernel's announcements

    /// A socket on which the kernel announces changes of links and addresses; nil if it refuses.
    private static func subscribe() -> CInt? {
        let kind = CInt(SOCK_RAW.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let route: CInt = 0  // NETLINK_ROUTE
        let descriptor = socket(AF_NETLINK, kind, route)
        guard descriptor >= 0 else { return nil }
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

    /// Reads what there is. That some was lost (ENOBUFS) changes nothing: that is a reason to look again as well.
    private static func empty(_ descriptor: CInt) {
        var bytes = [UInt8](repeating: 0, count: 8_192)
        while true {
            let count = recv(descriptor, &bytes, bytes.count, 0)
            guard count >= 0 || errno == EINTR || errno == ENOBUFS else { return }
        }
    }
}

/// Whether announcements are being gathered.
private final class Gathering: Sendable {
    private let isUnderWay = Mutex(false)

    /// - Returns: Whether it was not under way.
    func begin() -> Bool {
        isUnderWay.withLock { isUnderWay in
            defer { isUnderWay = true }
            return !isUnderWay
        }
    }

    func end() { isUnderWay.withLock { $0 = false } }
}
