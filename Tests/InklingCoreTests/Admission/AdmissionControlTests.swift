import InklingTestSupport
import InklingWire
import Testing

@testable import InklingCore

@Suite("Admission control")
struct AdmissionControlTests {
    /// A node's admission, and how many sessions wait to be confirmed.
    private struct Bench {
        var effects = Parts.effects()
        var admission: AdmissionControl
        var unconfirmed = 0
        let surroundings = Parts.surroundings()

        init() { admission = AdmissionControl(now: .zero, &effects) }

        mutating func screen(
            _ initiation: Initiation = Parts.initiation(), from address: Address = Parts.here,
            _ acquaintance: Acquaintance = .none, at now: Int
        ) -> AdmissionControl.Screening {
            admission.screen(
                initiation, from: address, acquaintance, unconfirmedSessions: unconfirmed, surroundings, &effects,
                now: .at(now))
        }

        /// The cookie that a node under load makes now.
        mutating func cookie(
            for initiation: Initiation = Parts.initiation(), from source: Address = Parts.here, at now: Int = 0
        ) throws -> [UInt8] {
            unconfirmed = Limits.loadUnconfirmedSessions
            guard case .retry(let cookie, false) = screen(initiation, from: source, at: now) else {
                throw NoCookie()
            }
            return cookie
        }
    }

    private struct NoCookie: Error {}

    private func isRetry(_ screening: AdmissionControl.Screening, hadCookie: Bool) -> Bool {
        if case .retry(_, hadCookie) = screening { true } else { false }
    }

    @Test("of 101 initiations within a second the last has to prove its address (L-9)")
    func rate() {
        var bench = Bench()
        for index in 0..<100 {
            let screening = bench.screen(at: index * 5)
            #expect(screening == .open)
        }
        var late = bench
        let within = bench.screen(at: 999)
        #expect(isRetry(within, hadCookie: false))
        let after = late.screen(at: 1_000)
        #expect(after == .open)
    }

    @Test("initiations count for the load even while they are refused (L-9)")
    func refusedCount() {
        var bench = Bench()
        for _ in 0..<100 { _ = bench.screen(at: 0) }
        for _ in 0..<100 { _ = bench.screen(at: 900) }
        let screening = bench.screen(at: 1_500)
        #expect(isRetry(screening, hadCookie: false))
    }

    @Test(
        "with 64 unconfirmed sessions an initiation has to prove its address (L-9)",
        arguments: [(0, false), (63, false), (64, true), (128, true)])
    func unconfirmed(_ count: Int, isLoaded: Bool) {
        var bench = Bench()
        bench.unconfirmed = count
        let screening = bench.screen(at: 0)
        #expect(isRetry(screening, hadCookie: false) == isLoaded)
        #expect((screening == .open) != isLoaded)
    }

    enum Forgery: String, CaseIterable, Sendable {
        case none, otherBytes, otherAddress, otherPort, otherIndex, otherKey
    }

    @Test(
        "a cookie is good for the initiation and the source that it was made for (L-10)", arguments: Forgery.allCases)
    func cookies(_ forgery: Forgery) throws {
        var bench = Bench()
        var cookie = try bench.cookie()
        if forgery == .otherBytes { cookie[15] ^= 1 }
        let initiation = Parts.initiation(
            forgery == .otherIndex ? 2 : 1, ephemeral: forgery == .otherKey ? 8 : 7, cookie: cookie)
        let source =
            switch forgery {
            case .otherAddress: Parts.there
            case .otherPort: VirtualLAN.address(100, port: 4_001)
            case .none, .otherBytes, .otherIndex, .otherKey: Parts.here
            }
        let loaded = bench.screen(initiation, from: source, at: 10)
        if forgery == .none {
            #expect(loaded == .open)
        } else {
            #expect(isRetry(loaded, hadCookie: true))
        }
        bench.unconfirmed = 0
        let quiet = bench.screen(initiation, from: source, at: 20)
        #expect(quiet == .open)
    }

