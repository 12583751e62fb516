import InklingTestSupport
import Testing

@testable import InklingCore

@Suite("Pace of a node's records")
struct RecordPacerTests {
    @Test("64 go out between two reads of the socket (M-13)")
    func input() {
        var pacer = RecordPacer(now: .zero)
        for _ in 0..<2 {
            for _ in 0..<64 {
                #expect(pacer.hasRoom)
                let later = pacer.take(.zero)
                #expect(later == nil)
            }
            #expect(!pacer.hasRoom)
            pacer.begin()
            #expect(pacer.hasRoom)
        }
    }

    @Test("128 go out in a row, then one each half millisecond (M-13)")
    func node() {
        var pacer = RecordPacer(now: .zero)
        let refused = (0..<128).filter { _ in pacer.take(.zero) != nil }
        #expect(refused.isEmpty)
        pacer.begin()
        let later = pacer.take(.at(0))
        #expect(later == Instant.zero + .microseconds(500))
        // One that was refused takes no room.
        for _ in 0..<64 { _ = pacer.take(.zero) }
        #expect(pacer.hasRoom)
        let now = pacer.take(Instant.zero + .microseconds(500))
        #expect(now == nil)
    }
}
