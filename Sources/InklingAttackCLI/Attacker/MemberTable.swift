import InklingWire

/// The attacker's identities in the open chat, by the index that the victim addresses them with.
final class MemberTable {
    private(set) var all: [Member] = []
    private var byIndex: [UInt32: Member] = [:]

    /// How many of them have a link.
    var upCount: Int { all.count { $0.isUp } }

    func add(_ name: String, from source: IPv4Address? = nil, obeysRetries: Bool = true, _ attacker: Attacker) {
        let member = Member(name: name, source: source, obeysRetries: obeysRetries, using: &attacker.random)
        all.append(member)
        byIndex[member.index] = member
    }

    func receive(_ datagram: Datagram, _ attacker: Attacker) {
        guard let index = datagram.receiverIndex else { return }
        byIndex[index]?.receive(datagram, attacker)
    }

    func keepAlive(_ attacker: Attacker) {
        let now = monotonicSeconds()
        for member in all { member.keepAlive(now: now, attacker) }
    }
}

extension MemberTable {
    /// Makes members and their links.
    func makeUp(_ count: Int, _ plan: some AttackPlan, _ attacker: Attacker) throws {
        let key = try attacker.askForKey()
        for number in 0..<count { add("Mallory \(number)", attacker) }
        let members = all
        for member in members {
            for _ in 0..<10 where !member.isUp {
                try member.open(to: key, attacker)
                _ = attacker.pump(plan, seconds: 0.3) { member.isUp }
            }
            guard member.isUp else { throw AttackError("the victim lets no member in") }
        }
    }
}
