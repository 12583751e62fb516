import InklingWire
import Testing

@testable import InklingCore

/// A node's treatment of initiations from strangers.
@Suite("Admission")
struct AdmissionTests {
    private func node() -> TestLAN {
        let lan = TestLAN()
        lan.start(0)
        return lan
    }

    /// Returns an initiation of an identity, with a new index.
    private func initiation(
        _ index: UInt32, identity: Int = 3, chat: ChatKeys = World.lobby, run: UInt64 = 8, epoch: UInt32 = 0
    ) throws -> Initiation {
        var generator = Seeded(UInt64(index) &+ 100)
        return try PendingHandshake(
            chat: chat, identity: World.identities[identity], ephemeral: KeyPair(using: &generator),
            remote: World.key(0), senderIndex: index, own: RunAndEpoch(run: run, epoch: epoch)
        ).initiation
    }

    private func encode(_ initiation: Initiation, cookie: [UInt8]? = nil) -> [UInt8] {
        var initiation = initiation
        initiation.cookie = cookie
        return Datagram.initiation(initiation).encode()
    }

    private func retries(_ lan: TestLAN) -> [Retry] {
        lan.sent(by: 0, .retry).compactMap { sent in
            if case .retry(let retry)? = try? Datagram.parse(sent.bytes) { retry } else { nil }
        }
    }

    @Test("Above 100 initiations a second those without a cookie draw a retry alone (L-9)")
    func load() throws {
        let lan = node()
        for index in 0..<130 {
            lan.inject(encode(try initiation(UInt32(index))), from: World.address(20 + index % 100), to: 0)
        }
        // 64 unconfirmed sessions put the node under load.
        #expect(lan.sent(by: 0, .response).count == 64)
        #expect(lan.sent(by: 0, .retry).count == 66)
        let retry = try #require(retries(lan).last)
        #expect(retry.receiverIndex == 129)
        lan.inject(encode(try initiation(129), cookie: retry.cookie), from: World.address(49), to: 0)
        #expect(lan.sent(by: 0, .response).count == 65)
    }

    @Test("A cookie is worthless for another address, port, index or ephemeral key, and after 240 s (L-11)")
    func cookies() throws {
        var effects = Effects(random: Seeded(1))
        var admission = AdmissionControl(now: .zero, &effects)
        var first = try initiation(1)
        let here = World.address(9)
        guard let cookie = admission.retry(first, to: here, .none, now: .zero) else {
            Issue.record("no retry")
            return
        }
        first.cookie = cookie
        var other = try initiation(2)
        other.cookie = cookie
        #expect(admission.hasValidCookie(first, from: here, &effects, now: .ms(1)))
        #expect(!admission.hasValidCookie(first, from: World.address(10), &effects, now: .ms(1)))
        #expect(!admission.hasValidCookie(first, from: World.address(9, port: 4_001), &effects, now: .ms(1)))
        #expect(!admission.hasValidCookie(other, from: here, &effects, now: .ms(1)))
        let again = World.lobby.initiation(senderIndex: 1, noise: other.noise)
        var moved = again
        moved.cookie = cookie
        #expect(!admission.hasValidCookie(moved, from: here, &effects, now: .ms(1)))
        #expect(admission.hasValidCookie(first, from: here, &effects, now: .ms(119_000)))
        #expect(admission.hasValidCookie(first, from: here, &effects, now: .ms(239_000)))
        #expect(!admission.hasValidCookie(first, from: here, &effects, now: .ms(240_000)))
    }

    @Test("At most 500 retries a second go out, and 200 more to known addresses (L-96)")
    func retryLimit() throws {
        var effects = Effects(random: Seeded(1))
        var admission = AdmissionControl(now: .zero, &effects)
        let first = try initiation(1)
        let unknown = (0..<900).count { _ in admission.retry(first, to: World.address(9), .none, now: .zero) != nil }
        let known = (0..<900).count { _ in admission.retry(first, to: World.address(9), .linked, now: .zero) != nil }
        #expect(unknown == 500 && known == 200)
        // Beyond the limit, the node ignores the initiation.
        let lan = node()
        for index in 0..<700 {
            lan.inject(
                encode(try initiation(UInt32(index))),
                from: World.address(20 + index % 100, port: UInt16(5_000 + index)),
                to: 0)
        }
        #expect(lan.sent(by: 0, .retry).count == 500)
    }

    @Test("Above 1,000 initiations a second a valid cookie is needed before all checks (L-8, step 3)")
    func beforeChecks() throws {
        let lan = node()
        let foreign = encode(try initiation(1, chat: World.other))
        for _ in 0..<1_000 { lan.inject(foreign, from: World.address(9), to: 0) }
        #expect(lan.sent(by: 0, .retry).isEmpty)
        lan.inject(foreign, from: World.address(9), to: 0)
        #expect(lan.sent(by: 0, .retry).count == 1)
        let own = try initiation(2)
        lan.inject(encode(own), from: World.address(9), to: 0)
        #expect(lan.sent(by: 0, .retry).count == 2 && lan.sent(by: 0, .response).isEmpty)
        let cookie = try #require(retries(lan).last?.cookie)
        lan.inject(encode(own, cookie: cookie), from: World.address(9), to: 0)
        #expect(lan.sent(by: 0, .response).count == 1)
    }

    @Test("200 responses a second: 150 not of preferred people, 100 to unknown addresses (L-10)")
    func answers() {
        var effects = Effects(random: Seeded(1))
        var admission = AdmissionControl(now: .zero, &effects)
        func count(_ acquaintance: Acquaintance) -> Int {
            (0..<300).count { _ in admission.admitsAnswer(to: acquaintance, now: .zero) }
        }
        #expect(count(.none) == 100)
        #expect(count(.linked) == 50)
        #expect(count(.preferred) == 50)
    }

    @Test("5 initiations with a cookie a second (burst 20) of a source, 256 of the host, 200 of unknown ones (L-97)")
    func cookieLimits() {
        var effects = Effects(random: Seeded(1))
        var configuration = Endpoint.Configuration(identity: World.identities[0], name: "")
        configuration.isOwnUsers = { $0.port == 4_001 }
        var surroundings = Surroundings(configuration: configuration)
        surroundings.networks = [World.network(1)]
        func count(
            _ address: Address, _ acquaintance: Acquaintance = .linked, _ now: Instant = .zero, of most: Int = 500
        ) -> Int {
            (0..<most).count { _ in
                admission.screen(
                    hasCookie: true, from: address, acquaintance, unconfirmedSessions: 0, isFar: false, surroundings,
                    &effects, now: now) == .open
            }
        }
        var admission = AdmissionControl(now: .zero, &effects)
        #expect(count(World.address(9)) == 20)
        #expect(count(World.address(9), .linked, .ms(1_000)) == 5)
        #expect(count(World.address(1)) == 256)
        #expect(count(World.address(1, port: 4_001)) == 500)
        #expect(count(World.address(10), .verified) == 500)
        let unknown = (0..<40).reduce(0) { sum, host in sum + count(World.address(100 + host), .none) }
        #expect(unknown == 200)
    }

    @Test("Datagrams of sources that are not unicast are dropped (L-24)")
    func notUnicast() throws {
        let lan = node()
        lan.inject(encode(try initiation(1)), from: Address(ipv4: 0xE000_0001, port: 9), to: 0)
        lan.inject(encode(try initiation(1)), from: World.address(9, port: 0), to: 0)
        #expect(lan.sent.isEmpty && lan.counters(0).drops[.notUnicast] == 2)
    }
}
