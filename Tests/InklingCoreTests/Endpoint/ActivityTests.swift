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
                before: .running, fallBehind: .catchingUp(read: 0), catchUp: .running,
                suspend: .suspended(isBehind: false), resume: .running, isBehind: false, isSuspended: false),
            Row(
                before: .catchingUp(read: 7), fallBehind: .catchingUp(read: 0), catchUp: .running,
                suspend: .suspended(isBehind: true), resume: .catchingUp(read: 7), isBehind: true, isSuspended: false),
            Row(
                before: .suspended(isBehind: false), fallBehind: .suspended(isBehind: true),
                catchUp: .suspended(isBehind: false), suspend: .suspended(isBehind: false), resume: .running,
                isBehind: false, isSuspended: true),
            Row(
                before: .suspended(isBehind: true), fallBehind: .suspended(isBehind: true),
                catchUp: .suspended(isBehind: false), suspend: .suspended(isBehind: true), resume: .catchingUp(read: 0),
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

    @Test("of what is read after a late timer 4,096 datagrams are old, the next one is new (L-30)")
    func manyRead() {
        var activity = Activity.running
        func read(_ datagrams: Int) -> Int { (0..<datagrams).count { _ in activity.read() } }
        #expect(read(1) == 0)
        activity.fallBehind()
        #expect(read(1_000) == 0)
        activity.fallBehind()
        #expect(read(4_096) == 0)
        #expect(activity == .catchingUp(read: 4_096))
        #expect(read(1) == 1)
        #expect(activity == .running)
        activity = .suspended(isBehind: true)
        #expect(read(1) == 0)
        #expect(activity == .suspended(isBehind: true))
    }
}
