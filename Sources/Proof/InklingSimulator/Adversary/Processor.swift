import InklingCore

/// The work of a node for one input.
struct Work {
    /// Datagrams read and sent, but for those of `statuses`.
    var datagrams = 0
    /// Typing and heartbeats sent, whose times are the node's own.
    var statuses = 0
    /// Datagrams sealed and opened, or found not to open.
    var seals = 0
    /// X25519 operations for what came.
    var agreements = 0
    /// X25519 operations for what the node limits to so many a second: initiations of its own, and new answers.
    var limitedAgreements = 0
}

/// The processor of a node, which does one thing after the other, and the socket, in which what comes meanwhile waits.
///
/// An operation takes ten times its time on one core of a small server. There, an X25519 takes about 60 µs, and a
/// datagram through the socket 10 µs. Sealing or opening a small datagram with ChaCha20-Poly1305 takes 3 µs. So a
/// flood of 1,000 datagrams a second here is like one of 10,000 there, and a run stays short. Work that the node
/// limits to a number a second takes its time on the server.
struct Processor {
    private static let agreement = Duration.microseconds(600)
    private static let seal = Duration.microseconds(30)
    private static let datagram = Duration.microseconds(100)
    /// The small datagrams that the receive buffer of a socket holds where nobody has changed it: 208 KiB, 768 bytes
    /// each.
    private static let room = 277

    private(set) var busyUntil = Instant.zero
    private(set) var socket: [(packet: Packet, arrivedAt: Instant)] = []
    private var head = 0

    var isSocketEmpty: Bool { head == socket.count }

    /// Whether it does something else now.
    func isBusy(_ now: Instant) -> Bool { busyUntil > now }

    mutating func spend(_ work: Work, _ now: Instant) {
        let time =
            Processor.agreement * work.agreements + Processor.agreement * work.limitedAgreements / 10
            + Processor.seal * work.seals + Processor.datagram * work.datagrams
            + (Processor.seal + Processor.datagram) * work.statuses / 10
        busyUntil = max(busyUntil, now) + time
    }

    /// A datagram waits in the socket.
    ///
    /// - Returns: Whether there was room for it.
    mutating func add(_ packet: Packet, _ now: Instant) -> Bool {
        guard socket.count - head < Processor.room else { return false }
        socket.append((packet, now))
        return true
    }

    /// The datagram that has waited longest.
    mutating func next() -> (packet: Packet, arrivedAt: Instant)? {
        guard head < socket.count else {
            socket.removeAll(keepingCapacity: true)
            head = 0
            return nil
        }
        defer { head += 1 }
        return socket[head]
    }
}
