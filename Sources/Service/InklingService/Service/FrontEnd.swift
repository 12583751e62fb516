import Inkling
import InklingModel
import NIOCore

/// One front end of a node: its open chat, its subscription and its mailbox.
///
/// The sink gets one output at a time, and its calls never nest.
package final class FrontEnd: ChatService {
    private enum State {
        case idle
        /// A request awaits its answer, which the parting follows. Later outputs wait behind the answer.
        case asked(RequestID, then: Parting?)
        case ended
    }

    // Copies of an arrival on its way through the queue share its payload.
    private indirect enum Arrival {
        /// An output that waits in the mailbox while the front end takes none.
        case queued(ServiceOutput)
        /// An output that the front end gets even while it takes no events.
        case direct(ServiceOutput)
        case parting(Parting)
    }

    /// A chat that the front end leaves, and the people in it.
    private struct Parting {
        let chat: String
        let peers: [Peer]
        let at: Timestamp

        /// The last events of the chat, for a front end that knows what `mailbox` has delivered.
        func farewells(_ mailbox: inout Mailbox) -> [ServiceOutput] {
            let told = mailbox.end(chat: chat)
            let gone = peers.filter { told.present.contains($0.user) }
            let events: [Event] =
                (told.isTyping ? [.typing(chat: chat, [])] : [])
                + gone.map { .peer(.init(chat: chat, $0.gone(at: at), why: .bye)) }
            return events.map { .event(TimedEvent(at: at, event: $0)) }
        }
    }

    let number: Int
    private let service: Service
    /// Whether the front end is the one in this process. If that is slow, messages wait for it, and then their senders
    /// (M-20).
    let isPatient: Bool
    /// The chats that the front end is in.
    // Of so few names, a search finds one faster than hashing does.
    private(set) var chats: [String] = []
    var openChat: String?
    var isSuspended = false
    var subscription = Subscription()
    /// The place among the front ends, 0 to 64, which the unread messages know.
    let place: Int
    /// Evicted messages already reported, by chat.
    var toldLost: [String: Int] = [:]

    /// Requests not begun yet. The front end gets one answer after the other.
    private var requests = CircularBuffer<(id: RequestID, request: ServiceRequest)>()
    package private(set) var nextRequestID = RequestID()
    private var state = State.idle
    private var isWorking = false
    private var sink: ((ServiceOutput) -> Void)?
    /// The outputs not processed yet.
    private var arrivals = CircularBuffer<Arrival>(initialCapacity: 0)
    /// The outputs behind an answer that is not known yet.
    private var later: [Arrival] = []
    private var mailbox = Mailbox()
    /// The last output; nil before the end, and when the sink has it.
    private var end: ServiceEnd?
    package var takesEvents = true {
        didSet {
            guard takesEvents else { return }
            if sink != nil { mailbox.attend() }
            deliver()
        }
    }
    /// Queued messages from others, by number; they return to the store if this front end detaches.
    private var untaken: [MessageID: TimedEvent] = [:]
    /// Queued messages from senders who have only a share of the queue, by number.
    private var unfamiliar: [MessageID: (rank: SenderRank, size: Int)] = [:]
    /// Bytes of queued messages and outcomes.
    private var size = 0
    /// The time since when the front end has taken no bytes, in milliseconds; nil if no queued output waits.
    private var idleSince: Int64?
    private var isDelivering = false
    private(set) var isFlushDue = false

    init(number: Int, place: Int, isPatient: Bool, service: Service) {
        self.number = number
        self.place = place
        self.isPatient = isPatient
        self.service = service
    }

    // MARK: The interface of front ends

    package var identity: NodeIdentity { service.identity }

    package func attach(_ sink: @escaping (ServiceOutput) -> Void) {
        self.sink = sink
        mailbox.attend()
        deliver()
    }

    @discardableResult
    package func ask(_ request: ServiceRequest) -> RequestID {
        let id = nextRequestID.advance()
        if case .ended = state { return id }
        requests.append((id, request))
        work()
        service.deadlineChanged()
        return id
    }

    package func report(_ request: ServiceRequest) -> Bool {
        guard case .idle = state, !isWorking, requests.isEmpty, service.edit(request, by: self) else {
            ask(request)
            return false
        }
        service.deadlineChanged()
        return true
    }

    /// Suspends the front end, which then shows no chat and has no drafts, or the whole node of a driven one.
    package func suspend(_ completion: @escaping () -> Void) { service.suspend(self, completion) }

    package func resume() { service.resume(self) }

    /// Detaches the front end. The node stays, unless it is a driven one.
    package func stop(_ completion: @escaping () -> Void) { service.stop(self, completion) }

    // MARK: Requests

    private func work() {
        guard !isWorking else { return }
        isWorking = true
        while case .idle = state, let (id, request) = requests.popFirst() {
            state = .asked(id, then: nil)
            service.perform(request, for: self)
        }
        isWorking = false
        deliver()
    }

    /// Delivers the answer to the request that was begun last, and then the unread messages of its chat.
    func answer(_ answer: ServiceAnswer, then unread: [TimedEvent] = []) {
        guard case .asked(let id, let parting) = state else { return }
        state = .idle
        arrivals.append(.direct(.answer(answer, to: id)))
        if let parting, case .done = answer { arrivals.append(.parting(parting)) }
        for timed in unread {
            if case .message(let message) = timed.event {
                service.unread.take(message.id, in: message.chat, by: place)
                untaken[message.id] = nil
            }
            arrivals.append(.direct(.unread(timed)))
        }
        releaseLater()
        if service.hasEnded { service.finish(self) } else { work() }
    }

    /// Whether a request waits for its answer.
    var isAsked: Bool { if case .asked = state { true } else { false } }

    /// Lets the outputs behind an answer follow.
    private func releaseLater() {
        guard !later.isEmpty else { return }
        arrivals.append(contentsOf: later)
        later = []
    }

    // MARK: Incoming events

    func isIn(_ chat: String) -> Bool { chats.contains(chat) }

    /// Puts the front end into a chat.
    func enter(_ chat: String) {
        guard !isIn(chat) else { return }
        chats.append(chat)
        forgetTold(in: chat)
    }

    func leave(_ chat: String) { chats.removeAll { $0 == chat } }

    /// Returns whether the user of this front end sees the messages of a chat.
    func shows(_ chat: String) -> Bool { openChat == chat && !isSuspended && wantsMessages(in: chat) }

    func wantsMessages(in chat: String) -> Bool { subscription.wants(.message, in: chat, isMember: isIn(chat)) }

    func wants(_ event: Event) -> Bool { subscription.wants(event, isMember: isIn) }

    /// Enqueues an event.
    ///
    /// - Parameter rank: How well the user knows the sender of a message; the highest rank for other events.
    func add(_ timed: TimedEvent, rank: SenderRank = .verified) {
        guard case .message(let message) = timed.event else { return add(.event(timed)) }
        if case .ended = state { return }
        if !isPatient, let share = DaemonLimits.backlogShare(of: rank) {
            let added = Self.size(of: .event(timed))
            guard unfamiliar.values.reduce(added, { $1.rank <= rank ? $0 + $1.size : $0 }) <= share else {
                let missed = MissedEvents(chat: message.chat, messages: 1, outcomes: 0)
                return add(.event(TimedEvent(at: timed.at, event: .missed(missed))))
            }
            unfamiliar[message.id] = (rank, added)
        }
        untaken[message.id] = timed
        add(.event(timed))
    }

    /// Enqueues an output.
    func add(_ output: ServiceOutput) {
        switch state {
        case .ended: return
        case .asked: later.append(.queued(output))
        case .idle: arrivals.append(.queued(output))
        }
        if !isPatient { size += Self.size(of: output) }
        guard service.isTaking else { return flush() }
        if !isFlushDue {
            isFlushDue = true
            service.flushLater()
        }
    }

    /// Delivers the outputs that wait.
    func flush() {
        isFlushDue = false
        deliver()
        if size > DaemonLimits.backlogBytes { service.detach(self, .tooSlow) }
    }

    /// Records the people whom an answer listed in a chat, so that the front end also learns when they leave.
    func knows(_ peers: [Peer], in chat: String) {
        mailbox.begin(chat: chat, present: peers.filter { $0.presence != .offline }.map(\.user), typing: [])
    }

    /// Leaves a chat. After the answer, a front end that subscribes only to its own chats sees the people there go
    /// offline.
    func part(from peers: [Peer], in chat: String, at time: Timestamp) {
        guard case .own = subscription.chats, case .asked(let id, _) = state else { return }
        let present = subscription.kinds.contains(.peer) ? peers : []
        state = .asked(id, then: Parting(chat: chat, peers: present, at: time))
    }

    func forgetTyping(in chat: String) { mailbox.forgetTyping(in: chat) }

    func forgetTold(in chat: String) {
        service.unread.forgetTaken(by: place, in: chat)
        toldLost[chat] = nil
    }

    /// The time until the service cuts off the front end if it takes no output, in milliseconds; nil if none waits. Only
    /// time counts in which the machine is awake.
    var patience: Int64? { idleSince.map { $0 + DaemonLimits.readerPatience - service.awake } }

    /// Records that the front end took bytes of an output that it has begun to read, such as a long answer.
    package func tookBytes() {
        guard idleSince != nil else { return }
        idleSince = service.awake
        service.deadlineChanged()
    }

    // MARK: The front end in this process

    /// Forgets a message that the front end does not get.
    private func drop(_ message: MessageID) {
        untaken[message] = nil
        if isPatient { service.settle(message) }
    }

    /// Whether outputs wait for the front end, which the node has to watch.
    var isWatched: Bool { isPatient && mailbox.isWatched }

    /// Checks whether the front end takes nothing (M-20).
    func look(patience: Int) {
        guard isPatient else { return }
        for message in mailbox.look(patience: patience) { drop(message) }
    }

    // MARK: Delivery

    private func deliver() {
        guard !isDelivering else { return }
        isDelivering = true
        while let output = next() { sink?(output) }
        isDelivering = false
        if isPatient { return service.tellSettled() }
        idleSince = mailbox.hasOutput ? idleSince ?? service.awake : nil
    }

    /// Takes the next output for the sink; nil if there is none now. Without a sink, the mailbox still bounds the
    /// outputs that wait.
    private func next() -> ServiceOutput? {
        while true {
            let takesEvents = takesEvents && sink != nil
            if takesEvents, let output = mailbox.next() {
                guard recordTaken(output) else { continue }
                return output
            }
            guard let arrival = arrivals.first else { return last() }
            if sink == nil, case .queued = arrival {} else if sink == nil { return nil }
            arrivals.removeFirst()
            switch arrival {
            case .queued(let output):
                if takesEvents {
                    if let output = mailbox.next(after: output), recordTaken(output) { return output }
                } else if !mailbox.add(output), let message = output.message {
                    drop(message.id)
                }
            case .direct(let output): return output
            case .parting(let parting):
                for farewell in parting.farewells(&mailbox).reversed() { arrivals.prepend(.direct(farewell)) }
            }
        }
    }

    /// Takes the end. A patient front end gets all events before.
    private func last() -> ServiceOutput? {
        guard sink != nil, let why = end, !isPatient || !mailbox.hasOutput else { return nil }
        end = nil
        mailbox = Mailbox()
        return .ended(why)
    }

    /// Records an output that the front end takes.
    ///
    /// - Returns: False for a message that the front end got before, with the unread ones of its chat.
    private func recordTaken(_ output: ServiceOutput) -> Bool {
        if !isPatient {
            size -= Self.size(of: output)
            idleSince = nil
        }
        guard let message = output.message else { return true }
        if isPatient { service.settle(message.id) } else { unfamiliar[message.id] = nil }
        guard untaken.removeValue(forKey: message.id) != nil else { return false }
        let isUnread = service.unread.take(message.id, in: message.chat, by: place)
        if !isUnread, shows(message.chat) { service.showed(message) }
        return true
    }

    /// Ends the front end. The reason is its last output.
    ///
    /// - Returns: The messages not delivered yet, if the front end does not read.
    func finish(_ why: ServiceEnd) -> [TimedEvent] {
        if case .ended = state { return [] }
        state = .ended
        requests.removeAll()
        releaseLater()
        end = why
        let untaken = takesEvents ? [] : self.untaken.sorted { $0.key < $1.key }.map(\.value)
        deliver()
        return untaken
    }

    /// Returns the bytes that a queued output counts.
    private static func size(of output: ServiceOutput) -> Int {
        switch output {
        case .own(let message): return message.text.utf8.count + DaemonLimits.messageOverhead
        case .user, .unread, .answer, .ended: return 0
        case .event(let timed):
            return switch timed.event {
            case .message(let message): message.text.utf8.count + DaemonLimits.messageOverhead
            case .delivered, .failed, .waiting: DaemonLimits.messageOverhead
            case .peer, .typing, .notice, .missed: 0
            }
        }
    }
}
