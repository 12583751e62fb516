import Inkling
import InklingModel

/// One node, and any number of front ends that share it.
///
/// It does no I/O and reads no clock but what it is given: ``tick()`` is to be called at ``nextDeadline``, which may be
/// another after each call of the hub or of a front end.
package final class NodeHub {
    /// What surrounds the hub.
    package struct Surroundings {
        /// Milliseconds of a clock that never goes back.
        let steady: () -> Int64
        /// Seconds since 1970.
        let wall: () -> Double
        /// Has the chats that are kept written, and calls back on the event loop: with nil when they are on disk, or
        /// with the reason why they are not and what to do.
        let keep: ([Chat], @escaping (String?) -> Void) -> Void
        /// Returns how well the user knows somebody in a chat.
        let rank: (UserID, _ chat: String) -> SenderRank
        /// A front end asks for the end of the daemon.
        let shutDown: () -> Void

        package init(
            steady: @escaping () -> Int64, wall: @escaping () -> Double,
            keep: @escaping ([Chat], @escaping (String?) -> Void) -> Void,
            rank: @escaping (UserID, _ chat: String) -> SenderRank, shutDown: @escaping () -> Void
        ) {
            self.steady = steady
            self.wall = wall
            self.keep = keep
            self.rank = rank
            self.shutDown = shutDown
        }
    }

    /// What an answer of the node is for.
    enum Purpose {
        case none
        /// A front end waits for it as it is.
        case answer(HubFrontEnd)
        case join(HubFrontEnd, Chat, isKept: Bool, isConfirmed: Bool)
        case enter(HubFrontEnd, Chat)
        /// Who is in a chat that a front end is about to leave.
        case part(HubFrontEnd, String)
        case leave(HubFrontEnd, String)
        case send(HubFrontEnd, String, chat: String)
        /// For a front end, or for the daemon itself.
        case rename(HubFrontEnd?)
        /// The people of a chat are to be told to a front end that begins to look.
        case present(HubFrontEnd, String)
        /// A chat that was kept is joined at the beginning.
        case restore(Chat)
    }

    private let node: any ChatService
    /// Called with each message that comes while its chat is not shown.
    package var messageUnseen: (TimedEvent, SenderRank) -> Void = { _, _ in }
    /// Called with a chat that was kept and that the node can't be in, and why.
    package var chatRefused: (Chat, NodeError) -> Void = { _, _ in }
    /// Called when ``nextDeadline`` may have changed.
    package var deadlineChanged: () -> Void = {}
    let surroundings: Surroundings
    private(set) var frontEnds: [Int: HubFrontEnd] = [:]
    private var nextNumber = 1
    private var pending: ArraySlice<(request: ServiceRequest, purpose: Purpose)> = []
    /// The chats that the node is in.
    var joined: [String: Chat] = [:]
    /// Those that it stays in without a front end, in the order in which they were kept.
    var kept: [Chat] = []
    /// Who types in each chat.
    var typing: [String: [Person]] = [:]
    var standingNotices = StandingNotices()
    var drafts: DraftUnion
    package internal(set) var waiting = WaitingMessages()
    private var attention: Attention
    /// The user said so.
    private var isAwayByWord = false
    private var isAwayAnnounced = false
    /// Whether the node says goodbye.
    private var isEnding = false
    /// Who sent a message, and how many outcomes of it are due.
    private var senders: [UInt64: (frontEnd: Int, outcomes: Int)] = [:]

    /// - Parameters:
    ///   - node: A node that is in no chat yet, and has no sink.
    ///   - kept: The chats to be in from the beginning.
    ///   - announcesAbsence: Whether the user is away while no chat is shown.
    ///   - counts: Whether a draft is a message in the making (T-9).
    package init(
        _ node: any ChatService, kept: [Chat], announcesAbsence: Bool, counts: @escaping (String) -> Bool,
        _ surroundings: Surroundings
    ) {
        self.node = node
        self.surroundings = surroundings
        self.kept = kept
        drafts = DraftUnion(counts: counts)
        attention = Attention(isEnabled: announcesAbsence)
    }

    /// Begins: the node is told who is away, and joins the chats that are kept.
    package func begin() {
        node.attach { [unowned self] in take($0) }
        announcePresence()
        // The user confirmed their names when they were kept.
        for chat in kept { ask(.join(chat, isConfirmed: true), .restore(chat)) }
    }

    /// The node is about to be stopped: that others go then, and type no more, is nothing that they did.
    package func willEnd() { isEnding = true }

    var now: Int64 { surroundings.steady() }
    var identity: NodeIdentity { node.identity }
    package var frontEndCount: Int { frontEnds.count }

    // MARK: Front ends

    /// Somebody comes; nil if there are 64. The front end is told of the notices that hold.
    package func attach() -> HubFrontEnd? {
        guard frontEnds.count < DaemonLimits.frontEnds else { return nil }
        let frontEnd = HubFrontEnd(number: nextNumber, hub: self)
        nextNumber += 1
        frontEnds[frontEnd.number] = frontEnd
        tellNotices(to: frontEnd)
        if isAwayByWord { frontEnd.add(user) }
        return frontEnd
    }

    /// A front end goes: its drafts end, and its chats unless somebody else is in them or they are kept.
    func detach(_ frontEnd: HubFrontEnd, _ why: ServiceEnd) {
        guard frontEnds[frontEnd.number] != nil else { return }
        let wasShown = frontEnd.openChat.filter { frontEnd.shows($0) }
        frontEnds[frontEnd.number] = nil
        perform(drafts.drop(frontEnd.number, at: now))
        for timed in frontEnd.finish(why) {
            // What nobody has seen waits.
            if case .message(let chat, let person, _, _) = timed.event, chat == wasShown, !isShown(chat) {
                waiting.add(timed, rank: rank(of: person.user, in: chat))
            }
        }
        for chat in frontEnd.chats.sorted() { release(chat) { ask(.leave(chat: chat), .none) } }
        frontEnd.chats = []
        noteShown()
        deadlineChanged()
    }

    func suspend(_ frontEnd: HubFrontEnd, _ isSuspended: Bool) {
        frontEnd.isSuspended = isSuspended
        if isSuspended { perform(drafts.drop(frontEnd.number, at: now)) }
        noteShown()
        deadlineChanged()
    }

    /// The front ends, in the order in which they came.
    var all: [HubFrontEnd] { frontEnds.keys.sorted().compactMap { frontEnds[$0] } }

    func isShown(_ chat: String) -> Bool { frontEnds.values.contains { $0.shows(chat) } }

    /// Whether messages wait in a chat that nobody looks at.
    package func isUnseen(_ chat: String) -> Bool { waiting.count(in: chat) > 0 && !isShown(chat) }

    func isWaiting(_ number: UInt64, in chat: String) -> Bool {
        waiting.messages(in: chat).contains { $0.number == number }
    }

    /// Calls `leave` if nobody is in the chat any more.
    func release(_ chat: String, leave: () -> Void) {
        guard !kept.contains(where: { $0.name == chat }), !frontEnds.values.contains(where: { $0.isIn(chat) }),
            joined.removeValue(forKey: chat) != nil
        else { return }
        typing[chat] = nil
        waiting.forget(chat: chat)
        drafts.forget(chat: chat)
        for frontEnd in frontEnds.values { frontEnd.forgetTold(in: chat) }
        leave()
    }

    // MARK: The node

    func ask(_ request: ServiceRequest, _ purpose: Purpose) {
        pending.append((request, purpose))
        node.ask(request)
    }

    private func take(_ output: ServiceOutput) {
        switch output {
        case .event(let timed): take(timed)
        case .answer(let answer, let request):
            guard let index = pending.firstIndex(where: { $0.request == request }) else { return }
            take(answer, for: pending.remove(at: index).purpose)
        case .ended(let why):
            for frontEnd in all {
                frontEnds[frontEnd.number] = nil
                _ = frontEnd.finish(why)
            }
        // A node in this process has no other front end.
        case .waited, .own, .user: break
        }
        deadlineChanged()
    }

    private func take(_ timed: TimedEvent) {
        switch timed.event {
        case .peer where isEnding, .typing where isEnding: return
        case .message(let chat, let person, _, _):
            let rank = rank(of: person.user, in: chat)
            if !isShown(chat) {
                waiting.add(timed, rank: rank)
                messageUnseen(timed, rank)
            }
            for frontEnd in all where frontEnd.wants(timed.event) { frontEnd.add(timed, rank: rank) }
            return
        case .typing(let chat, let people): typing[chat] = people.isEmpty ? nil : people
        case .notice(let notice): standingNotices.note(notice)
        case .delivered(_, let message, _), .failed(_, let message, _, _): return tell(outcome: timed, of: message)
        case .peer, .missed: break
        }
        for frontEnd in all where frontEnd.wants(timed.event) { frontEnd.add(timed) }
    }

    /// A member of a private chat is no stranger.
    private func rank(of user: UserID, in chat: String) -> SenderRank {
        max(surroundings.rank(user, chat), joined[chat].map(\.isOpen) == false ? .member : .stranger)
    }

    private func tell(outcome: TimedEvent, of message: UInt64) {
        guard let sender = senders[message] else { return }
        senders[message] = sender.outcomes > 1 ? (sender.frontEnd, sender.outcomes - 1) : nil
        frontEnds[sender.frontEnd]?.add(outcome)
    }

    /// A message was sent: the others are told, before anything becomes of it.
    func sent(_ text: String, _ message: UInt64, recipients: Int, in chat: String, by sender: HubFrontEnd) {
        if recipients > 0 { senders[message] = (sender.number, recipients) }
        drafts.sent(in: chat, by: sender.number)
        let own = OwnMessage(at: surroundings.wall(), chat: chat, message: message, text: text)
        for frontEnd in all where frontEnd !== sender {
            if frontEnd.subscription.wants(.message, in: chat, isMember: frontEnd.isIn(chat)) { frontEnd.add(own) }
        }
    }

    func perform(_ edges: [DraftUnion.Edge]) {
        for edge in edges {
            switch edge {
            case .start(let chat): ask(.startTyping(chat: chat), .none)
            case .stop(let chat): ask(.stopTyping(chat: chat), .none)
            }
        }
    }

    func tellNotices(to frontEnd: HubFrontEnd) {
        for notice in standingNotices.all {
            frontEnd.add(TimedEvent(at: surroundings.wall(), event: .notice(notice)))
        }
    }

    // MARK: The user

    private var user: UserState {
        UserState(at: surroundings.wall(), name: identity.name, isAway: isAwayByWord)
    }

    /// All front ends are told of the user.
    func tellUser() {
        let user = user
        for frontEnd in all { frontEnd.add(user) }
    }

    /// The settings give the user another name.
    package func rename(_ name: String) { ask(.rename(name), .rename(nil)) }

    /// The user said whether they are away.
    func setAway(_ isAway: Bool) {
        let isNew = isAwayByWord != isAway
        isAwayByWord = isAway
        announcePresence()
        if isNew { tellUser() }
    }

    /// Whether the user is away while no chat is shown.
    package var announcesAbsence: Bool {
        get { attention.isEnabled }
        set {
            attention.isEnabled = newValue
            announcePresence()
        }
    }

    var isAway: Bool { isAwayByWord || attention.isAway }

    /// What is shown may have changed.
    func noteShown() {
        let isShown = frontEnds.values.contains { frontEnd in frontEnd.openChat.map { frontEnd.shows($0) } ?? false }
        attention.note(isShown: isShown, at: now)
        announcePresence()
    }

    private func announcePresence() {
        guard isAway != isAwayAnnounced else { return }
        isAwayAnnounced = isAway
        // Whoever goes away ends typing.
        if isAway { drafts.restAll() }
        ask(.setAway(isAway), .none)
    }

    // MARK: Time

    /// When ``tick()`` is to be called, in milliseconds of the steady clock.
    package var nextDeadline: Int64? {
        ([drafts.nextDeadline, attention.nextDeadline] + frontEnds.values.map(\.patienceEnd)).compactMap { $0 }.min()
    }

    /// Time has passed.
    package func tick() {
        perform(drafts.advance(to: now))
        attention.advance(to: now)
        announcePresence()
        for frontEnd in all {
            if let end = frontEnd.patienceEnd, end <= now { detach(frontEnd, .tooSlow) }
        }
        deadlineChanged()
    }
}

extension Optional {
    fileprivate func filter(_ isIncluded: (Wrapped) -> Bool) -> Wrapped? { flatMap { isIncluded($0) ? $0 : nil } }
}
