import Inkling
import InklingCore
import InklingWire
import Testing

/// A table with one accepted interface, number 2, and the inputs that a test gives it.
private struct Plot {
    static let chat = {
        var random = SystemRandomNumberGenerator()
        return ChatKeys(secret: ChatSecret(using: &random)).id
    }()

    var table = InstanceTable()
    let start = ContinuousClock.now
    var now: ContinuousClock.Instant

    init(interfaces: Set<UInt32> = [2]) {
        now = start
        table.setAcceptedInterfaces(interfaces, now: now)
    }

    static func sighting(_ name: String, on interface: UInt32 = 2) -> InstanceTable.Sighting {
        InstanceTable.Sighting(instance: .init(chat: chat, name: name), interface: interface)
    }

    mutating func pass(_ time: Duration) {
        now += time
        table.advance(to: now)
    }

    /// Returns all lookups that may begin now.
    mutating func begin() -> [InstanceTable.Lookup] {
        var lookups: [InstanceTable.Lookup] = []
        while let lookup = table.nextLookup(now: now) { lookups.append(lookup) }
        return lookups
    }

    /// Answers all wanted lookups, with one IPv4 address for each interface, until none is left.
    mutating func lookUpAll(port: UInt16 = 7_000, txt: [UInt8] = [1]) {
        while true {
            let lookups = begin()
            guard !lookups.isEmpty else { break }
            for lookup in lookups {
                switch lookup.question {
                case .service: table.resolved(lookup, host: "h.local", port: port, txt: txt, now: now)
                case .addresses(.ipv4, _):
                    let address = Address(ipv4: 0x0A00_0000 + lookup.sighting.interface, port: 0)
                    table.answered(lookup, with: address, added: true, now: now)
                case .addresses(.ipv6, _): table.failed(lookup, now: now)
                }
            }
            pass(DiscoveryLimits.quietTime)
        }
    }

    static func found(_ name: String, _ hosts: [UInt32], port: UInt16 = 7_000, txt: [UInt8] = [1]) -> DiscoveryEvent {
        let addresses = hosts.map { Address(ipv4: 0x0A00_0000 + $0, port: port) }
        return .found(chat, instance: name, txt: txt, addresses: addresses)
    }

    static func lost(_ name: String) -> DiscoveryEvent { .lost(chat, instance: name) }
}

@Suite("Instances that discovery knows of")
struct DiscoveryInstanceTests {
    @Test("an instance added for two families is lost only with the second removal")
    func families() {
        var plot = Plot()
        plot.table.added(Plot.sighting("a"), now: plot.now)
        plot.table.added(Plot.sighting("a"), now: plot.now)
        plot.lookUpAll()
        #expect(plot.table.takeEvents() == [Plot.found("a", [2])])
        plot.table.removed(Plot.sighting("a"), now: plot.now)
        #expect(plot.table.takeEvents() == [])
        plot.table.removed(Plot.sighting("a"), now: plot.now)
        #expect(plot.table.takeEvents() == [Plot.lost("a")])
        plot.table.removed(Plot.sighting("a"), now: plot.now)
        #expect(plot.table.takeEvents() == [])
        let next = plot.table.nextDeadline()
        #expect(next == nil)
    }

    @Test("an instance on two interfaces is one, and lost with the last (R24)")
    func interfaces() {
        var plot = Plot(interfaces: [2, 3])
        plot.table.added(Plot.sighting("a", on: 3), now: plot.now)
        plot.lookUpAll()
        #expect(plot.table.takeEvents() == [Plot.found("a", [3])])
        plot.table.added(Plot.sighting("a", on: 2), now: plot.now)
        plot.lookUpAll()
        #expect(plot.table.takeEvents() == [Plot.found("a", [2, 3])])
        plot.table.removed(Plot.sighting("a", on: 3), now: plot.now)
        #expect(plot.table.takeEvents() == [Plot.found("a", [2])])
        plot.table.removed(Plot.sighting("a", on: 2), now: plot.now)
        #expect(plot.table.takeEvents() == [Plot.lost("a")])
    }

