import InklingWire

/// Many identities that open links in the open chat and hold them.
final class LinkFiller: AttackPlan {
    /// More than the 1,024 links that a node holds: the others wait for a place that becomes free.
    private static let memberCount = 1_100
    /// A few less attempts a second than a node answers without asking for a cookie (L-9).
    private static let openingsPerSecond = 80
    /// The table counts as full after so long without a new link, in seconds.
    private static let settlingTime = 5.0

    private let isSpread: Bool
    private let speaks: Bool
    private let members = MemberTable()
    private var key: PublicKey?
    private var next = 0
    private var nextCheck = 0.0
    private var begin: Double?
    private var lastGrowth = 0.0
    private var mostUp = 0
    private var isFilled = false

    /// - Parameters:
    ///   - isSpread: whether each identity has its own address.
    ///   - speaks: whether each says something once it is in.
    init(isSpread: Bool, speaks: Bool) {
        self.isSpread = isSpread
        self.speaks = speaks
    }

    var maximumRate: Int { LinkFiller.openingsPerSecond }

    var summary: String? { "links:\(mostUp)" }

    func prepare(_ attacker: Attacker) throws {
        key = try attacker.askForKey()
        for number in 0..<LinkFiller.memberCount {
            let address = IPv4Address(value: Attacker.ownedAddresses.first + UInt32(number))
            members.add(
                "Mallory \(number)", from: isSpread ? address : nil, obeysRetries: isSpread, attacker)
        }
    }

    func sendNext(_ attacker: Attacker) {
        guard let key else { return }
        if begin == nil { begin = monotonicSeconds() }
        for _ in members.all.indices {
            let member = members.all[next]
            next = (next + 1) % members.all.count
            guard !member.isUp else { continue }
            try? member.open(to: key, attacker)
            return
        }
    }

    func receive(_ datagram: Datagram, _ received: AttackSocket.Received, _ attacker: Attacker) {
        members.receive(datagram, attacker)
    }

    func tick(_ attacker: Attacker) {
        let now = monotonicSeconds()
        guard let begin, now >= nextCheck else { return }
        nextCheck = now + 0.1
        members.keepAlive(attacker)
        if speaks {
            for member in members.all { member.speakOnce(attacker) }
        }
        let count = members.upCount
        if count > mostUp { (mostUp, lastGrowth) = (count, now) }
        if !isFilled, now > max(begin, lastGrowth) + LinkFiller.settlingTime {
            isFilled = true
            say("filled \(count)")
        }
    }
}

/// Members that send messages as fast as a node takes datagrams of a link.
final class MessageFlood: AttackPlan {
    private let memberCount: Int
    private let text: String
    private let members = MemberTable()
    private var next = 0

    /// - Parameter textSize: in bytes.
    init(memberCount: Int, textSize: Int) {
        self.memberCount = memberCount
        text = String(repeating: "x", count: textSize)
    }

    var maximumRate: Int { memberCount * Limits.datagramsPerSecondPerLink }

    var summary: String? {
        "up:\(members.upCount),acknowledged:\(members.all.reduce(0) { $0 + Int($1.acknowledged) })"
    }

    func prepare(_ attacker: Attacker) throws {
        try members.makeUp(memberCount, self, attacker)
    }

    func sendNext(_ attacker: Attacker) {
        members.all[next].sendMessage(text, attacker)
        next = (next + 1) % members.all.count
    }

    func receive(_ datagram: Datagram, _ received: AttackSocket.Received, _ attacker: Attacker) {
        members.receive(datagram, attacker)
    }

    func tick(_ attacker: Attacker) { members.keepAlive(attacker) }
}
