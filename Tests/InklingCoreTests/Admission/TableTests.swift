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
}
