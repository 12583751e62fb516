import InklingModel
import Synchronization

/// Where a node leaves events for one reader, whichever thread that runs on.
package final class EventMailbox: Sendable {
    /// What became of an event that was left here.
    package enum Fate: Sendable {
        /// It waits.
        case waiting
        /// The reader had waited for it, and has it.
        case taken
        /// It is a message, and the reader gets none: it is counted.
        case missed
        /// The sequence has ended: it is left nowhere.
        case ended
    }

    private struct State {
        var backlog: EventBacklog
        var isFinished = false
        var waiting: [CheckedContinuation<TimedEvent?, Never>] = []
        /// The messages that the reader took since the node last asked.
        var taken: [UInt64] = []
        var isReported = false

        /// The next event, which is taken by that, and whether the node has to ask for the messages taken.
        mutating func take() -> Answer? {
            guard let event = backlog.take() else { return nil }
            guard case .message(_, _, let number, _) = event.event else { return .event(event, reports: false) }
            taken.append(number)
            defer { isReported = true }
            return .event(event, reports: !isReported)
        }
    }

    private enum Answer {
        case event(TimedEvent, reports: Bool)
        case nothing
        case end
    }

    private let state: Mutex<State>
    private let report: @Sendable () -> Void

    /// - Parameters:
    ///   - queue: what waits from the beginning.
    ///   - report: has the node ask for the messages that were taken, or whether the sequence has ended; called on the
    ///     reader's thread.
    package init(_ queue: EventQueue = EventQueue(), report: @escaping @Sendable () -> Void = {}) {
        state = Mutex(State(backlog: EventBacklog(queue)))
        self.report = report
    }

    // MARK: The node

    /// Leaves an event here.
    package func put(_ timed: TimedEvent) -> Fate {
        var reader: CheckedContinuation<TimedEvent?, Never>?
        var event: TimedEvent?
        let fate = state.withLock { state -> Fate in
            guard !state.isFinished else { return .ended }
            guard state.backlog.add(timed) else { return .missed }
            guard !state.waiting.isEmpty else { return .waiting }
            event = state.backlog.take()
            if event != nil { reader = state.waiting.removeFirst() }
            return event == timed ? .taken : .waiting
        }
        reader?.resume(returning: event)
        return fate
    }

    /// The messages that were taken since this was last asked.
    package func collectTaken() -> [UInt64] {
        state.withLock { state in
            defer { (state.taken, state.isReported) = ([], false) }
            return state.taken
        }
    }

    /// Whether nothing more comes.
    package var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Whether something waits, and whether it is taken is to be looked at.
    package var isWatched: Bool { state.withLock { $0.backlog.isWatched && !$0.isFinished } }

    /// A reader that took nothing of what waits, so many times in a row, gets no messages until it comes again.
    ///
    /// - Returns: The messages that don't wait for it any more.
    package func look(patience: Int) -> [UInt64] {
        state.withLock { $0.isFinished ? [] : $0.backlog.look(patience: patience) }
    }

    /// Nothing more comes. What waits can be taken still.
    ///
    /// - Returns: The messages that the node need not wait for any more: those that wait, and those that were taken since
    ///   the node last asked.
    @discardableResult
    package func finish() -> [UInt64] {
        let (readers, numbers) = state.withLock { state in
            state.isFinished = true
            defer { state.waiting = [] }
            return (state.waiting, state.taken + state.backlog.waitingMessages)
        }
        for reader in readers { reader.resume(returning: nil) }
        return numbers
    }

    /// The reader is gone.
    ///
    /// - Returns: The messages that waited for it, and what it was not told.
    package func close() -> (numbers: [UInt64], gaps: [String: EventQueue.Gap]) {
        finish()
        return state.withLock { $0.backlog.giveUp() }
    }

    // MARK: The reader

    /// The next event, which is taken by that; nil after the last one, and in a task that was cancelled, which ends the
    /// sequence.
    package func next(isolation: isolated (any Actor)? = #isolation) async -> TimedEvent? {
        switch answer() {
        case .event(let event, let reports):
            if reports { report() }
            return event
        case .end: return nil
        case .nothing: break
        }
        return await withTaskCancellationHandler(
            operation: {
                await withCheckedContinuation(isolation: isolation) { reader in
                    let answer = state.withLock { state -> Answer in
                        if let answer = state.take() { return answer }
                        guard !state.isFinished else { return .end }
                        state.backlog.attend()
                        state.waiting.append(reader)
                        return .nothing
                    }
                    switch answer {
                    case .event(let event, let reports):
                        if reports { report() }
                        reader.resume(returning: event)
                    case .end: reader.resume(returning: nil)
                    case .nothing: break
                    }
                }
            },
            onCancel: {
                finish()
                report()
            }, isolation: isolation)
    }

    private func answer() -> Answer {
        state.withLock { $0.take() ?? ($0.isFinished ? .end : .nothing) }
    }
}
