import Foundation
import Inkling
import Synchronization

/// Something that a session of the program has to deal with.
enum Happening: Sendable {
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
        /// What the desk has waiting is due.
        case desk(Int)
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
struct Happenings: Sendable {
    let stream: AsyncStream<Happening>
    private let continuation: AsyncStream<Happening>.Continuation
    private let backlog = Backlog()

    init() {
        (stream, continuation) = AsyncStream.makeStream(of: Happening.self)
    }

    func add(_ happening: Happening) {
        continuation.yield(happening)
    }

    /// Lets a time happen later.
    func after(_ delay: Duration, _ timer: Happening.Timer) {
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

    /// The session ends by itself: what the end brings may be much at once, and nobody's fault.
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

/// Reads standard input on a thread of its own, a few chunks ahead of who uses them.
final class InputThread: Sendable {
    private static let chunk = 65_536
    private static let chunksAhead = 8
    // Freed below the value that it began with, which chunks that nobody gave back would leave, it traps.
    private let ahead = DispatchSemaphore(value: 0)

    init(_ happenings: Happenings) {
        for _ in 0..<Self.chunksAhead { ahead.signal() }
        let ahead = self.ahead
        Thread.detachNewThread {
            while let bytes = Self.read() {
                ahead.wait()
                happenings.add(.input(bytes))
            }
            happenings.add(.endOfInput)
        }
    }

    /// A chunk was dealt with; one more may be read.
    func proceed() {
        ahead.signal()
    }

    /// The next bytes; `nil` at the end, which a terminal that is gone is too.
    private static func read() -> [UInt8]? {
        while true {
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: chunk) { buffer, initialized in
                count = Foundation.read(STDIN_FILENO, buffer.baseAddress, buffer.count)
                initialized = max(count, 0)
            }
            if count > 0 { return bytes }
            // In the background the terminal is not ours to read from: that is no end.
            if count < 0, errno == EIO, Terminal.isOthers {
                usleep(100_000)
                continue
            }
            guard count < 0, errno == EAGAIN || errno == EINTR else { return nil }
            if errno == EAGAIN {
                var wanted = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
                poll(&wanted, 1, -1)
            }
        }
    }
}

/// Turns signals into happenings.
final class SignalWatch {
    static let ending: Set<Int32> = [SIGINT, SIGTERM, SIGHUP]
    /// How long each step of the end may take before another signal ends the program at once: more than the wait for
    /// answers, which is one of them.
    private static let patience = Duration.seconds(3)

    /// Signals that belong to a stop may come out this long after the program went on.
    private static let echo = Duration.milliseconds(200)

    private let sources: [any DispatchSourceSignal]
    private let queue = DispatchQueue(label: "inkling.signals")
    private let times = Times()

    init(_ happenings: Happenings) {
        let queue = self.queue
        let times = self.times
        sources = [SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH].map { number in
            // Of an ignored signal the source still learns; the others keep their default, which is to be ignored.
            if number != SIGCONT && number != SIGWINCH { signal(number, SIG_IGN) }
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                if Self.ending.contains(number), times.isEndOverdue(Self.patience) {
                    Terminal.abandon()
                    _exit(1)
                }
                if number == SIGTSTP || number == SIGCONT, times.areStopsMuted { return }
                happenings.add(.signal(number))
            }
            source.resume()
            return source
        }
    }

    /// Whether a signal has asked for the end.
    var isEndWanted: Bool { queue.sync { times.isEndWanted } }

    /// A step of the end begins: whether another signal comes too late is counted from here.
    func beginStep() { queue.sync { times.beginStep() } }

    /// Lets the program stop itself; the signals that this takes, and the one that ends it, are no happenings of
    /// their own.
    func muteStops(while stop: () -> Void) {
        let times = self.times
        queue.sync { times.stops = .muted }
        stop()
        queue.sync { times.stops = .mutedUntil(.now + Self.echo) }
    }

    /// When things happened; used on the queue of signals alone.
    private final class Times: @unchecked Sendable {
        /// When the end was first asked for by a signal, or its last step began since.
        private var endBegan: ContinuousClock.Instant?
        var stops = Stops.heard

        enum Stops {
            case heard
            case muted
            case mutedUntil(ContinuousClock.Instant)
        }

        func isEndOverdue(_ patience: Duration) -> Bool {
            guard let endBegan else {
                endBegan = .now
                return false
            }
            return endBegan.duration(to: .now) > patience
        }

        var isEndWanted: Bool { endBegan != nil }

        func beginStep() {
            if endBegan != nil { endBegan = .now }
        }

        var areStopsMuted: Bool {
            switch stops {
            case .heard: false
            case .muted: true
            case .mutedUntil(let end): .now < end
            }
        }
    }
}
