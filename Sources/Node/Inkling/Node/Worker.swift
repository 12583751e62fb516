import Glibc
import NIOCore
import Synchronization

/// A thread for blocking work, such as writing files. The thread performs one job after the other, and exists only
/// while there are jobs.
final class Worker: Sendable {
    private struct State {
        var waiting = CircularBuffer<@Sendable () -> Void>(initialCapacity: 0)
        var isAtWork = false
    }

    private let state = Mutex(State())

    /// Runs `body` on the thread.
    ///
    /// - Returns: The result of `body`, on `eventLoop`.
    func run<Value: Sendable>(
        on eventLoop: any EventLoop, _ body: @escaping @Sendable () -> Value
    ) -> EventLoopFuture<Value> {
        let promise = eventLoop.makePromise(of: Value.self)
        let isIdle = state.withLock { state in
            state.waiting.append { promise.succeed(body()) }
            defer { state.isAtWork = true }
            return !state.isAtWork
        }
        guard isIdle else { return promise.futureResult }
        if let thread = startThread("inkling-worker", { self.work() }) {
            pthread_detach(thread)
        } else {
            // Without a thread, the caller must do the work itself.
            work()
        }
        return promise.futureResult
    }

    private func work() {
        while true {
            let next = state.withLock { state in
                let next = state.waiting.popFirst()
                state.isAtWork = next != nil
                return next
            }
            guard let next else { return }
            next()
        }
    }
}
