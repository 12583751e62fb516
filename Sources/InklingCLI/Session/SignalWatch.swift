import Foundation

/// Turns signals into events of the session.
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

    init(_ events: SessionEventQueue) {
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
                events.add(.signal(number))
            }
            source.resume()
            return source
        }
    }

    /// Whether a signal has asked for the end.
    var isEndWanted: Bool { queue.sync { times.isEndWanted } }

    /// A step of the end begins: whether another signal comes too late is counted from here.
    func beginStep() { queue.sync { times.beginStep() } }

    /// Lets the program stop itself; the signals that this takes, and the one that ends it, are no queue of
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
