import Inkling
import InklingCore
import InklingModel
import Synchronization
import Testing

/// A name server whose answers change.
private final class NameServer: Sendable {
    private let state = Mutex((addresses: Optional([Address]()), count: 0))

    var count: Int { state.withLock { $0.count } }

    /// Sets the addresses of each host; none for a server that does not answer, nil for one that does not know the host.
    func set(_ addresses: [Address]?) { state.withLock { $0.addresses = addresses } }

    func addresses(of text: String) throws(NodeError) -> [Address] {
        let addresses = state.withLock { state in
            state.count += 1
            return state.addresses
        }
        guard let addresses else { throw .peerAddress(text, .unknownHost(reason: "not known")) }
        return addresses
    }
}

@Suite("Hosts that the user named", .serialized, .timeLimit(.minutes(2)))
struct PeersByHandTests {
    private func address(_ port: UInt16) -> Address { Address(ipv4: 0x7F00_0001, port: port) }

    private func alice(_ server: NameServer, _ peers: [String]) async throws -> Node {
        try await NodeTests.node("Alice") { configuration in
            configuration.peers = peers
            configuration.lookUpInterval = .milliseconds(50)
            configuration.lookUp = { text throws(NodeError) in try server.addresses(of: text) }
        }
    }

    private func wait(_ what: Comment, _ holds: () async -> Bool) async throws {
        for _ in 0..<2_000 {
            if await holds() { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record(what)
    }

    // D-24
    @Test("a host without a link is looked up again, and with one it is not")
    func again() async throws {
        let former = try await NodeTests.node("Bob")
        let port = former.port
        await former.stop()
        let server = NameServer()
        server.set([address(port)])
        let alice = try await alice(server, ["bob.example:1", "127.0.0.1:9"])
        // A server that does not answer changes nothing.
        server.set([])
        let count = server.count
        try await wait("look-ups") { server.count >= count + 2 }
        let bob = try await NodeTests.node("Bob") { $0.port = port }
        try await wait("Alice and Bob meet") { await alice.peers(in: "lobby").contains { $0.user == bob.user } }
        try await wait("Bob sees Alice") { await bob.peers(in: "lobby").contains { $0.user == alice.user } }
        // A look-up may be under way.
        try await Task.sleep(for: .milliseconds(100))
        let linked = server.count
        try await Task.sleep(for: .milliseconds(500))
        #expect(server.count == linked)
        await bob.stop()
        try await wait("look-ups without Bob") { server.count >= linked + 2 }
        let carol = try await NodeTests.node("Carol")
        server.set([address(9), address(carol.port)])
        try await wait("Alice and Carol meet") { await alice.peers(in: "lobby").contains { $0.user == carol.user } }
        await carol.stop()
        await alice.stop()
        let ended = server.count
        try await Task.sleep(for: .milliseconds(300))
        #expect(server.count == ended)
    }

    @Test("a start without an answer of the name server goes on and says so, and one with an unknown host fails")
    func start() async throws {
        let bob = try await NodeTests.node("Bob")
        let server = NameServer()
        let alice = try await alice(server, ["bob.example:1"])
        for await event in await alice.events() {
            guard case .notice(.other("peer-not-found", let text)) = event.event else { continue }
            #expect(text.contains("\"bob.example:1\""))
            break
        }
        server.set([address(bob.port)])
        try await wait("Alice and Bob meet") { await alice.peers(in: "lobby").contains { $0.user == bob.user } }
        await alice.stop()
        server.set(nil)
        await #expect(throws: NodeError.peerAddress("bob.example:1", .unknownHost(reason: "not known"))) {
            _ = try await self.alice(server, ["bob.example:1"])
        }
        await bob.stop()
    }

    // D-24
    @Test("of a host eight addresses count, and an address that is named itself is never looked up")
    func eight() async throws {
        let (bob, carol) = (try await NodeTests.node("Bob"), try await NodeTests.node("Carol"))
        let server = NameServer()
        server.set((1...7).map { address($0) } + [address(bob.port), address(carol.port)])
        let alice = try await alice(server, ["host.example:1"])
        try await wait("Alice and Bob meet") { await alice.peers(in: "lobby").contains { $0.user == bob.user } }
        try await Task.sleep(for: .milliseconds(500))
        #expect(await alice.peers(in: "lobby").map(\.user) == [bob.user])
        await alice.stop()
        server.set([address(carol.port)])
        let count = server.count
        let dave = try await self.alice(server, ["127.0.0.1:9", "[::1]:9"])
        #expect(server.count == count + 2, "the start reads each of them once")
        try await Task.sleep(for: .milliseconds(300))
        #expect(server.count == count + 2)
        for node in [dave, bob, carol] { await node.stop() }
    }
}
