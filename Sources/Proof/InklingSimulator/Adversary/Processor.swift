import InklingCore

/// The work of a node for one input.
struct Work {
    /// Datagrams read and sent, without the datagrams that `statuses` counts.
    var datagrams = 0
    /// Typing frames and heartbeats sent. The node alone decides how many.
    var statuses = 0
    /// Datagrams that the node sealed, opened, or tried to open without success.
    var seals = 0
    /// X25519 operations for received datagrams.
    var agreements = 0
    /// X25519 operations that the node limits to a number in a second: its own initiations, and new answers.
    var limitedAgreements = 0
}

/// The processor of a node, and the receive buffer of its socket. The processor handles one datagram at a time; later
/// arrivals wait in the socket.
///
/// An operation takes ten times its time on one core of a small server. There, an X25519 takes about 60 µs, and a
/// datagram through the socket 10 µs. Sealing or opening a small datagram with ChaCha20-Poly1305 takes 3 µs. So a flood
/// of 1,000 datagrams a second here is like one of 10,000 there, and a run stays short. Work that the node limits to a
/// number in a second takes its real time.
struct Processor {
    private static let agreement = Duration.microseconds(600)
    private static let seal = Duration.microseconds(30)
    private static let datagram = Duration.microseconds(100)
    /// The small datagrams that a socket's receive buffer holds at the system's default size: 208 KiB, 768 bytes each.
    private static let room = 277

    private(set) var busyUntil = Instant.zero
    private(set) var socket: [(packet: Packet, arrivedAt: Instant)] = []
    private var head = 0

    var isSocketEmpty: Bool { head == socket.count }

    /// Returns whether the processor is still working on an earlier datagram.
    func isBusy(_ now: Instant) -> Bool { busyUntil > now }

    mutating func spend(_ work: Work, _ now: Instant) {
        let time =
            Processor.agreement * work.agreements + Processor.agreement * work.limitedAgreements / 10
            + Processor.seal * work.seals + Processor.datagram * work.datagrams
            + (Processor.seal + Processor.datagram) * work.statuses / 10
        busyUntil = max(busyUntil, now) + time
    }

    /// Queues a datagram in the socket.
    ///
    /// - Returns: Whether the socket had room.
    mutating func add(_ packet: Packet, _ now: Instant) -> Bool {
        guard socket.count - head < Processor.room else { return false }
        socket.append((packet, now))
        return true
    }

    /// Returns the datagram that has waited longest, and removes it.
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
