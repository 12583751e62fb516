import Glibc
import NIOCore
import Synchronization

/// Runs a node, one turn at a time: on the node's event loop, or on the thread of a caller that finds the node idle.
///
/// A turn is what the node does for one datagram, one timer or one call. A lock separates turns. Observers get their calls
/// on the event loop, after the turn, so that no call of theirs can come into the middle of one.
final class NodeExecutor: SerialExecutor {
    private let eventLoop: any EventLoop
    /// Held during a turn.
    private let turn = Mutex(())
    /// The thread of a caller that is in a turn; 0 if there is none.
    private let caller = Atomic<UInt>(0)
    /// Whether the event loop is in a turn. Only the event loop's thread uses this.
    @exclusivity(unchecked) nonisolated(unsafe) private var isInTurn = false
    /// The calls that turns have left for observers, in their order. Only turns use this.
    nonisolated(unsafe) private var left: [@Sendable () -> Void] = []
    /// The same, taken from ended turns. Only the event loop's thread uses this.
    nonisolated(unsafe) private var calls: [@Sendable () -> Void] = []

    init(on eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Runs `body` as a turn, or within the present turn. The caller is on the event loop.
    func onLoop<Result>(_ body: () throws -> Result) rethrows -> Result {
        eventLoop.preconditionInEventLoop()
        guard !isInTurn else { return try body() }
        defer { if !calls.isEmpty { callObservers() } }
        return try inTurn {
            isInTurn = true
            defer {
                isInTurn = false
                if !left.isEmpty { swap(&calls, &left) }
            }
            return try body()
        }
    }

    private func inTurn<Result>(_ body: () throws -> Result) rethrows -> Result {
        var result: Result?
        try turn.withLock { _ in result = try body() }
        guard let result else { preconditionFailure("the turn did not run") }
        return result
    }

    /// Runs `body` as a turn on the caller's thread, if no turn runs.
    ///
    /// - Returns: Nil if another turn runs, perhaps on this thread.
    func atOnce<Result>(_ body: () -> Result?) -> Result? {
        var result: Result?
        turn.withLockIfAvailable { _ in
            caller.store(UInt(pthread_self()), ordering: .relaxed)
            result = body()
            caller.store(0, ordering: .relaxed)
            if !left.isEmpty { eventLoop.execute { self.onLoop {} } }
        }
        return result
    }

    /// Leaves a call for the end of the present turn.
    func afterTurn(_ call: @escaping @Sendable () -> Void) { left.append(call) }

    private func callObservers() {
        let taken = calls
        calls = []
        for call in taken { call() }
    }

    // MARK: SerialExecutor

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { self.onLoop { job.runSynchronously(on: self.asUnownedSerialExecutor()) } }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    func checkIsolated() {
        if caller.load(ordering: .relaxed) != UInt(pthread_self()) { eventLoop.preconditionInEventLoop() }
    }
}

/// Runs tasks on the event loop of a node, between its turns.
final class LoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(on eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
