import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("Opening")
struct OpeningTests {
    let there = VirtualLAN.address(100)

    @Test("who opens first (L-1)", arguments: [("the smaller key at once", 8, 0), ("the larger after 300 ms", 2, 300)])
    func first(_ row: (name: String, peer: Int, at: Int)) {
        let lan = lonely()
        lan.run(until: .at(1_000))
        lan.find("a", key: VirtualLAN.identities[row.peer].publicKey, at: [there])
        lan.run(for: .milliseconds(550))
        #expect(lan.initiationTimes(0).first == 1_000 + row.at)
    }

    @Test("the larger key leaves the opening to a peer that began it (L-1)")
    func left() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 2)
        lan.find("a", key: peer.identity.publicKey, at: [there])
        lan.run(for: .milliseconds(200))
        let session = try peer.open()
        lan.run(for: .milliseconds(250))
        #expect(lan.initiations(0).isEmpty, "300 ms are not over since the peer's initiation")
        peer.greet(on: session)
        peer.live(on: session, for: .seconds(5))
        #expect(lan.initiations(0).isEmpty)
    }

    @Test("an initiation that leads nowhere holds the larger key back for 300 ms alone (L-1)")
    func heldBack() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 2)
        lan.find("a", key: peer.identity.publicKey, at: [there])
        lan.run(for: .milliseconds(200))
        _ = try peer.open()
        lan.run(for: .seconds(2))
        #expect(lan.initiationTimes(0).first == 500)
    }

    @Test("the smaller key opens at once to a new instance whatever has come of that peer (L-1)")
    func smallerIsNotHeldBack() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        _ = try peer.open()
        lan.find("a", key: peer.identity.publicKey, at: [there])
        lan.run(for: .milliseconds(1))
        #expect(lan.initiationTimes(0) == [0])
    }

    @Test(
        "after silence opening starts again: the smaller key at once, the larger 300 ms later (L-1, L-35)",
        arguments: [8, 2])
    func afterSilence(_ identity: Int) throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: identity)
        peer.interval = 10
        lan.find("a", key: peer.identity.publicKey, at: [there])
        _ = try peer.link()
        lan.forget()
        lan.run(for: .seconds(10))
        let down = try #require(lan.presences(0).first { $0.presence == .offline })
        #expect(down.at == 3_000)
        let times = lan.initiationTimes(0, to: there)
        #expect(times.first == (identity == 8 ? 3_000 : 3_300))
        #expect(times.count >= 5, "it is the first attempt again, without pauses")
    }

    @Test("an initiation goes to all candidates, and any valid response completes it (L-2)")
    func candidates() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let addresses = [101, 102, 103].map { VirtualLAN.address($0) }
        lan.find("a", key: peer.identity.publicKey, at: addresses)
        lan.run(for: .seconds(2.9))
        let packets = lan.initiations(0)
        #expect(Set(packets.map(\.bytes)).count == 1)
        for address in addresses { #expect(packets.filter { $0.destination == address }.count == 5) }
        let initiation = try lastInitiation(lan)
        // From an address that is none of the candidates.
        peer.address = VirtualLAN.address(104)
        let (session, response) = try peer.answer(initiation)
        _ = peer.arrived()
        lan.inject(response, into: 0, from: peer.address)
        #expect(peer.receive(on: session, anywhere: true).first?.hello != nil)
        peer.greet(on: session)
        #expect(lan.online(0) == ["Hand"])
        // The link follows there once a pong came from it.
        peer.live(on: session, for: .seconds(1))
        #expect(lan.hosts[0].endpoint.present(in: VirtualLAN.lobby.tag).first?.addresses == [peer.address])
        lan.forget()
        peer.live(on: session, for: .seconds(10))
        #expect(lan.initiations(0).isEmpty, "that link is its instance's link")
    }

    @Test("new candidates join an attempt with its next transmission (L-2)")
    func joining() {
        let lan = lonely()
        let key = VirtualLAN.identities[8].publicKey
        lan.find("a", key: key, at: [there])
        lan.run(for: .milliseconds(100))
        lan.find("a", key: key, at: [there, VirtualLAN.address(101)])
        lan.run(for: .milliseconds(2_800))
        #expect(lan.initiations(0, to: there).count == 5)
        #expect(lan.initiations(0, to: VirtualLAN.address(101)).count == 4)
        #expect(Set(lan.initiations(0).map(\.bytes)).count == 1)
    }

    @Test("an instance that a live link covers is not opened to (L-3)", arguments: [8, 2])
    func covered(_ identity: Int) throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: identity)
        let session = try peer.link()
        lan.find("a", key: peer.identity.publicKey, at: [VirtualLAN.address(101), there])
        lan.find("b", key: peer.identity.publicKey, at: [there])
        peer.live(on: session, for: .seconds(10))
        #expect(lan.initiations(0).isEmpty)
    }

    @Test("an instance under way that a live link comes to cover is not opened to any more (L-3, L-24)")
    func comesToCover() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let other = VirtualLAN.address(101)
        let session = try peer.link()
        lan.find("a", key: peer.identity.publicKey, at: [other])
        peer.live(on: session, for: .seconds(1))
        #expect(!lan.initiations(0).isEmpty)
        peer.move(to: other, on: session)
        peer.address = other
        let attempt = try #require(lan.initiations(0).last)
        lan.forget()
        peer.live(on: session, for: .seconds(20))
        #expect(lan.initiations(0).allSatisfy { $0.bytes == attempt.bytes }, "no further attempt")
    }

    @Test("an attempt sends the same bytes five times and ends at 3 s; the next has another index and key (L-4)")
    func attempt() {
        for seed in 0..<8 {
            let lan = lonely()
            lan.find("a", key: keys(8).map(\.publicKey).sorted()[seed], at: [there])
            lan.run(for: .seconds(6))
            let attempts = grouped(lan.initiations(0))
            let times = attempts[0].map(\.at.milliseconds)
            let start = times[0]
            #expect(times.count == 5)
            for (index, step) in [300, 300, 600, 1_200].enumerated() {
                let actual = times[index + 1] - times[index]
                #expect((step * 3 / 4...step * 5 / 4).contains(actual))
            }
            #expect(attempts.count >= 2)
            // The first pause is none.
            #expect(attempts[1][0].at.milliseconds == start + 3_000)
            #expect(attempts[0][0].bytes[1...4] != attempts[1][0].bytes[1...4])
            #expect(attempts[0][0].bytes[13...44] != attempts[1][0].bytes[13...44])
            #expect(Set(times.map { ($0 - start) % 300 }).count > 1, "steps vary")
        }
    }

    @Test("pauses grow to 2.5 s, and after 90 s an attempt is made each 60 s for as long as it is listed (L-5)")
    func pauses() {
        let lan = lonely()
        lan.find("a", key: VirtualLAN.identities[8].publicKey, at: [there])
        lan.run(for: .seconds(1_200))
        let starts = grouped(lan.initiations(0)).map { $0[0].at.milliseconds }
        let steps = zip(starts.dropFirst(), starts).map { $0 - $1 }
        #expect(steps[0] == 3_000)
        #expect((3_937...4_563).contains(steps[1]))
        #expect((4_875...6_125).contains(steps[2]))
        for (index, step) in steps.enumerated().dropFirst(3) {
            let isFast = starts[index] + 3_000 < 90_000
            let range = isFast ? 4_875...6_125 : 45_000...75_000
            #expect(range.contains(step), "attempt \(index + 1) at \(starts[index])")
        }
        #expect(Set(steps).count > 20, "steps vary")
        lan.perform(0) { $0.lost("a", chat: VirtualLAN.lobby.tag, now: $1) }
        lan.forget()
        lan.run(for: .seconds(200))
        #expect(lan.initiations(0).isEmpty)
        #expect(lan.hosts[0].endpoint.tableSizes.instances == 0)
    }

    @Test("the last address of a peer that fell silent is tried for 90 s alone (L-5)")
    func lastKnown() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        peer.interval = 10
        let session = try peer.link()
        for _ in 0..<10 {
            lan.run(for: .seconds(1))
            peer.send([peer.heartbeat()], on: session)
        }
        let last = lan.now.milliseconds
        lan.run(for: .seconds(3))
        lan.forget()
        lan.run(for: .seconds(300))
        #expect(!lan.initiations(0).isEmpty)
        #expect(lan.initiationTimes(0).allSatisfy { $0 <= last + 93_000 })
        #expect(lan.hosts[0].endpoint.tableSizes.instances == 0)
    }

    @Test("a stranger that is there for a moment leaves nothing to try behind (L-35)")
    func passingStranger() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        peer.interval = 10
        _ = try peer.link()
        lan.run(for: .seconds(5))
        #expect(lan.hosts[0].endpoint.tableSizes.instances == 0)
        #expect(lan.initiations(0).isEmpty)
    }

    @Test("a peer that was found before our own networks were known is opened once they are (D-8, R16)")
    func lateNetworks() {
        let lan = lonely()
        lan.perform(0) { $0.setNetworks([], port: 4_000, now: $1) }
        lan.find("a", key: VirtualLAN.identities[8].publicKey, at: [there])
        lan.run(for: .seconds(5))
        #expect(lan.initiations(0).isEmpty)
        lan.move(0, to: lan.hosts[0].address)
        lan.run(for: .seconds(1))
        #expect(!lan.initiations(0, to: there).isEmpty)
    }

    @Test(
        "48 initiations to strangers are pending at most, 64 in all, and the one tried most often gives way to one never tried (L-6)"
    )
    func pending() {
        let lan = lonely(identity: 0)
        let strangers = keys(90).map(\.publicKey)
        let friends = keys(20, seed: 98).map(\.publicKey)
        let friendsAddresses = Set((0..<20).map { VirtualLAN.address(90, port: 5_000 + UInt16($0)) })
        for (index, key) in strangers.prefix(80).enumerated() {
            lan.find("\(index)", key: key, at: [VirtualLAN.address(100 + index % 100, port: 5_000 + UInt16(index))])
        }
        lan.run(for: .milliseconds(2_900))
        #expect(Set(lan.initiations(0).map { Array($0.bytes[1...4]) }).count == 48)
        lan.perform(0) { $0.setStandings(Dictionary(uniqueKeysWithValues: friends.map { ($0, .met) }), now: $1) }
        for (index, key) in friends.enumerated() {
            lan.find("friend \(index)", key: key, at: [VirtualLAN.address(90, port: 5_000 + UInt16(index))])
        }
        lan.run(for: .milliseconds(10))
        #expect(Set(lan.initiations(0).map(\.destination)).intersection(friendsAddresses).count == 16)
        for index in friends.indices {
            lan.perform(0) { $0.lost("friend \(index)", chat: VirtualLAN.lobby.tag, now: $1) }
        }
        lan.run(for: .seconds(30))
        lan.forget()
        let late = VirtualLAN.address(200, port: 9_000)
        lan.find("late", key: strangers[85], at: [late])
        lan.run(for: .milliseconds(500))
        #expect(!lan.initiations(0, to: late).isEmpty)
        let tried = Set(lan.initiations(0).map(\.destination))
        lan.run(for: .seconds(30))
        #expect(tried.count < 80)
        #expect(Set(lan.initiations(0).map(\.destination)).count == 81, "all have their turn")
    }

    @Test("200 initiations a second are sent at most, whatever they are: attempts, transmissions, candidates (L-6)")
    func rate() {
        let lan = lonely(identity: 0)
        for (index, key) in keys(60).map(\.publicKey).enumerated() {
            lan.find(
                "\(index)", key: key, at: (0..<8).map { VirtualLAN.address(100 + $0, port: 5_000 + UInt16(index)) })
        }
        lan.run(for: .seconds(20))
        let times = lan.initiationTimes(0)
        #expect(times.filter { $0 == 0 }.count <= 200)
        #expect(times.count <= 200 + 20 * 200)
        #expect(times.count > 2_000, "none starves")
        #expect(mostInASecond(times) <= 200)
    }

    @Test("150 of these are to strangers at most, so that forged instances keep nobody's friends waiting (L-6)")
    func kept() {
        let lan = lonely(identity: 0)
        for (index, key) in keys(60).map(\.publicKey).enumerated() {
            lan.find(
                "\(index)", key: key, at: (0..<8).map { VirtualLAN.address(100 + $0, port: 5_000 + UInt16(index)) })
        }
        lan.run(for: .milliseconds(2_500))
        #expect(mostInASecond(lan.initiationTimes(0)) <= 150)
        let friend = VirtualLAN.identities[8].publicKey
        lan.perform(0) { $0.setStandings([friend: .verified], now: $1) }
        let addresses = (0..<8).map { VirtualLAN.address(50 + $0) }
        let found = lan.now.milliseconds
        lan.find("friend", key: friend, at: addresses)
        lan.run(for: .milliseconds(1))
        for address in addresses { #expect(lan.initiationTimes(0, to: address) == [found]) }
    }

    @Test("an address that never answers gets 4 initiations a second after 40, ten of them kept for friends (L-54)")
    func destination() {
        let lan = lonely(identity: 0)
        let chats = (0..<12).map { ChatKeys(openName: "chat \($0)") }
        for chat in chats { lan.perform(0) { try? $0.join(chat, now: $1) } }
        for (index, key) in keys(48).map(\.publicKey).enumerated() {
            lan.find("\(index)", key: key, at: [there], in: chats[index / 4])
        }
        lan.run(for: .zero)
        #expect(lan.initiations(0).count == 30)
        let friend = VirtualLAN.identities[8].publicKey
        lan.perform(0) { $0.setStandings([friend: .met], now: $1) }
        for (index, chat) in chats.enumerated() { lan.find("friend \(index)", key: friend, at: [there], in: chat) }
        lan.run(for: .zero)
        #expect(lan.initiations(0).count == 40)
        lan.run(for: .seconds(20))
        #expect(lan.initiations(0, to: there).count <= 40 + 20 * 4)
        #expect(lan.initiations(0, to: there).count >= 30 + 20 * 3)
    }

    @Test("an address that has answered gets as many initiations as there are (L-54)")
    func answeredDestination() throws {
        let lan = lonely(identity: 0)
        let chats = (0..<12).map { ChatKeys(openName: "chat \($0)") }
        for chat in chats { lan.perform(0) { try? $0.join(chat, now: $1) } }
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: peer.identity.publicKey, at: [there])
        lan.run(for: .zero)
        try peer.answerNewest()
        lan.forget()
        for (index, key) in keys(48).map(\.publicKey).enumerated() {
            lan.find("\(index)", key: key, at: [there], in: chats[index / 4])
        }
        lan.run(for: .zero)
        #expect(lan.initiations(0, to: there).count == 48)
    }

    @Test("an address over its limit is left out, and others of the instance are not (L-54)")
    func leftOut() {
        let lan = lonely(identity: 0)
        let chats = (0..<9).map { ChatKeys(openName: "chat \($0)") }
        for chat in chats { lan.perform(0) { try? $0.join(chat, now: $1) } }
        for (index, key) in keys(36).map(\.publicKey).enumerated() {
            lan.find("\(index)", key: key, at: [there], in: chats[index / 4])
        }
        lan.run(for: .zero)
        let second = VirtualLAN.address(101)
        lan.find("a", key: VirtualLAN.identities[8].publicKey, at: [there, second])
        lan.run(for: .zero)
        #expect(lan.initiations(0, to: there).count == 30)
        #expect(lan.initiations(0, to: second).count == 1)
    }

    @Test("an address with five keys is asked for its own, and no forged one is opened to there (D-17)")
    func crowd() throws {
        let lan = lonely(identity: 0)
        let peer = ScriptedPeer(lan, identity: 8)
        let forged = keys(50).map(\.publicKey)
        for (index, key) in forged.enumerated() { lan.find("\(index)", key: key, at: [there]) }
        lan.find("own", key: peer.identity.publicKey, at: [there])
        lan.run(for: .seconds(4))
        let asks = lan.sent(0, kind: 5).filter { $0.destination == there }
        #expect((3...6).contains(asks.count))
        // Four were opened to before the fifth was known, and got nothing more.
        #expect(lan.initiations(0).count == 4)
        #expect(lan.initiationTimes(0).allSatisfy { $0 == 0 })
        lan.forget()
        guard case .ask(let ask)? = try asks.last.map({ try Datagram.parse($0.bytes) }) else { return }
        let tell = Tell(token: ask.token, nonce: 0, key: peer.identity.publicKey.bytes)
        lan.inject(Datagram.tell(tell).encode(), into: 0, from: there)
        lan.run(for: .zero)
        #expect(lan.initiations(0, to: there).count == 1)
        try peer.answerNewest()
        peer.sayHello()
        #expect(lan.hosts[0].endpoint.tableSizes.links == 1)
        lan.forget()
        for _ in 0..<20 {
            peer.send([peer.heartbeat()])
            lan.run(for: .seconds(1))
        }
        #expect(lan.initiations(0).isEmpty)
        #expect(lan.sent(0, kind: 5).isEmpty, "a live link says who is there")
    }

    @Test("preferred keys are opened to in a crowd, and instances with another address at that one (D-17)")
    func preferredInCrowd() {
        let lan = lonely(identity: 0)
        let friend = VirtualLAN.identities[8].publicKey
        let second = VirtualLAN.address(101)
        lan.perform(0) { $0.setStandings([friend: .met], now: $1) }
        for (index, key) in keys(5).map(\.publicKey).enumerated() {
            lan.find("\(index)", key: key, at: [there])
        }
        lan.run(for: .seconds(4))
        lan.forget()
        lan.find("0", key: keys(5)[0].publicKey, at: [there, second])
        lan.find("friend", key: friend, at: [there])
        lan.run(for: .milliseconds(1_200))
        #expect(!lan.initiations(0, to: there).isEmpty)
        #expect(Set(lan.initiations(0, to: there).map { Array($0.bytes[1...4]) }).count == 1, "the friend's attempt")
        #expect(!lan.initiations(0, to: second).isEmpty)
        for index in 1..<5 { lan.perform(0) { $0.lost("\(index)", chat: VirtualLAN.lobby.tag, now: $1) } }
        lan.run(for: .seconds(6))
        lan.forget()
        lan.run(for: .seconds(10))
        #expect(Set(lan.initiations(0, to: there).map { Array($0.bytes[1...4]) }).count > 2, "two are no crowd")
        #expect(lan.sent(0, kind: 5).isEmpty, "nor are they asked")
    }

    @Test("64 crowded addresses are asked at a time, 20 new ones a second (D-17)")
    func manyCrowds() {
        let lan = lonely(identity: 0)
        let forged = keys(500).map(\.publicKey)
        for place in 0..<100 {
            for (index, key) in forged[(5 * place)..<(5 * place + 5)].enumerated() {
                lan.find("\(place) \(index)", key: key, at: [VirtualLAN.address(100, port: 5_000 + UInt16(place))])
            }
        }
        lan.run(for: .zero)
        #expect(lan.sent(0, kind: 5).count <= 20)
        lan.run(for: .seconds(30))
        #expect((500...564).contains(lan.hosts[0].endpoint.tableSizes.instances))
        #expect(lan.initiationTimes(0).allSatisfy { $0 < 4_000 }, "those from before the fifth key of a place")
    }

    @Test("a response to no handshake, or one that fails to open, leaves all as it was (L-7, W-15)")
    func badResponses() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: peer.identity.publicKey, at: [there])
        lan.run(for: .milliseconds(1))
        let initiation = try lastInitiation(lan)
        let (session, response) = try peer.answer(initiation)
        _ = peer.arrived()
        for byte in [5, 40, 56] {
            var broken = response
            broken[byte] ^= 1
            lan.inject(broken, into: 0, from: there)
        }
        var unknown = response
        unknown[1] ^= 1
        lan.inject(unknown, into: 0, from: there)
        #expect(lan.drops(0, .unauthenticated) == 3)
        #expect(lan.drops(0, .unknownIndex) == 1)
        #expect(peer.arrived(anywhere: true).isEmpty)
        lan.inject(response, into: 0, from: there)
        #expect(peer.receive(on: session).first?.hello != nil)
        lan.inject(response, into: 0, from: there)
        #expect(lan.drops(0, .unknownIndex) == 2, "it is no longer pending")
    }

    @Test("of the responses from an address four are opened for each transmission that went there (L-49)")
    func responseFlood() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: peer.identity.publicKey, at: [there])
        lan.run(for: .milliseconds(1))
        let (session, response) = try peer.answer(try lastInitiation(lan))
        var forged = response
        forged[40] ^= 1
        for _ in 0..<1_000 { lan.inject(forged, into: 0, from: there) }
        #expect(lan.drops(0, .unauthenticated) == 4)
        #expect(lan.drops(0, .responseLimit) == 996)
        lan.inject(response, into: 0, from: there)
        #expect(lan.drops(0, .responseLimit) == 997, "the genuine one is not told from the others")
        lan.run(for: .milliseconds(400))
        for _ in 0..<3 { lan.inject(forged, into: 0, from: there) }
        _ = peer.arrived()
        lan.inject(response, into: 0, from: there)
        #expect(peer.receive(on: session).first?.hello != nil, "the next transmission has four of its own")
        #expect(lan.drops(0, .unauthenticated) == 7)
    }

    @Test("a retry that is obeyed is a transmission to its address: four more responses are opened (L-49)")
    func responsesAfterRetry() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        lan.find("a", key: peer.identity.publicKey, at: [there])
        lan.run(for: .milliseconds(1))
        let initiation = try lastInitiation(lan)
        let (session, response) = try peer.answer(initiation)
        var forged = response
        forged[40] ^= 1
        for _ in 0..<5 { lan.inject(forged, into: 0, from: there) }
        let retry = Retry(receiverIndex: initiation.senderIndex, cookie: Array(repeating: 1, count: 16))
        lan.inject(Datagram.retry(retry).encode(), into: 0, from: there)
        _ = peer.arrived()
        lan.inject(response, into: 0, from: there)
        #expect(peer.receive(on: session).first?.hello != nil)
    }

    @Test("of responses from where no transmission went, 20 a second are opened for all handshakes (L-49)")
    func strayResponses() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let other = ScriptedPeer(lan, identity: 9, address: VirtualLAN.address(101))
        lan.find("a", key: peer.identity.publicKey, at: [there])
        lan.find("b", key: other.identity.publicKey, at: [other.address])
        lan.run(for: .milliseconds(1))
        let initiations = try lan.initiations(0).map { try Datagram.parse($0.bytes) }
        var responses: [[UInt8]] = []
        for case .initiation(let initiation) in initiations {
            let responder = (try? peer.answer(initiation)) == nil ? other : peer
            responses.append(try responder.answer(initiation).response)
        }
        #expect(responses.count == 2)
        for count in 0..<300 {
            var forged = responses[count % 2]
            forged[40] ^= 1
            lan.inject(forged, into: 0, from: VirtualLAN.address(120 + count % 50))
        }
        #expect(lan.drops(0, .unauthenticated) == 20)
        lan.inject(responses[0], into: 0, from: VirtualLAN.address(119))
        #expect(lan.drops(0, .responseLimit) == 281)
        lan.inject(responses[1], into: 0, from: other.address)
        #expect(lan.hosts[0].endpoint.counters.handshakesCompleted == 1, "candidates have their own share")
        lan.run(for: .seconds(1))
        lan.inject(responses[0], into: 0, from: VirtualLAN.address(119))
        #expect(lan.hosts[0].endpoint.counters.handshakesCompleted == 2)
    }

    @Test("a response whose index or key is another peer's does not open (L-7, R12)")
    func foreignResponse() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let thief = ScriptedPeer(lan, identity: 9, address: VirtualLAN.address(101))
        lan.find("a", key: peer.identity.publicKey, at: [there])
        lan.run(for: .milliseconds(1))
        let initiation = try lastInitiation(lan)
        #expect(throws: NoiseError.self) { try thief.answer(initiation) }
        // The thief can't read it, so it can only make something up.
        let forged = Response(receiverIndex: initiation.senderIndex, noise: Array(repeating: 9, count: 52)).encode()
        lan.inject(forged, into: 0, from: there)
        #expect(lan.online(0).isEmpty)
        #expect(lan.drops(0, .unauthenticated) == 1)
    }

    @Test("a retry is obeyed once a transmission, from where the initiation went, and there alone (L-13)")
    func retry() throws {
        let lan = lonely()
        let peer = ScriptedPeer(lan, identity: 8)
        let second = VirtualLAN.address(101)
        lan.find("a", key: peer.identity.publicKey, at: [there, second])
        lan.run(for: .milliseconds(1))
        let initiation = try lastInitiation(lan)
        let cookie = [UInt8](repeating: 3, count: 16)
        let retry = Retry(receiverIndex: initiation.senderIndex, cookie: cookie).encode()
        _ = peer.arrived()
        func answers(_ bytes: [UInt8], from source: Address) -> [VirtualLAN.Packet] {
            lan.inject(bytes, into: 0, from: source)
            return peer.arrived(anywhere: true)
        }
        #expect(answers(retry, from: VirtualLAN.address(102)).isEmpty, "it was not sent there")
        let unknown = Retry(receiverIndex: initiation.senderIndex ^ 1, cookie: cookie).encode()
        #expect(answers(unknown, from: there).isEmpty)
        let first = answers(retry, from: there)
        #expect(first.map(\.destination) == [there])
        #expect(first.map(\.bytes) == [initiation.encode() + cookie])
        #expect(answers(retry, from: there).isEmpty, "once")
        #expect(answers(retry, from: second).map(\.destination) == [second], "each address for itself")
        // Candidates that are new were not sent to yet.
        lan.find("a", key: peer.identity.publicKey, at: [there, second, VirtualLAN.address(103)])
        #expect(answers(retry, from: VirtualLAN.address(103)).isEmpty)
        lan.run(for: .milliseconds(400))
        _ = peer.arrived(anywhere: true)
        #expect(answers(retry, from: there).map(\.destination) == [there], "again after the next transmission")
        lan.run(for: .seconds(3))
        _ = peer.arrived(anywhere: true)
        #expect(answers(retry, from: there).isEmpty, "the attempt is over")
    }

    private func grouped(_ packets: [VirtualLAN.Packet]) -> [[VirtualLAN.Packet]] {
        var groups: [[VirtualLAN.Packet]] = []
        for packet in packets {
            if groups.last?.first?.bytes == packet.bytes {
                groups[groups.count - 1].append(packet)
            } else {
                groups.append([packet])
            }
        }
        return groups
    }
}
