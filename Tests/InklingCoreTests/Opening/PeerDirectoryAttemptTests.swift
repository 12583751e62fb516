import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Attempts of the directory")
struct PeerDirectoryAttemptTests {
    // MARK: Beginning

    @Test(
        "what keeps an opening from beginning",
        arguments: [
            (name: "nothing", makes: .waiting, until: 100), (name: "suspended", makes: .greeting, until: nil),
            (name: "no key", makes: .waiting, until: 100), (name: "blocked", makes: .idle, until: nil),
            (name: "no address", makes: .idle, until: nil), (name: "covered", makes: .idle, until: nil),
        ] as [(name: String, makes: OpeningState, until: Int?)])
    func start(_ row: (name: String, makes: OpeningState, until: Int?)) throws {
        var bench = try DirectoryBench(.greeting)
        let id = bench.first
        switch row.name {
        case "suspended": bench.surroundings.activity = .suspended(isBehind: false)
        case "no key": bench.directory.sources.setKey(of: id, to: nil)
        case "blocked": bench.surroundings.blocked = [Parts.key(1).userID]
        case "no address": bench.directory.sources[id].addresses = []
        case "covered": bench.links.add(Parts.link(1))
        default: break
        }
        bench.directory.start(id, bench.links, bench.surroundings, now: .at(100))
        #expect(bench.state(id) == row.makes)
        #expect(bench.due(id) == row.until.map(Instant.at))
        #expect(bench.directory.sources[id].link == (row.name == "covered" ? LinkID(value: 1) : nil))
        #expect((bench.directory.sources[id].pace == .untried) == (row.name != "suspended"))
    }

    @Test("all openings begin, in every state; or those of some", arguments: OpeningState.allCases)
    func startAll(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        let other = try bench.add(state, origin: .discovered("b"), key: Parts.key(2))
        bench.directory.startAll(where: { $0.key == Parts.key(1) }, bench.links, bench.surroundings, now: .at(100))
        #expect(bench.due(bench.first) == .at(100))
        #expect(bench.state(other) == state)
        bench.directory.startAll(bench.links, bench.surroundings, now: .at(200))
        #expect(bench.due(bench.first) == .at(200))
        #expect(bench.due(other) == .at(200))
        #expect(bench.directory.sources.attemptCount == 0)
    }

