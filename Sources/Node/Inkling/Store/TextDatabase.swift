import NIOCore
import NIOPosix
import Synchronization

/// The database of texts and histories in a state directory. A thread of its own, which may block, does one job after the
/// other. All changes that come during a write share the next transaction. The object belongs to one event loop.
///
/// The initialiser opens the files. Afterwards the event loop waits for no file, and for no lock that a thread holds during
/// a call of the system.
package final class TextDatabase {
    /// The tables on their thread. Nobody else has the object.
    final class Thread: Sendable {
        private let tables: Mutex<TextTables>

        init(_ tables: sending TextTables) { self.tables = Mutex(tables) }

        func run(_ jobs: [StoreJob]) -> (failures: [String?], faults: [StoreFault]) {
            tables.withLock { ($0.run(jobs), $0.takeFaults()) }
        }

        /// Calls `body` with the tables. Jobs must not run.
        func withTables<Value: Sendable>(_ body: @Sendable (TextTables) -> Value) -> Value {
            tables.withLock { body($0) }
        }
    }

    /// The outcome of a job, which its thread passes to the event loop.
    private final class Result<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
    }

    private typealias Pending = (job: StoreJob, completion: (String?) -> Void)

    /// Whether all keys can be used. Otherwise a log that seems to have ended may be there again at the next start.
    package let hasAllKeys: Bool
    let thread: Thread
    private let eventLoop: any EventLoop
    private lazy var threads = makeThreads()
    private let makeThreads: () -> NIOThreadPool
    /// The jobs that wait until those that run are done.
    private var pending: [Pending] = []
    private var isRunning = false
    private var isTidy = false
    private var idle: [() -> Void] = []
    private var faults: [StoreFault] = []
    private var reports: [(StoreFault) -> Void] = []

    /// Opens the files in a state directory.
    ///
    /// - Parameters:
    ///   - merging: Puts notes about messages of a history of an earlier build into these messages.
    ///   - fileSystem: Returns the number of a directory's file system in statfs(2).
    ///   - threads: Makes a pool of one thread.
    package init(
        in directory: String, limits: TextTables.Limits = .init(),
        fileSystem: @escaping @Sendable (String) -> UInt32 = StoredMessages.fileSystem(of:),
        merging: @escaping @Sendable ([EarlierLogs.Record]) -> [EarlierLogs.Record] = { $0 },
        on eventLoop: any EventLoop, threads: @escaping @autoclosure () -> NIOThreadPool
    ) {
        thread = Thread(TextTables(in: directory, limits: limits, fileSystem: fileSystem, merging: merging))
        self.eventLoop = eventLoop
        makeThreads = threads
        (faults, hasAllKeys) = thread.withTables { ($0.takeFaults(), $0.hasAllKeys) }
    }

    /// Returns the IDs of the logs of one kind.
    package func logs(_ kind: LogName.Kind) -> Set<String> {
        thread.withTables { tables in Set(tables.logs.filter { $0.kind == kind }.map(\.id)) }
    }

    /// Ends the logs of chats with these IDs, at the start.
    ///
    /// - Returns: The IDs of those that have ended.
    package func end(_ ids: [String]) -> [String] {
        guard hasAllKeys else { return [] }
        return thread.withTables { tables in
            ids.filter { id in
                guard LogName.isID(id) else { return true }
                let logs = [LogName(.history, id), LogName(.texts, id)]
                for log in logs { try? tables.end(log) }
                return tables.logs.isDisjoint(with: logs)
            }
        }
    }

    /// Begins to report faults, also those of the start.
    package func begin(_ report: @escaping (StoreFault) -> Void) {
        reports.append(report)
        for fault in faults { report(fault) }
        guard !isTidy else { return }
        isTidy = true
        perform { tables throws(Database.Failure) in
            try tables.tidy()
        } _: { (_: Void?, _) in
        }
    }

    /// Changes the tables, in one transaction with other changes.
    ///
    /// - Parameters:
    ///   - log: A log. A log without a key gets one before the change.
    ///   - completion: The arguments are the result when it is on disk; otherwise nil and the reason for the failure.
    package func change<Value: Sendable>(
        beginning log: LogName? = nil, _ work: @escaping @Sendable (TextTables) throws(Database.Failure) -> Value,
        _ completion: @escaping (Value?, String?) -> Void
    ) {
        add(sharesTransaction: true, log, work, completion)
    }

    /// Performs a job by itself, as ``change(beginning:_:_:)``.
    package func perform<Value: Sendable>(
        _ work: @escaping @Sendable (TextTables) throws(Database.Failure) -> Value,
        _ completion: @escaping (Value?, String?) -> Void
    ) {
        add(sharesTransaction: false, nil, work, completion)
    }

    /// Calls back when no job is left.
    package func whenIdle(_ completion: @escaping () -> Void) {
        guard isRunning else { return completion() }
        idle.append(completion)
    }

    private func add<Value: Sendable>(
        sharesTransaction: Bool, _ log: LogName?,
        _ work: @escaping @Sendable (TextTables) throws(Database.Failure) -> Value,
        _ completion: @escaping (Value?, String?) -> Void
    ) {
        let result = Result<Value>()
        let job = StoreJob(sharesTransaction: sharesTransaction, log: log) { tables throws(Database.Failure) in
            let value = try work(tables)
            result.value.withLock { $0 = value }
        }
        pending.append((job, { reason in completion(reason == nil ? result.value.withLock(\.self) : nil, reason) }))
        if !isRunning { run() }
    }

    /// Runs all jobs that wait. Those that come meanwhile run together afterwards.
    private func run() {
        isRunning = true
        let completions = pending.map(\.completion)
        let jobs = pending.map(\.job)
        pending = []
        threads.runIfActive(eventLoop: eventLoop) { [thread] in thread.run(jobs) }
            .assumeIsolated().whenSuccess { [self] failures, found in
                faults += found
                for fault in found { for report in reports { report(fault) } }
                for (completion, reason) in zip(completions, failures) { completion(reason) }
                guard pending.isEmpty else { return run() }
                isRunning = false
                let callbacks = idle
                idle = []
                for callback in callbacks { callback() }
            }
    }
}
