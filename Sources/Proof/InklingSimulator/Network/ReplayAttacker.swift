import InklingCore

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
