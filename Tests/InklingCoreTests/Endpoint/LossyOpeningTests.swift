import InklingWire
import Testing

@testable import InklingCore

/// The time in which links come up on a network that loses datagrams.
@Suite("Lossy openings")
struct LossyOpeningTests {
    @Test("Where 30 % are lost, 95 of 100 pairs show each other within 2.5 s (L-4, L-74, L-82)")
    func loss() {
        let delays = delays { $0.listAll() }
        #expect(delays[delays.count / 2] <= .ms(900))
        #expect(delays[delays.count * 95 / 100] <= .ms(2_500))
        #expect(delays.last.map { $0 < .seconds(30) } == true)
    }

    @Test("Where 30 % are lost, 95 of 100 pairs by hand show each other within 4 s (D-11, D-12)")
    func lossByHand() {
        let delays = delays { lan in lan.with(0) { $0.addPeer(World.address(2), now: $1) } }
        #expect(delays[delays.count / 2] <= .ms(1_300))
        #expect(delays[delays.count * 95 / 100] <= .seconds(4))
        #expect(delays.last.map { $0 < .seconds(30) } == true)
    }

    /// Returns how long 1,000 pairs took until both ends were up, in ascending order.
    private func delays(_ introduce: (TestLAN) -> Void) -> [Duration] {
        (0..<1_000).map { seed in
            let lan = TestLAN()
            lan.delay = .ms(1)
            var random = Seeded(UInt64(seed))
            lan.filter = { _ in UInt8.random(in: 0..<100, using: &random) >= 30 }
            lan.start(0)
            lan.start(1)
            introduce(lan)
            let start = lan.now
            while lan.now - start < .seconds(30), !(lan.isUp(0, to: 1) && lan.isUp(1, to: 0)) { lan.run(.ms(10)) }
            return lan.now - start
        }.sorted()
    }
}
