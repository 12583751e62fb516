import InklingWire
import Testing

@testable import InklingCore

/// Single rules, tested on the parts that implement them.
@Suite("Rules of links")
struct LinkRuleTests {
    @Test("No more than three times the bytes from an address may go there, and the count restarts with another (L-72)")
    func unconfirmedBytes() {
        var check = AddressCheck()
        let (one, other) = (World.address(8), World.address(9))
        check.received(28, from: one)
        let isTaken = check.take(84, to: one)
        let isMore = check.take(1, to: one)
        let isOther = check.take(1, to: other)
        #expect(isTaken && !isMore && !isOther)
        check.received(28, from: other)
        check.received(28, from: one)
        let isLeft = check.take(84, to: one)
        #expect(isLeft)
    }

    @Test("An older status than one that came on a down link is not applied (T-13)")
    func olderStatus() throws {
        var stage = LinkStage()
        stage.receive([.unheard], counter: 20)
        stage.receive([.beat, .pong(try #require(stage.pingTokens.last))], counter: 21)
        stage.receive([.typingOff, .name("Peer")], counter: 22)
        stage.receive([.typingOn], counter: 19)
        #expect(stage.lists.isEmpty)
        var down = LinkStage()
        down.receive([.unheard], counter: 20)
        down.receive([.pong(try #require(down.pingTokens.last))], counter: 21)
        down.receive([.typing(Status(isAway: true)), .name("Peer")], counter: 19)
        #expect(down.presences.map(\.presence) == [.online])
    }

    @Test("A status beyond the rate of L-25 is not applied, and neither is an older one afterwards (T-13)")
    func statusBeyondRate() {
        var stage = LinkStage(isShown: true)
        while stage.endpoint.counters.drops[.peerLimit] == nil { stage.receive([.ping(1)]) }
        let counter = stage.nextCounter
        stage.receive([.typingOff], counter: counter + 2)
        stage.run(.ms(20))
        stage.receive([.typingOn], counter: counter + 1)
        #expect(stage.lists.isEmpty)
        stage.receive([.typingOn], counter: counter + 3)
        #expect(stage.lists.map(\.isTyping) == [true])
    }

    @Test("The 10 s of L-84 count in all since the state began, over several times up")
    func lifetime() throws {
        var stage = LinkStage(isShown: true)
        stage.receive([.longBeat])
        stage.run(until: .ms(9_000))
        stage.receive([.beat])
        stage.run(until: .ms(12_100))
        #expect(stage.link?.isDown == true)
        stage.receive([.beat])
        stage.receive([.beat, .pong(try #require(stage.pingTokens.last))])
        #expect(stage.isUp)
        stage.run(.ms(3_100))
        #expect(stage.link?.isDown == true)
    }

    @Test("A new state begins with counters at 0, nothing marked and no awaited ping (L-69, W-20)")
    func newState() throws {
        var stage = LinkStage(isShown: true)
        stage.receive([.beat], counter: 40)
        let token = try #require(stage.pingTokens.last)
        let (id, before) = (stage.id, stage.seen.count)
        stage.with { endpoint, now in
            endpoint.replace(id, by: EpochPair(own: 1, peer: 0), now)
            endpoint.finish()
        }
        stage.join(900)
        #expect(stage.seen[before...].first?.counter == 0 && !stage.isUp)
        #expect(stage.presences.last?.presence == .online && stage.link?.isShown == false)
        let pong = LinkStage.keys.peer.seal([.beat, .pong(token)], receiverIndex: 900, counter: 40).encode()
        stage.deliver(pong)
        #expect(!stage.isUp && stage.link != nil)
    }

    @Test("Nothing is sent to the address of an up link, also for a down link there (L-2)")
    func sameAddress() {
        var stage = LinkStage(isShown: true)
        stage.with { endpoint, now in
            _ = endpoint.make(
                World.person(1), run: 70, EpochPair(own: 0, peer: 0), at: LinkStage.peerAddress, now)
        }
        let endpoint = stage.endpoint
        let destinations = endpoint.directory.targets(
            of: World.person(1), endpoint.links, endpoint.surroundings, now: stage.now)
        #expect(destinations.isEmpty)
    }

    @Test("More than 100 initiations of its chats a second are a load by themselves (L-9)")
    func load() {
        var effects = Effects(random: Seeded(1))
        var admission = AdmissionControl(now: .zero, &effects)
        let surroundings = Surroundings(configuration: .init(identity: World.identities[0], name: ""))
        func screen(_ now: Instant) -> AdmissionControl.Screening {
            admission.screen(
                hasCookie: false, from: World.address(9), .none, unconfirmedSessions: 0, isFar: false, surroundings,
                &effects, now: now)
        }
        #expect((0..<150).count { _ in screen(.zero) == .open } == 100)
        #expect(screen(.ms(1_001)) == .open)
    }

    @Test("Other users of the host may have a 256th link (L-78)")
    func hostLimit() {
        var surroundings = Surroundings(configuration: .init(identity: World.identities[0], name: ""))
        surroundings.networks = [World.network(1)]
        var generator = Seeded(91)
        var table = LinkTable()
        for index in 0..<255 {
            let id = table.nextID()
            table.add(
                Link(
                    id: id, personID: PersonID(chat: World.chat, key: KeyPair(using: &generator).publicKey),
                    run: id.value, epochs: EpochPair(own: 0, peer: 0),
                    at: Address(ipv4: 0x7F00_0001, port: UInt16(6_000 + index)), surroundings, now: .zero))
        }
        let room = table.room(for: World.person(3), at: World.address(1, port: 9), chatCount: 1, surroundings)
        #expect(room == .free)
    }

    @Test("Forgetting a link drops the pending handshakes and unconfirmed sessions of its key in its chat (L-87)")
    func handshakes() {
        var stage = LinkStage(isShown: true)
        stage.with {
            $0.found("i", chat: World.chat, key: World.key(1), addresses: [World.address(60)], now: $1)
            $0.found("j", chat: World.chat, key: World.key(2), addresses: [World.address(61)], now: $1)
            $0.advance(to: $1)
        }
        let session = Session(
            localIndex: 900, remoteIndex: 901, role: .responder, keys: LinkStage.keys.node,
            address: World.address(9), now: stage.now)
        stage.endpoint.handshakes.add(
            UnconfirmedSession(
                person: World.person(1), run: 10, epochs: EpochPair(own: 0, peer: 0), initiation: [1], response: [],
                createdAt: stage.now, session: session))
        let before = stage.endpoint.handshakes.attempts(with: World.person(1)).map(\.index)
        stage.receive([.bye(.quit)])
        #expect(before.count == 1 && stage.endpoint.handshakes.unconfirmedCount == 0)
        let after = stage.endpoint.handshakes.attempts(with: World.person(1)).map(\.index)
        #expect(!after.contains(before[0]))
        #expect(stage.endpoint.handshakes.attempts(with: World.person(2)).count == 1)
    }
}
