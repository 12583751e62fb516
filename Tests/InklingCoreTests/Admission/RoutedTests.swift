import InklingCore
import InklingTestSupport
import InklingWire
import Testing

// H3 of the review of who may cost a node what
@Suite("Peers from beyond the networks of the host (R38, D-16)")
struct RoutedTests {
    private static let far = PeerByHandTests.far
    private static let ask = Ask(tag: VirtualLAN.lobby.tag, token: 1).encode()

    @Test("neither an ask nor an initiation is answered, and both are counted")
    func dropped() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8, address: RoutedTests.far)
        lan.inject(RoutedTests.ask, into: 0, from: RoutedTests.far)
        #expect(peer.exchange(try peer.initiation().bytes).isEmpty)
        #expect(lan.hosts[0].sent.isEmpty)
        #expect(lan.drops(0, .offLink) == 2)
        // The same from its networks.
        lan.inject(RoutedTests.ask, into: 0, from: VirtualLAN.address(77))
        #expect(lan.sent(0, kind: 6).count == 1)
    }

    @Test("a host named by hand is answered, whatever its port, and no other")
    func byHand() throws {
        let lan = lonely()
        lan.perform(0) { $0.addPeer(RoutedTests.far, now: $1) }
        let otherPort = Address(high: RoutedTests.far.high, low: RoutedTests.far.low, port: 9)
        lan.inject(RoutedTests.ask, into: 0, from: otherPort)
        lan.inject(RoutedTests.ask, into: 0, from: Address(ipv4: 0xC0A8_0908, port: 7_000))
        #expect(lan.sent(0, kind: 6).map(\.destination) == [otherPort])
        let peer = ScriptedPeer(lan, identity: 8, address: otherPort)
        _ = try peer.link()
        #expect(lan.online(0) == [peer.name])
    }

    @Test("everybody is answered where the user asked for that")
    func accepted() throws {
        let lan = lonely(acceptsRouted: true)
        lan.inject(RoutedTests.ask, into: 0, from: RoutedTests.far)
        #expect(lan.sent(0, kind: 6).map(\.destination) == [RoutedTests.far])
        _ = try ScriptedPeer(lan, identity: 8, address: RoutedTests.far).link()
        #expect(lan.online(0).count == 1)
    }

    @Test("whoever comes over a tunnel that the user named is answered")
    func tunnel() throws {
        let lan = lonely()
        lan.perform(0) { $0.receive(RoutedTests.ask, from: RoutedTests.far, overNamedTunnel: true, now: $1) }
        #expect(lan.sent(0, kind: 6).map(\.destination) == [RoutedTests.far])
    }

    @Test("where a link leads, the peer may open again, also for a while after it fell silent (L-35)")
    func link() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.link()
        // The host has moved to another network.
        let network = LocalNetwork(address: Address(ipv4: 0xAC10_0001, port: 0), prefixLength: 120)
        lan.perform(0) { $0.setNetworks([network], port: 4_000, now: $1) }
        let elsewhere = ScriptedPeer(lan, identity: 9, address: VirtualLAN.address(77))
        #expect(elsewhere.exchange(try elsewhere.initiation().bytes).isEmpty)
        #expect(!peer.exchange(try peer.initiation().bytes).isEmpty)
        peer.live(on: session, for: .seconds(11))
        lan.run(for: .seconds(60))
        #expect(lan.offline(0) == [.silence])
        #expect(!peer.exchange(try peer.initiation().bytes).isEmpty)
        lan.run(for: .seconds(90))
        #expect(peer.exchange(try peer.initiation().bytes).isEmpty)
    }
}
