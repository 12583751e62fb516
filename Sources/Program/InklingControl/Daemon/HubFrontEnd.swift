import Inkling
import InklingModel
import NIOCore

/// One of the front ends of a daemon: its own open chat, its own wishes for events, and what waits for it.
///
/// The sink is called for one thing after the other, never from within itself.
package final class HubFrontEnd: ChatService {
    private enum End {
        case none
        case due(ServiceEnd)
        case told
    }

    /// What has come and was not looked at.
    private enum Arrival {
        /// What waits its turn among other events.
        case event(TimedEvent)
        /// What is told at once.
        case output(ServiceOutput)
        /// It left a chat.
        case parting(Parting)
    }

    /// A chat that it leaves, and who is there.
    private struct Parting {
        let chat: String
        let peers: [Peer]
        let at: Double
    }

    let number: Int
    private unowned let hub: NodeHub
    /// The chats that it is in.
    var chats: Set<String> = []
    var openChat: String?
    var isSuspended = false
    var subscription = Subscription()
    /// Of the messages that wait for a reader, those that were written to it, by chat.
    private(set) var told: [String: Set<UInt64>] = [:]
    /// How many messages that went for lack of room it was told of, by chat.
    var toldLost: [String: Int] = [:]

    private var sink: ((ServiceOutput) -> Void)?
    /// Requests that were not begun: one is answered after the other.
    private var requests = CircularBuffer<ServiceRequest>()
    private var asked: ServiceRequest?
    /// What is told with the answer to that.
    private var parting: Parting?
    private var isWorking = false
    private var arrivals = CircularBuffer<Arrival>()
    /// The events that wait.
    private var queue = EventQueue()
    /// The messages in the queue that it is to be told of, those of others by number: they are not lost with this front
    /// end.
    private var untaken: [UInt64: TimedEvent] = [:]
    /// The messages in the queue of senders who have only a share of it, by number.
    private var unfamiliar: [UInt64: (rank: SenderRank, size: Int)] = [:]
    /// Bytes of messages and outcomes that wait.
    private var size = 0
    /// Since when it takes nothing of what waits, in milliseconds.
    private var idleSince: Int64?
    /// The latest of the user that it was not told.
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

    package func ask(_ request: ServiceRequest) {
        guard case .none = end else { return }
        requests.append(request)
        work()
        hub.deadlineChanged()
    }

    /// No chat of it is shown, and nothing is typed at it. Its messages wait as for one that does not read.
    package func suspend(_ completion: @escaping () -> Void) {
        hub.suspend(self, true)
        completion()
    }

    package func resume() { hub.suspend(self, false) }

    /// It goes, and the node stays.
    package func stop(_ completion: @escaping () -> Void) {
        hub.detach(self, .stopped)
        completion()
    }

    // MARK: Requests

    private func work() {
        guard !isWorking else { return }
        isWorking = true
        while asked == nil, case .none = end, let request = requests.popFirst() {
            asked = request
            hub.perform(request, for: self)
        }
        isWorking = false
        deliver()
    }

    /// What came of the request that was last begun, and what waited and goes with that.
    func answer(_ answer: ServiceAnswer, then waited: [TimedEvent] = []) {
        guard let request = asked else { return }
        asked = nil
        arrivals.append(.output(.answer(answer, to: request)))
        if let parting, case .done = answer { arrivals.append(.parting(parting)) }
        parting = nil
        for timed in waited {
            if case .message(let chat, _, let number, _) = timed.event {
                told[chat, default: []].insert(number)
                untaken[number] = nil
            }
            arrivals.append(.output(.waited(timed)))
        }
        work()
    }

    // MARK: What happens

    func isIn(_ chat: String) -> Bool { chats.contains(chat) }

    /// Whether its user sees what comes in a chat.
    func shows(_ chat: String) -> Bool {
        openChat == chat && !isSuspended && subscription.wants(.message, in: chat, isMember: isIn(chat))
    }

    func wants(_ event: Event) -> Bool { subscription.wants(event, isMember: isIn) }

    /// Adds an event that the front end is to be told.
    ///
    /// - Parameter rank: How well the user knows the sender of a message; the highest for what nobody sent.
    func add(_ timed: TimedEvent, rank: SenderRank = .verified) {
        guard case .none = end else { return }
        if case .message(let chat, _, let number, _) = timed.event, let share = DaemonLimits.backlogShare(of: rank) {
            let added = Self.size(of: timed)
            guard unfamiliar.values.reduce(added, { $1.rank <= rank ? $0 + $1.size : $0 }) <= share else {
                let missed = Event.missed(chat: chat, messages: 1, outcomes: 0)
                arrivals.append(.event(TimedEvent(at: timed.at, event: missed)))
                return deliver()
            }
            unfamiliar[number] = (rank, added)
        }
        arrivals.append(.event(timed))
        size += Self.size(of: timed)
        if case .message(_, let person, let number, _) = timed.event, person.user != identity.user {
            untaken[number] = timed
        }
        deliver()
        if size > DaemonLimits.backlogBytes { hub.detach(self, .tooSlow) }
    }

    /// A message of this user that another front end sent.
    func add(_ own: OwnMessage) {
        // A node has no messages of its own user otherwise, so it has its place among the others like any sender.
        let person = Person(user: identity.user, name: "")
        add(TimedEvent(at: own.at, event: .message(chat: own.chat, from: person, number: own.message, text: own.text)))
    }

    /// The user changed their name, or said whether they are away.
    func add(_ user: UserState) {
        guard case .none = end else { return }
        arrivals.append(.output(.user(user)))
        deliver()
    }

    /// It is told by an answer who is in a chat, so that it will be told who goes.
    func knows(_ peers: [Peer], in chat: String) {
        queue.begin(chat: chat, present: peers.filter { $0.presence != .offline }.map(\.user), typing: [])
    }

    /// It leaves a chat. Once that is answered it is told that everybody goes of whom it was told that they are there,
    /// unless it is told of the chat in any case.
    func part(from peers: [Peer], in chat: String, at time: Double) {
        guard case .own = subscription.chats else { return }
        parting = Parting(chat: chat, peers: subscription.kinds.contains(.peer) ? peers : [], at: time)
    }

    private func farewells(_ parting: Parting) -> [Event] {
        let told = queue.end(chat: parting.chat)
        let gone = parting.peers.filter { told.present.contains($0.user) }
        return (told.isTyping ? [.typing(chat: parting.chat, [])] : [])
            + gone.map { .peer(chat: parting.chat, $0.gone(at: parting.at), why: .bye) }
    }

    func forgetTyping(in chat: String) { queue.forgetTyping(in: chat) }

    func forgetTold(in chat: String) {
        told[chat] = nil
        toldLost[chat] = nil
    }

    /// When it is cut off unless it takes something.
    var patienceEnd: Int64? { idleSince.map { $0 + DaemonLimits.readerPatience } }

    // MARK: What it is told

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
                if case .message(_, let person, let number, _) = timed.event, person.user != identity.user {
                    unfamiliar[number] = nil
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

    /// Whether it is a message that came with those that waited, while it was on its way.
    private func isHandedOver(_ timed: TimedEvent) -> Bool {
        guard case .message(_, let person, let number, _) = timed.event, person.user != identity.user else {
            return false
        }
        return untaken[number] == nil
    }

    private func ending() -> ServiceOutput? {
        guard sink != nil, case .due(let why) = end else { return nil }
        end = .told
        return .ended(why)
    }

    private func output(_ timed: TimedEvent) -> ServiceOutput {
        guard case .message(let chat, let person, let number, let text) = timed.event else { return .event(timed) }
        guard person.user != identity.user else {
            return .own(OwnMessage(at: timed.at, chat: chat, message: number, text: text))
        }
        untaken[number] = nil
        if hub.isWaiting(number, in: chat) {
            told[chat, default: []].insert(number)
            // Of those that wait no more nothing needs to be known.
            if told[chat, default: []].count > 2 * DaemonLimits.waitingMessages {
                forgetTold(in: chat, but: hub.waiting)
            }
        }
        return .event(timed)
    }

    private func forgetTold(in chat: String, but waiting: WaitingMessages) {
        told[chat]?.formIntersection(waiting.messages(in: chat).map(\.number))
    }

    /// Nothing more comes but that.
    ///
    /// - Returns: The messages that it was not told of.
    func finish(_ why: ServiceEnd) -> [TimedEvent] {
        guard case .none = end else { return [] }
        end = .due(why)
        requests.removeAll()
        (asked, parting) = (nil, nil)
        let untaken = takesEvents ? [] : self.untaken.values.sorted { Self.number($0) < Self.number($1) }
        deliver()
        return untaken
    }

    private static func number(_ timed: TimedEvent) -> UInt64 {
        if case .message(_, _, let number, _) = timed.event { number } else { 0 }
    }

    /// What it counts while it waits.
    private static func size(of timed: TimedEvent) -> Int {
        switch timed.event {
        case .message(_, _, _, let text): text.utf8.count + DaemonLimits.messageOverhead
        case .delivered, .failed: DaemonLimits.messageOverhead
        case .peer, .typing, .notice, .missed: 0
        }
    }
}
