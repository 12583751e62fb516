import InklingWire

/// Many identities that open links in the open chat and keep them up.
final class LinkFiller: AttackPlan {
    /// The number of members, which exceeds a node's 1,024 links. The surplus members wait for a free place.
    private static let memberCount = 1_100
    /// The openings in a second, fewer than a node answers without a cookie (L-9).
    private static let rate = 80
    /// The seconds without a new link after which the plan takes the victim's links as full.
    private static let settlingTime = 5.0

    private let isSpread: Bool
    private let members = MemberTable()
    private var key: PublicKey?
    private var next = 0
    private var nextCheck = 0.0
    private var begin: Double?
    private var lastGrowth = 0.0
    private var mostUp = 0
    private var isFilled = false

    /// Makes the plan.
    ///
    /// - Parameter isSpread: whether each identity has its own address.
    init(isSpread: Bool) {
        self.isSpread = isSpread
    }

    var maximumRate: Int { LinkFiller.rate }

    var summary: String? { "links:\(mostUp)" }

    func prepare(_ attacker: Attacker) throws {
        key = try attacker.askForKey()
        members.add(LinkFiller.memberCount, isSpread: isSpread, obeysRetries: isSpread, attacker)
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
        let count = members.upCount
        if count > mostUp { (mostUp, lastGrowth) = (count, now) }
        if !isFilled, now > max(begin, lastGrowth) + LinkFiller.settlingTime {
            isFilled = true
            say("filled \(count)")
        }
    }
}

/// Members with links that send datagrams in turn.
final class MemberFlood: AttackPlan {
    private let count: Int
    private let isSpread: Bool
    private let send: (Member, Attacker) -> Void
    private let members = MemberTable()
    private var next = 0

    let maximumRate: Int

    /// Makes the plan.
    ///
    /// - Parameters:
    ///   - isSpread: whether each member has its own address.
    ///   - maximumRate: the datagrams in a second of one member.
    ///   - send: sends a member's next datagram.
    init(
        count: Int = 1, isSpread: Bool = false, maximumRate: Int = Limits.datagramsPerLink,
        send: @escaping (Member, Attacker) -> Void
    ) {
        self.count = count
        self.isSpread = isSpread
        self.maximumRate = count * maximumRate
        self.send = send
    }

    var summary: String? {
        "up:\(members.upCount),acknowledged:\(members.all.reduce(0) { $0 + $1.acknowledgedCount })"
    }

    func prepare(_ attacker: Attacker) throws {
        let key = try attacker.askForKey()
        members.add(count, isSpread: isSpread, obeysRetries: true, attacker)
        for member in members.all {
            for _ in 0..<10 where !member.isUp {
                try member.open(to: key, attacker)
                _ = attacker.pump(self, seconds: 0.3) { member.isUp }
            }
            guard member.isUp else { throw AttackError("the victim lets no member in") }
        }
    }

    func sendNext(_ attacker: Attacker) {
        send(members.all[next], attacker)
        next = (next + 1) % members.all.count
    }

    func receive(_ datagram: Datagram, _ received: AttackSocket.Received, _ attacker: Attacker) {
        members.receive(datagram, attacker)
    }

    func tick(_ attacker: Attacker) { members.keepAlive(attacker) }
}
