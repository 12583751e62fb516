import InklingCore

/// One datagram on its way.
final class Flight: Sendable {
    /// Counts the datagrams in the order in which nodes sent them; a copy made by the network keeps the number.
    let number: UInt64
    let sentAt: Instant
    let sender: Int
    let source: Address
    let destination: Address
    let bytes: [UInt8]
    /// The chats in which the sender's user was typing when it was sent, as bits.
    let typing: UInt8
    /// It is what a node sent, whole; whoever sent it again.
    let isGenuine: Bool
    /// It may be a bye that says that nothing is heard (L-44): no sign of life, and no status.
    let mayBeUnheard: Bool

    init(
        number: UInt64, sentAt: Instant, sender: Int, source: Address, destination: Address,
        bytes: [UInt8], typing: UInt8, isGenuine: Bool, mayBeUnheard: Bool
    ) {
        self.number = number
        self.sentAt = sentAt
        self.sender = sender
        self.source = source
        self.destination = destination
        self.bytes = bytes
        self.typing = typing
        self.isGenuine = isGenuine
        self.mayBeUnheard = mayBeUnheard
    }
}

/// What the network makes of one datagram: its copies, each with the time that it takes.
struct Passage {
    var copies: [(delay: Duration, bytes: [UInt8], isGenuine: Bool)] = []
}

/// The cables of the virtual LAN: one directed line for each pair of hosts.
struct Cables {
    private struct Line {
        var datagrams: UInt64 = 0
        var burstLeft = 0
        var loss: Int
        var cutUntil = Instant.zero
        var cloggedUntil = Instant.zero
    }

    private let seed: UInt64
    private let count: Int
    private let plan: Scenario.NetworkPlan
    private var lines: [Line]
    private(set) var tally = Tally()

    /// How many datagrams met which fault.
    struct Tally: Equatable, Sendable {
        var lost = 0
        var lostInBursts = 0
        var doubled = 0
        var reordered = 0
        var damaged = 0
        var cut = 0
        var clogged = 0
    }

    init(_ scenario: Scenario, isUniform: Bool) {
        seed = scenario.seed
        count = scenario.hosts.count
        plan = scenario.network
        var generator = SeededGenerator(seed: seed, purpose: 2)
        lines = []
        for _ in 0..<count * count {
            lines.append(Line(loss: isUniform ? plan.loss : generator.number(in: 0...plan.loss)))
        }
    }

    mutating func cut(from: Int, to: Int, until: Instant) {
        let line = from * count + to
        lines[line].cutUntil = max(lines[line].cutUntil, until)
    }

    func isCut(from: Int, to: Int, _ now: Instant) -> Bool { lines[from * count + to].cutUntil > now }

    mutating func clog(from: Int, to: Int, until: Instant) {
        let line = from * count + to
        lines[line].cloggedUntil = max(lines[line].cloggedUntil, until)
    }

    mutating func mend(_ now: Instant) {
        for line in lines.indices {
            lines[line].cutUntil = min(lines[line].cutUntil, now)
            lines[line].cloggedUntil = min(lines[line].cloggedUntil, now)
            lines[line].burstLeft = 0
        }
    }

    /// Sends one datagram down a line. Each draws from numbers of its own, so that leaving out a datagram elsewhere
    /// changes nothing for it.
    mutating func send(_ bytes: [UInt8], from: Int, to: Int, hasFaults: Bool, _ now: Instant) -> Passage {
        let index = from * count + to
        lines[index].datagrams += 1
        let purpose = UInt64(index + 16) << 32 | lines[index].datagrams
        var generator = SeededGenerator(seed: seed, purpose: purpose)
        var passage = Passage()
        guard lines[index].cutUntil <= now else {
            tally.cut += 1
            return passage
        }
        var delay = Duration.microseconds(generator.number(in: plan.delay))
        guard hasFaults else {
            passage.copies.append((delay, bytes, true))
            return passage
        }
        if isLost(&generator, index) { return passage }
        if lines[index].cloggedUntil > now {
            tally.clogged += 1
            delay = max(delay, lines[index].cloggedUntil - now)
        }
        if generator.happens(perMille: plan.reordering) {
            tally.reordered += 1
            delay += .milliseconds(generator.number(in: 1...plan.reorderingDelay))
        }
        if generator.happens(perMille: plan.corruption) {
            tally.damaged += 1
            passage.copies.append((delay, damaged(bytes, &generator), false))
            return passage
        }
        passage.copies.append((delay, bytes, true))
        if generator.happens(perMille: plan.duplication) {
            tally.doubled += 1
            passage.copies.append((delay + .microseconds(generator.number(in: 0...50_000)), bytes, true))
        }
        return passage
    }

    private mutating func isLost(_ generator: inout SeededGenerator, _ index: Int) -> Bool {
        if lines[index].burstLeft > 0 || generator.happens(perMille: plan.bursts) {
            if lines[index].burstLeft == 0 { lines[index].burstLeft = plan.burstLength }
            lines[index].burstLeft -= 1
            tally.lostInBursts += 1
            return true
        }
        guard generator.happens(perMille: lines[index].loss) else { return false }
        tally.lost += 1
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
