import Testing

@testable import InklingCore

@Suite("Whether a node takes part")
struct ActivityTests {
    typealias Activity = Surroundings.Activity

    struct Row: Sendable, CustomTestStringConvertible {
        let before: Activity
        let fallBehind: Activity
        let catchUp: Activity
        let suspend: Activity
        let resume: Activity
        let isBehind: Bool
        let isSuspended: Bool
        var testDescription: String { "\(before)" }
    }

    @Test(
        "what each input makes of each state (L-30, L-46)",
        arguments: [
            Row(
                before: .running, fallBehind: .catchingUp, catchUp: .running, suspend: .suspended(isBehind: false),
                resume: .running, isBehind: false, isSuspended: false),
            Row(
                before: .catchingUp, fallBehind: .catchingUp, catchUp: .running, suspend: .suspended(isBehind: true),
                resume: .catchingUp, isBehind: true, isSuspended: false),
            Row(
                before: .suspended(isBehind: false), fallBehind: .suspended(isBehind: true),
                catchUp: .suspended(isBehind: false), suspend: .suspended(isBehind: false), resume: .running,
                isBehind: false, isSuspended: true),
            Row(
                before: .suspended(isBehind: true), fallBehind: .suspended(isBehind: true),
                catchUp: .suspended(isBehind: false), suspend: .suspended(isBehind: true), resume: .catchingUp,
                isBehind: true, isSuspended: true),
        ])
    func inputs(_ row: Row) {
        func after(_ input: (inout Activity) -> Void) -> Activity {
            var activity = row.before
            input(&activity)
            return activity
        }
        #expect(after { $0.fallBehind() } == row.fallBehind)
        #expect(after { $0.catchUp() } == row.catchUp)
        #expect(after { $0.suspend() } == row.suspend)
        #expect(after { $0.resume() } == row.resume)
        var surroundings = Parts.surroundings()
        surroundings.activity = row.before
        #expect(surroundings.isBehind == row.isBehind)
        #expect(surroundings.isSuspended == row.isSuspended)
    }
}
