import InklingWire
import Testing

@testable import InklingCore

/// Some nodes that restart, move, stop and suspend, on a network that loses, delays, cuts and reorders.
@Suite("Chaos")
struct ChaosTests {
    @Test("After any chaos all nodes show each other, by one link each, and no message arrived twice", arguments: 1...8)
    func chaos(seed: Int) {
        var random = Seeded(UInt64(seed) &+ 1_000)
        func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
        let lan = TestLAN(seed: UInt64(seed))
        for id in 0..<3 { lan.start(id) }
        lan.listAll()
        var suspended: Set<Int> = []
        var stopped: Set<Int> = []
        var host = 20
        for step in 0..<60 {
            let id = below(3)
            switch below(12) {
            case 0: lan.loss = below(4) * 10
            case 1: lan.jitter = .ms(below(3) * 40)
            case 2: lan.cuts.insert([id, (id + 1 + below(2)) % 3])
            case 3, 4: lan.cuts = []
            case 5:
                guard !stopped.contains(id) else { break }
                suspended.remove(id)
                if below(2) == 0 { lan.with(id) { $0.keepsWills(now: $1) } }
                lan.kill(id)
                lan.run(.ms(below(4_000)))
                lan.start(id)
                lan.listAll()
            case 6:
                host += 1
                lan.move(id, to: World.address(host), isNoticed: below(2) == 0)
                if below(2) == 0 { lan.listAll() }
            case 7:
                if stopped.remove(id) != nil { lan.resume(id) } else if stopped.insert(id).inserted { lan.stop(id) }
            case 8:
                guard !stopped.contains(id) else { break }
                if suspended.remove(id) != nil {
                    lan.with(id) { $0.resume(now: $1) }
                    for other in 0..<3 where other != id { lan.list(id, to: other, name: "\(id) \(step)") }
                } else {
                    suspended.insert(id)
                    lan.with(id) { $0.suspend(now: $1) }
                }
            case 9: lan.compose(id, "typing \(step)")
            default:
                guard !stopped.contains(id), !suspended.contains(id) else { break }
                lan.say(id, "\(id) \(step)")
            }
            lan.run(.ms(below(5_000)))
        }
        lan.loss = 0
        lan.jitter = .zero
        lan.cuts = []
        for id in stopped { lan.resume(id) }
        for id in suspended { lan.with(id) { $0.resume(now: $1) } }
        lan.listAll()
        lan.run(.seconds(130))
        for id in 0..<3 {
            for other in 0..<3 where other != id {
                let links = lan.links(id, to: other)
                #expect(links.filter(\.isShown).count == 1, "seed \(seed): \(id) to \(other)")
                #expect(links.count == 1, "seed \(seed): \(id) to \(other)")
            }
            let texts = lan.messages(at: id)
            #expect(Set(texts).count == texts.count, "seed \(seed): a message arrived twice")
        }
    }
}
