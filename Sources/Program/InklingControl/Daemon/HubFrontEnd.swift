import Inkling
import InklingModel
import NIOCore

/// One front end of a daemon: its open chat, its subscription and its queued output.
///
/// The sink gets one output at a time, and its calls never nest.
package final class HubFrontEnd: ChatService {
    private enum State {
        case idle
        /// A request awaits its answer, which the parting follows. Later outputs wait behind the answer.
        case asked(OutputQueue.HeldAnswer, then: Parting?)
        case ended
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
    private unowned let hub: NodeHub
    /// The chats that the front end is in.
    var chats: Set<String> = []
    var openChat: String?
    var isSuspended = false
    var subscription = Subscription()
    /// Waiting messages already delivered to the front end, by chat.
    private(set) var told: [String: Set<MessageID>] = [:]
    /// Evicted messages already reported, by chat.
    var toldLost: [String: Int] = [:]

    /// Requests not begun yet. The front end gets one answer after the other.
    private var requests = CircularBuffer<(id: RequestID, request: ServiceRequest)>()
    package private(set) var nextRequestID = RequestID()
    private var state = State.idle
    private var isWorking = false
    private let outputs = OutputQueue()
    /// Queued messages from others, by number; they return to the store if this front end detaches.
    private var untaken: [MessageID: TimedEvent] = [:]
    /// Queued messages from senders who have only a share of the queue, by number.
    private var unfamiliar: [MessageID: (rank: SenderRank, size: Int)] = [:]
    /// Bytes of queued messages and outcomes.
    private var size = 0
    /// The time since when the front end has taken no queued output, in milliseconds; nil if none waits.
    private var idleSince: Int64?
    private var isDelivering = false

    init(number: Int, hub: NodeHub) {
        self.number = number
        self.hub = hub
    }

    // MARK: The interface of front ends

    package var identity: NodeIdentity { hub.identity }

    package func attach(_ sink: @escaping (ServiceOutput) -> Void) {
        outputs.attach(sink)
        deliver()
    }

    package var takesEvents: Bool {
        get { outputs.takesEvents }
        set {
            outputs.takesEvents = newValue
            if newValue { deliver() }
        }
    }

    @discardableResult
    package func ask(_ request: ServiceRequest) -> RequestID {
        let id = nextRequestID.advance()
        if case .ended = state { return id }
        requests.append((id, request))
        work()
        hub.deadlineChanged()
        return id
    }

    package func report(_ request: ServiceRequest) -> Bool {
        guard case .idle = state, !isWorking, requests.isEmpty, hub.edit(request, by: self) else {
            ask(request)
            return false
        }
        hub.deadlineChanged()
        return true
    }

    /// Suspends the front end, which then shows no chat and has no drafts.
    package func suspend(_ completion: @escaping () -> Void) {
        hub.suspend(self, true)
        completion()
    }

    package func resume() { hub.suspend(self, false) }

    /// Detaches the front end. The node stays.
    package func stop(_ completion: @escaping () -> Void) {
        hub.detach(self, .stopped)
        completion()
    }

    // MARK: Requests

    private func work() {
        guard !isWorking else { return }
        isWorking = true
        while case .idle = state, let (id, request) = requests.popFirst() {
            state = .asked(outputs.hold(to: id), then: nil)
            hub.perform(request, for: self)
        }
        isWorking = false
        deliver()
    }

    /// Delivers the answer to the request that was begun last, and then the messages that waited in its chat.
    func answer(_ answer: ServiceAnswer, then waited: [TimedEvent] = []) {
        guard case .asked(let held, let parting) = state else { return }
        state = .idle
        held.release(answer)
        if let parting, case .done = answer { outputs.add { parting.farewells(&$0) } }
        for timed in waited {
            if case .message(let message) = timed.event {
                told[message.chat, default: []].insert(message.id)
                untaken[message.id] = nil
            }
            outputs.add(direct: .waited(timed))
        }
        work()
    }

    // MARK: Incoming events

    func isIn(_ chat: String) -> Bool { chats.contains(chat) }

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
        if let share = DaemonLimits.backlogShare(of: rank) {
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
    func add(_ output: QueuedOutput) {
        if case .ended = state { return }
        outputs.add(output)
        size += Self.size(of: output)
        deliver()
        if size > DaemonLimits.backlogBytes { hub.detach(self, .tooSlow) }
    }

    /// Records the people whom an answer listed in a chat, so that the front end also learns when they leave.
    func knows(_ peers: [Peer], in chat: String) {
        outputs.mailbox.begin(
            chat: chat, present: peers.filter { $0.presence != .offline }.map(\.user), typing: [])
    }

    /// Leaves a chat. After the answer, a front end that subscribes only to its own chats sees the people there go
    /// offline.
    func part(from peers: [Peer], in chat: String, at time: Timestamp) {
        guard case .own = subscription.chats, case .asked(let held, _) = state else { return }
        let present = subscription.kinds.contains(.peer) ? peers : []
        state = .asked(held, then: Parting(chat: chat, peers: present, at: time))
    }

    func forgetTyping(in chat: String) { outputs.mailbox.forgetTyping(in: chat) }

    func forgetTold(in chat: String) {
        told[chat] = nil
        toldLost[chat] = nil
    }

    /// The time at which the hub cuts off the front end if it takes no output; nil if none waits.
    var patienceEnd: Int64? { idleSince.map { $0 + DaemonLimits.readerPatience } }

    // MARK: Delivery

    private func deliver() {
        guard !isDelivering else { return }
        isDelivering = true
        while let output = outputs.next(recordTaken) { outputs.sink?(output) }
        isDelivering = false
        idleSince = outputs.mailbox.isEmpty ? nil : idleSince ?? hub.now
    }

    /// Records an output that the front end takes.
    ///
    /// - Returns: False for a message that the front end got before, with those that waited in its chat.
    private func recordTaken(_ output: QueuedOutput) -> Bool {
        size -= Self.size(of: output)
        idleSince = nil
        guard let message = output.message else { return true }
        unfamiliar[message.id] = nil
        guard untaken.removeValue(forKey: message.id) != nil else { return false }
        if !hub.isWaiting(message.id, in: message.chat) {
            if shows(message.chat) { hub.showed(message) }
        } else {
            told[message.chat, default: []].insert(message.id)
            // Only messages that still wait matter.
            if told[message.chat, default: []].count > 2 * (DaemonLimits.waitingMessages + DaemonLimits.waitingTexts) {
                forgetTold(in: message.chat, but: hub.waiting)
            }
        }
        return true
    }

    private func forgetTold(in chat: String, but waiting: WaitingMessages) {
        told[chat] = told[chat]?.filter { waiting.message($0, in: chat) != nil }
    }

    /// Ends the front end. The reason is its last output.
    ///
    /// - Returns: The messages not delivered yet, if the front end does not read.
    func finish(_ why: ServiceEnd) -> [TimedEvent] {
        if case .ended = state { return [] }
        state = .ended
        requests.removeAll()
        outputs.dropHeld()
        outputs.finish(why, isPatient: false)
        let untaken = takesEvents ? [] : self.untaken.sorted { $0.key < $1.key }.map(\.value)
        deliver()
        return untaken
    }

    /// Returns the bytes that a queued output counts.
    private static func size(of output: QueuedOutput) -> Int {
        switch output {
        case .own(let message): return message.text.utf8.count + DaemonLimits.messageOverhead
        case .user: return 0
        case .event(let timed):
            return switch timed.event {
            case .message(let message): message.text.utf8.count + DaemonLimits.messageOverhead
            case .delivered, .failed, .waiting: DaemonLimits.messageOverhead
            case .peer, .typing, .notice, .missed: 0
            }
        }
    }
}
