import Glibc
import NIOCore
import Synchronization

/// Does what would hold up an event loop, such as to write files: one thing after the other, on a thread that is there
/// only while there is something to do.
final class Worker: Sendable {
    private struct State {
        var waiting = CircularBuffer<@Sendable () -> Void>(initialCapacity: 0)
        var isAtWork = false
    }

    private let state = Mutex(State())

    /// Runs `body` on the thread.
    ///
    /// - Returns: What it returns, on `eventLoop`.
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
            // It has to be done here.
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
