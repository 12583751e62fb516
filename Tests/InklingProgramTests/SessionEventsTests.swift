import Glibc
import Inkling
import InklingCLI
import Synchronization
import Testing

/// What waits for a session of the program.
@Suite("The events of a session", .timeLimit(.minutes(1)))
struct SessionEventsTests {
    private static func notice(_ at: Double) -> SessionEvent { .node(TimedEvent(at: at, event: .notice(.discoveryUp))) }

    /// What an event is, to be compared.
    private static func word(_ event: SessionEvent?) -> String {
        switch event {
        case .input(let bytes)?: "input \(bytes)"
        case .endOfInput?: "end"
        case .signal(let number)?: "signal \(number)"
        case .node(let timed)?: "node \(Int(timed.at))"
        case .nodeEnded?: "node ended"
        case .log(let text)?: "log \(text)"
        case .time?: "time"
        case nil: "nothing"
        }
    }

    @Test("one event of the node waits, and the next is asked for when the session has taken it")
    func oneAtATime() async {
        let events = SessionEvents()
        let offered = Mutex(0)
        let offering = Task {
            for number in 0..<100 {
                await events.offer(Self.notice(Double(number)))
                offered.withLock { $0 += 1 }
            }
        }
        var iterator = events.makeAsyncIterator()
        for number in 0..<100 {
            #expect(Self.word(await iterator.next()) == "node \(number)")
            // Time for it to offer all it can.
            for _ in 0..<20 { await Task.yield() }
            #expect(offered.withLock { $0 } <= number + 1)
        }
        await offering.value
        #expect(offered.withLock { $0 } == 100)
    }

    @Test("what comes while the session waits, and before, comes in its order")
    func order() async {
        let events = SessionEvents()
        events.add(.input([1]))
        events.add(.signal(SIGWINCH))
        events.add(.endOfInput)
        var iterator = events.makeAsyncIterator()
        for word in ["input [1]", "signal \(SIGWINCH)", "end"] { #expect(Self.word(await iterator.next()) == word) }
        let adding = Task { events.add(.nodeEnded) }
        #expect(Self.word(await iterator.next()) == "node ended")
        await adding.value
    }

    @Test("of a signal that comes many times in a row one waits, and of log lines 256, with how many there were more")
    func bounds() async {
        let events = SessionEvents()
        for _ in 0..<100_000 { events.add(.signal(SIGWINCH)) }
        for number in 0..<1_000 { events.add(.log("\(number)")) }
        events.add(.endOfInput)
        let last = ["end", "log warning: 744 log lines were left out"]
        var iterator = events.makeAsyncIterator()
        for word in ["signal \(SIGWINCH)"] + (0..<256).map({ "log \($0)" }) + last {
            #expect(Self.word(await iterator.next()) == word)
        }
        events.add(.log("and on"))
        #expect(Self.word(await iterator.next()) == "log and on")
    }
}
