/// Narrows a failure down: the fewest steps and faults found that still break the same rule.
package struct Shrinking {
    package private(set) var scenario: Scenario
    /// The numbers of the remaining steps.
    package private(set) var kept: [Int]
    /// The faults that the scenario now leaves out.
    package private(set) var without: [Scenario.Fault] = []
    /// The number of runs still permitted.
    private var runs: Int
    private let original: Scenario
    private let rule: Violation.Rule

    /// Shrinks a scenario that breaks `rule`, in at most `runs` runs.
    package init(_ scenario: Scenario, breaking rule: Violation.Rule, runs: Int = 500) {
        original = scenario
        self.scenario = scenario
        self.rule = rule
        self.runs = runs
        kept = scenario.steps.map(\.number)
        for fault in Scenario.Fault.allCases where scenario.faults.contains(fault) { leaveOut(fault) }
        shrinkSteps()
        for fault in Scenario.Fault.allCases where self.scenario.faults.contains(fault) { leaveOut(fault) }
    }

    /// Whether no step has been removed yet.
    package var hasAllSteps: Bool { kept.count == original.steps.count }

    private mutating func leaveOut(_ fault: Scenario.Fault) {
        guard breaks(kept, without + [fault]) else { return }
        without.append(fault)
        scenario = original.keeping(Set(kept)).without(Set(without))
    }

    /// Removes half of the steps, then quarters, and so on, down to single steps.
    private mutating func shrinkSteps() {
        var size = max(1, kept.count / 2)
        while runs > 0 {
            var start = 0
            var hasShrunk = false
            while start < kept.count, runs > 0 {
                let rest = Array(kept[..<start] + kept[min(start + size, kept.count)...])
                if breaks(rest, without) {
                    kept = rest
                    hasShrunk = true
                } else {
                    start += size
                }
            }
            if size == 1, !hasShrunk { break }
            size = max(1, size / 2)
        }
        scenario = original.keeping(Set(kept)).without(Set(without))
    }

    private mutating func breaks(_ steps: [Int], _ faults: [Scenario.Fault]) -> Bool {
        guard runs > 0 else { return false }
        runs -= 1
        return Simulation(original.keeping(Set(steps)).without(Set(faults))).run().violation?.rule == rule
    }
}