    @Test("openings that were tried and go on start over, no others do (L-40)", arguments: OpeningState.allCases)
    func restart(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        let untried = try bench.add(state, origin: .discovered("b"), attempts: 0)
        let covered = try bench.add(state, origin: .discovered("c"), link: LinkID(value: 1))
        bench.directory.restartUnderWay(bench.links, bench.surroundings, now: .at(100))
        switch state {
        case .waiting, .attempting:
            #expect(bench.state(bench.first) == .waiting)
            #expect(bench.due(bench.first) == .at(100))
            #expect(bench.directory.sources[bench.first].pace == .untried)
        case .idle, .resting, .greeting: #expect(bench.state(bench.first) == state)
        }
        #expect(!bench.leads())
        for id in [untried, covered] { #expect(bench.state(id) == state) }
        #expect(bench.leads(8) == (state == .attempting))
    }

    // MARK: Time

    @Test("nothing goes out before it is due", arguments: OpeningState.allCases)
    func early(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        bench.advance(bench.first, now: 200)
        #expect(bench.state(bench.first) == state)
        #expect(bench.leads() == (state == .attempting))
        #expect(bench.sent().isEmpty)
    }

    @Test(
        "what is due goes out: the first transmission of an attempt, or a further one", arguments: OpeningState.allCases
    )
    func due(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        bench.advance(bench.first, now: 700)
        let sent = bench.sent()
        switch state {
        case .idle, .greeting:
            #expect(sent.isEmpty)
            #expect(bench.state(bench.first) == state)
        case .waiting, .resting, .attempting:
            #expect(sent.map(\.kind) == [.initiation])
            #expect(sent.map(\.to) == [Parts.here])
            #expect(bench.state(bench.first) == .attempting)
        }
        #expect(bench.leads() == (state == .attempting))
        let isNew = state == .waiting || state == .resting
        #expect(bench.directory.sources[bench.first].pace.attempts == (isNew ? 2 : 1))
        #expect(bench.directory.sources.attemptCount == (isNew || state == .attempting ? 1 : 0))
    }

    @Test(
        "what keeps an attempt from beginning that is due", arguments: [OpeningState.waiting, .resting],
        ["left", "suspended", "covered", "left to the peer", "elsewhere under way", "greeted", "crowded"])
    func obstacle(_ state: OpeningState, name: String) throws {
        var bench = try DirectoryBench(state)
        var expected: Instant?
        switch name {
        case "suspended": bench.surroundings.activity = .suspended(isBehind: true)
        case "covered": bench.links.add(Parts.link(1))
        case "left to the peer":
            bench.surroundings = Parts.surroundings(identity: 5)
            bench.handshakes.add(
                GreetingSession(
                    person: Parts.person(), presumedLink: nil, stream: 1, session: Parts.session(99), now: .zero))
            expected = .at(3_000)
        case "elsewhere under way":
            try bench.add(.attempting, origin: .byHand(Parts.here))
            expected = .at(1_000)
        case "greeted":
            try bench.add(.greeting, origin: .byHand(Parts.here))
            expected = .at(1_000)
        case "crowded":
            for _ in 0..<200 { _ = bench.directory.initiationsSent.take(.at(600)) }
            expected = .at(950)
        default: break
        }
        bench.advance(bench.first, isMember: name != "left", now: .at(700))
        #expect(bench.sent().isEmpty)
        #expect(bench.state(bench.first) == (expected == nil ? .idle : .waiting))
        #expect(bench.due(bench.first) == expected)
        #expect(bench.directory.sources[bench.first].link == (name == "covered" ? LinkID(value: 1) : nil))
    }

    @Test("a transmission waits 50 ms when the node has sent as many initiations as it may (L-6)")
    func putOff() throws {
        var bench = try DirectoryBench(.attempting)
        for _ in 0..<200 { _ = bench.directory.initiationsSent.take(.at(600)) }
        bench.advance(bench.first, now: 700)
        #expect(bench.sent().isEmpty)
        #expect(bench.directory.sources[bench.first].opening.nextDeadline == .at(750))
        #expect(bench.leads())
    }

    @Test(
        "a last known address is forgotten when its time is over, in every state (L-35)",
        arguments: OpeningState.allCases)
    func expired(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state, origin: .lastKnown(expires: .at(200)))
        bench.advance(bench.first, now: 199)
        #expect(bench.state(bench.first) == state)
        bench.advance(bench.first, now: 200)
        #expect(bench.state(bench.first) == nil)
        #expect(!bench.leads())
    }

