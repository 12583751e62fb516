import Inkling
import InklingModel
import NIOCore

/// One front end of a daemon: its open chat, its subscription and its queued output.
///
/// The sink gets one output at a time, and its calls never nest.
package final class HubFrontEnd: ChatService {
    private enum End {
        case none
        case due(ServiceEnd)
        case told
    }

    /// An arrival that is not processed yet.
    private enum Arrival {
        /// An event to enqueue behind the others.
        case event(TimedEvent)
        /// An output to deliver at once.
        case output(ServiceOutput)
        /// The front end left a chat.
        case parting(Parting)
    }

    /// A chat that the front end leaves, and the people in it.
    private struct Parting {
        let chat: String
        let peers: [Peer]
        let at: Timestamp
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

    private var sink: ((ServiceOutput) -> Void)?
    /// Requests not begun yet. The front end gets one answer after the other.
    private var requests = CircularBuffer<(id: RequestID, request: ServiceRequest)>()
    package private(set) var nextRequestID = RequestID()
    private var asked: RequestID?
    /// The parting to report with the answer to `asked`.
    private var parting: Parting?
    private var isWorking = false
    private var arrivals = CircularBuffer<Arrival>()
    /// Queued events.
    private var queue = EventQueue()
    /// Queued messages from others, by number; they return to the store if this front end detaches.
    private var untaken: [MessageID: TimedEvent] = [:]
    /// Queued messages from senders who have only a share of the queue, by number.
    private var unfamiliar: [MessageID: (rank: SenderRank, size: Int)] = [:]
    /// Bytes of queued messages and outcomes.
    private var size = 0
    /// The time since when the front end has taken no queued output, in milliseconds; nil if none waits.
    private var idleSince: Int64?
    /// The latest state of the user, before its delivery.
    private var untoldUser: UserState?
    private var isDelivering = false
    private var end = End.none

    init(number: Int, hub: NodeHub) {
        self.number = number
        self.hub = hub
    }

    // MARK: The interface of front ends

    package var identity: NodeIdentity { hub.identity }

    package func attach(_ sink: @escaping (ServiceOutput) -> Void) {
        self.sink = sink
        deliver()
    }

    package var takesEvents = true {
        didSet { if takesEvents { deliver() } }
    }

    @discardableResult
    package func ask(_ request: ServiceRequest) -> RequestID {
        let id = nextRequestID.advance()
        guard case .none = end else { return id }
        requests.append((id, request))
        work()
        hub.deadlineChanged()
        return id
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
        while asked == nil, case .none = end, let (id, request) = requests.popFirst() {
            asked = id
            hub.perform(request, for: self)
        }
        isWorking = false
        deliver()
    }

    /// Delivers the answer to the request that was begun last, and then the messages that waited in its chat.
    func answer(_ answer: ServiceAnswer, then waited: [TimedEvent] = []) {
        guard let id = asked else { return }
        asked = nil
        arrivals.append(.output(.answer(answer, to: id)))
        if let parting, case .done = answer { arrivals.append(.parting(parting)) }
        parting = nil
        for timed in waited {
            if case .message(let message) = timed.event {
                told[message.chat, default: []].insert(message.id)
                untaken[message.id] = nil
            }
            arrivals.append(.output(.waited(timed)))
        }
        work()
    }

    // MARK: Incoming events

    func isIn(_ chat: String) -> Bool { chats.contains(chat) }

    /// Returns whether the user of this front end sees the messages of a chat.
    func shows(_ chat: String) -> Bool {
        openChat == chat && !isSuspended && subscription.wants(.message, in: chat, isMember: isIn(chat))
    }

    func wants(_ event: Event) -> Bool { subscription.wants(event, isMember: isIn) }

    /// Enqueues an event.
    ///
    /// - Parameter rank: How well the user knows the sender of a message; the highest rank for other events.
    func add(_ timed: TimedEvent, rank: SenderRank = .verified) {
        guard case .none = end else { return }
        if case .message(let message) = timed.event, let share = DaemonLimits.backlogShare(of: rank) {
            let added = Self.size(of: timed)
            guard unfamiliar.values.reduce(added, { $1.rank <= rank ? $0 + $1.size : $0 }) <= share else {
                let missed = Event.missed(.init(chat: message.chat, messages: 1, outcomes: 0))
                arrivals.append(.event(TimedEvent(at: timed.at, event: missed)))
                return deliver()
            }
            unfamiliar[message.id] = (rank, added)
        }
        arrivals.append(.event(timed))
        size += Self.size(of: timed)
        if case .message(let message) = timed.event, message.sender.user != identity.user {
            untaken[message.id] = timed
        }
        deliver()
        if size > DaemonLimits.backlogBytes { hub.detach(self, .tooSlow) }
    }

    /// Enqueues a message of this user that another front end sent.
    func add(_ own: OwnMessage) {
        // A node reports no messages of its own user, so this sender marks the message in the queue.
        let person = Person(user: identity.user, name: "")
        let message = ReceivedMessage(chat: own.chat, from: person, id: own.message, text: own.text)
        add(TimedEvent(at: own.at, event: .message(message)))
    }

    /// Enqueues a new state of the user.
    func add(_ user: UserState) {
        guard case .none = end else { return }
        arrivals.append(.output(.user(user)))
        deliver()
    }

    /// Records the people whom an answer listed in a chat, so that the front end also learns when they leave.
    func knows(_ peers: [Peer], in chat: String) {
        queue.begin(chat: chat, present: peers.filter { $0.presence != .offline }.map(\.user), typing: [])
    }

    /// Leaves a chat. After the answer, a front end that subscribes only to its own chats sees the people there go
    /// offline.
    func part(from peers: [Peer], in chat: String, at time: Timestamp) {
        guard case .own = subscription.chats else { return }
        parting = Parting(chat: chat, peers: subscription.kinds.contains(.peer) ? peers : [], at: time)
    }

    private func farewells(_ parting: Parting) -> [Event] {
        let told = queue.end(chat: parting.chat)
        let gone = parting.peers.filter { told.present.contains($0.user) }
        return (told.isTyping ? [.typing(chat: parting.chat, [])] : [])
            + gone.map { .peer(.init(chat: parting.chat, $0.gone(at: parting.at), why: .bye)) }
    }

    func forgetTyping(in chat: String) { queue.forgetTyping(in: chat) }

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
        while let output = next() { sink?(output) }
        isDelivering = false
        idleSince = queue.isEmpty && untoldUser == nil ? nil : idleSince ?? hub.now
    }

    private func next() -> ServiceOutput? {
        while true {
            if sink != nil, takesEvents, let user = untoldUser {
                untoldUser = nil
                idleSince = nil
                return .user(user)
            }
            if sink != nil, takesEvents, let timed = queue.take() {
                size -= Self.size(of: timed)
                if case .message(let message) = timed.event, message.sender.user != identity.user {
                    unfamiliar[message.id] = nil
                }
                idleSince = nil
                if isHandedOver(timed) { continue }
                return output(timed)
            }
            switch arrivals.first {
            case .event(let timed): queue.add(timed)
            case .output(.user(let user)): untoldUser = user
            case .some where sink == nil: return nil
            case .output(let output):
                arrivals.removeFirst()
                return output
            case .parting(let parting):
                arrivals.removeFirst()
                for event in farewells(parting).reversed() {
                    arrivals.prepend(.output(.event(TimedEvent(at: parting.at, event: event))))
                }
                continue
            case nil: return ending()
            }
            arrivals.removeFirst()
        }
    }

    /// Returns whether a queued message was already delivered together with the messages that waited in its chat.
    private func isHandedOver(_ timed: TimedEvent) -> Bool {
        guard case .message(let message) = timed.event, message.sender.user != identity.user else { return false }
        return untaken[message.id] == nil
    }

    private func ending() -> ServiceOutput? {
        guard sink != nil, case .due(let why) = end else { return nil }
        end = .told
        return .ended(why)
    }

    private func output(_ timed: TimedEvent) -> ServiceOutput {
        guard case .message(let message) = timed.event else { return .event(timed) }
        guard message.sender.user != identity.user else {
            return .own(OwnMessage(at: timed.at, chat: message.chat, message: message.id, text: message.text))
        }
        untaken[message.id] = nil
        if hub.isWaiting(message.id, in: message.chat) {
            told[message.chat, default: []].insert(message.id)
            // Only messages that still wait matter.
            if told[message.chat, default: []].count > 2 * DaemonLimits.waitingMessages {
                forgetTold(in: message.chat, but: hub.waiting)
            }
        }
        return .event(timed)
    }

    private func forgetTold(in chat: String, but waiting: WaitingMessages) {
        told[chat]?.formIntersection(waiting.messages(in: chat).map(\.content.id))
    }

    /// Ends the front end. The reason is its last output.
    ///
    /// - Returns: The messages not delivered yet, if the front end does not read.
    func finish(_ why: ServiceEnd) -> [TimedEvent] {
        guard case .none = end else { return [] }
        end = .due(why)
        requests.removeAll()
        (asked, parting) = (nil, nil)
        let untaken = takesEvents ? [] : self.untaken.values.sorted { Self.number($0) < Self.number($1) }
        deliver()
        return untaken
    }

    private static func number(_ timed: TimedEvent) -> MessageID {
        if case .message(let message) = timed.event { message.id } else { 0 }
    }

    /// Returns the size of a queued event for the limit of A-29, in bytes.
    private static func size(of timed: TimedEvent) -> Int {
        switch timed.event {
        case .message(let message): message.text.utf8.count + DaemonLimits.messageOverhead
        case .delivered, .failed: DaemonLimits.messageOverhead
        case .peer, .typing, .notice, .missed: 0
        }
    }
}
