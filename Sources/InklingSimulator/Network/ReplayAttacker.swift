import InklingCore

/// Somebody on the LAN who keeps datagrams and sends them again: later, from elsewhere, cut short or changed.
struct Recorder {
    private var generator: SeededGenerator
    private let ratio: Int
    private var kept: [Flight] = []
    private(set) var replayed = 0

    init(_ scenario: Scenario) {
        generator = SeededGenerator(seed: scenario.seed, purpose: 3)
        ratio = scenario.network.replay
    }

    mutating func record(_ flight: Flight) {
        guard ratio > 0, !flight.bytes.isEmpty else { return }
        if kept.count < 64 {
            kept.append(flight)
        } else if generator.oneIn(4) {
            kept[generator.number(in: 0...63)] = flight
        }
    }

    /// Milliseconds until the next one.
    mutating func pause() -> Int { generator.number(in: 1...max(2, 6_000 / max(ratio, 1))) }

    mutating func replay(isOwner: (Address) -> Bool) -> Flight? {
        guard !kept.isEmpty else { return nil }
        let flight = generator.pick(kept)
        guard isOwner(flight.destination) else { return nil }
        replayed += 1
        var bytes = flight.bytes
        let isWhole = !generator.oneIn(4)
        if !isWhole { bytes.removeLast(generator.number(in: 1...bytes.count)) }
        let source = generator.oneIn(2) ? flight.source : Address(ipv4: 0x0A00_00FA, port: 9)
        return Flight(
            number: flight.number, sentAt: flight.sentAt, sender: flight.sender,
            source: source, destination: flight.destination, bytes: bytes, typing: flight.typing,
            isGenuine: flight.isGenuine && isWhole, mayBeUnheard: flight.mayBeUnheard)
    }
}
