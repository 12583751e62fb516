import InklingCore
import InklingTestSupport
import InklingWire
import Testing

/// One thing happens between every two steps of a first contact, and a working link or what the user asked for comes
/// of it.
@Suite("Handshakes with one injection")
struct HandshakeInjectionTests {
    /// What is done to node 0, which opens, or to node 1.
    enum Injection: String, CaseIterable {
        case duplicate, loss, reorder, restart, stop, longStop, suspend, block, blockAndBack, leave, leaveAndBack, quit
        case replay, garbage, lost, doubt, away, addByHand, move, foundAgain

        /// Whether the user still wants the link afterwards.
        var isWanted: Bool {
            switch self {
            case .block, .leave, .quit: false
            default: true
            }
        }
    }

    /// The steps: before anything is sent; before each of the datagrams of a first contact arrives; after the last.
    static let steps = 0...6

    private static let lobby = VirtualLAN.lobby

    /// Every datagram takes 1 ms, so step n happens between n and n + 1 ms.
    private func lan() -> VirtualLAN {
        let lan = VirtualLAN()
        lan.transit = { _ in [.milliseconds(1)] }
        lan.add(identity: 0, name: "A")
        lan.add(identity: 1, name: "B")
        return lan
    }

    /// Applies an injection, and returns the indices of the two nodes from then on.
    private func inject(_ injection: Injection, into target: Int, _ lan: VirtualLAN) -> [Int] {
        var nodes = [0, 1]
        let other = 1 - target
        let addresses = lan.hosts.map(\.address)
        let keys = lan.hosts.map(\.endpoint.publicKey)
        let last = lan.hosts[other].sent.last
        let normal: (VirtualLAN.Packet) -> [Duration] = { _ in [.milliseconds(1)] }
        func next(_ delays: [Duration]) {
            var isFirst = true
            lan.transit = { packet in
                guard isFirst, packet.source == addresses[target] else { return normal(packet) }
                isFirst = false
                return delays
            }
        }
        switch injection {
        case .duplicate: next([.milliseconds(1), .milliseconds(1), .milliseconds(2), .milliseconds(700)])
        case .loss: next([])
        case .reorder: next([.milliseconds(40)])
        case .restart:
            let again = lan.restart(target, identity: target, name: "again")
            nodes[target] = again
            lan.discover(other, by: again)
        case .stop, .longStop:
            lan.stop(target)
            lan.run(for: injection == .stop ? .seconds(2) : .seconds(30))
            lan.resume(target)
        case .suspend:
            lan.perform(target) { $0.suspend(now: $1) }
            lan.run(for: .milliseconds(1_500))
            lan.perform(target) { $0.resume(now: $1) }
        case .block, .blockAndBack:
            lan.perform(target) { $0.block(keys[other].userID, now: $1) }
            guard injection == .blockAndBack else { break }
            lan.run(for: .seconds(2))
            lan.perform(target) { $0.unblock(keys[other].userID, now: $1) }
        case .leave, .leaveAndBack:
            lan.perform(target) { try? $0.leave(VirtualLAN.lobby.tag, now: $1) }
            guard injection == .leaveAndBack else { break }
            lan.run(for: .seconds(2))
            lan.perform(target) { try? $0.join(VirtualLAN.lobby, now: $1) }
            lan.discover(other, by: target)
        case .quit: lan.perform(target) { $0.quit(now: $1) }
        case .replay:
            // All that was sent so far, again and from elsewhere.
            for packet in lan.hosts[other].sent where packet.destination == addresses[target] {
                lan.inject(packet.bytes, into: target, from: VirtualLAN.address(99))
            }
        case .garbage:
            var generator = SeededGenerator(seed: 8)
            for kind in 0..<8 {
                for count in [0, 20, 44, 56, 108, 124] {
                    let body = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
                    lan.inject([0x10 | UInt8(kind)] + body, into: target, from: addresses[other])
                }
            }
            if var bytes = last?.bytes {
                bytes[bytes.count - 1] ^= 1
                lan.inject(bytes, into: target, from: addresses[other])
            }
        case .lost:
            // Discovery hears of it again a second later.
            lan.perform(target) { $0.lost("instance \(other)", chat: VirtualLAN.lobby.tag, now: $1) }
            lan.run(for: .seconds(1))
            lan.discover(other, by: target)
        case .doubt: lan.perform(target) { $0.doubt(addresses[other], now: $1) }
        case .away:
            lan.perform(target) { $0.setAway(true, now: $1) }
            lan.perform(target) { $0.setAway(false, now: $1) }
        case .addByHand: lan.perform(target) { $0.addPeer(addresses[other], now: $1) }
        case .move:
            let new = VirtualLAN.address(50)
            lan.move(target, to: new)
            lan.perform(other) {
                $0.found(
                    "instance \(target)", chat: VirtualLAN.lobby.tag, key: keys[target],
                    addresses: [new, addresses[target]],
                    now: $1)
            }
        case .foundAgain:
            lan.perform(target) {
                $0.found(
                    "instance \(other)", chat: VirtualLAN.lobby.tag, key: keys[other],
                    addresses: [VirtualLAN.address(60), addresses[other]], now: $1)
            }
        }
        return nodes
    }