    @Test("an address by hand is asked for its key, ever more rarely (D-11)")
    func asks() throws {
        var bench = try DirectoryBench(.waiting, origin: .byHand(Parts.here), key: nil)
        bench.directory.sources[bench.first].pace = .untried
        for pause in [300, 600, 1_200, 2_400, 5_000, 5_000] {
            let now = try #require(bench.due(bench.first))
            bench.advance(bench.first, now: now)
            #expect(bench.sent().map(\.kind) == [.ask])
            let part = (try #require(bench.due(bench.first)) - now).nanoseconds * 100 / (Int64(pause) * 1_000_000)
            #expect((75...125).contains(part))
        }
        let token = try #require(bench.directory.sources[bench.first].askToken)
        #expect(bench.directory.source(asking: token, at: Parts.here)?.id == bench.first)
        #expect(bench.directory.source(asking: token, at: Parts.there) == nil)
        #expect(bench.directory.source(asking: token &+ 1, at: Parts.here) == nil)
    }

    // MARK: Pending ones

    @Test("with 64 pending one never tried takes the place of the one tried most (L-6)", arguments: [1, 0])
    func crowded(_ attempts: Int) throws {
        var bench = try DirectoryBench()
        let keys = keys(64).map(\.publicKey)
        for index in 0..<64 {
            try bench.add(
                .attempting, origin: .discovered("\(index)"), key: keys[index], at: VirtualLAN.address(110 + index),
                attempts: index == 40 ? 5 : 4, now: .at(600))
        }
        let id = try bench.add(.waiting, origin: .discovered("last"), attempts: attempts)
        bench.advance(id, now: 700)
        #expect(bench.directory.sources.attemptCount == 64)
        let victim = PeerSourceID(value: 41)
        if attempts == 0 {
            #expect(bench.state(id) == .attempting)
            #expect(bench.due(victim) == .at(1_700))
            #expect(!bench.leads(47))
        } else {
            #expect(bench.due(id) == .at(950))
            #expect(bench.state(victim) == .attempting)
            #expect(bench.leads(47))
        }
    }

    @Test("with 64 pending that were tried once none gives way (L-6)")
    func crowdedByFirstAttempts() throws {
        var bench = try DirectoryBench()
        let keys = keys(64).map(\.publicKey)
        for index in 0..<64 {
            try bench.add(
                .attempting, origin: .discovered("\(index)"), key: keys[index], at: VirtualLAN.address(110 + index),
                now: .at(600))
        }
        let id = try bench.add(.waiting, origin: .discovered("last"), attempts: 0)
        bench.advance(id, now: 700)
        #expect(bench.due(id) == .at(950))
    }

    @Test("the peer's own handshake takes the place of ours there (L-14)", arguments: OpeningState.allCases)
    func abandon(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        let elsewhere = try bench.add(state, origin: .discovered("b"), at: Parts.there)
        let stranger = try bench.add(state, origin: .discovered("c"), key: Parts.key(2))
        bench.directory.abandon(Parts.person(), at: Parts.here, until: .at(3_000))
        #expect(bench.state(bench.first) == (state == .attempting ? .waiting : state))
        if state == .attempting { #expect(bench.due(bench.first) == .at(3_000)) }
        #expect(!bench.leads(7))
        for id in [elsewhere, stranger] { #expect(bench.state(id) == state) }
        // It does so where ours is the only one, wherever that goes, but not where two go elsewhere.
        let another = try bench.add(state, origin: .discovered("d"), at: Parts.there)
        bench.directory.abandon(Parts.person(), at: Parts.here, until: .at(4_000))
        for id in [elsewhere, another] { #expect(bench.state(id) == state) }
        bench.directory.sources.remove(another)
        bench.directory.abandon(Parts.person(), at: Parts.here, until: .at(4_000))
        #expect(bench.state(elsewhere) == (state == .attempting ? .waiting : state))
        #expect(bench.state(stranger) == state)
    }

    // MARK: Failures

    @Test("a handshake that failed is tried again after the pause (L-5)", arguments: OpeningState.allCases)
    func failed(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        bench.directory.sources[bench.first].pace = .fast(since: .zero, attempts: 2)
        bench.directory.failed(bench.first, bench.links, bench.handshakes, &bench.effects, now: .at(3_000))
        switch state {
        case .idle, .waiting, .resting: #expect(bench.state(bench.first) == state)
        case .attempting, .greeting:
            #expect(bench.state(bench.first) == .waiting)
            let pause = try #require(bench.due(bench.first)) - .at(3_000)
            #expect(pause * 100 >= .milliseconds(1_250) * 75 && pause * 100 <= .milliseconds(1_250) * 125)
        }
        #expect(!bench.leads())
    }

    @Test("a greeting has not failed while its session is in use")
    func greetingInUse() throws {
        var bench = try DirectoryBench(.greeting)
        bench.handshakes.add(
            GreetingSession(
                person: Parts.person(), presumedLink: nil, stream: 1, session: Parts.session(7), now: .zero))
        bench.directory.failed(bench.first, bench.links, bench.handshakes, &bench.effects, now: .at(3_000))
        #expect(bench.state(bench.first) == .greeting)
        bench.handshakes.remove(7)
        bench.links.own(7, LinkID(value: 1))
        bench.directory.failed(bench.first, bench.links, bench.handshakes, &bench.effects, now: .at(3_000))
        #expect(bench.state(bench.first) == .greeting)
    }

    @Test("what failed of an instance that is not listed is gone", arguments: OpeningState.allCases)
    func failedUnlisted(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        bench.directory.sources[bench.first].isListed = false
        bench.directory.failed(bench.first, bench.links, bench.handshakes, &bench.effects, now: .at(3_000))
        #expect(bench.state(bench.first) == (state == .attempting || state == .greeting ? nil : state))
        #expect(!bench.leads())
    }

    @Test(
        "a handshake for a new session is tried a minute after the last began (L-37)", arguments: OpeningState.allCases)
    func failedRekey(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state, origin: .rekey(LinkID(value: 1)))
        bench.directory.failed(bench.first, bench.links, bench.handshakes, &bench.effects, now: .at(3_000))
        if state == .attempting || state == .greeting {
            #expect(bench.due(bench.first) == .at(60_000))
        } else {
            #expect(bench.state(bench.first) == state)
        }
    }

    @Test("an attempt fails by itself after 3 s (L-4)")
    func failsByTime() throws {
        var bench = try DirectoryBench(.attempting)
        bench.advance(bench.first, now: 2_999)
        #expect(bench.state(bench.first) == .attempting)
        bench.advance(bench.first, now: 3_000)
        #expect(bench.state(bench.first) == .waiting)
        #expect(!bench.leads())
    }

    // MARK: Responses and retries

    @Test("a response completes the handshake of its index, once (L-7)", arguments: OpeningState.allCases)
    func response(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        var noise = [UInt8](repeating: 0, count: Response.noiseSize)
        if case .attempting(let attempt) = bench.directory.sources[bench.first].opening {
            let received = try NoiseResponder.read(
                identity: VirtualLAN.identities[1], prologue: attempt.initiation.prologue,
                message: attempt.initiation.noise)
            noise = try received.reply(
                ephemeral: bench.effects.keyPair(), preSharedKey: VirtualLAN.lobby.preSharedKey,
                payload: UInt32(4_711).bigEndianBytes
            ).message
            var forged = noise
            forged[51] ^= 1
            let answer = bench.receive(Response(receiverIndex: 7, noise: forged))
            guard case .drop(.unauthenticated) = answer else {
                Issue.record("forged: \(answer)")
                return
            }
            #expect(bench.leads())
        }
        let first = bench.receive(Response(receiverIndex: 7, noise: noise))
        switch (first, state) {
        case (.completed(let completion), .attempting):
            #expect(completion.localIndex == 7)
            #expect(completion.remoteIndex == 4_711)
            #expect(completion.person == Parts.person())
            #expect(bench.state(bench.first) == .greeting)
        case (.drop(.unknownIndex), .idle), (.drop(.unknownIndex), .waiting), (.drop(.unknownIndex), .resting),
            (.drop(.unknownIndex), .greeting):
            #expect(bench.state(bench.first) == state)
        default: Issue.record("\(first)")
        }
        #expect(!bench.leads())
        guard case .drop(.unknownIndex) = bench.receive(Response(receiverIndex: 7, noise: noise)) else {
            Issue.record("the index still leads to the attempt")
            return
        }
    }

    @Test("a retry is obeyed once, from where the transmission went (L-13)", arguments: OpeningState.allCases)
    func retry(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        // The first transmission of the attempt goes out here, and with 100 ms to spare before the next.
        if state == .attempting { bench.advance(bench.first, now: 375) }
        let isObeyed = state == .attempting && bench.sent().count == 1
        #expect(isObeyed == (state == .attempting))
        let retry = Retry(receiverIndex: 7, cookie: [UInt8](repeating: 9, count: 16))
        bench.directory.receive(retry, from: Parts.there, bench.surroundings, &bench.effects, now: .at(400))
        #expect(bench.sent().isEmpty)
        bench.directory.receive(retry, from: Parts.here, bench.surroundings, &bench.effects, now: .at(400))
        #expect(bench.sent().map(\.to) == (state == .attempting ? [Parts.here] : []))
        bench.directory.receive(retry, from: Parts.here, bench.surroundings, &bench.effects, now: .at(400))
        #expect(bench.sent().isEmpty)
        #expect(bench.effects.counters.drops[.unexpected] == (state == .attempting ? 2 : 3))
        #expect(bench.state(bench.first) == state)
    }
}
