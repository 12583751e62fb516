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

        init() { admission = AdmissionControl(now: .zero, &effects) }

        mutating func screen(
            _ initiation: Initiation = Parts.initiation(), from source: Address = Parts.here, at now: Int
        ) -> AdmissionControl.Screening {
            admission.screen(
                initiation, from: source, unconfirmedSessions: unconfirmed, &effects, now: .at(now))
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

    @Test("with 1,024 sources counted another one is dropped until one has its share back (L-10)")
    func sourcesFull() throws {
        var bench = Bench()
        func initiation(_ host: Int) throws -> (Initiation, Address) {
            let source = Address(ipv4: 0x0A01_0000 + UInt32(host), port: 4_000)
            return (Parts.initiation(cookie: try bench.cookie(from: source)), source)
        }
        for host in 0..<1_024 {
            let (initiation, source) = try initiation(host)
            let screening = bench.screen(initiation, from: source, at: 0)
            #expect(screening == .open)
        }
        let (last, lastSource) = try initiation(1_024)
        let full = bench.screen(last, from: lastSource, at: 199)
        #expect(full == .drop(.sourceLimit))
        let (first, firstSource) = try initiation(0)
        let known = bench.screen(first, from: firstSource, at: 199)
        #expect(known == .open)
        let free = bench.screen(last, from: lastSource, at: 200)
        #expect(free == .open)
    }

    @Test(
        "what is answered within a second is limited (L-8, L-10, D-13)",
        arguments: [
            (
                name: "strangers' initiations", limit: 100,
                admits: { @Sendable (admission: inout AdmissionControl, now: Instant) in
                    admission.admitsStranger(now: now)
                }
            ),
            (
                name: "all initiations", limit: 200,
                admits: { @Sendable (admission: inout AdmissionControl, now: Instant) in
                    admission.admitsAnswer(now: now)
                }
            ),
            (
                name: "asks", limit: 20,
                admits: { @Sendable (admission: inout AdmissionControl, now: Instant) in
                    admission.admitsTell(now: now)
                }
            ),
        ])
    func answers(
        _ row: (name: String, limit: Int, admits: @Sendable (inout AdmissionControl, Instant) -> Bool)
    ) {
        var admission = Bench().admission
        let first = (0..<row.limit).filter { _ in row.admits(&admission, .at(10)) }
        #expect(first.count == row.limit)
        for now in [10, 500, 1_009] {
            let isAdmitted = row.admits(&admission, .at(now))
            #expect(!isAdmitted)
        }
        let second = (0..<row.limit + 5).filter { _ in row.admits(&admission, .at(1_010)) }
        #expect(second.count == row.limit)
    }

    @Test("each of these limits is its own")
    func independent() {
        var admission = Bench().admission
        for _ in 0..<300 {
            _ = admission.admitsStranger(now: .zero)
            _ = admission.admitsTell(now: .zero)
        }
        let answers = (0..<300).filter { _ in admission.admitsAnswer(now: .zero) }
        #expect(answers.count == 200)
    }
}
