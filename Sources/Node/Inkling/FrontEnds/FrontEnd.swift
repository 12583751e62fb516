import InklingModel
import NIOCore

/// The queue from a node to the front end on its event loop.
///
/// The node calls the sink for one output after the other, never from within a call of the sink.
final class FrontEnd {
    /// The progress of the queue's end.
    private enum End {
        case open
        /// No more outputs come. The sink learns of the end after all waiting outputs.
        case due
        case told
    }

    /// An output, or the place of an answer that the queue may not deliver yet.
    private enum Arrival {
        case output(ServiceOutput)
        case held(HeldAnswer)
    }

    /// The answer to a request, released later. Later arrivals wait for it.
    final class HeldAnswer {
        fileprivate var isReleased = false
        fileprivate let output: ServiceOutput

        fileprivate init(_ output: ServiceOutput) { self.output = output }

        /// Allows the delivery of the answer.
        func release() { isReleased = true }
    }

    private var sink: ((ServiceOutput) -> Void)?
    /// The arrivals not processed yet, all from one input.
    private var arrivals = CircularBuffer<Arrival>()
    private var backlog: EventBacklog
    private var end = End.open
    /// The messages delivered to the sink, or dropped, since the node last asked.
    private var settled: [MessageID] = []
    /// The events that the sink gets.
    var subscription = Subscription()
    /// Whether events go to the sink, if the front end has one.
    var takesEvents = true {
        didSet { if takesEvents, sink != nil { backlog.attend() } }
    }

    /// Makes a front end without a sink.
    ///
    /// - Parameter queue: The events that wait from the beginning.
    init(_ queue: EventQueue = EventQueue()) {
        backlog = EventBacklog(queue)
    }

    /// Whether events wait that the front end does not take.
    var isWatched: Bool { backlog.isWatched && end != .told }

    /// Sets the sink of all outputs.
    func attach(_ sink: @escaping (ServiceOutput) -> Void) {
        self.sink = sink
        backlog.attend()
    }

    /// Forgets the typists that the sink knows in a chat.
    func forgetTyping(in chat: String) { backlog.forgetTyping(in: chat) }

    /// Adds an output behind all earlier arrivals.
    func add(_ output: ServiceOutput) {
        guard case .open = end else { return }
        arrivals.append(.output(output))
    }

    /// The number of arrivals not processed yet.
    var arrivalCount: Int { arrivals.count }

    /// Adds the answer to a request before all arrivals that the request caused. `place` is the number of arrivals
    /// before the request.
    func add(_ answer: ServiceAnswer, to request: RequestID, before place: Int) {
        guard case .open = end else { return }
        insert(.output(.answer(answer, to: request)), before: place)
    }

    /// Adds an answer as ``add(_:to:before:)`` does. The sink gets it after its release.
    func hold(_ answer: ServiceAnswer, to request: RequestID, before place: Int) -> HeldAnswer {
        let held = HeldAnswer(.answer(answer, to: request))
        if case .open = end { insert(.held(held), before: place) }
        return held
    }

    private func insert(_ arrival: Arrival, before place: Int) {
        guard place < arrivals.count else { return arrivals.append(arrival) }
        arrivals.insert(arrival, at: arrivals.index(arrivals.startIndex, offsetBy: place))
    }

    /// Ends the queue, which then accepts no more outputs.
    func finish() {
        guard case .open = end else { return }
        end = .due
    }

    /// Calls the sink with one output.
    ///
    /// - Returns: False if there is nothing to deliver now.
    func forward() -> Bool {
        guard let sink else {
            // Without a sink, the backlog still bounds the waiting events.
            while let output = popArrival() { place(output) }
            return false
        }
        if takesEvents, let event = backlog.take() {
            if case .message(let message) = event.event { settled.append(message.id) }
            sink(.event(event))
        } else if let output = popArrival() {
            place(output)
        } else if case .due = end, arrivals.isEmpty, backlog.isEmpty {
            end = .told
            sink(.ended(.stopped))
        } else {
            return false
        }
        return true
    }

    /// Returns the messages settled since the last call.
    func collectSettled() -> [MessageID] {
        defer { settled = [] }
        return settled
    }

    /// Stops messages to a front end after `patience` calls in a row without a taken event. Messages resume when it
    /// takes again.
    ///
    /// - Returns: The messages that don't wait for the front end any more.
    func look(patience: Int) -> [MessageID] { backlog.look(patience: patience) }

    /// Whether an arrival waits whose delivery is allowed.
    var hasArrivals: Bool {
        switch arrivals.first {
        case .output: true
        case .held(let held): held.isReleased
        case nil: false
        }
    }

    /// Removes and returns the next arrival.
    ///
    /// - Returns: Nil if there is no arrival, or the next one is an answer not released yet.
    private func popArrival() -> ServiceOutput? {
        guard hasArrivals else { return nil }
        switch arrivals.popFirst() {
        case .output(let output): return output
        case .held(let held): return held.output
        case nil: return nil
        }
    }

    private func place(_ output: ServiceOutput) {
        switch output {
        case .event(let timed):
            guard subscription.wants(timed.event, isMember: { _ in true }) else {
                if case .message(let message) = timed.event { settled.append(message.id) }
                return
            }
            guard !backlog.add(timed), case .message(let message) = timed.event else { return }
            settled.append(message.id)
        case .waited, .own, .user, .answer, .ended:
            guard let sink else { preconditionFailure("a front end listens before it asks") }
            sink(output)
        }
    }
}
