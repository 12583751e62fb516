import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Load")
struct LoadTests {
    /// Initiations that are well formed and open nothing.
    private func flood(_ lan: VirtualLAN, _ count: Int, tag: ChatTag = VirtualLAN.lobby.tag, first: UInt32 = 0) {
        for index in 0..<UInt32(count) {
            let noise = (0..<96).map { UInt8(truncatingIfNeeded: Int(index) * 31 + $0) }
            let bytes = Initiation(senderIndex: first + index, tag: tag, noise: noise).encode()
            lan.inject(bytes, into: 0, from: VirtualLAN.address(60))
        }
    }

    private func kinds(_ datagrams: [Datagram]) -> [UInt8] { datagrams.map { $0.encode()[0] & 0xF } }

    private func retry(_ datagrams: [Datagram]) -> Retry? {
        datagrams.compactMap { if case .retry(let retry) = $0 { retry } else { nil } }.first
    }

    private func withCookie(_ opening: ScriptedPeer.Opening, _ cookie: [UInt8]) -> [UInt8] {
        opening.bytes + cookie
    }

    @Test(
        "what is malformed, or of another version, chat or index, gets nothing (L-8, W-12, W-13, W-14, W-15)",
        arguments: [
            ("nothing", []), ("one byte", [0x11]), ("another version", [0x21] + Array(repeating: 0, count: 108)),
            ("another kind", [0x17] + Array(repeating: 0, count: 44)),
            ("a short initiation", [0x11] + Array(repeating: 0, count: 107)),
            ("a long initiation", [0x11] + Array(repeating: 0, count: 125)),
            ("another chat", [0x11] + Array(repeating: 0, count: 108)),
            ("a response to nothing", [0x12] + Array(repeating: 0, count: 56)),
            ("sealed for nobody", [0x13] + Array(repeating: 0, count: 40)),
            ("a retry of nothing", [0x14] + Array(repeating: 0, count: 20)),
            ("an ask in another chat", [0x15] + Array(repeating: 0, count: 44)),
            ("an ask without its zeroes", [0x15] + VirtualLAN.lobby.tag.value.bytes + Array(repeating: 1, count: 36)),
            ("a tell of nothing", [0x16] + Array(repeating: 0, count: 44)),
        ] as [(String, [UInt8])])
    func silence(_ row: (name: String, bytes: [UInt8])) throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.link()
        lan.forget()
        lan.inject(row.bytes, into: 0, from: VirtualLAN.address(60))
        lan.inject(row.bytes, into: 0, from: peer.address)
        #expect(lan.hosts[0].sent.isEmpty)
        #expect(lan.hosts[0].log.isEmpty)
        peer.send([.ping(1)], on: session)
        #expect(peer.receive(on: session).first?.pong == 1, "the link is as it was")
    }

    @Test("an unauthenticated datagram draws one reply at most, no longer than itself, to its source (S-3)")
    func oneReply() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: VirtualLAN.identities[9].publicKey, at: [VirtualLAN.address(101)])
        flood(lan, 40)
        var rows = [
            try peer.initiation().bytes, try peer.initiation().bytes + Array(repeating: 1, count: 16),
            Ask(tag: VirtualLAN.lobby.tag, token: 1).encode(),
            Tell(token: 1, nonce: 0, key: peer.identity.publicKey.bytes).encode(),
        ]
        for _ in 0..<3 {
            for bytes in rows {
                _ = peer.arrived(anywhere: true)
                lan.inject(bytes, into: 0, from: peer.address)
                let replies = peer.arrived(anywhere: true)
                #expect(replies.count <= 1)
                #expect(replies.allSatisfy { $0.destination == peer.address && $0.bytes.count <= bytes.count })
            }
            flood(lan, 60, first: 1_000)
            rows.append(try peer.initiation().bytes)
        }
    }

    @Test("a doubled initiation gets the very same response, whatever the load, until it is confirmed (L-8)")
    func doubled() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let opening = try peer.initiation()
        let first = peer.exchange(opening.bytes)
        #expect(kinds(first) == [2])
        flood(lan, 150)
        for _ in 0..<300 { #expect(peer.exchange(opening.bytes) == first) }
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 1)
        guard case .response(let response)? = first.first, let session = peer.finish(opening, response) else {
            Issue.record("no response")
            return
        }
        peer.greet(on: session)
        #expect(peer.exchange(opening.bytes) != first)
    }

    @Test("initiations of other chats and doubled ones count against no limit (L-8)")
    func uncounted() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        flood(lan, 500, tag: ChatTag(1))
        let opening = try peer.initiation()
        for _ in 0..<200 { #expect(kinds(peer.exchange(opening.bytes)) == [2]) }
        #expect(kinds(peer.exchange(try peer.initiation().bytes)) == [2])
    }

    @Test("over 100 initiations a second are answered with a retry, and nothing is computed for them (L-9)")
    func overload() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        flood(lan, 100)
        #expect(lan.drops(0, .unauthenticated) == 100)
        let opening = try peer.initiation()
        let answer = peer.exchange(opening.bytes)
        #expect(kinds(answer) == [4])
        #expect(retry(answer)?.receiverIndex == opening.initiation.senderIndex)
        flood(lan, 100, first: 500)
        #expect(lan.drops(0, .unauthenticated) == 100, "none of them was opened")
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 0)
        let cookie = try #require(retry(answer)?.cookie)
        #expect(kinds(peer.exchange(withCookie(opening, Array(repeating: 0, count: 16)))) == [4], "a wrong cookie")
        #expect(lan.drops(0, .cookie) == 1)
        lan.run(for: .seconds(1))
        flood(lan, 100, first: 900)
        lan.run(for: .milliseconds(200))
        #expect(kinds(peer.exchange(withCookie(opening, cookie))) == [2])
    }

    @Test("exactly 100 initiations in any second are opened without a cookie (L-9)")
    func loadOfASecond() {
        let lan = lonely()
        flood(lan, 100)
        lan.run(for: .milliseconds(500))
        flood(lan, 50, first: 200)
        #expect(lan.drops(0, .unauthenticated) == 100)
    }

    @Test("with 64 sessions unconfirmed nothing is computed without a cookie, whatever the rate (L-9)")
    func unconfirmedLoad() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        for _ in 0..<64 {
            #expect(kinds(peer.exchange(try peer.initiation().bytes)) == [2])
            lan.run(for: .milliseconds(15))
        }
        #expect(kinds(peer.exchange(try peer.initiation().bytes)) == [4])
        lan.run(for: .seconds(5))
        #expect(kinds(peer.exchange(try peer.initiation().bytes)) == [2])
    }

    @Test("a cookie is worthless for another address, port, index or ephemeral key (L-11)")
    func cookieBinding() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        try putUnderLoad(lan)
        let opening = try peer.initiation()
        let cookie = try #require(retry(peer.exchange(opening.bytes))?.cookie)
        let bytes = withCookie(opening, cookie)
        #expect(kinds(peer.exchange(bytes, from: VirtualLAN.address(101))) == [4])
        #expect(kinds(peer.exchange(bytes, from: VirtualLAN.address(100, port: 4_001))) == [4])
        let otherIndex = Initiation(
            senderIndex: opening.initiation.senderIndex ^ 1, tag: VirtualLAN.lobby.tag, noise: opening.initiation.noise,
            cookie: cookie)
        #expect(kinds(peer.exchange(otherIndex.encode())) == [4])
        #expect(kinds(peer.exchange(withCookie(try peer.initiation(), cookie))) == [4])
        #expect(kinds(peer.exchange(bytes)) == [2])
    }

    /// Whether a cookie that was made at `made` is good at `used`, both in seconds; initiations came between.
    private func isCookieGood(made: Int, used: Int, between: [Int] = []) throws -> Bool {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.run(until: .at(made * 1_000))
        flood(lan, 100)
        let opening = try peer.initiation()
        let cookie = try #require(retry(peer.exchange(opening.bytes))?.cookie)
        for second in between {
            lan.run(until: .at(second * 1_000))
            flood(lan, 1)
        }
        lan.run(until: .at(used * 1_000 - 1_000))
        try putUnderLoad(lan)
        let answer = kinds(peer.exchange(withCookie(opening, cookie)))
        #expect(answer == [2] || answer == [4])
        return answer == [2]
    }

    /// Leaves 64 sessions unconfirmed within a second: that leaves room for answers, unlike too high a rate.
    private func putUnderLoad(_ lan: VirtualLAN) throws {
        let stranger = ScriptedPeer(lan, identity: 9, address: VirtualLAN.address(90))
        for _ in 0..<64 {
            _ = try stranger.open()
            lan.run(for: .milliseconds(15))
        }
    }

    @Test(
        "a cookie is good for a while and worthless after 240 s (L-11)",
        arguments: [
            (1, 3, [], true), (1, 110, [], true), (119, 200, [], true), (1, 119, [50], true), (1, 250, [], false),
            (119, 380, [240], false),
        ] as [(Int, Int, [Int], Bool)])
    func cookieAge(_ row: (made: Int, used: Int, between: [Int], isGood: Bool)) throws {
        let isGood = try isCookieGood(made: row.made, used: row.used, between: row.between)
        #expect(isGood == row.isGood)
    }

    @Test("a cookie is worthless after 240 s even if no initiation came at the 120th (L-11)")
    func cookieAgeAfterQuiet() throws {
        let isGood = try isCookieGood(made: 1, used: 300, between: [239])
        #expect(!isGood)
    }

    @Test("with a valid cookie a source gets 20 answers in a row, and 5 a second (L-10)")
    func perSource() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        try putUnderLoad(lan)
        func answers(_ count: Int, from source: Address) throws -> Int {
            var answers = 0
            for _ in 0..<count {
                let opening = try peer.initiation()
                guard let cookie = retry(peer.exchange(opening.bytes, from: source))?.cookie else { continue }
                answers += peer.exchange(withCookie(opening, cookie), from: source).count
            }
            return answers
        }
        #expect(try answers(25, from: peer.address) == 20)
        #expect(lan.drops(0, .sourceLimit) == 5)
        #expect(try answers(5, from: VirtualLAN.address(100, port: 9)) == 0, "the port makes no other source")
        lan.run(for: .milliseconds(1_000))
        #expect(try answers(10, from: peer.address) == 5)
        #expect(try answers(10, from: VirtualLAN.address(101)) == 10, "another source has its own")
    }

    @Test("half of 200 answers a second are kept for live links and for candidates of preferred keys (L-10)")
    func halfIsKept() throws {
        let lan = lonely()
        let known = VirtualLAN.address(101)
        let forged = VirtualLAN.address(102)
        let peer = ScriptedPeer(lan, identity: 8)
        let session = try peer.link()
        lan.find("a", key: VirtualLAN.identities[9].publicKey, at: [known])
        lan.find("b", key: VirtualLAN.identities[10].publicKey, at: [forged])
        lan.perform(0) { $0.setStandings([VirtualLAN.identities[9].publicKey: .met], now: $1) }
        peer.live(on: session, for: .seconds(2))
        flood(lan, 100)
        let stranger = ScriptedPeer(lan, identity: 9, address: VirtualLAN.address(120))
        func answers(_ peer: ScriptedPeer) throws -> [UInt8] {
            let opening = try peer.initiation()
            guard let cookie = retry(peer.exchange(opening.bytes))?.cookie else { return [0] }
            return kinds(peer.exchange(withCookie(opening, cookie)))
        }
        for source in 0..<5 {
            let other = ScriptedPeer(lan, identity: 9, address: VirtualLAN.address(130 + source))
            for _ in 0..<20 { #expect(try answers(other) == [2], "what fails to open uses up nothing") }
        }
        #expect(try answers(stranger) == [], "strangers have used up their half")
        #expect(lan.drops(0, .answerLimit) == 1)
        #expect(try answers(peer) == [2], "a live link's address")
        #expect(try answers(ScriptedPeer(lan, identity: 9, address: known)) == [2], "a candidate of an instance")
        #expect(
            try answers(ScriptedPeer(lan, identity: 9, address: forged)) == [],
            "anybody can forge a stranger's instance")
        lan.run(for: .seconds(1))
        flood(lan, 110, first: 9_000)
        #expect(lan.hosts[0].endpoint.counters.sent[.response] ?? 0 <= 200)
    }

    @Test("an unconfirmed session shows nothing and is dropped after 5 s (L-12)")
    func unconfirmed() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        for (wait, isKept) in [(4_999, true), (5_000, false)] {
            let session = try peer.open()
            lan.forget()
            lan.run(for: .milliseconds(wait))
            #expect(lan.hosts[0].log.isEmpty)
            #expect(lan.hosts[0].sent.isEmpty)
            #expect(lan.hosts[0].endpoint.tableSizes.sessions == (isKept ? 1 : 0))
            peer.send([.bye(.quit)], on: session)
            #expect(lan.hosts[0].endpoint.tableSizes.sessions == 0)
        }
        #expect(lan.drops(0, .unknownIndex) == 1)
    }

    @Test("of more than 128 unconfirmed sessions the oldest goes, and links stay (L-12)")
    func manyUnconfirmed() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let live = try peer.link()
        let stranger = ScriptedPeer(lan, identity: 9, address: VirtualLAN.address(110))
        var sessions: [ScriptedPeer.Session] = []
        for index in 0..<130 {
            stranger.address = VirtualLAN.address(110 + index / 12)
            let opening = try stranger.initiation()
            var answer = stranger.exchange(opening.bytes)
            if let retry = retry(answer) { answer = stranger.exchange(withCookie(opening, retry.cookie)) }
            guard case .response(let response)? = answer.first, let session = stranger.finish(opening, response) else {
                continue
            }
            sessions.append(session)
            lan.run(for: .milliseconds(15))
        }
        #expect(sessions.count == 130)
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 1 + 128)
        for (index, isKept) in [(0, false), (1, false), (2, true), (129, true)] {
            stranger.send([stranger.heartbeat()], on: sessions[index])
            lan.run(for: .zero)
            #expect(!stranger.receive(on: sessions[index], anywhere: true).isEmpty == isKept, "session \(index)")
        }
        peer.send([.ping(3)], on: live)
        #expect(peer.receive(on: live).contains { $0.pong == 3 })
    }

    @Test("a replayed initiation changes nothing about a live link (L-12, R12)", arguments: [8, 2])
    func replayed(_ identity: Int) throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: identity)
        lan.find("a", key: peer.identity.publicKey, at: [peer.address])
        let opening = try peer.initiation()
        let session = try peer.open(opening)
        peer.greet(on: session)
        lan.forget()
        let thief = VirtualLAN.address(66)
        for _ in 0..<20 {
            lan.inject(opening.bytes, into: 0, from: thief)
            peer.live(on: session, for: .milliseconds(700))
            peer.send([peer.heartbeat(typing: true), .ping(5)], on: session)
            #expect(peer.receive(on: session).contains { $0.pong == 5 })
            #expect(lan.hosts[0].endpoint.typing(in: VirtualLAN.lobby.tag).count == 1)
        }
        #expect(lan.presences(0).isEmpty)
        #expect(lan.hosts[0].sent.filter { $0.destination == thief }.allSatisfy { $0.bytes.count == 57 })
        #expect(lan.initiations(0).isEmpty)
        lan.run(for: .seconds(5))
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 1)
    }

    @Test("a replayed initiation does not keep the larger key from opening for longer than 5 s (L-12, L-14)")
    func replayedWhilePending() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 2)
        let old = try peer.initiation().bytes
        lan.find("a", key: peer.identity.publicKey, at: [peer.address])
        lan.run(for: .milliseconds(400))
        lan.inject(old, into: 0, from: VirtualLAN.address(66))
        lan.forget()
        lan.run(for: .milliseconds(5_400))
        #expect(!lan.initiations(0).isEmpty)
    }

    @Test("an initiation whose keys give no secret is dropped (W-3, W-4)")
    func lowOrder() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        var noise = try peer.initiation().initiation.noise
        noise.replaceSubrange(0..<32, with: Array(repeating: 0, count: 32))
        let bytes = Initiation(senderIndex: 1, tag: VirtualLAN.lobby.tag, noise: noise).encode()
        #expect(peer.exchange(bytes).isEmpty)
        #expect(lan.drops(0, .unauthenticated) == 1)
    }

    @Test("who does not know the chat's secret gets no further than the response (R12)")
    func wrongSecret() throws {
        let secret = try #require(ChatSecret(Array(repeating: 5, count: 16)))
        let keys = ChatKeys(secret: secret)
        let lan = VirtualLAN()
        lan.add(identity: 5, chats: [keys])
        let outsider = ScriptedPeer(lan, identity: 8, chat: keys)
        let opening = try outsider.initiation(preSharedKey: VirtualLAN.lobby.preSharedKey)
        guard case .response(let response)? = outsider.exchange(opening.bytes).first else {
            Issue.record("message 1 can be read without the secret")
            return
        }
        #expect(outsider.finish(opening, response) == nil)
        lan.run(for: .seconds(6))
        #expect(lan.hosts[0].log.isEmpty)
        #expect(lan.hosts[0].endpoint.tableSizes.sessions == 0)
        // Nor does a response made without the secret complete anything.
        lan.perform(0) {
            $0.found("a", chat: keys.tag, key: outsider.identity.publicKey, addresses: [outsider.address], now: $1)
        }
        lan.run(for: .milliseconds(1))
        let initiation = try lastInitiation(lan)
        outsider.chat = VirtualLAN.lobby
        let (_, forged) = try outsider.answer(initiation)
        lan.inject(forged, into: 0, from: outsider.address)
        #expect(lan.drops(0, .unauthenticated) == 1)
    }

    @Test("indices are random and differ from one another (W-16)")
    func indices() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        var indices: Set<UInt32> = []
        for index in 0..<40 {
            indices.insert(try peer.open().remoteIndex)
            lan.find("\(index)", key: keys(60)[index].publicKey, at: [VirtualLAN.address(101)])
            lan.run(for: .milliseconds(30))
        }
        let opened = lan.initiations(0).map { $0.bytes[1...4].reduce(0) { $0 << 8 | UInt32($1) } }
        #expect(indices.count == 40)
        #expect(indices.isDisjoint(with: opened))
        #expect(indices.contains { $0 > 1 << 31 } && indices.contains { $0 < 1 << 31 })
        // 0 is an index like any other, and so is one that another peer uses too.
        let first = try peer.initiation(index: 0)
        #expect(kinds(peer.exchange(first.bytes)) == [2])
        let second = ScriptedPeer(lan, identity: 9, address: VirtualLAN.address(102))
        guard case .response(let response)? = second.exchange(try second.initiation(index: 0).bytes).first else {
            Issue.record("no response")
            return
        }
        #expect(response.receiverIndex == 0)
    }
}

extension UInt64 {
    fileprivate var bytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> (56 - 8 * UInt64($0))) } }
}
