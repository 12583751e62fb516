import InklingModel
import NIOCore

/// The way from a node to the front end that runs on its event loop: what waits for the sink, and in which order.
///
/// The sink is called for one thing after the other, never from within itself.
final class FrontEnd {
    /// How far the end has come.
    private enum End {
        case open
        /// Nothing more comes; the sink is told when it has all that waits.
        case due
        case told
    }

    /// Something to tell, or the place of an answer that is not known yet.
    private enum Arrival {
        case output(ServiceOutput)
        case held(HeldAnswer)
    }

    /// The answer to a request, which comes later. What came after it waits for it.
    final class HeldAnswer {
        fileprivate var isReleased = false
        fileprivate let output: ServiceOutput

        fileprivate init(_ output: ServiceOutput) { self.output = output }

        /// The answer may be told.
        func release() { isReleased = true }
    }

    private var sink: ((ServiceOutput) -> Void)?
    /// What has come and was not looked at: no more than what one input leads to.
    private var arrivals = CircularBuffer<Arrival>()
    private var backlog: EventBacklog
    private var end = End.open
    /// The messages that the sink was called with, or will not get, since the node last asked.
    private var settled: [UInt64] = []
    /// Which events the sink gets.
    var subscription = Subscription()
    /// Whether events go to the sink, as far as there is one.
    var takesEvents = true {
        didSet { if takesEvents, sink != nil { backlog.attend() } }
    }

    /// - Parameter queue: What waits from the beginning.
    init(_ queue: EventQueue = EventQueue()) {
        backlog = EventBacklog(queue)
    }

    /// Whether something waits that the front end does not take.
    var isWatched: Bool { backlog.isWatched && end != .told }

    /// What comes goes to this sink.
    func attach(_ sink: @escaping (ServiceOutput) -> Void) {
        self.sink = sink
        backlog.attend()
    }

    /// The sink knows nothing of who types in a chat.
    func forgetTyping(in chat: String) { backlog.forgetTyping(in: chat) }

    /// Something is to be told after all that came before it.
    func add(_ output: ServiceOutput) {
        guard case .open = end else { return }
        arrivals.append(.output(output))
    }

    /// How many things came that were not looked at.
    var arrivalCount: Int { arrivals.count }

    /// What came of a request is told before all that the request led to: what has come since there were so many
    /// arrivals.
    func add(_ answer: ServiceAnswer, to request: ServiceRequest, before place: Int) {
        guard case .open = end else { return }
        insert(.output(.answer(answer, to: request)), before: place)
    }

    /// As ``add(_:to:before:)``, for an answer that is told once it is released.
    func hold(_ answer: ServiceAnswer, to request: ServiceRequest, before place: Int) -> HeldAnswer {
        let held = HeldAnswer(.answer(answer, to: request))
        if case .open = end { insert(.held(held), before: place) }
        return held
    }

    private func insert(_ arrival: Arrival, before place: Int) {
        guard place < arrivals.count else { return arrivals.append(arrival) }
        arrivals.insert(arrival, at: arrivals.index(arrivals.startIndex, offsetBy: place))
    }

    /// Nothing more comes.
    func finish() {
        guard case .open = end else { return }
        end = .due
    }

    /// Calls the sink with one thing that it takes now.
    ///
    /// - Returns: False if there is none.
    func forward() -> Bool {
        guard let sink else {
            // What waits is bounded all the same.
            while let output = popArrival() { place(output) }
            return false
        }
        if takesEvents, let event = backlog.take() {
            if case .message(_, _, let number, _) = event.event { settled.append(number) }
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

    /// The messages that are settled since this was last asked.
    func collectSettled() -> [UInt64] {
        defer { settled = [] }
        return settled
    }

    /// A front end that takes nothing of what waits, so many times in a row, gets no messages until it takes again.
    ///
    /// - Returns: The messages that don't wait for it any more.
    func look(patience: Int) -> [UInt64] { backlog.look(patience: patience) }

    /// Whether something has come that is not held.
    var hasArrivals: Bool {
        switch arrivals.first {
        case .output: true
        case .held(let held): held.isReleased
        case nil: false
        }
    }

    /// - Returns: Nil while there is none, or the next one is held.
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
                if case .message(_, _, let number, _) = timed.event { settled.append(number) }
                return
            }
            guard !backlog.add(timed), case .message(_, _, let number, _) = timed.event else { return }
            settled.append(number)
        case .waited, .own, .user, .answer, .ended:
            guard let sink else { preconditionFailure("a front end listens before it asks") }
            sink(output)
        }
    }
}
