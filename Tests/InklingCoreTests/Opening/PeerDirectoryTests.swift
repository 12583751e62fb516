import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Directory of peers")
struct PeerDirectoryTests {
    // MARK: Discovery

    @Test("an instance that is found again as it was changes nothing", arguments: OpeningState.allCases)
    func foundAgain(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        let moved = bench.found()
        #expect(moved == nil)
        #expect(bench.state(bench.first) == state)
        #expect(bench.leads() == (state == .attempting))
    }

    @Test("new addresses begin an opening, unless one is under way or the peer rests", arguments: OpeningState.allCases)
    func foundElsewhere(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        _ = bench.found(at: [Parts.there])
        #expect(bench.directory.sources[bench.first].addresses == [Parts.there])
        switch state {
        case .idle, .waiting:
            #expect(bench.state(bench.first) == .waiting)
            #expect(bench.due(bench.first) == .at(100))
            #expect(bench.directory.sources[bench.first].pace == .untried)
        case .resting, .attempting, .greeting: #expect(bench.state(bench.first) == state)
        }
        #expect(bench.leads() == (state == .attempting))
    }

    @Test("another key begins an opening in every state", arguments: OpeningState.allCases)
    func foundWithAnotherKey(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        _ = bench.found(key: Parts.key(2))
        #expect(bench.due(bench.first) == .at(100))
        #expect(bench.state(bench.first) == .waiting)
        #expect(bench.directory.sources[bench.first].key == Parts.key(2))
        #expect(!bench.leads())
    }

    @Test("a peer that its link covers is opened to no more, but probed where it may have moved (L-41)")
    func foundCovered() throws {
        var bench = try DirectoryBench(.idle)
        let link = bench.cover(bench.first)
        let same = bench.found()
        #expect(same == nil)
        let moved = bench.found(at: [Parts.there])
        #expect(moved == link.id)
        #expect(bench.state(bench.first) == .idle)
        // Where another instance has the address of that link, the link is that one's.
        _ = bench.found("b")
        let other = bench.found(at: [Parts.elsewhere])
        #expect(other == nil)
        #expect(bench.directory.sources[bench.first].link == nil)
        #expect(bench.state(bench.first) == .waiting)
    }

    @Test("the larger key leaves the first attempt to the other for 300 ms (L-1)", arguments: [0, 5])
    func turn(_ identity: Int) throws {
        var bench = try DirectoryBench()
        bench.surroundings = Parts.surroundings(identity: identity)
        _ = bench.found(key: Parts.key(3))
        #expect(bench.due(bench.first) == .at(identity == 0 ? 100 : 400))
    }

    @Test(
        "an instance that is not listed any more is gone in every state without a link",
        arguments: OpeningState.allCases)
    func lost(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        let unknown = bench.lost("b")
        #expect(unknown == nil)
        var covered = bench
        let probed = bench.lost("a")
        #expect(probed == nil)
        #expect(bench.state(bench.first) == nil)
        #expect(!bench.leads())
        // With one it stays until that ends, and the link is probed.
        let link = covered.cover(covered.first)
        let probe = covered.lost("a")
        #expect(probe == link.id)
        #expect(covered.state(covered.first) == state)
        #expect(!covered.directory.sources[covered.first].isListed)
    }

    // MARK: By hand

