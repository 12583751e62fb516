import InklingCore
import InklingModel
import InklingWire
import NIOCore
import NIOPosix

/// The texts in a state directory. A thread of their own, which may block, does one job after the other.
///
/// The initialiser reads all logs. Afterwards the event loop waits for no file.
package final class TextLogs: TextStore {
    private let writer: TextLogWriter
    private let eventLoop: any EventLoop
    private lazy var threads = makeThreads()
    private let makeThreads: () -> NIOThreadPool
    /// The jobs that wait until those that run are done.
    private var pending: [(job: TextLogWriter.Job, completion: (String?) -> Void)] = []
    private var isRunning = false
    /// The bytes of records that wait or run.
    private var backlog = 0
    private var idle: [() -> Void] = []
    private var report: (TextFault) -> Void = { _ in }

    /// Reads the logs in a state directory.
    ///
    /// - Parameters:
    ///   - standings: How well the user knows people. Those of the lowest standing are forgotten first.
    ///   - threads: Makes a pool of one thread.
    package convenience init(
        in directory: String, standings: [PublicKey: Standing] = [:], on eventLoop: any EventLoop,
        threads: @escaping @autoclosure () -> NIOThreadPool
    ) {
        self.init(
            SealedStore(in: directory, .texts, limits: Self.limits), standings: standings, on: eventLoop,
            threads: threads())
    }

    /// Reads the logs of a store.
    package init(
        _ store: SealedStore, standings: [PublicKey: Standing] = [:], on eventLoop: any EventLoop,
        threads: @escaping @autoclosure () -> NIOThreadPool
    ) {
        writer = TextLogWriter(store, standings)
        self.eventLoop = eventLoop
        makeThreads = threads
    }

    /// The limits of a log. No record is dropped.
    package static let limits = SealedStore.Limits(entries: .max, bytes: .max, segmentEntries: 1 << 16)

    package var logs: Set<TextLogID> { writer.ids }

    package func begin(_ report: @escaping (TextFault) -> Void) {
        self.report = report
        add(.tidy) { _ in }
    }

    package func setStandings(_ standings: [PublicKey: Standing]) { writer.setStandings(standings) }

    package func state(of log: TextLogID) -> TextState { writer.state(of: log) }

    package func append(_ records: [TextRecord], to log: TextLogID, completion: @escaping (String?) -> Void) {
        let size = records.reduce(0) { $0 + $1.estimatedSize }
        guard backlog + size <= TextLogLimits.backlog else { return add(.refused, completion) }
        backlog += size
        add(.append(records, log)) { [self] reason in
            backlog -= size
            completion(reason)
        }
    }

    package func end(_ log: TextLogID, completion: @escaping (String?) -> Void) { add(.end(log), completion) }

    package func rekey(_ logs: [TextLogID], completion: @escaping (String?) -> Void) { add(.rekey(logs), completion) }

    package func whenIdle(_ completion: @escaping () -> Void) {
        guard isRunning else { return completion() }
        idle.append(completion)
    }

    // MARK: Jobs

    private func add(_ job: TextLogWriter.Job, _ completion: @escaping (String?) -> Void) {
        pending.append((job, completion))
        if !isRunning { run() }
    }

    /// Runs all jobs that wait. Those that come meanwhile run together afterwards.
    private func run() {
        isRunning = true
        let completions = pending.map(\.completion)
        let jobs = pending.map(\.job)
        pending = []
        threads.runIfActive(eventLoop: eventLoop) { [writer] in writer.run(jobs) }
            .assumeIsolated().whenSuccess { [self] outcome in
                pending.insert(contentsOf: outcome.long.map { (.compact($0), { _ in }) }, at: 0)
                for fault in outcome.faults { report(fault) }
                for (completion, reason) in zip(completions, outcome.reasons) { completion(reason) }
                guard pending.isEmpty else { return run() }
                isRunning = false
                let callbacks = idle
                idle = []
                for callback in callbacks { callback() }
            }
    }
}

extension TextRecord {
    /// The bytes that the record takes in memory, about.
    fileprivate var estimatedSize: Int {
        switch self {
        case .waiting(let text): 128 + text.name.utf8.count + text.text.utf8.count
        case .received(let text): 128 + text.name.utf8.count + text.text.utf8.count
        case .finished, .read, .left, .highestEntry: 128
        case .seen(_, let seen): 128 + 24 * seen.runs.count
        }
    }
}
