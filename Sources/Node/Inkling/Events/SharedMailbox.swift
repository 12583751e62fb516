import InklingModel
import Synchronization

/// The events that a node leaves for one reader on any thread.
package final class SharedMailbox: Sendable {
    /// The result of putting an event into the mailbox.
    package enum Fate: Sendable {
        /// The event waits.
        case waiting
        /// The reader was waiting for the event, and took it.
        case taken
        /// The event is a message to a reader that gets no messages. The mailbox counts it.
        case missed
        /// The sequence has ended, so the event was dropped.
        case ended
    }

    private struct State {
        var mailbox: Mailbox
        var isFinished = false
        var waiting: [CheckedContinuation<TimedEvent?, Never>] = []
        /// The messages that the reader took since the node last asked.
        var taken: [MessageID] = []
        var isReported = false

        /// Takes the next event. Returns it, and whether the node has to ask for the messages taken.
        mutating func take() -> Answer? {
            guard let event = mailbox.take() else { return nil }
            guard case .message(let message) = event.event else { return .event(event, reports: false) }
            taken.append(message.id)
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

    /// Makes a mailbox for one reader.
    ///
    /// - Parameters:
    ///   - mailbox: The events that wait from the beginning.
    ///   - report: Makes the node ask for the messages taken, or whether the sequence has ended. The mailbox calls it
    ///     on the reader's thread.
    package init(_ mailbox: Mailbox = Mailbox(), report: @escaping @Sendable () -> Void = {}) {
        state = Mutex(State(mailbox: mailbox))
        self.report = report
    }

    // MARK: The node

    /// Puts an event into the mailbox.
    package func put(_ timed: TimedEvent) -> Fate {
        var reader: CheckedContinuation<TimedEvent?, Never>?
        var event: TimedEvent?
        let fate = state.withLock { state -> Fate in
            guard !state.isFinished else { return .ended }
            guard state.mailbox.add(.event(timed)) else { return .missed }
            guard !state.waiting.isEmpty else { return .waiting }
            event = state.mailbox.take()
            if event != nil { reader = state.waiting.removeFirst() }
            return event == timed ? .taken : .waiting
        }
        reader?.resume(returning: event)
        return fate
    }

    /// Returns the messages taken since the last call.
    package func collectTaken() -> [MessageID] {
        state.withLock { state in
            defer { (state.taken, state.isReported) = ([], false) }
            return state.taken
        }
    }

    /// Whether the sequence has ended.
    package var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Whether events wait, so that the node has to watch the reader.
    package var isWatched: Bool { state.withLock { $0.mailbox.isWatched && !$0.isFinished } }

    /// Stops messages to a reader after `patience` calls in a row without a taken event. Messages resume when the
    /// reader takes again.
    ///
    /// - Returns: The messages that don't wait for the reader any more.
    package func look(patience: Int) -> [MessageID] {
        state.withLock { $0.isFinished ? [] : $0.mailbox.look(patience: patience) }
    }

    /// Ends the sequence. The reader can still take waiting events.
    ///
    /// - Returns: The messages that the node need not wait for any more: those that wait, and those taken since the
    ///   node last asked.
    @discardableResult
    package func finish() -> [MessageID] {
        let (readers, numbers) = state.withLock { state in
            state.isFinished = true
            defer { state.waiting = [] }
            return (state.waiting, state.taken + state.mailbox.waitingMessages)
        }
        for reader in readers { reader.resume(returning: nil) }
        return numbers
    }

    /// Ends the sequence of a reader that no longer exists.
    ///
    /// - Returns: The messages that waited for the reader, and the counts of events that it missed.
    package func close() -> (numbers: [MessageID], gaps: [String: Mailbox.Gap]) {
        finish()
        return state.withLock { $0.mailbox.giveUp() }
    }

    // MARK: The reader

    /// Takes the next event. Returns nil after the last event, and in a cancelled task. Cancelling ends the sequence.
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
                        state.mailbox.attend()
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
