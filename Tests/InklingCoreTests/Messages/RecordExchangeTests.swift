import InklingWire
import Testing

@testable import InklingCore

@Suite("records over a bad channel")
struct RecordExchangeTests {
    private static func text(_ size: Int, _ seed: UInt64) -> String {
        var random = Seeded(seed)
        var text = ""
        while text.utf8.count < size { text.append("aé€😀".randomElement(using: &random) ?? "a") }
        return text
    }

    @Test(
        "M-2, M-10, M-13: messages arrive once, whole and in order, within bounds",
        arguments: 0..<60 as Range<UInt64>)
    func arrivesOnce(seed: UInt64) {
        var random = Seeded(seed &+ 1_000)
        let low = Double.random(in: 0.1..<20, using: &random)
        let channel = RecordExchange.Channel(
            loss: [0, 0.02, 0.1, 0.3, 0.5].randomElement(using: &random) ?? 0,
            duplication: Double.random(in: 0..<0.3, using: &random),
            delays: low...(low + Double.random(in: 0..<40, using: &random)))
        var exchange = RecordExchange(channel, seed: seed)
        var sizes: [Int] = []
        for _ in 0..<40 {
            let longest = Bool.random(using: &random) ? 100 : 6_000
            sizes.append(Int.random(in: 1...longest, using: &random))
        }
        let texts = sizes.enumerated().map { RecordExchangeTests.text($1, UInt64($0)) }
        for (index, text) in texts.enumerated() {
            if index % 7 == 3 { exchange.rename("Alice \(index)") }
            if index % 13 == 5 { exchange.interrupt(.seconds(20)) }
            exchange.enqueue(UInt64(index), text)
            let pause = Duration.milliseconds(Int.random(in: 0..<300, using: &random))
            let end = exchange.now + pause
            exchange.run(until: end)
        }
        let end = exchange.now + .seconds(200)
        exchange.run(until: end) { $0.delivered.count + $0.stalled.count == texts.count }
        #expect(exchange.texts == texts)
        #expect(exchange.delivered == Array(0..<UInt64(texts.count)))
        #expect(exchange.stalled == [])
        #expect(exchange.sender.queuedBytes == 0)
        #expect(exchange.farthest < 16)
        #expect(exchange.names.first == "Alice")
        #expect(exchange.pools.size == 0)
        expectRate(exchange)
    }

    @Test(
        "M-11, M-32, M-33: 300 messages at 10 % loss and 1 ms round trip take at most 7 s",
        arguments: 0..<40 as Range<UInt64>)
    func isFastAtLoss(seed: UInt64) {
        var exchange = RecordExchange(.init(loss: 0.1), seed: seed)
        for message in 0..<UInt64(300) { exchange.enqueue(message, String(repeating: "x", count: 100)) }
        exchange.run(until: .seconds(60)) { $0.delivered.count == 300 }
        #expect(exchange.texts.count == 300)
        #expect(exchange.now <= .seconds(7), "took \(exchange.now.seconds) s")
        expectRate(exchange)
    }

    /// Expects that the records did not exceed 400 a second with a burst of 64 (M-13).
    private func expectRate(_ exchange: RecordExchange) {
        var tokens = 64.0
        var last = Instant.zero
        for record in exchange.sent {
            tokens = min(64, tokens + 400 * (record.at - last).seconds) - 1
            last = record.at
            guard tokens < -0.001 else { continue }
            Issue.record("over 400 records a second at \(last.seconds) s")
            return
        }
    }
}

extension Duration {
    fileprivate var seconds: Double { Double(nanoseconds) / 1e9 }
}
