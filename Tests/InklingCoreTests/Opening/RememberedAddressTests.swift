import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Remembered addresses and turns")
struct RememberedAddressTests {
    /// An address where nobody is.
    private func silent(_ number: Int) -> Address { VirtualLAN.address(100 + number % 100) }

    /// Lists a number of instances with the key of one node to another.
    private func forge(_ count: Int, of victim: Int, to viewer: Int, _ lan: VirtualLAN, round: Int = 0) {
        let key = lan.hosts[victim].endpoint.publicKey
        for number in 0..<count { lan.find("forged \(round) \(number)", key: key, at: [silent(number)], by: viewer) }
    }

    /// Two nodes that know each other as `standing`, lose each other, and find only forged instances for a minute.
    private func separated(_ standing: Standing, forged: Int) -> VirtualLAN {
        let lan = twoNodes()
        for index in 0..<2 {
            let friend = lan.hosts[1 - index].endpoint.publicKey
            lan.perform(index) { $0.setStandings([friend: standing], now: $1) }
        }
        lan.cut()
        for round in 0..<60 {
            for index in 0..<2 { forge(forged, of: 1 - index, to: index, lan, round: round) }
            lan.run(for: .seconds(1))
        }
        lan.perform(0) { $0.lost("instance 1", chat: VirtualLAN.lobby.tag, now: $1) }
        lan.perform(1) { $0.lost("instance 0", chat: VirtualLAN.lobby.tag, now: $1) }
        return lan
    }

    @Test(
        "forged instances don't keep friends apart: they meet where they were within 5 s (D-19, D-9)",
        arguments: [Standing.met, .verified])
    func friendsMeet(_ standing: Standing) {
        let lan = separated(standing, forged: 20)
        #expect(lan.online(0).isEmpty)
        lan.repair()
        lan.run(for: .seconds(5))
        #expect(lan.online(0) == ["Bob"])
        #expect(lan.online(1) == ["Alice"])
        lan.expectWorking(0, 1)
    }

    @Test("strangers are opened to at no remembered address (D-19)")
    func strangers() {
        let lan = separated(.stranger, forged: 1)
        lan.run(for: .seconds(90))
        lan.forget()
        lan.run(for: .seconds(60))
        #expect(lan.initiations(0, to: lan.hosts[1].address).isEmpty)
    }

    @Test("a friend that fell silent is tried every 5 s for good, and 5 s after a farewell (D-19, L-35)")
    func pace() {
        let lan = separated(.met, forged: 0)
        lan.run(for: .seconds(200))
        lan.forget()
        lan.run(for: .seconds(20))
        let times = lan.initiationTimes(0, to: lan.hosts[1].address)
        let starts = zip([-9_000] + times, times).filter { $1 - $0 > 2_000 }.map(\.1)
        #expect((3...5).contains(starts.count))
        lan.repair()
        lan.run(for: .seconds(6))
        #expect(lan.online(0) == ["Bob"])
        lan.forget()
        let left = lan.now.milliseconds
        lan.perform(1) { $0.quit(now: $1) }
        lan.run(for: .seconds(8))
        #expect(lan.initiationTimes(0).first.map { $0 - left }.map { (4_900...5_400).contains($0) } == true)
    }

    @Test("a friend who is a stranger again, and a chat that was left, leave no address behind (D-19)")
    func forgotten() {
        let lan = separated(.met, forged: 0)
        #expect(lan.hosts[0].endpoint.tableSizes.instances == 1)
        lan.perform(0) { $0.setStandings([:], now: $1) }
        #expect(lan.hosts[0].endpoint.tableSizes.instances == 0)
        lan.perform(1) { try? $0.leave(VirtualLAN.lobby.tag, now: $1) }
        #expect(lan.hosts[1].endpoint.tableSizes.instances == 0)
    }

    @Test("the last two addresses of 32 keys are remembered, those of verified people longest (D-19)")
    func bounded() throws {
        var bench = try DirectoryBench()
        let keys = keys(34).map(\.publicKey)
        bench.surroundings.standings = Dictionary(uniqueKeysWithValues: keys.map { ($0, .met) })
        bench.surroundings.standings[keys[0]] = .verified
        for (number, key) in keys.enumerated() {
            for address in [Parts.here, Parts.there, silent(number)] {
                let link = Parts.link(1, key: key, at: address)
                bench.directory.noteAddress(of: link, bench.links, bench.surroundings)
            }
        }
        let sources = bench.directory.sources.unordered
        #expect(sources.count == 32)
        #expect(sources.contains { $0.key == keys[0] && $0.addresses == [silent(0), Parts.there] })
        #expect(sources.contains { $0.key == keys[33] })
        #expect(!sources.contains { $0.key == keys[1] })
    }

    @Test("all instances of a key get their turn, four at once (D-9)")
    func turns() {
        let lan = lonely(identity: 0)
        let key = VirtualLAN.identities[8].publicKey
        for number in 0..<24 { lan.find("\(number)", key: key, at: [silent(number)]) }
        lan.run(for: .milliseconds(100))
        #expect(Set(lan.initiations(0).map(\.destination)).count == 4)
        lan.run(for: .seconds(60))
        #expect(Set(lan.initiations(0).map(\.destination)).count == 24)
    }

    @Test("an instance that gave way comes back at the pace that it had (D-9)")
    func returning() throws {
        var bench = try DirectoryBench()
        for number in 0..<64 {
            try bench.add(
                .waiting, origin: .discovered("\(number)"), at: silent(number), attempts: number == 7 ? 9 : 1)
        }
        bench.directory.sources[PeerSourceID(value: 8)].pace = .slow(attempts: 9)
        _ = bench.found("new")
        #expect(bench.directory.sources.id(of: .discovered("7"), in: Parts.chat) == nil)
        _ = bench.found("7")
        let id = try #require(bench.directory.sources.id(of: .discovered("7"), in: Parts.chat))
        #expect(bench.directory.sources[id].pace == .slow(attempts: 9))
    }

    @Test("an instance without room is opened to when another of its key goes, unless it went itself (D-9)")
    func withoutRoom() throws {
        var bench = try DirectoryBench()
        for number in 0..<64 {
            try bench.add(.waiting, origin: .discovered("\(number)"), at: silent(number), attempts: 0)
        }
        _ = bench.found("gone")
        _ = bench.found("late")
        #expect(bench.directory.sources.id(of: .discovered("late"), in: Parts.chat) == nil)
        for name in ["gone", "3"] { _ = bench.lost(name) }
        let id = try #require(bench.directory.sources.id(of: .discovered("late"), in: Parts.chat))
        #expect(bench.due(id) != nil)
        _ = bench.lost("4")
        #expect(bench.directory.sources.id(of: .discovered("gone"), in: Parts.chat) == nil)
    }
}
