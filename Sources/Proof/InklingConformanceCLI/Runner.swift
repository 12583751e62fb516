import Dispatch
import FoundationEssentials
import InklingConformance
import Synchronization

/// Runs cases beside each other, each on a stage and a thread of its own, and those that need the machine alone last.
final class Runner: Sendable {
    private let command: [String]
    private let cases: [Case]
    private let seed: UInt64
    private let parallel: Int
    private let usesDiscovery: Bool
    private let transcript: Transcript?

    init(
        command: [String], cases: [Case], seed: UInt64, parallel: Int, usesDiscovery: Bool, transcript: Transcript?
    ) {
        self.command = command
        self.cases = cases
        self.seed = seed
        self.parallel = parallel
        self.usesDiscovery = usesDiscovery
        self.transcript = transcript
    }

    private struct Progress {
        var next = 0
        var results: [(number: Int, result: CaseResult)] = []
    }

    /// The results in the order of the cases, and how long all took together. None is run on a program that does not get
    /// ready.
    func run(_ report: @escaping (CaseResult) -> Void) -> ([CaseResult], Duration) {
        let clock = ContinuousClock()
        let start = clock.now
        if !cases.isEmpty, let finding = startFinding() {
            let results = cases.map { CaseResult(test: $0, outcome: .notRun(finding), duration: .zero, trace: []) }
            results.forEach(report)
            return (results, clock.now - start)
        }
        var results: [(number: Int, result: CaseResult)] = []
        let numbered = Array(cases.enumerated())
        func tests(_ load: Case.Load) -> [(offset: Int, element: Case)] {
            numbered.filter { $0.element.load == load }
        }
        results += run(tests(.long) + tests(.light), width: parallel, report)
        results += run(tests(.heavy), width: 1, report)
        results.sort { $0.number < $1.number }
        return (results.map(\.result), clock.now - start)
    }

    private func run(
        _ tests: [(offset: Int, element: Case)], width: Int, _ report: @escaping (CaseResult) -> Void
    ) -> [(number: Int, result: CaseResult)] {
        let progress = Mutex(Progress())
        let arrived = DispatchSemaphore(value: 0)
        let queue = DispatchQueue(label: "cases", attributes: .concurrent)
        for _ in 0..<min(width, tests.count) {
            queue.async {
                while true {
                    let index = progress.withLock { state in
                        defer { state.next += 1 }
                        return state.next
                    }
                    guard index < tests.count else { return }
                    let (number, test) = tests[index]
                    let result = self.run(test, number: number)
                    progress.withLock { $0.results.append((number, result)) }
                    arrived.signal()
                }
            }
        }
        for index in tests.indices {
            arrived.wait()
            report(progress.withLock { $0.results[index].result })
        }
        return progress.withLock { $0.results }
    }

    private func startFinding() -> Finding? {
        StartCheck.finding(seed: seed) { start in
            let stage = ProcessStage(command: command, usesDiscovery: false)
            defer { stage.end() }
            return start(stage)
        }
    }

    private func run(_ test: Case, number: Int) -> CaseResult {
        let stage = ProcessStage(
            command: command, usesDiscovery: usesDiscovery, transcript: transcript, test: test.id)
        defer { stage.end() }
        // A case keeps its keys whichever others are chosen.
        let own = test.id.utf8.reduce(seed) { $0 &* 31 &+ UInt64($1) }
        return test.run(on: stage, seed: own)
    }

    /// A value as JSON text.
    func text(of value: JSONValue) -> String { String(decoding: ProcessStage.encode(value), as: UTF8.self) }
}