    @Test(
        "a cookie counts until its secret was changed twice (L-11)",
        arguments: [
            (name: "at once", made: 0, between: nil, shown: 0, counts: true),
            (name: "before the first change", made: 0, between: nil, shown: 119_999, counts: true),
            (name: "after the first change", made: 0, between: nil, shown: 120_000, counts: true),
            (name: "before the second change", made: 0, between: nil, shown: 239_999, counts: true),
            (name: "after the second, which was late", made: 0, between: nil, shown: 240_000, counts: false),
            (name: "before the second, after a late first", made: 0, between: 200_000, shown: 239_999, counts: true),
            (name: "after the second, after a late first", made: 0, between: 200_000, shown: 240_000, counts: false),
            (name: "of the second secret", made: 130_000, between: nil, shown: 359_999, counts: true),
            (name: "of the second secret, after its end", made: 130_000, between: nil, shown: 360_000, counts: false),
        ] as [(name: String, made: Int, between: Int?, shown: Int, counts: Bool)])
    func rotation(_ row: (name: String, made: Int, between: Int?, shown: Int, counts: Bool)) throws {
        var bench = Bench()
        let cookie = try bench.cookie(at: row.made)
        if let between = row.between { _ = bench.screen(at: between) }
        let screening = bench.screen(Parts.initiation(cookie: cookie), at: row.shown)
        #expect((screening == .open) == row.counts)
        #expect(isRetry(screening, hadCookie: true) != row.counts)
    }

    @Test("a source with cookies has twenty in a row, then five a second, from all of its ports (L-10)")
    func source() throws {
        var bench = Bench()
        let cookie = try bench.cookie()
        let otherPort = VirtualLAN.address(100, port: 4_001)
        let otherCookie = try bench.cookie(from: otherPort)
        for _ in 0..<20 {
            let screening = bench.screen(Parts.initiation(cookie: cookie), at: 0)
            #expect(screening == .open)
        }
        for (now, expected) in [
            (0, AdmissionControl.Screening.drop(.sourceLimit)), (199, .drop(.sourceLimit)), (200, .open),
            (399, .drop(.sourceLimit)), (400, .open),
        ] {
            let screening = bench.screen(Parts.initiation(cookie: cookie), at: now)
            #expect(screening == expected, "\(now)")
        }
        let samePlace = bench.screen(Parts.initiation(cookie: otherCookie), from: otherPort, at: 400)
        #expect(samePlace == .drop(.sourceLimit))
        let neighbourCookie = try bench.cookie(from: Parts.there, at: 400)
        let neighbour = bench.screen(Parts.initiation(cookie: neighbourCookie), from: Parts.there, at: 400)
        #expect(neighbour == .open)
    }

    @Test("the limit of a source is for who has a cookie: without load and cookie there is none")
    func noCookieNoLimit() {
        var bench = Bench()
        for _ in 0..<60 {
            let screening = bench.screen(at: 0)
            #expect(screening == .open)
        }
    }

    @Test("with 1,024 sources counted another one is taken as well, and one that is counted is forgotten (L-10)")
    func sourcesFull() throws {
        var bench = Bench()
        func initiation(_ host: Int) throws -> (Initiation, Address) {
            let source = Address(ipv4: 0x0A01_0000 + UInt32(host), port: 4_000)
            return (Parts.initiation(cookie: try bench.cookie(from: source)), source)
        }
        let (own, ownSource) = try initiation(5_000)
        for _ in 0..<20 { _ = bench.screen(own, from: ownSource, at: 0) }
        // Each proves its address, so the node has seen more sources than it counts.
        for host in 0..<2_048 {
            let at = host * 6
            let source = Address(ipv4: 0x0A01_0000 + UInt32(host), port: 4_000)
            let cookie = try bench.cookie(from: source, at: at)
            let screening = bench.screen(Parts.initiation(cookie: cookie), from: source, at: at)
            #expect(screening == .open, "\(host)")
        }
    }

    @Test("this host and the addresses of verified people's links have no limit of their source (L-10)")
    func exempt() throws {
        var bench = Bench()
        let cookie = try bench.cookie()
        for _ in 0..<60 {
            let verified = bench.screen(Parts.initiation(cookie: cookie), .verified, at: 0)
            #expect(verified == .open)
        }
        for count in 0..<25 {
            let preferred = bench.screen(Parts.initiation(cookie: cookie), .preferred, at: 0)
            #expect((preferred == .open) == (count < 20))
        }
    }

    @Test(
        "on the node's host, sockets of its user have no limit of a source, and all others 256 in a row (L-10)",
        arguments: [0x7F00_0001, 0x7F05_0607, 0x0A00_0001] as [UInt32])
    func ownHost(_ host: UInt32) throws {
        var bench = Bench()
        let (own, others) = (Address(ipv4: host, port: Parts.ownUsersPort), Address(ipv4: 0x7F00_0009, port: 9))
        let ofOwn = Parts.initiation(cookie: try bench.cookie(from: own))
        let ofOthers = Parts.initiation(cookie: try bench.cookie(from: others))
        for count in 0..<300 {
            let screening = bench.screen(ofOwn, from: own, .linked, at: 2_000)
            #expect(screening == .open)
            let other = bench.screen(ofOthers, from: others, .linked, at: 2_000)
            #expect((other == .open) == (count < Limits.linksOfOtherUsers), "\(count)")
        }
    }