    @Test("what is seen on interfaces that are left out is not looked up; choosing them brings it (R30)")
    func choice() {
        var plot = Plot(interfaces: [2])
        plot.table.added(Plot.sighting("a", on: 3), now: plot.now)
        #expect(plot.begin().isEmpty)
        plot.table.setAcceptedInterfaces([3], now: plot.now)
        plot.lookUpAll()
        #expect(plot.table.takeEvents() == [Plot.found("a", [3])])
        plot.table.setAcceptedInterfaces([2], now: plot.now)
        #expect(plot.table.takeEvents() == [Plot.lost("a")])
    }

    @Test("own instances are listed, and neither looked up nor reported")
    func own() {
        var plot = Plot()
        let own = Plot.sighting("me").instance
        plot.table.setOwnInstances([own], now: plot.now)
        plot.table.added(Plot.sighting("me"), now: plot.now)
        #expect(plot.begin().isEmpty)
        #expect(plot.table.isListed(own))
        plot.table.setOwnInstances([], now: plot.now)
        plot.lookUpAll()
        #expect(plot.table.takeEvents() == [Plot.found("me", [2])])
    }

    // D-10, R36
    @Test("256 lookups begin in a row, then 16 a second, whatever is announced")
    func budget() {
        var plot = Plot()
        var begun = 0
        for number in 0..<2_000 { plot.table.added(Plot.sighting("forged \(number)"), now: plot.now) }
        func answer(for time: Duration) {
            let end = plot.now + time
            while plot.now < end {
                let lookups = plot.begin()
                begun += lookups.count
                for lookup in lookups { plot.table.failed(lookup, now: plot.now) }
                let next = plot.table.nextDeadline()
                plot.pass(max(min((next ?? end) - plot.now, .milliseconds(50)), .milliseconds(1)))
            }
        }
        answer(for: .milliseconds(100))
        #expect((256...258).contains(begun), "\(begun)")
        answer(for: .seconds(10))
        #expect((415...420).contains(begun), "\(begun)")
    }

    @Test("at most 16 lookups are under way; a free place is taken at once")
    func limit() {
        var plot = Plot()
        for number in 0..<64 { plot.table.added(Plot.sighting("i\(number)"), now: plot.now) }
        let first = plot.begin()
        #expect(first.count == 16)
        #expect(plot.table.inFlight.count == 16)
        plot.table.resolved(first[0], host: "h.local", port: 1, txt: [], now: plot.now)
        let next = plot.begin()
        #expect(next.map(\.question) == [.addresses(.ipv4, host: "h.local")])
        plot.table.removed(Plot.sighting(first[1].sighting.instance.name), now: plot.now)
        #expect(plot.table.inFlight[first[1]] == nil)
        #expect(plot.begin().map(\.question) == [.addresses(.ipv6, host: "h.local")])
    }

    @Test("all of 64 instances are found, whatever the order of the answers")
    func many() {
        var plot = Plot()
        for number in 0..<64 { plot.table.added(Plot.sighting("i\(number)"), now: plot.now) }
        plot.lookUpAll()
        #expect(plot.table.takeEvents().count == 64)
        #expect(plot.table.inFlight.isEmpty)
    }

    @Test("a lookup without an answer ends after 1 s and is tried again, ever more rarely, as long as it is listed")
    func retries() throws {
        var plot = Plot()
        plot.table.added(Plot.sighting("a"), now: plot.now)
        for attempt in 1...12 {
            let lookups = plot.begin()
            #expect(lookups.count == 1, "attempt \(attempt)")
            plot.pass(.milliseconds(999))
            #expect(plot.table.inFlight.count == 1)
            plot.pass(.milliseconds(1))
            #expect(plot.table.inFlight.isEmpty)
            #expect(plot.begin().isEmpty)
            let next = plot.table.nextDeadline()
            let due = try #require(next)
            #expect(due - plot.now == DiscoveryLimits.retryPause(afterAttempt: attempt))
            plot.now = due
        }
        #expect(plot.table.takeEvents() == [])
    }

    @Test(
        "the pause behind failed lookups doubles from 0.5 s to 60 s",
        arguments: [(1, 500), (2, 1_000), (5, 8_000), (7, 32_000), (8, 60_000), (1_000, 60_000)])
    func pauses(attempt: Int, milliseconds: Int) {
        #expect(DiscoveryLimits.retryPause(afterAttempt: attempt) == .milliseconds(milliseconds))
    }