    @Test("a key that was known is no news", arguments: OpeningState.allCases)
    func toldAgain(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state, origin: .byHand(Parts.here))
        bench.directory.sources[bench.first].askToken = 3
        let told = bench.told(Parts.key(1), for: bench.first)
        #expect(told == .peer)
        #expect(bench.state(bench.first) == state)
        #expect(bench.leads() == (state == .attempting))
        #expect(bench.directory.sources[bench.first].askToken == nil)
    }

    @Test("a key that is told begins an opening in every state", arguments: OpeningState.allCases)
    func toldAnother(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state, origin: .byHand(Parts.here))
        let told = bench.told(Parts.key(2), for: bench.first)
        #expect(told == .peer)
        #expect(bench.state(bench.first) == .waiting)
        #expect(bench.due(bench.first) == .at(100))
        #expect(bench.directory.sources[bench.first].person == Parts.person(2))
        #expect(!bench.leads())
    }

    @Test("an address that turns out to be our own is asked again after a minute", arguments: OpeningState.allCases)
    func toldOneself(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state, origin: .byHand(Parts.here))
        let first = bench.told(Parts.key(0), for: bench.first)
        #expect(first == .oneself(isNews: true))
        #expect(bench.due(bench.first) == .at(60_100))
        #expect(bench.directory.sources[bench.first].key == nil)
        #expect(!bench.leads())
        let second = bench.told(Parts.key(0), for: bench.first)
        #expect(second == .oneself(isNews: false))
    }

    // MARK: Links

    @Test("a session that became a link's ends the opening there", arguments: OpeningState.allCases)
    func bind(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        let byHand = try bench.add(state, origin: .byHand(Parts.there), at: Parts.there)
        let away = try bench.add(state, origin: .discovered("c"), at: Parts.elsewhere)
        let lastKnown = try bench.add(state, origin: .lastKnown(expires: .at(90_000)))
        let stranger = try bench.add(state, origin: .discovered("d"), key: Parts.key(2))
        let link = Parts.link(1)
        bench.links.add(link)
        bench.directory.bind(link, opener: byHand, at: Parts.here, isSending: true)
        for id in [bench.first, byHand] {
            #expect(bench.state(id) == .idle)
            #expect(bench.directory.sources[id].link == link.id)
            #expect(bench.directory.sources[id].pace == .untried)
        }
        #expect(bench.state(lastKnown) == nil)
        for id in [away, stranger] {
            #expect(bench.state(id) == state)
            #expect(bench.directory.sources[id].link == nil)
        }
        #expect(bench.directory.sources.attemptCount == (state == .attempting ? 2 : 0))
        #expect(!bench.leads(7))
        #expect(bench.directory.candidates(coveredBy: link) == [Parts.here, Parts.there])
        #expect(bench.directory.coversByHand(link))
    }

    @Test(
        "a handshake for a new session of a link is done when that sends (L-37)", arguments: OpeningState.allCases,
        [true, false])
    func bindRekey(_ state: OpeningState, isSending: Bool) throws {
        let link = Parts.link(1)
        var bench = try DirectoryBench()
        let rekey = try bench.add(state, origin: .rekey(link.id), link: link.id)
        let other = try bench.add(state, origin: .rekey(LinkID(value: 2)), link: LinkID(value: 2))
        #expect(bench.directory.hasRekey(of: link))
        bench.directory.bind(link, opener: nil, at: Parts.here, isSending: isSending)
        #expect(bench.directory.hasRekey(of: link) != isSending)
        #expect(bench.state(rekey) == (isSending ? nil : state))
        #expect(bench.state(other) == state)
        #expect(bench.leads() == (state == .attempting && !isSending))
    }

    struct End: Sendable, CustomTestStringConvertible {
        let reason: PresenceReason
        let state: OpeningState
        var testDescription: String { "\(reason), \(state)" }

        static let all = [PresenceReason.silence, .bye, .will, .full, .blocked, .replaced].flatMap { reason in
            OpeningState.allCases.map { End(reason: reason, state: $0) }
        }
    }

    @Test("what the end of a link makes of the sources that it covered (L-35)", arguments: End.all)
    func ended(_ end: End) throws {
        var bench = try DirectoryBench(end.state)
        let link = bench.cover(bench.first)
        let byHand = try bench.add(end.state, origin: .byHand(Parts.there), at: Parts.there, link: link.id)
        let unlisted = try bench.add(end.state, origin: .discovered("c"), link: link.id)
        bench.directory.sources[unlisted].isListed = false
        let rekey = try bench.add(end.state, origin: .rekey(link.id), link: link.id)
        let other = try bench.add(end.state, origin: .discovered("d"), at: Parts.elsewhere)
        bench.ended(link, end.reason, now: 20_000)
        switch end.reason {
        case .silence:
            for id in [bench.first, byHand] {
                #expect(bench.state(id) == .waiting)
                #expect(bench.due(id) == .at(20_000))
                #expect(bench.directory.sources[id].pace == .untried)
            }
        case .bye, .will, .full:
            #expect(bench.state(bench.first) == .resting)
            #expect(bench.due(bench.first) == .at(80_000))
            #expect(bench.directory.sources[bench.first].pace == .slow(attempts: 1))
            #expect(bench.state(byHand) == .resting)
            #expect(bench.due(byHand) == .at(25_000))
            #expect(bench.directory.sources[byHand].pace == .afterFarewellByHand)
        case .hello, .back, .away, .blocked, .replaced:
            #expect(bench.state(bench.first) == .idle)
            #expect(bench.state(byHand) == .idle)
        }
        for id in [bench.first, byHand] { #expect(bench.directory.sources[id].link == nil) }
        #expect(bench.state(unlisted) == nil)
        #expect(bench.state(rekey) == nil)
        #expect(bench.state(other) == end.state)
        #expect(bench.directory.sources.attemptCount == (end.state == .attempting ? 1 : 0))
        #expect(bench.directory.sources.count == 3)
    }

    @Test(
        "the address of a silent peer is kept if the link was old enough and nothing else leads there (L-35)",
        arguments: [
            (name: "no source", source: nil, age: 10_000, isListed: true, hasOther: false, keeps: true),
            (name: "too young", source: nil, age: 9_999, isListed: true, hasOther: false, keeps: false),
            (name: "a source there", source: Parts.here, age: 10_000, isListed: true, hasOther: false, keeps: false),
            (name: "one not listed", source: Parts.here, age: 10_000, isListed: false, hasOther: false, keeps: true),
            (name: "elsewhere", source: Parts.there, age: 10_000, isListed: true, hasOther: false, keeps: true),
            (name: "another link", source: nil, age: 10_000, isListed: true, hasOther: true, keeps: false),
        ] as [(name: String, source: Address?, age: Int, isListed: Bool, hasOther: Bool, keeps: Bool)])
    func remembers(
        _ row: (name: String, source: Address?, age: Int, isListed: Bool, hasOther: Bool, keeps: Bool)
    ) throws {
        var bench = try DirectoryBench()
        let link = Parts.link(1)
        bench.links.add(link)
        if let source = row.source {
            let id = try bench.add(.idle, origin: .discovered("a"), at: source, link: link.id)
            bench.directory.sources[id].isListed = row.isListed
        }
        if row.hasOther { bench.links.add(Parts.link(2, at: Parts.elsewhere)) }
        bench.ended(link, .silence, now: row.age)
        let origin = PeerSource.Origin.lastKnown(expires: .at(row.age + 90_000))
        let kept = bench.directory.sources.id(of: origin, in: Parts.chat)
        #expect((kept != nil) == row.keeps)
        if let kept {
            #expect(bench.directory.sources[kept].addresses == [Parts.here])
            #expect(bench.due(kept) == .at(row.age))
        }
    }

    @Test("of 65 last known addresses the oldest goes (L-35)")
    func manyRemembered() throws {
        var bench = try DirectoryBench(.attempting, origin: .lastKnown(expires: .at(90_000)))
        for now in 1...64 {
            bench.directory.remember(Parts.link(1), bench.links, bench.surroundings, now: .at(now))
        }
        #expect(bench.directory.sources.count == 64)
        #expect(bench.state(bench.first) == nil)
        #expect(!bench.leads())
    }

    @Test(
        "a farewell without a link leaves the peer alone, where no link covers it (L-35)",
        arguments: OpeningState.allCases)
    func farewell(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        let opener = try bench.add(state, origin: .byHand(Parts.there), at: Parts.there)
        let covered = try bench.add(state, origin: .discovered("c"), link: LinkID(value: 1))
        let elsewhere = try bench.add(state, origin: .discovered("d"), at: Parts.elsewhere)
        let stranger = try bench.add(state, origin: .discovered("e"), key: Parts.key(2))
        bench.directory.farewell(of: Parts.person(), opener: opener, at: Parts.here, now: .at(100))
        #expect(bench.state(bench.first) == .resting)
        #expect(bench.due(bench.first) == .at(60_100))
        #expect(bench.state(opener) == .resting)
        #expect(bench.due(opener) == .at(5_100))
        for id in [covered, elsewhere, stranger] { #expect(bench.state(id) == state) }
        #expect(!bench.leads(7))
        #expect(!bench.leads(8))
        #expect(bench.directory.sources.attemptCount == (state == .attempting ? 3 : 0))
    }

    @Test("a new handshake of a link begins then, unless one is under way (L-37)", arguments: OpeningState.allCases)
    func rekey(_ state: OpeningState) throws {
        let link = Parts.link(1)
        var bench = try DirectoryBench(state, origin: .rekey(link.id))
        bench.directory.rekey(link, at: .at(9_000))
        #expect(bench.directory.sources[bench.first].link == link.id)
        switch state {
        case .attempting, .greeting: #expect(bench.state(bench.first) == state)
        case .idle, .waiting, .resting:
            #expect(bench.state(bench.first) == .waiting)
            #expect(bench.due(bench.first) == .at(9_000))
        }
        #expect(bench.leads() == (state == .attempting))
        #expect(bench.directory.sources.count == 1)
    }

    @Test("the first handshake for a new session of a link has a source of its own")
    func firstRekey() throws {
        var bench = try DirectoryBench()
        let link = Parts.link(1)
        bench.directory.rekey(link, at: .at(9_000))
        #expect(bench.due(bench.first) == .at(9_000))
        #expect(bench.directory.sources[bench.first].addresses == [link.address])
    }

    // MARK: Leaving

    @Test("openings that are ended are idle, the others go on", arguments: OpeningState.allCases)
    func idle(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        let other = try bench.add(state, origin: .discovered("b"), key: Parts.key(2))
        bench.directory.idle { $0.key == Parts.key(1) }
        #expect(bench.state(bench.first) == .idle)
        #expect(bench.state(other) == state)
        #expect(!bench.leads(7))
        #expect(bench.leads(8) == (state == .attempting))
    }

    @Test("nothing is left of a chat that is left", arguments: OpeningState.allCases)
    func removeAll(_ state: OpeningState) throws {
        var bench = try DirectoryBench(state)
        bench.directory.removeAll(of: Parts.otherChat)
        #expect(bench.state(bench.first) == state)
        bench.directory.removeAll(of: Parts.chat)
        #expect(bench.directory.sources.count == 0)
        #expect(!bench.leads())
    }
}
