import Foundation
import Inkling
import Synchronization

/// Something that a session of the program has to deal with.
package enum SessionEvent: Sendable {
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

    package enum Timer: Hashable, Sendable {
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
///
/// What waits here is bounded. Events of the node come one at a time, the next when the session took the one before:
/// the others wait in the node, which holds back who sends them. Input comes in a few chunks, the next when the session
/// is done with one. Times are those that the session asked for itself. Of signals in a row that are the same one waits,
/// and of log lines a number.
struct SessionEventQueue: Sendable {
    /// What the session takes from.
    let stream = SessionEvents()

    func add(_ event: SessionEvent) { stream.add(event) }

    /// Lets a time happen later.
    func after(_ delay: Duration, _ timer: SessionEvent.Timer) {
        Task {
            try? await Task.sleep(for: delay)
            add(.time(timer))
        }
    }

    /// Passes a node's events on until they end.
    func follow(_ events: NodeEvents) {
        Task {
            for await event in events { await stream.offer(.node(event)) }
            add(.nodeEnded)
        }
    }
}

/// The events of a session, for its one reader.
package final class SessionEvents: AsyncSequence, Sendable {
    /// How many log lines wait for the screen; those beyond are counted.
    package static let waitingLogLines = 256

    fileprivate struct State {
        var waiting: [SessionEvent] = []
        var logLines = 0
        var logLinesLeftOut = 0
        /// Who offered the event of the node that waits.
        var offer: CheckedContinuation<Void, Never>?
        var reader: CheckedContinuation<SessionEvent, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    /// An event happens.
    package func add(_ event: SessionEvent) {
        let reader = state.withLock { state in
            defer { if state.reader == nil { state.add(event) } else { state.reader = nil } }
            return state.reader
        }
        reader?.resume(returning: event)
    }

    /// Returns once the session took the event.
    package func offer(_ event: SessionEvent) async {
        await withCheckedContinuation { offer in
            let reader = state.withLock { state in
                defer { state.reader = nil }
                if state.reader == nil {
                    state.waiting.append(event)
                    state.offer = offer
                }
                return state.reader
            }
            guard let reader else { return }
            reader.resume(returning: event)
            offer.resume()
        }
    }

    fileprivate func next(isolation: isolated (any Actor)?) async -> SessionEvent {
        let (event, offer) = state.withLock { $0.take() }
        offer?.resume()
        if let event { return event }
        return await withCheckedContinuation(isolation: isolation) { reader in
            let (event, offer) = state.withLock { state in
                let taken = state.take()
                if taken.event == nil { state.reader = reader }
                return taken
            }
            offer?.resume()
            if let event { reader.resume(returning: event) }
        }
    }

    /// Takes one event after the other. It never ends.
    package struct Iterator: AsyncIteratorProtocol {
        fileprivate let events: SessionEvents

        package mutating func next() async -> SessionEvent? { await events.next(isolation: nil) }

        package mutating func next(isolation actor: isolated (any Actor)?) async -> SessionEvent? {
            await events.next(isolation: actor)
        }
    }

    package func makeAsyncIterator() -> Iterator { Iterator(events: self) }
}

extension SessionEvents.State {
    fileprivate mutating func add(_ event: SessionEvent) {
        switch event {
        case .log:
            guard logLines < SessionEvents.waitingLogLines else { return logLinesLeftOut += 1 }
            logLines += 1
        case .signal(let number):
            if case .signal(number)? = waiting.last { return }
        case .input, .endOfInput, .node, .nodeEnded, .time: break
        }
        waiting.append(event)
    }

    fileprivate mutating func take() -> (event: SessionEvent?, offer: CheckedContinuation<Void, Never>?) {
        guard !waiting.isEmpty else { return (nil, nil) }
        let event = waiting.removeFirst()
        switch event {
        case .node:
            defer { offer = nil }
            return (event, offer)
        case .log:
            logLines -= 1
            if logLines == 0, logLinesLeftOut > 0 {
                waiting.append(.log("warning: \(logLinesLeftOut) log lines were left out"))
                (logLines, logLinesLeftOut) = (1, 0)
            }
        case .input, .endOfInput, .signal, .nodeEnded, .time: break
        }
        return (event, nil)
    }
}