    @Test("one never tried goes before those tried in vain")
    func order() {
        var plot = Plot()
        for number in 0..<40 { plot.table.added(Plot.sighting("bad\(number)"), now: plot.now) }
        func begin() -> Set<String> { Set(plot.begin().map(\.sighting.instance.name)) }
        let first = begin()
        plot.pass(.seconds(1))
        plot.table.added(Plot.sighting("new"), now: plot.now)
        plot.pass(.milliseconds(500))
        let second = begin()
        #expect(second.count == 16 && second.isDisjoint(with: first) && second.contains("new"))
        plot.pass(.seconds(1))
        let untried = Set((0..<40).map { "bad\($0)" }).subtracting(first).subtracting(second)
        #expect(untried.count == 9 && untried.isSubset(of: begin()))
    }

    @Test("a refused TXT record or port counts as no answer", arguments: [(0, 10), (7_000, 1_301)])
    func refused(port: UInt16, txtBytes: Int) {
        var plot = Plot()
        plot.table.added(Plot.sighting("a"), now: plot.now)
        let lookup = plot.begin()[0]
        let txt = Array(repeating: UInt8(0), count: txtBytes)
        plot.table.resolved(lookup, host: "h.local", port: port, txt: txt, now: plot.now)
        #expect(plot.table.inFlight.isEmpty)
        let next = plot.table.nextDeadline()
        #expect(next == plot.now + DiscoveryLimits.firstRetry)
    }

