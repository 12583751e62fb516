import InklingWire
import Testing

@testable import InklingCore

/// The address of a link, and its changes.
@Suite("Addresses of links")
struct AddressTests {
    let elsewhere = World.address(9)

    /// Returns the tokens of the pings that went to an address.
    private func pings(_ stage: LinkStage, to address: Address) -> [UInt16] {
        stage.pings.filter { $0.to == address }.map(\.token)
    }

    @Test("Newer evidence from elsewhere makes a pong confirm nothing (L-24)")
    func newerEvidence() throws {
        var stage = LinkStage(isShown: true)
        stage.receive([.beat], from: elsewhere)
        let token = try #require(pings(stage, to: elsewhere).last)
        let pong = stage.seal([.beat, .pong(token)])
        stage.receive([.beat])
        stage.deliver(pong, from: elsewhere)
        #expect(stage.link?.address == LinkStage.peerAddress)
    }

    @Test("To an unconfirmed address go three times the bytes that opened from there (L-72)")
    func amplification() {
        var stage = LinkStage(isShown: true)
        let size = SealedDatagram.size(of: [.ping(1)])
        for _ in 0..<20 { stage.receive([.ping(1)], from: elsewhere) }
        let sent = stage.seen.filter { $0.to == elsewhere }.reduce(0) { $0 + SealedDatagram.size(of: $1.frames) }
        #expect(sent <= 3 * 20 * size)
        var flooded = LinkStage(isShown: true)
        flooded.receive([.beat, .ping(1)], from: elsewhere)
        // The budget of bytes permits one ping and one pong. The node counts the bytes for each address separately.
        #expect(flooded.seen.filter { $0.to == elsewhere }.count == 2)
        flooded.with { $0.measureRoundTrip(in: World.chat, now: $1) }
        #expect(flooded.seen.filter { $0.to == elsewhere }.count == 2)
    }

    @Test("An on-link link does not follow to an off-link address, nor to the node's own (L-24)")
    func offLink() {
        var stage = LinkStage(isShown: true)
        stage.receive([.beat], from: World.remote(5))
        stage.receive([.beat], from: World.address(1))
        #expect(pings(stage, to: World.remote(5)).isEmpty && pings(stage, to: World.address(1)).isEmpty)
    }

    @Test("A link that covers an address by hand follows to an off-link address (L-24)")
    func byHand() {
        var stage = LinkStage(isShown: true)
        stage.with { endpoint, now in
            endpoint.addPeer(LinkStage.peerAddress, now: now)
            if let id = endpoint.directory.instances.sortedIDs.last {
                endpoint.directory.instances.setKey(of: id, to: World.key(1))
            }
        }
        stage.receive([.beat], from: World.remote(5))
        #expect(pings(stage, to: World.remote(5)).count == 1)
    }

    @Test("On a down link each datagram from elsewhere is checked, and its pong brings the link up there (L-51, L-71)")
    func downLink() throws {
        var stage = LinkStage()
        stage.run(.seconds(4))
        let before = stage.pings.count
        stage.receive([.beat], from: elsewhere)
        #expect(stage.pings.count == before + 1)
        stage.receive([.beat], from: World.remote(4))
        #expect(stage.pings.count == before + 1)
        stage.run(.ms(125))
        stage.receive([.beat], from: World.remote(4))
        #expect(stage.pings.last?.to == LinkStage.peerAddress)
        stage.run(.ms(125))
        stage.receive([.beat], from: elsewhere)
        let token = try #require(pings(stage, to: elsewhere).last)
        stage.receive([.unheard, .pong(token)], from: elsewhere)
        #expect(stage.isUp && stage.link?.address == elsewhere)
    }

    @Test("A pong whose token is not awaited is no error, and is evidence (L-28)")
    func unawaited() {
        var stage = LinkStage(isShown: true)
        stage.run(.ms(1_000))
        stage.receive([.pong(9)])
        #expect(stage.link?.liveness.lastEvidence == stage.now)
    }

    @Test("Tokens of pings are random: they differ, and are not in order (L-28, S-6)")
    func tokens() {
        let stage = { () -> LinkStage in
            var stage = LinkStage()
            stage.run(.seconds(3))
            return stage
        }()
        let tokens = stage.pingTokens
        #expect(Set(tokens).count == tokens.count && tokens != tokens.sorted())
    }

    @Test("A moved link hands its last will over for the new address (L-33)")
    func will() throws {
        var stage = LinkStage(isShown: true)
        stage.with { $0.keepsWills(now: $1) }
        stage.receive([.beat], from: elsewhere)
        let token = try #require(pings(stage, to: elsewhere).last)
        stage.receive([.beat, .pong(token)], from: elsewhere)
        let wills = stage.outputs.compactMap { output -> Address? in
            if case .keepWill(_, _, let address) = output.output { address } else { nil }
        }
        #expect(wills == [LinkStage.peerAddress, elsewhere])
    }

    @Test("While catching up, no pong confirms an address (L-30)")
    func catchingUp() throws {
        var stage = LinkStage(isShown: true)
        stage.receive([.longBeat], from: elsewhere)
        let token = try #require(pings(stage, to: elsewhere).last)
        stage.skip(.ms(2_000))
        stage.receive([.longBeat, .pong(token)], from: elsewhere)
        #expect(stage.link?.address == LinkStage.peerAddress)
    }
}
