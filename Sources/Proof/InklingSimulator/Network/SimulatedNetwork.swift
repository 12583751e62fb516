import InklingCore

/// The copies of one datagram that the network delivers, each with its delay.
struct Transit {
    var copies: [(delay: Duration, bytes: [UInt8])] = []
}

/// The virtual LAN: one directed path for each pair of hosts.
struct SimulatedNetwork {
    private struct Path {
        var datagrams: UInt64 = 0
        var burstLeft = 0
        var loss: Int
        var cutUntil = Instant.zero
        var cloggedUntil = Instant.zero
        /// The time until which the effects of a fault on this path may last.
        var faultyUntil = Instant.zero
    }

    private let seed: UInt64
    private let count: Int
    private let plan: Scenario.NetworkPlan
    private var paths: [Path]
    /// The number of datagrams that each fault affected.
    private(set) var faults: [Coverage.NetworkFault: Int] = [:]

    init(_ scenario: Scenario, isUniform: Bool) {
        seed = scenario.seed
        count = scenario.hosts.count
        plan = scenario.network
        var generator = SeededGenerator(seed: seed, purpose: 2)
        paths = []
        for _ in 0..<count * count {
            paths.append(Path(loss: isUniform ? plan.loss : generator.number(in: 0...plan.loss)))
        }
    }

    mutating func cut(from: Int, to: Int, until: Instant) {
        let path = from * count + to
        paths[path].cutUntil = max(paths[path].cutUntil, until)
    }

    func isCut(from: Int, to: Int, _ now: Instant) -> Bool { paths[from * count + to].cutUntil > now }

    mutating func clog(from: Int, to: Int, until: Instant) {
        let path = from * count + to
        paths[path].cloggedUntil = max(paths[path].cloggedUntil, until)
    }

    /// Returns the end of the last fault on the paths between two hosts, past or future.
    func faultEnd(between one: Int, _ other: Int) -> Instant {
        let (there, back) = (paths[one * count + other], paths[other * count + one])
        return max(
            max(there.faultyUntil, there.cutUntil, there.cloggedUntil),
            max(back.faultyUntil, back.cutUntil, back.cloggedUntil))
    }

    mutating func repair(_ now: Instant) {
        for path in paths.indices {
            paths[path].cutUntil = min(paths[path].cutUntil, now)
            paths[path].cloggedUntil = min(paths[path].cloggedUntil, now)
            paths[path].burstLeft = 0
        }
    }

    /// Sends one datagram along a path. Each path draws its own random numbers. So a scenario with fewer datagrams
    /// elsewhere leaves this path unchanged.
    mutating func send(_ bytes: [UInt8], from: Int, to: Int, hasFaults: Bool, _ now: Instant) -> Transit {
        let index = from * count + to
        paths[index].datagrams += 1
        let purpose = UInt64(index + 16) << 32 | paths[index].datagrams
        var generator = SeededGenerator(seed: seed, purpose: purpose)
        var transit = Transit()
        guard paths[index].cutUntil <= now else {
            faults[.cut, default: 0] += 1
            return transit
        }
        var delay = Duration.microseconds(generator.number(in: plan.delay))
        guard hasFaults else {
            transit.copies.append((delay, bytes))
            return transit
        }
        if isLost(&generator, index) {
            paths[index].faultyUntil = max(paths[index].faultyUntil, now)
            return transit
        }
        if paths[index].cloggedUntil > now {
            faults[.clogged, default: 0] += 1
            delay = max(delay, paths[index].cloggedUntil - now)
        }
        if generator.happens(perMille: plan.reordering) {
            faults[.reordered, default: 0] += 1
            delay += .milliseconds(generator.number(in: 1...plan.reorderingDelay))
            paths[index].faultyUntil = max(paths[index].faultyUntil, now + delay)
        }
        if generator.happens(perMille: plan.corruption) {
            faults[.damaged, default: 0] += 1
            paths[index].faultyUntil = max(paths[index].faultyUntil, now)
            transit.copies.append((delay, damaged(bytes, &generator)))
            return transit
        }
        transit.copies.append((delay, bytes))
        if generator.happens(perMille: plan.duplication) {
            faults[.doubled, default: 0] += 1
            transit.copies.append((delay + .microseconds(generator.number(in: 0...50_000)), bytes))
        }
        return transit
    }

    private mutating func isLost(_ generator: inout SeededGenerator, _ index: Int) -> Bool {
        if paths[index].burstLeft > 0 || generator.happens(perMille: plan.bursts) {
            if paths[index].burstLeft == 0 { paths[index].burstLeft = plan.burstLength }
            paths[index].burstLeft -= 1
            faults[.lostInBurst, default: 0] += 1
            return true
        }
        guard generator.happens(perMille: paths[index].loss) else { return false }
        faults[.lost, default: 0] += 1
        return true
    }

    private func damaged(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        switch generator.number(in: 0...5) {
        case 0: bytes.removeLast(generator.number(in: 1...bytes.count))
        case 1: bytes.append(UInt8(truncatingIfNeeded: generator.next()))
        default:
            let place = generator.number(in: 0...bytes.count - 1)
            bytes[place] ^= 1 << UInt8(generator.number(in: 0...7))
        }
        return bytes
    }
}

/// One datagram on its way.
final class Packet: Sendable {
    /// The sender index of datagrams that no host sent.
    static let adversary = -1

