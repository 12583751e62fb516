import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Tables")
struct TableTests {
    @Test("32 chats at most (L-39)")
    func chats() {
        let lan = lonely()
        lan.perform(0) { endpoint, now in
            for index in 0..<31 { try? endpoint.join(ChatKeys(openName: "chat \(index)"), now: now) }
            #expect(throws: CommandError.tooManyChats) {
                try endpoint.join(ChatKeys(openName: "one more"), now: now)
            }
        }
    }

    @Test("1,024 links at most: those that are there stay, and no more are taken (L-39)")
    func links() throws {
        let lan = lonely()
        let strangers = keys(1_025, seed: 5)
        var first: (peer: ScriptedPeer, session: ScriptedPeer.Session)?
        var last: ScriptedPeer?
        for (index, identity) in strangers.enumerated() {
            let peer = ScriptedPeer(
                lan, identity: identity, address: VirtualLAN.address(1 + index % 200, port: 5_000 + UInt16(index)),
                name: "\(index)", seed: UInt64(index))
            last = peer
            guard index < 1_024 else { break }
            let session = try peer.open()
            peer.send([peer.heartbeat(), peer.hello], on: session)
            lan.forget()
            if first == nil { first = (peer, session) }
            lan.run(for: .milliseconds(12))
        }
        #expect(lan.hosts[0].endpoint.tableSizes.links == 1_024)
        let refused = try #require(last)
        #expect(refused.exchange(try refused.initiation().bytes).isEmpty)
        #expect(lan.drops(0, .linkLimit) == 1)
        #expect(lan.hosts[0].endpoint.tableSizes.links == 1_024)
        let (peer, session) = try #require(first)
        _ = peer.arrived()
        peer.send([.ping(1)], on: session)
        #expect(peer.receive(on: session).contains { $0.pong == 1 })
        // Its own links may still get a new session.
        _ = try peer.link()
    }

    @Test("strangers who fill the table from sixteen hosts keep neither friends nor newcomers out (R36, L-52, L-53)")
    func fullOfStrangers() throws {
        let lan = lonely()
        let secret = try #require(ChatSecret(Array(repeating: 5, count: 16)))
        let group = ChatKeys(secret: secret)
        lan.perform(0) { try? $0.join(group, now: $1) }
        var refused = 0
        for (index, identity) in keys(1_040, seed: 5).enumerated() {
            let peer = ScriptedPeer(
                lan, identity: identity, address: VirtualLAN.address(50 + index / 65, port: 5_000 + UInt16(index)),
                name: "\(index)", seed: UInt64(index))
            guard let session = try? peer.open() else {
                refused += 1
                continue
            }
            peer.send([peer.heartbeat(), peer.hello], on: session)
            lan.forget()
            lan.run(for: .milliseconds(12))
        }
        #expect(refused == 16, "the 65th of each source")
        #expect(lan.hosts[0].endpoint.tableSizes.links == 1_024)
        func come(_ identity: Int, _ host: Int, _ chat: ChatKeys = VirtualLAN.lobby) throws {
            let peer = ScriptedPeer(lan, identity: identity, address: VirtualLAN.address(host), chat: chat, name: "New")
            lan.forget()
            _ = try peer.link()
            let outputs = lan.hosts[0].log.map(\.output)
            let online = outputs.contains {
                if case .presence(_, let person, .online, _) = $0 {
                    person.key == peer.identity.publicKey
                } else {
                    false
                }
            }
            let offline = outputs.filter {
                if case .presence(_, _, .offline, .full) = $0 { true } else { false }
            }
            #expect(online)
            #expect(offline.count == 1)
            #expect(lan.hosts[0].endpoint.tableSizes.links == 1_024)
            lan.run(for: .milliseconds(200))
            #expect(lan.sent(0, kind: 3).contains { $0.destination.port >= 5_000 }, "it is told")
        }
        lan.perform(0) { $0.setStandings([VirtualLAN.identities[8].publicKey: .met], now: $1) }
        try come(8, 100)
        try come(9, 101, group)
        try come(10, 102)
        let late = ScriptedPeer(lan, identity: 11, address: VirtualLAN.address(50, port: 4_000))
        #expect(throws: ScriptedPeer.Unanswered.self) { try late.open() }
    }

    @Test("the hello of a key's ninth link asks its eight whether they live, and dead ones make room (L-31, L-53)")
    func ninth() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        for run in 0..<8 {
            peer.restart(run: UInt64(run), stream: 70)
            _ = try peer.link()
        }
        #expect(lan.hosts[0].endpoint.tableSizes.links == 8)
        peer.restart(run: 9, stream: 70)
        let session = try peer.open()
        lan.forget()
        peer.send([peer.heartbeat(), peer.hello], on: session)
        lan.run(for: .milliseconds(1))
        #expect(lan.hosts[0].endpoint.tableSizes.links == 8)
        #expect(lan.drops(0, .linkLimit) == 1)
        #expect(lan.hosts[0].endpoint.counters.sent[.ping] == 8)
        for _ in 0..<100 { peer.send([peer.heartbeat(), peer.hello], on: session) }
        lan.run(for: .milliseconds(1))
        #expect(lan.hosts[0].endpoint.counters.sent[.ping] == 8, "only once")
        lan.run(for: .milliseconds(1_500))
        peer.send([peer.heartbeat(), peer.hello], on: session)
        #expect(lan.hosts[0].endpoint.tableSizes.links == 1)
    }
}