    @Test("at most 16 addresses are reported, of each interface in turn, and none that is foreign or unusable")
    func addresses() throws {
        var plot = Plot(interfaces: [2, 3])
        plot.table.added(Plot.sighting("a", on: 2), now: plot.now)
        plot.table.added(Plot.sighting("a", on: 3), now: plot.now)
        for lookup in plot.begin() {
            plot.table.resolved(lookup, host: "h.local", port: 9, txt: [], now: plot.now)
        }
        for lookup in plot.begin() {
            let interface = lookup.sighting.interface
            if case .addresses(.ipv4, _) = lookup.question {
                for host in 1...UInt32(12) {
                    let address = Address(ipv4: 0x0A00_0000 | interface << 8 | host, port: 0)
                    plot.table.answered(lookup, with: address, added: true, now: plot.now)
                }
                plot.table.answered(lookup, with: Address(ipv4: 0xE000_00FB, port: 0), added: true, now: plot.now)
            } else {
                for scope in [interface, interface + 10] {
                    let address = Address(high: 0xFE80 << 48, low: 1, port: 0, scope: scope)
                    plot.table.answered(lookup, with: address, added: true, now: plot.now)
                }
            }
        }
        guard case .found(_, _, _, let addresses) = try #require(plot.table.takeEvents().first) else {
            Issue.record("not found")
            return
        }
        #expect(addresses.count == 16)
        #expect(addresses.allSatisfy { $0.port == 9 })
        #expect(addresses.prefix(4).map { $0.ipv4.map { $0 >> 8 & 255 } } == [2, 3, 2, 3])
        #expect(addresses.allSatisfy { $0.ipv4 != 0xE000_00FB && $0.scope < 10 })
    }

    @Test("link-local addresses keep the scope of their interface")
    func scope() {
        var plot = Plot()
        plot.table.added(Plot.sighting("a"), now: plot.now)
        plot.table.resolved(plot.begin()[0], host: "h.local", port: 9, txt: [], now: plot.now)
        let address = Address(high: 0xFE80 << 48, low: 5, port: 0, scope: 2)
        plot.table.answered(plot.begin()[1], with: address, added: true, now: plot.now)
        let expected = Address(high: 0xFE80 << 48, low: 5, port: 9, scope: 2)
        #expect(
            plot.table.takeEvents() == [.found(Plot.chat, instance: "a", txt: [], addresses: [expected])])
    }

    @Test("instances outlive an outage, and are lost 5 s after it if they are not listed again (R24, R29)")
    func outage() {
        var plot = Plot()
        plot.table.added(Plot.sighting("stays"), now: plot.now)
        plot.table.added(Plot.sighting("goes"), now: plot.now)
        plot.lookUpAll()
        #expect(plot.table.takeEvents().count == 2)
        plot.table.suspend(now: plot.now)
        plot.pass(.seconds(600))
        #expect(plot.begin().isEmpty)
        #expect(plot.table.takeEvents() == [])
        plot.table.resume(now: plot.now)
        plot.table.added(Plot.sighting("stays"), now: plot.now)
        plot.lookUpAll()
        plot.pass(.milliseconds(4_500))
        #expect(plot.table.takeEvents() == [])
        plot.pass(.milliseconds(500))
        #expect(plot.table.takeEvents() == [Plot.lost("goes")])
        plot.table.removed(Plot.sighting("stays"), now: plot.now)
        #expect(plot.table.takeEvents() == [Plot.lost("stays")])
    }

    @Test("a second outage during the wait loses nothing")
    func outages() {
        var plot = Plot()
        plot.table.added(Plot.sighting("a"), now: plot.now)
        plot.lookUpAll()
        _ = plot.table.takeEvents()
        plot.table.suspend(now: plot.now)
        plot.table.resume(now: plot.now)
        plot.pass(.seconds(4))
        plot.table.suspend(now: plot.now)
        plot.pass(.seconds(60))
        #expect(plot.table.takeEvents() == [])
        plot.table.resume(now: plot.now)
        plot.table.added(Plot.sighting("a"), now: plot.now)
        plot.lookUpAll(port: 7_001)
        #expect(plot.table.takeEvents() == [Plot.found("a", [2], port: 7_001)])
        plot.pass(.seconds(6))
        #expect(plot.table.takeEvents() == [])
    }

    @Test("asked to refresh, it keeps the old address until the search for new ones is over")
    func refresh() {
        var plot = Plot()
        plot.table.added(Plot.sighting("a"), now: plot.now)
        plot.lookUpAll()
        _ = plot.table.takeEvents()
        plot.table.refresh(Plot.sighting("a").instance, now: plot.now)
        #expect(plot.begin().isEmpty, "it was looked up a moment ago")
        plot.pass(.seconds(2))
        plot.table.refresh(Plot.sighting("a").instance, now: plot.now)
        plot.table.resolved(plot.begin()[0], host: "h.local", port: 7_000, txt: [1], now: plot.now)
        let queries = plot.begin()
        plot.table.answered(queries[0], with: Address(ipv4: 0x0A00_0009, port: 0), added: true, now: plot.now)
        #expect(plot.table.takeEvents() == [Plot.found("a", [2, 9])])
        plot.pass(.seconds(1))
        #expect(plot.table.takeEvents() == [Plot.found("a", [9])])
        let next = plot.table.nextDeadline()
        #expect(next == nil)
    }

    @Test("a refresh that finds nothing leaves what is known")
    func vainRefresh() {
        var plot = Plot()
        plot.table.added(Plot.sighting("a"), now: plot.now)
        plot.lookUpAll()
        _ = plot.table.takeEvents()
        plot.pass(.seconds(2))
        plot.table.refresh(Plot.sighting("a").instance, now: plot.now)
        _ = plot.begin()
        plot.pass(.seconds(1))
        #expect(plot.table.takeEvents() == [])
    }

    @Test("a chat that was left is forgotten without an event, and late answers do nothing")
    func forget() {
        var plot = Plot()
        plot.table.added(Plot.sighting("a"), now: plot.now)
        plot.table.added(Plot.sighting("b"), now: plot.now)
        plot.lookUpAll()
        _ = plot.table.takeEvents()
        plot.table.added(Plot.sighting("c"), now: plot.now)
        let late = plot.begin()[0]
        plot.table.forget(Plot.chat)
        plot.table.resolved(late, host: "h.local", port: 1, txt: [], now: plot.now)
        #expect(plot.table.inFlight.isEmpty)
        #expect(plot.table.takeEvents() == [])
        let next = plot.table.nextDeadline()
        #expect(next == nil)
    }

    // M5 of the review of costs that others can cause on a node
    @Test("when full, one tried in vain gives way to a new one; without such a one any other")
    func full() {
        var plot = Plot()
        for number in 0..<DiscoveryLimits.sightings {
            plot.table.added(Plot.sighting("i\(number)"), now: plot.now)
        }
        let tried = plot.begin()
        plot.pass(.seconds(1))
        plot.table.added(Plot.sighting("new"), now: plot.now)
        let next = plot.table.nextLookup(now: plot.now)
        #expect(next?.sighting == Plot.sighting("new"), "the newest is looked up first")
        // As many new instances as the table has places evict all earlier ones.
        for number in 0..<100 {
            let sighting = Plot.sighting("newer\(number)")
            plot.table.added(sighting, now: plot.now)
            #expect(plot.table.knownCount == DiscoveryLimits.sightings)
            #expect(plot.table.isKnown(sighting))
        }
        #expect(tried.allSatisfy { !plot.table.isKnown($0.sighting) }, "those tried in vain went first")
    }

    @Test("an instance that gave way comes again: when another one goes, and in the place of one tried in vain")
    func displaced() {
        var plot = Plot()
        for number in 0..<(DiscoveryLimits.sightings + 1) {
            plot.table.added(Plot.sighting("i\(number)"), now: plot.now)
        }
        let names = (0...DiscoveryLimits.sightings).map { Plot.sighting("i\($0)") }
        let gone = names.filter { !plot.table.isKnown($0) }
        #expect(gone.count == 1)
        #expect(plot.table.isListed(gone[0].instance), "the browser lists it all the same")
        let other = names.first { plot.table.isKnown($0) }
        plot.table.removed(other ?? gone[0], now: plot.now)
        #expect(plot.table.isKnown(gone[0]))

        plot.table.added(other ?? gone[0], now: plot.now)
        let second = names.filter { !plot.table.isKnown($0) }
        #expect(second.count == 1)
        let tried = plot.begin()
        // By now all lookups have failed. The waiting instance takes the place of a failed one.
        plot.pass(.seconds(1))
        plot.pass(DiscoveryLimits.returnTime)
        #expect(plot.table.isKnown(second[0]))
        #expect(tried.filter { !plot.table.isKnown($0.sighting) }.count == 1)
        // An instance that the browser removes while it waits is forgotten.
        let third = names.filter { !plot.table.isKnown($0) }
        plot.table.removed(third[0], now: plot.now)
        #expect(!plot.table.isListed(third[0].instance))
    }

    @Test("sixteen lookups that hang keep nobody waiting, and of a crowd the newest and a random one take turns")
    func turns() {
        var plot = Plot()
        for number in 0..<1_000 { plot.table.added(Plot.sighting("forged\(number)"), now: plot.now) }
        #expect(plot.begin().count == DiscoveryLimits.lookups)
        plot.pass(.seconds(1))
        plot.table.added(Plot.sighting("friend"), now: plot.now)
        #expect(plot.begin().contains { $0.sighting == Plot.sighting("friend") })
        // New instances arrive all the time. Every second lookup picks a random one, so old ones get a turn.
        var isOld = 0
        for number in 0..<400 {
            plot.pass(.seconds(1))
            for copy in 0..<16 { plot.table.added(Plot.sighting("newer\(number)-\(copy)"), now: plot.now) }
            isOld += plot.begin().count { $0.sighting.instance.name.hasPrefix("forged") }
        }
        #expect(isOld > 200, "\(isOld) of the 984 that waited")
    }

    // D-18
    @Test("a host that is not in .local is not looked up")
    func elsewhere() {
        for (host, isLocal) in [
            ("h.local", true), ("H.LOCAL.", true), ("h.local.example.net", false), ("local", false), ("h", false),
            ("", false), ("example.net.", false), (#"h\.local."#, false), (#"h\\.local"#, true),
            (#"k\195\188che.local."#, true),
        ] {
            var plot = Plot()
            plot.table.added(Plot.sighting("a"), now: plot.now)
            plot.table.resolved(plot.begin()[0], host: host, port: 9, txt: [], now: plot.now)
            #expect(plot.begin().isEmpty != isLocal, "\(host)")
        }
    }

    @Test("of two TXT records on two interfaces the one reported first stays")
    func twoRecords() {
        var plot = Plot(interfaces: [2, 3])
        plot.table.added(Plot.sighting("a", on: 3), now: plot.now)
        plot.lookUpAll(txt: [1])
        _ = plot.table.takeEvents()
        plot.table.added(Plot.sighting("a", on: 2), now: plot.now)
        plot.lookUpAll(txt: [2])
        #expect(plot.table.takeEvents() == [])
        plot.table.removed(Plot.sighting("a", on: 3), now: plot.now)
        #expect(plot.table.takeEvents() == [Plot.found("a", [2], txt: [2])])
    }
}
