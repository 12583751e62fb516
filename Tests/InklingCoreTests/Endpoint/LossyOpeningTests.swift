import InklingWire
import Testing

@testable import InklingCore

/// The time in which links come up on a network that loses datagrams.
@Suite("Lossy openings")
struct LossyOpeningTests {
    @Test("Where 30 % are lost, 95 of 100 pairs show each other within 2.5 s (L-4, L-74, L-82)")
    func loss() {
        let count = 1_000
        let delays = (0..<count).map { seed in
            let lan = TestLAN()
            lan.delay = .ms(1)
            var random = Seeded(UInt64(seed))
            lan.filter = { _ in UInt8.random(in: 0..<100, using: &random) >= 30 }
            lan.start(0)
            lan.start(1)
            lan.listAll()
            let start = lan.now
            while lan.now - start < .seconds(30), !(lan.isUp(0, to: 1) && lan.isUp(1, to: 0)) { lan.run(.ms(10)) }
            return lan.now - start
        }.sorted()
        #expect(delays[count / 2] <= .ms(900))
        #expect(delays[count * 95 / 100] <= .ms(2_500))
        #expect(delays.last.map { $0 < .seconds(30) } == true)
    }
}
