import InklingCore
import InklingWire

/// Two nodes and what is on its way between them: a value, so that every order of arrival can be tried from one point.
package struct Wire {
    package struct Packet {
        package let from: Int
        package let bytes: [UInt8]
        package var kind: UInt8 { bytes[0] & 0xF }
    }

    package private(set) var now = Instant.zero
    package private(set) var endpoints: [Endpoint] = []
    package private(set) var packets: [Packet] = []
    package private(set) var outputs: [[Output]] = [[], []]
    package static let addresses = [VirtualLAN.address(0), VirtualLAN.address(1)]

    /// Two nodes of those identities; the first has the smaller key if its index is lower.
    package init(identities: [Int] = [0, 1]) {
        for (index, identity) in identities.enumerated() {
            var endpoint = Endpoint(
                configuration: .init(
                    identity: VirtualLAN.identities[identity], run: UInt64(500 + index), name: "node \(index)"),
                now: now, random: SeededGenerator(seed: UInt64(40 + index)))
            let host = Wire.addresses[index]
            let network = LocalNetwork(address: Address(high: host.high, low: host.low, port: 0), prefixLength: 120)
            endpoint.setNetworks([network], port: host.port, now: now)
            try? endpoint.join(VirtualLAN.lobby, now: now)
            endpoints.append(endpoint)
        }
    }

    package mutating func perform(_ index: Int, _ input: (inout Endpoint, Instant) -> Void) {
        input(&endpoints[index], now)
        while let output = endpoints[index].nextOutput() {
            if case .send(let bytes, Wire.addresses[1 - index], _) = output {
                packets.append(Packet(from: index, bytes: bytes))
            } else {
                outputs[index].append(output)
            }
        }
    }

    package mutating func discover(_ other: Int, by index: Int, as name: String = "other") {
        let key = endpoints[other].publicKey
        perform(index) {
            $0.found(name, chat: VirtualLAN.lobby.tag, key: key, addresses: [Wire.addresses[other]], now: $1)
        }
    }

    /// Lets both wait until an instant; nothing arrives.
    package mutating func wait(until end: Instant) {
        while let next = endpoints.compactMap(\.nextDeadline).min(), next <= end {
            now = max(now, next)
            for index in endpoints.indices { perform(index) { $0.advance(to: $1) } }
        }
        now = max(now, end)
    }

    package mutating func deliver(_ index: Int, keeping: Bool = false) {
        let packet = keeping ? packets[index] : packets.remove(at: index)
        perform(1 - packet.from) { $0.receive(packet.bytes, from: Wire.addresses[packet.from], now: $1) }
    }

    package mutating func lose(_ index: Int) { packets.remove(at: index) }

    /// Every order of arrival of what is on its way and of what comes of it, `depth` deliveries deep; in each, `faults`
    /// of the datagrams are lost or doubled.
    package func explore(depth: Int, faults: Int = 0, path: String = "", visit: (Wire, String) -> Void) {
        guard depth > 0, !packets.isEmpty else {
            if faults == 0 { visit(self, path) }
            return
        }
        for index in packets.indices {
            let name = "\(path) \(packets[index].from):\(packets[index].kind)"
            var next = self
            next.deliver(index)
            next.explore(depth: depth - 1, faults: faults, path: name, visit: visit)
            guard faults > 0 else { continue }
            var doubled = self
            doubled.deliver(index, keeping: true)
            doubled.explore(depth: depth - 1, faults: faults - 1, path: name + " doubled", visit: visit)
            var lost = self
            lost.lose(index)
            lost.explore(depth: depth - 1, faults: faults - 1, path: name + " lost", visit: visit)
        }
    }

    /// Lets both go on with a network that delivers everything at once and in order.
    package mutating func settle(for duration: Duration) {
        let end = now + duration
        while true {
            if !packets.isEmpty {
                deliver(0)
                continue
            }
            guard let next = endpoints.compactMap(\.nextDeadline).min(), next <= end else { break }
            now = max(now, next)
            for index in endpoints.indices { perform(index) { $0.advance(to: $1) } }
        }
        now = max(now, end)
    }

    package func isOnline(_ index: Int) -> Bool { !endpoints[index].present(in: VirtualLAN.lobby.tag).isEmpty }

    package func isTyping(seenBy index: Int) -> Bool { !endpoints[index].typing(in: VirtualLAN.lobby.tag).isEmpty }

    package func messages(_ index: Int) -> [String] {
        outputs[index].compactMap { if case .message(_, _, _, let text) = $0 { text } else { nil } }
    }

    /// How often a node was told that the other one went offline.
    package func losses(_ index: Int) -> Int {
        outputs[index].filter { if case .presence(_, _, .offline, _) = $0 { true } else { false } }.count
    }

    /// Whether typing and messages get through both ways: what does not, by name.
    package mutating func faults() -> [String] {
        var faults: [String] = []
        for index in 0...1 {
            let other = 1 - index
            if !isOnline(other) { faults.append("\(index) is not online to \(other)") }
            perform(index) { try? $0.compose("x", in: VirtualLAN.lobby.tag, now: $1) }
            settle(for: .milliseconds(200))
            if !isTyping(seenBy: other) { faults.append("\(other) does not see \(index) type") }
            perform(index) { _ = try? $0.send("from \(index)", to: VirtualLAN.lobby.tag, now: $1) }
            settle(for: .milliseconds(200))
            if isTyping(seenBy: other) { faults.append("\(other) still sees \(index) type") }
            if messages(other) != ["from \(index)"] { faults.append("\(other) got \(messages(other))") }
        }
        return faults
    }
}
