import Inkling
import Testing

@Suite("Renamed registrations")
struct RenamePaceTests {
    // D-20
    @Test("a renamed registration is made again at once, and then at most every 10 s")
    func pace() {
        var pace = RenamePace()
        let start = ContinuousClock.now
        func turns(at seconds: [Int]) -> [Int] {
            seconds.filter { pace.takeTurn(now: start + .seconds($0)) }
        }
        #expect(turns(at: [0, 5]) == [])
        pace.renamed(now: start)
        #expect(pace.due == start)
        #expect(turns(at: Array(0...25)) == [0, 10, 20])
        pace.renamed(now: start + .seconds(26))
        #expect(pace.due == start + .seconds(30))
        // After an hour without renames, a rename need not wait.
        #expect(turns(at: [3_600, 3_609, 3_610]) == [3_600, 3_610])
    }
}
