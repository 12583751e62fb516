import InklingWire
import Testing

@testable import InklingCore

@Suite("records of a peer that breaks the rules")
struct RecordFuzzTests {
    @Test("a sender gives each message one end, whatever acks come", arguments: 0..<50 as Range<UInt64>)
    func sender(seed: UInt64) {
        var random = Seeded(seed)
        var sender = RecordSender(name: "Alice", isOnLink: Bool.random(using: &random))
        var now = Instant.zero
        var queued: Set<UInt64> = []
        var ended: [UInt64] = []
        var counter: UInt32 = 0
        for step in 0..<3_000 as Range<UInt64> {
            now = now + .milliseconds(Int.random(in: 0...(step % 50 == 0 ? 9_000 : 30), using: &random))
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                queued.insert(step)
                let size = Int.random(in: 1...5_000, using: &random)
                sender.enqueue(step, text: [UInt8](repeating: 0x61, count: size), now: now)
            case 1: sender.rename("Alice \(step)", now: now)
            case 2: sender.peerWasNamed(now: now)
            case 3 where step % 5 == 0: sender.goDown(now: now)
            case 4 where step % 50 == 0: ended += sender.restart(now: now)
            case 5, 6: sender.comeUp(now: now)
            case 7: sender.setOnLink(Bool.random(using: &random))
            case 8..<14:
                counter += UInt32.random(in: 0...2, using: &random)
                let next = sender.window.base &+ UInt32.random(in: 0...20, using: &random) &- 2
                let ack = Ack(next: next, bitmap: UInt16.random(in: 0...UInt16.max, using: &random))
                let highest = sender.window.next
                let effect = sender.receive(ack, counter: counter, isTimely: true, now: now)
                if case .taken(let delivered) = effect { ended += delivered }
                #expect(effect != .impossible || next > highest || next < sender.window.base)
            default:
                ended += sender.advance(now)
                _ = sender.nextForward(now)
                while let record = sender.nextRecord(now) {
                    #expect(record.number - sender.window.base < 16)
                    #expect(sender.isUp)
                }
            }
            #expect(sender.window.inFlight <= 16)
            #expect(sender.nextDeadline == nil || sender.isUp)
        }
        #expect(Set(ended).count == ended.count)
        #expect(Set(ended).union(sender.unfinished) == queued)
        #expect(Set(ended).isDisjoint(with: sender.unfinished))
    }

    @Test("a receiver gives back all room, and its expected number never goes back", arguments: 0..<50 as Range<UInt64>)
    func receiver(seed: UInt64) {
        var random = Seeded(seed)
        var receiver = RecordReceiver()
        var pools = TextPools<Int, Int, Int>()
        let tenant = TextPools<Int, Int, Int>.Tenant(standing: .stranger, source: 1, secretChat: nil)
        var now = Instant.zero
        var texts: [Int] = []
        for step in 0..<3_000 {
            now = now + .milliseconds(Int.random(in: 0...(step % 100 == 0 ? 40_000 : 300), using: &random))
            let expected = receiver.ack.next
            var events: [RecordEvent] = []
            let isFar = step % 500 == 499
            let number =
                isFar
                ? UInt32.random(in: 0...UInt32.max, using: &random) : expected &+ .random(in: 0...17, using: &random)
            switch Int.random(in: 0..<40, using: &random) {
            case 0 where !isFar || step > 2_500:
                events = receiver.receive(forward: number, now: now) { pools.grant($0, to: 1, tenant) }
            case 1: receiver.goDown(now: now)
            case 2, 3: receiver.comeUp(now: now)
            case 4, 5: receiver.advance(now) { pools.grant($0, to: 1, tenant) }
            case 6: if let size = texts.popLast() { pools.take(size, of: 1) }
            default:
                let type = step == 0 ? RecordType.name : RecordType(code: UInt8.random(in: 0...2, using: &random) / 2)
                let (isFirst, isLast) = (Int.random(in: 0..<4, using: &random), Int.random(in: 0..<4, using: &random))
                let record = Record(
                    number: step < 20 ? UInt32(step) : number, type: type, isFirst: isFirst == 0, isLast: isLast == 0,
                    body: [UInt8](repeating: 0x61, count: Int.random(in: 1...1_167, using: &random)))
                events = receiver.receive(record, now: now) { pools.grant($0, to: 1, tenant) }
            }
            for case .message(let text) in events { texts.append(text.utf8.count) }
            #expect(receiver.ack.next >= expected)
            #expect(receiver.ack.bitmap >> 15 == 0)
        }
        _ = receiver.receive(forward: .max, now: now) { pools.grant($0, to: 1, tenant) }
        #expect(pools.size == texts.reduce(0) { $0 + $1 + 256 })
        _ = receiver.receive(Record(number: .max, type: .text, body: [0x61]), now: now) {
            pools.grant($0, to: 1, tenant)
        }
        #expect(receiver.ack == Ack(next: .max))
    }
}