    /// The position of the datagram in the order in which nodes sent them. Copies made by the network keep the number.
    let number: UInt64
    /// The purpose of the datagram.
    let kind: DatagramKind
    let sentAt: Instant
    let sender: Int
    /// The start of the sender's node, counted from 1.
    let incarnation: Int
    let source: Address
    let destination: Address
    let bytes: [UInt8]
    /// The chats in which the sender's user was typing at the time, as bits.
    let typing: UInt32
    /// The chats in which the sender showed the receiver's person at the time, as bits.
    let shows: UInt32
    /// The bytes that the sender's node sent; nil for a datagram of the adversary.
    let original: [UInt8]?

    init(
        number: UInt64, kind: DatagramKind, sentAt: Instant, sender: Int, incarnation: Int = 0, source: Address,
        destination: Address, bytes: [UInt8], original: [UInt8]?, typing: UInt32, shows: UInt32 = 0
    ) {
        self.number = number
        self.kind = kind
        self.sentAt = sentAt
        self.sender = sender
        self.incarnation = incarnation
        self.source = source
        self.destination = destination
        self.bytes = bytes
        self.original = original
        self.typing = typing
        self.shows = shows
    }

    /// Whether the bytes are those of a node. The attacker may repair a damaged datagram by cutting it short.
    var isGenuine: Bool { bytes == original }

    /// The receiver index of a host's sealed datagram; nil if the datagram was cut too short.
    var session: UInt32? { kind.isSealed && bytes.count >= 27 ? SealedHeader(bytes).index : nil }

    var summary: String {
        "number \(number), \(kind.rawValue) of host \(sender), sent at \(sentAt.nanoseconds / 1_000), typing \(typing)"
    }
}

/// The unencrypted part of a sealed datagram.
struct SealedHeader {
    let index: UInt32
    let counter: UInt32

    init(_ bytes: [UInt8]) {
        func word(at start: Int) -> UInt32 { bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        index = word(at: 1)
        counter = word(at: 5)
    }
}

extension DatagramKind {
    var isSealed: Bool {
        switch self {
        case .initiation, .response, .retry, .ask, .tell: false
        case .heartbeat, .typing, .record, .ack, .forward, .ping, .pong, .bye: true
        }
    }

    /// Returns whether a datagram of a size contains a typing status: in a heartbeat or a typing frame, alone or before
    /// another frame.
    func hasStatus(size: Int) -> Bool {
        switch self {
        case .heartbeat, .typing, .record, .pong: true
        // A ping alone has 28 bytes. The pings of a session that joins also carry a heartbeat (L-74).
        case .ping: size > 28
        case .ack, .forward, .bye, .initiation, .response, .retry, .ask, .tell: false
        }
    }
}

/// An attacker on the LAN who records datagrams and sends them again: later, from another address, cut short or
/// changed.
struct ReplayAttacker {
    private var generator: SeededGenerator
    private let ratio: Int
    private var kept: [Packet] = []
    private(set) var replayed = 0

    init(_ scenario: Scenario) {
        generator = SeededGenerator(seed: scenario.seed, purpose: 3)
        ratio = scenario.network.replay
    }

    mutating func overhear(_ packet: Packet) {
        guard ratio > 0, !packet.bytes.isEmpty else { return }
        if kept.count < 64 {
            kept.append(packet)
        } else if generator.oneIn(4) {
            kept[generator.number(in: 0...63)] = packet
        }
    }

    /// Returns the milliseconds until the next replay.
    mutating func pause() -> Int { generator.number(in: 1...max(2, 6_000 / max(ratio, 1))) }

    mutating func replay(isOwner: (Address) -> Bool) -> Packet? {
        guard !kept.isEmpty else { return nil }
        let packet = generator.pick(kept)
        guard isOwner(packet.destination) else { return nil }
        replayed += 1
        var bytes = packet.bytes
        if generator.oneIn(4) { bytes.removeLast(generator.number(in: 1...bytes.count)) }
        let source = generator.oneIn(2) ? packet.source : Address(ipv4: 0x0A00_00FA, port: 9)
        return Packet(
            number: packet.number, kind: packet.kind, sentAt: packet.sentAt, sender: packet.sender,
            incarnation: packet.incarnation, source: source, destination: packet.destination, bytes: bytes,
            original: packet.original, typing: packet.typing, shows: packet.shows)
    }
}

/// A path whose datagrams are held back.
struct Hold: Hashable {
    let from: Int
    let to: Int
}

/// An attacker on the path who keeps a node's last datagrams and delivers them long after the node crashed.
extension Simulation {
    /// The time after which held datagrams are older than a pong may be, with the time for a name (L-80, L-86).
    private static let age = Duration.seconds(17)
    private static let mostReleased = 8

    /// Returns whether the attacker keeps a datagram.
    func hold(_ packet: Packet, to target: Int) -> Bool {
        let path = Hold(from: packet.sender, to: target)
        guard held[path] != nil, hasFaults else { return false }
        held[path]?.append(packet)
        return true
    }

    /// Crashes the sender, and delivers its held datagrams one by one.
    func endHold(from: Int, to: Int) {
        guard let packets = held.removeValue(forKey: Hold(from: from, to: to)) else { return }
        actOnMachine(hosts[from], .crash(will: false))
        var at = now + Simulation.age
        for packet in packets.prefix(Simulation.mostReleased) {
            events.add(.release(packet), at: at)
            at = at + holdPause
        }
    }
}
