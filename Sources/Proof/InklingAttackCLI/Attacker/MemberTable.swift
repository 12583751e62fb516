import InklingWire

/// The attacker's identities in the open chat, by the index in the victim's datagrams.
final class MemberTable {
    private(set) var all: [Member] = []
    private var byIndex: [UInt32: Member] = [:]

    /// The number of members with a link.
    var upCount: Int { all.count { $0.isUp } }

    /// Adds members, each with its own address or all with the attacker's first one.
    func add(_ count: Int, isSpread: Bool, obeysRetries: Bool, _ attacker: Attacker) {
        for number in 0..<count {
            let address = IPv4Address(value: Attacker.ownedAddresses.first + UInt32(number))
            let member = Member(
                name: "Mallory \(number)", source: isSpread ? address : nil, obeysRetries: obeysRetries,
                using: &attacker.random)
            all.append(member)
            byIndex[member.index] = member
        }
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