    @Test("of initiations with a cookie from unknown addresses 200 a second are opened, and known ones besides (L-10)")
    func opened() throws {
        var bench = Bench()
        func screen(_ host: Int, _ acquaintance: Acquaintance) throws -> AdmissionControl.Screening {
            let source = Address(ipv4: 0x0A01_0000 + UInt32(host), port: 4_000)
            let cookie = try bench.cookie(from: source)
            return bench.screen(Parts.initiation(cookie: cookie), from: source, acquaintance, at: 0)
        }
        for host in 0..<200 { #expect(try screen(host, .none) == .open) }
        #expect(try screen(200, .none) == .drop(.answerLimit))
        for host in 201..<240 { #expect(try screen(host, .linked) == .open) }
    }

    @Test("500 retries go out a second, and to known addresses 200 besides (L-9)")
    func retries() {
        var bench = Bench()
        bench.unconfirmed = Limits.loadUnconfirmedSessions
        let unknown = (0..<10_000).filter { _ in isRetry(bench.screen(at: 0), hadCookie: false) }
        #expect(unknown.count == 500)
        let known = (0..<10_000).filter { _ in
            isRetry(bench.screen(Parts.initiation(), .linked, at: 999), hadCookie: false)
        }
        #expect(known.count == 200)
        let dropped = bench.screen(at: 999)
        #expect(dropped == .drop(.answerLimit))
        let later = bench.screen(at: 1_000)
        #expect(isRetry(later, hadCookie: false))
    }

    @Test(
        "of the answers of a second a half is for anybody, and a quarter each for links and for preferred people (L-10)",
        arguments: [(Acquaintance.none, 100), (.linked, 150), (.preferred, 200), (.verified, 200)])
    func answers(_ acquaintance: Acquaintance, limit: Int) {
        var admission = Bench().admission
        func admitted(_ acquaintance: Acquaintance, _ now: Int) -> Int {
            (0..<300).filter { _ in admission.admitsAnswer(to: acquaintance, now: .at(now)) }.count
        }
        #expect(admitted(acquaintance, 10) == limit)
        #expect(admitted(acquaintance, 1_009) == 0)
        #expect(admitted(.preferred, 1_009) == 200 - limit, "what is kept is there for others")
        #expect(admitted(acquaintance, 2_009) == limit)
    }

    @Test("of 64 tells a second half are for anybody (D-13)", arguments: [(Acquaintance.none, 32), (.linked, 64)])
    func tells(_ acquaintance: Acquaintance, limit: Int) {
        var admission = Bench().admission
        func admitted(_ acquaintance: Acquaintance, _ now: Int) -> Int {
            (0..<100).filter { _ in admission.admitsTell(to: acquaintance, now: .at(now)) }.count
        }
        #expect(admitted(acquaintance, 10) == limit)
        #expect(admitted(acquaintance, 1_009) == 0)
        #expect(admitted(.linked, 1_009) == 64 - limit)
        #expect(admitted(acquaintance, 2_009) == limit)
    }

    @Test("each of these limits is its own")
    func independent() {
        var admission = Bench().admission
        for _ in 0..<300 { _ = admission.admitsTell(to: .linked, now: .zero) }
        let answers = (0..<300).filter { _ in admission.admitsAnswer(to: .preferred, now: .zero) }
        #expect(answers.count == 200)
    }

    @Test("a full table forgets one entry for each that it takes, and none that is taken again")
    func forgetful() {
        var effects = Parts.effects()
        var table = ForgetfulTable<Int, Int>(capacity: 10)
        for key in 0..<10 { table.set(key, for: key, &effects) }
        for key in 0..<10 { table.set(key + 100, for: key, &effects) }
        #expect((0..<10).allSatisfy { table[$0] == $0 + 100 })
        table.set(1, for: 50, &effects)
        #expect(table.count == 10)
        #expect((0..<10).filter { table[$0] != nil }.count == 9)
        #expect(table[50] == 1)
        table.remove(50)
        #expect(table.count == 9)
        for key in 100..<1_100 { table.set(key, for: key, &effects) }
        #expect(table.count == 10)
        #expect((100..<1_090).contains { table[$0] != nil }, "it is not always the oldest that goes")
    }
}