    @Test(
        "one injection before every step of the opener's handshake (L-4, L-8, L-16, L-29, L-30, L-32, L-36, R15, R16)",
        arguments: Injection.allCases)
    func injected(_ injection: Injection) {
        for target in 0...1 {
            for step in HandshakeInjectionTests.steps {
                let lan = lan()
                if step > 0 { lan.discoverAll() }
                lan.run(for: .microseconds(step * 1_000 - 500))
                let nodes = inject(injection, into: target, lan)
                if step == 0 {
                    let both = nodes.sorted()
                    for index in both where lan.hosts[index].isRunning {
                        for other in both where other != index { lan.discover(other, by: index) }
                    }
                }
                // The slowest way back: an attempt that was lost just so, and the pause behind it.
                lan.run(for: .seconds(9))
                lan.transit = { _ in [.milliseconds(1)] }
                let name = "\(injection) of \(target) at step \(step)"
                if injection.isWanted {
                    lan.expectWorking(nodes[0], nodes[1], name)
                    #expect(lan.hosts[nodes[0]].endpoint.tableSizes.links == 1, "\(name)")
                    #expect(lan.hosts[nodes[1]].endpoint.tableSizes.links == 1, "\(name)")
                } else {
                    #expect(lan.online(nodes[0]).isEmpty && lan.online(nodes[1]).isEmpty, "\(name)")
                }
            }
        }
    }

    /// How many datagrams are sent in the first three seconds of two nodes, each lost or doubled in turn.
    @Test(
        "the loss, doubling or delay of any single datagram in the first 3 s heals in the time it may take (L-4, L-16, L-26, R16)",
        arguments: ["lost", "doubled", "delayed"])
    func single(_ fault: String) {
        for index in 0..<14 {
            let lan = VirtualLAN()
            var count = 0
            lan.transit = { _ in
                defer { count += 1 }
                guard count == index else { return [.microseconds(200)] }
                switch fault {
                case "lost": return []
                case "doubled": return [.microseconds(200), .milliseconds(150)]
                default: return [.milliseconds(150)]
                }
            }
            lan.add(identity: 0, name: "A")
            lan.add(identity: 1, name: "B")
            lan.discoverAll()
            lan.run(for: .milliseconds(390))
            // 300 ms and a quarter for what opens, 250 ms for a hello.
            #expect(lan.online(0) == ["B"] && lan.online(1) == ["A"], "datagram \(index) \(fault)")
            lan.run(for: .milliseconds(2_610))
            #expect(count >= 9, "five of the handshake, and two heartbeats of each node at the least")
            lan.expectWorking(0, 1, "datagram \(index) \(fault)")
            #expect(lan.offline(0).isEmpty && lan.offline(1).isEmpty, "datagram \(index) \(fault)")
        }
    }

    @Test("what a handshake of an earlier run has left on the network disturbs nothing (L-7, L-12, R15)")
    func earlierHandshake() {
        for step in HandshakeInjectionTests.steps {
            let lan = lan()
            lan.discoverAll()
            lan.run(for: .milliseconds(100))
            let recorded = lan.hosts.map(\.sent)
            let second = lan.restart(1, identity: 1, name: "B2")
            let first = lan.restart(0, identity: 0, name: "A2")
            lan.discover(second, by: first)
            lan.discover(first, by: second)
            lan.run(for: .microseconds(step * 1_000 - 500))
            for packet in recorded[0] { lan.inject(packet.bytes, into: second, from: packet.source) }
            for packet in recorded[1] { lan.inject(packet.bytes, into: first, from: packet.source) }
            lan.run(for: .milliseconds(400))
            lan.expectWorking(first, second, "step \(step)")
        }
    }
}
