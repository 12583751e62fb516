import Inkling
import Testing

@Suite("Renamed registrations")
struct RenamePaceTests {
    // D-20
    @Test("a renamed registration is made again at once, and then at most every 10 s")
    func pace() {
        var pace = RenamePace()
        let start = ContinuousClock.now
        #expect(pace.due == nil && !pace.takeTurn(now: start))
        pace.renamed(now: start)
        #expect(pace.due == start && pace.takeTurn(now: start))
        for second in 1...9 {
            let now = start + .seconds(second)
            pace.renamed(now: now)
            #expect(!pace.takeTurn(now: now))
        }
        #expect(pace.due == start + .seconds(10) && pace.takeTurn(now: start + .seconds(10)))
        // A rename after an hour of peace is not held against the time before.
        pace.renamed(now: start + .seconds(3_600))
        #expect(pace.takeTurn(now: start + .seconds(3_600)))
        #expect(!pace.takeTurn(now: start + .seconds(3_601)))
    }
}
