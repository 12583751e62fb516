import Foundation
import Inkling
import Synchronization

/// Something that a session of the program has to deal with.
enum SessionEvent: Sendable {
    /// Bytes from standard input; answer with `InputThread.proceed()` when they are dealt with.
    case input([UInt8])
    case endOfInput
    case signal(Int32)
    case node(TimedEvent)
    /// The node's events have ended.
    case nodeEnded
    /// A log line, for the screen.
    case log(String)
    /// A time that was asked for with `after(_:_:)` has come.
    case time(Timer)

    enum Timer: Hashable, Sendable {
        case dots(Int)
        /// The indicator has appeared.
        case appeared
        /// What waits in a chat is due.
        case due(Int)
        /// One might be alone for longer than one likes.
        case alone
        case minute
        case escape(Int)
        case firstPeer
        /// Whoever is there should have been found.
        case settled
        case delivery
        case retry
        /// The end has waited for long enough.
        case patience
        /// Whoever was there before the program was stopped should be back.
        case returned(Int)
    }
}

/// Everything that happens, in one order, whichever thread it comes from.
struct SessionEventQueue: Sendable {
    let stream: AsyncStream<SessionEvent>
    private let continuation: AsyncStream<SessionEvent>.Continuation
    private let backlog = Backlog()

    init() {
        (stream, continuation) = AsyncStream.makeStream(of: SessionEvent.self)
    }

    func add(_ event: SessionEvent) {
        continuation.yield(event)
    }

    /// Lets a time happen later.
    func after(_ delay: Duration, _ timer: SessionEvent.Timer) {
        Task {
            try? await Task.sleep(for: delay)
            add(.time(timer))
        }
    }

    /// Passes a node's events on until they end.
    ///
    /// - Parameter overflow: Called once, if what reads the output stands still while more and more events wait.
    func follow(_ events: AsyncStream<TimedEvent>, overflow: @escaping @Sendable () async -> Void) {
        Task {
            for await event in events {
                guard backlog.grow() else { return await overflow() }
                add(.node(event))
            }
            add(.nodeEnded)
        }
    }

    /// An event of the node was dealt with.
    func dealtWithEvent() { backlog.shrink() }

    /// The session ends by itself: the end may produce much output at once, and that is not a reader's fault.
    func liftLimit() { backlog.liftLimit() }
}

/// How many events of the node wait.
package final class Backlog: Sendable {
    package static let limit = 65_536
    private let state = Mutex((count: 0, isLimited: true))

    package init() {}

    /// One more waits. `false`: these are too many.
    package func grow() -> Bool {
        state.withLock {
            $0.count += 1
            return !$0.isLimited || $0.count <= Backlog.limit
        }
    }

    package func shrink() { state.withLock { $0.count -= 1 } }

    /// From now on any number may wait.
    package func liftLimit() { state.withLock { $0.isLimited = false } }
}
