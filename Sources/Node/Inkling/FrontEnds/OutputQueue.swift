import InklingModel
import NIOCore

/// The outputs on their way to one front end.
///
/// Arrivals keep their order. Events then wait until the front end takes them. The owner calls the sink with one output
/// after the other, never from within a call of the sink.
package final class OutputQueue {
    private enum State {
        case open
        /// No more arrivals come. The end follows all arrivals, and all waiting events if `isPatient`.
        case ending(ServiceEnd, isPatient: Bool)
        case ended
    }

    // Copies of an arrival on its way through the queue share its payload.
    private indirect enum Arrival {
        case queued(QueuedOutput)
        /// An output that the front end gets even while it takes no events.
        case direct(ServiceOutput)
        case held(HeldAnswer)
        /// Direct outputs that depend on the events before them.
        case deferred((inout Mailbox) -> [ServiceOutput])
    }

    /// The answer to a request, released later. Later arrivals wait for it.
    package final class HeldAnswer {
        fileprivate let request: RequestID
        /// The answer; nil before its release.
        fileprivate private(set) var answer: ServiceAnswer?

        fileprivate init(_ request: RequestID) { self.request = request }

        /// Allows the delivery of the answer.
        package func release(_ answer: ServiceAnswer) { self.answer = answer }
    }

    /// The sink of all outputs.
    package private(set) var sink: ((ServiceOutput) -> Void)?
    /// The arrivals not processed yet: those of one input, and those behind an answer that waits.
    private var arrivals = CircularBuffer<Arrival>()
    package var mailbox = Mailbox()
    private var state = State.open
    /// The messages delivered to the sink, or dropped, since the node last asked.
    private var settled: [MessageID] = []
    /// The events that the sink gets.
    var subscription = Subscription()
    /// Whether events go to the sink, if there is one.
    package var takesEvents = true {
        didSet { if takesEvents, sink != nil { mailbox.attend() } }
    }

    package init() {}

    /// Whether events wait that the front end does not take.
    var isWatched: Bool {
        if case .ended = state { false } else { mailbox.isWatched }
    }

    /// Sets the sink of all outputs.
    package func attach(_ sink: @escaping (ServiceOutput) -> Void) {
        self.sink = sink
        mailbox.attend()
    }

    // MARK: Arrivals

    /// Adds an output after all earlier arrivals.
    package func add(_ output: QueuedOutput) { append(.queued(output)) }

    /// Adds an output that the front end gets even while it takes no events.
    package func add(direct output: ServiceOutput) { append(.direct(output)) }

    /// Adds direct outputs, which `outputs` makes when their turn comes.
    package func add(deferred outputs: @escaping (inout Mailbox) -> [ServiceOutput]) {
        append(.deferred(outputs))
    }

    /// Adds a place for the answer to a request, before all arrivals that the request causes. The sink gets the answer
    /// after its release.
    package func hold(to request: RequestID) -> HeldAnswer {
        let held = HeldAnswer(request)
        append(.held(held))
        return held
    }

    /// Drops the places of answers that were not released.
    package func dropHeld() {
        arrivals.removeAll { if case .held(let held) = $0 { held.answer == nil } else { false } }
    }

    private func append(_ arrival: Arrival) {
        if case .open = state { arrivals.append(arrival) }
    }

    /// Ends the queue, which then accepts no more arrivals.
    ///
    /// - Parameter isPatient: Whether the end waits until the front end has taken all events.
    package func finish(_ why: ServiceEnd = .stopped, isPatient: Bool = true) {
        guard case .open = state else { return }
        state = .ending(why, isPatient: isPatient)
    }

    // MARK: Delivery

    /// Calls the sink with one output.
    ///
    /// - Returns: False if there is nothing to deliver now.
    func forward() -> Bool {
        let output = next { queued in
            if let message = queued.message { settled.append(message.id) }
            return true
        }
        guard let output, let sink else { return false }
        sink(output)
        return true
    }

    /// Takes the next output for the sink; nil if there is none now. Without a sink, the mailbox still bounds the
    /// waiting events.
    ///
    /// - Parameter isWanted: Called with each queued output that the front end takes. The queue drops an unwanted one.
    package func next(_ isWanted: (QueuedOutput) -> Bool) -> ServiceOutput? {
        while true {
            let takesEvents = takesEvents && sink != nil
            if takesEvents, !mailbox.isEmpty, let output = mailbox.next() {
                guard isWanted(output) else { continue }
                return ServiceOutput(output)
            }
            guard hasArrivals, let arrival = arrivals.popFirst() else { return end() }
            switch arrival {
            case .queued(let arrived):
                guard isSubscribed(arrived) else {
                    if let message = arrived.message { settled.append(message.id) }
                    continue
                }
                if takesEvents {
                    if let output = mailbox.next(after: arrived), isWanted(output) { return ServiceOutput(output) }
                } else if !mailbox.add(arrived), let message = arrived.message {
                    settled.append(message.id)
                }
            case .direct(let output): return output
            case .held(let held): return held.answer.map { .answer($0, to: held.request) }
            case .deferred(let outputs):
                for output in outputs(&mailbox).reversed() { arrivals.prepend(.direct(output)) }
            }
        }
    }

    /// Whether an arrival can be processed now.
    var hasArrivals: Bool {
        switch arrivals.first {
        case .queued: true
        case .direct, .deferred: sink != nil
        case .held(let held): sink != nil && held.answer != nil
        case nil: false
        }
    }

    private func isSubscribed(_ output: QueuedOutput) -> Bool {
        if case .event(let timed) = output { subscription.wants(timed.event) { _ in true } } else { true }
    }

    private func end() -> ServiceOutput? {
        guard sink != nil, arrivals.isEmpty, case .ending(let why, let isPatient) = state,
            !isPatient || mailbox.isEmpty
        else { return nil }
        state = .ended
        return .ended(why)
    }

    // MARK: Taken messages

    /// Returns the messages settled since the last call.
    func collectSettled() -> [MessageID] {
        defer { settled = [] }
        return settled
    }

    /// Stops messages to a front end after `patience` looks in a row without a taken event. Messages resume when it
    /// takes again.
    ///
    /// - Returns: The messages that don't wait for the front end any more.
    func look(patience: Int) -> [MessageID] { mailbox.look(patience: patience) }
}
