import Inkling
import InklingModel

/// One node, and the front ends that share it.
///
/// The service does no I/O, and reads only the clocks of its surroundings. Its owner calls ``tick()`` at ``nextDeadline``,
/// which each call of the service or of a front end may change. The service of a driven node has no deadline.
package final class Service: EventSink {
    /// The services of the service for its front ends.
    package enum Level {
        /// The node lives as long as its only front end, which is in this process (J-12). Nothing is held or kept for a
        /// later front end, and drafts go to the node as they are.
        case driven
        /// The node lives as long as the front end in this process, the prompt. Others attach.
        case holder
        /// The node outlives its front ends.
        case daemon
    }

    /// The clocks and services that the service uses.
    package struct Surroundings {
        /// Milliseconds of a clock that never goes back.
        let steady: () -> Int64
        /// Milliseconds of a clock that never goes back, and stands still while the machine sleeps.
        let awake: () -> Int64
        /// The time of day.
        let wall: () -> Timestamp
        /// Writes the kept chats, and calls back on the event loop. The user leaves the chat in the second argument; until
        /// ``finishLeaving``, a start of the daemon ends its logs. The last argument gets nil when they are on disk, else the
        /// reason for the failure and the remedy.
        let keep: (KeptChats, _ leaving: Chat?, @escaping (String?) -> Void) -> Void
        /// Records that the logs of a left chat have ended.
        let finishLeaving: (Chat) -> Void
        /// Keeps the user's name for later runs; nil if nothing does. Calls back on the event loop: with nil when the name
        /// is on disk, else with a notice of the failure.
        let keepName: ((String, @escaping (Notice?) -> Void) -> Void)?
        /// Calls back on the event loop with the reason why the node may not join a chat, or with nil when its name is
        /// stored. The other arguments are whether the user confirmed that the chat has this name, and whether the name is
        /// stored with the kept chat.
        let refusal: (Chat, _ isConfirmed: Bool, _ isKept: Bool, @escaping (NodeError?) -> Void) -> Void
        /// Returns how well the user knows a person in a chat.
        let rank: (UserID, _ chat: String) -> SenderRank
        /// Returns the chat that a front end joins, by the name that the user gave it.
        let chat: (ChatSource, String?) throws(NodeError) -> Chat
        /// Returns the newest chat to which a chat has moved, or the chat itself; nil if the user has left the newest one.
        let present: (Chat) -> Chat?
        /// Stops the daemon, as a front end asked.
        let shutDown: () -> Void
        /// Keeps the messages of chats whose users want that.
        let history: any ChatHistory
        /// The received texts that the node keeps on disk until they are read.
        let texts: UnreadTexts

        package init(
            steady: @escaping () -> Int64, awake: @escaping () -> Int64, wall: @escaping () -> Timestamp,
            keep: @escaping (KeptChats, _ leaving: Chat?, @escaping (String?) -> Void) -> Void,
            finishLeaving: @escaping (Chat) -> Void = { _ in },
            keepName: ((String, @escaping (Notice?) -> Void) -> Void)? = nil,
            refusal: @escaping (Chat, Bool, Bool, @escaping (NodeError?) -> Void) -> Void = { $3(nil) },
            rank: @escaping (UserID, _ chat: String) -> SenderRank,
            chat: @escaping (ChatSource, String?) throws(NodeError) -> Chat,
            present: @escaping (Chat) -> Chat? = { $0 }, shutDown: @escaping () -> Void,
            history: (any ChatHistory)? = nil, texts: UnreadTexts = UnreadTexts()
        ) {
            self.texts = texts
            self.history = history ?? NoHistory()
            self.steady = steady
            self.awake = awake
            self.wall = wall
            (self.keep, self.finishLeaving) = (keep, finishLeaving)
            self.keepName = keepName
            self.refusal = refusal
            self.rank = rank
            self.chat = chat
            self.present = present
            self.shutDown = shutDown
        }
    }

    let node: any ServiceNode
    package let level: Level
    /// The messages that no front end has to take any more, since the node last asked.
    private var settled: [MessageID] = []
    /// Whether the service is taking an event of the node.
    private(set) var isTaking = false
    /// Whether a front end has outputs of events that the service has just taken.
    private var isFlushDue = false
    /// Called with each message that arrives while no front end shows its chat.
    package var messageUnseen: (TimedEvent, SenderRank) -> Void = { _, _ in }
    /// Called with a kept chat that the node can't join, and the reason.
    package var chatRefused: (Chat, NodeError) -> Void = { _, _ in }
    /// Stops the node, at the end of the front end in this process.
    package lazy var stopNode: (@escaping () -> Void) -> Void = { [unowned self] in node.stop($0) }
    /// Called when ``nextDeadline`` may have changed.
    package var deadlineChanged: () -> Void = {}
    /// Runs the processing of one output of the node, which may cause outputs to front ends.
    package var turn: (() -> Void) -> Void = { $0() }
    let surroundings: Surroundings
    /// The front ends, in the order in which they attached.
    private(set) var frontEnds: [FrontEnd] = []
    private var nextNumber = 1
    /// The chats that the node is in.
    var joined: [String: Chat] = [:]
    /// The chats that the node is about to join, and what waits for that.
    var joining: [String: [() -> Void]] = [:]
    /// The chats that the node stays in without a front end, in the order in which they were kept.
    var kept: [Chat] = []
    /// The writes of chats that are about to be kept, by name.
    var keeping: [String: Keeping] = [:]
    /// Whether texts wait, for the kept chats that differ from the usual.
    var holds: [String: Bool] = [:]
    var standingNotices = StandingNotices()
    var drafts: DraftUnion
    package internal(set) var unread = UnreadMessages()
    var recent = RecentMessages()
    private var attention: Attention
    /// Whether a front end has set the user away.
    private var isAwayByWord = false
    private var isAwayAnnounced = false
    /// Whether the node is about to stop.
    private var isEnding = false
    /// Whether the node has ended.
    private(set) var hasEnded = false
    private var allAnswered: (() -> Void)?
    /// The front end that sent a message and the number of outcomes due, by message.
    private(set) var senders: [MessageID: (frontEnd: Int, outcomes: Int)] = [:]

    /// Makes a service without front ends.
    ///
    /// - Parameters:
    ///   - node: A node that is in no chat yet, and has no sink.
    ///   - kept: The kept chats, which a daemon joins at the start.
    ///   - holds: Whether texts wait there, for chats that differ from the usual.
    ///   - announcesAbsence: Whether the user is away while no front end shows a chat.
    ///   - counts: Returns whether a draft counts as typing (T-9).
    package init(
        _ node: any ServiceNode, level: Level = .daemon, kept: [Chat] = [], holds: [String: Bool] = [:],
        announcesAbsence: Bool = false, counts: @escaping (String) -> Bool = { _ in true },
        _ surroundings: Surroundings
    ) {
        self.node = node
        self.level = level
        self.surroundings = surroundings
        self.kept = kept
        self.holds = holds
        drafts = DraftUnion(counts: counts)
        attention = Attention(isEnabled: announcesAbsence)
    }

    /// Attaches to the node, announces the user's presence and joins the kept chats.
    package func begin() {
        node.attach(self)
        surroundings.history.begin { [unowned self] notice in
            standingNotices.note(notice)
            report(notice)
        }
        announcePresence()
        // The user confirmed these names when the chats were kept.
        guard level == .daemon else { return }
        for chat in kept {
            joining[chat.name] = []
            enterNode(chat, isConfirmed: true, isKept: true) { [self] in restored(chat, $0) }
        }
    }

    /// Makes the service drop events of presence and typing. The node is about to stop, which causes such events for all
    /// people.
    package func willEnd() { isEnding = true }

    var now: Int64 { surroundings.steady() }
    var awake: Int64 { surroundings.awake() }
    var identity: NodeIdentity { node.identity }
    package var frontEndCount: Int { frontEnds.count }

    // MARK: Front ends

    /// Adds a front end; nil at the limit of 64 beside the one in this process. The front end gets the notices that still
    /// apply.
    ///
    /// - Parameter isPatient: Whether the front end is the one in this process, which is never cut off, and whose end is
    ///   the node's end.
    package func attach(isPatient: Bool = false) -> FrontEnd? {
        guard isPatient || frontEnds.count(where: { !$0.isPatient }) < DaemonLimits.frontEnds else { return nil }
        let frontEnd = add(isPatient: isPatient)
        enqueueNotices(to: frontEnd)
        if isAwayByWord { frontEnd.add(.user(user)) }
        return frontEnd
    }

    private func add(isPatient: Bool) -> FrontEnd {
        let places = Set(frontEnds.map(\.place))
        let place = (0...frontEnds.count).first { !places.contains($0) } ?? 0
        let frontEnd = FrontEnd(number: nextNumber, place: place, isPatient: isPatient, service: self)
        nextNumber += 1
        frontEnds.append(frontEnd)
        return frontEnd
    }

    /// Removes a front end and its drafts. The node leaves a chat of this front end if the chat is not kept and has no
    /// other front end.
    func detach(_ frontEnd: FrontEnd, _ why: ServiceEnd) {
        guard isAttached(frontEnd) else { return }
        let wasShown = frontEnd.openChat.filter { frontEnd.shows($0) }
        remove(frontEnd)
        drafts.drop(frontEnd.number, at: now).forEach(perform)
        for timed in frontEnd.finish(why) {
            // Messages that no front end showed wait for a reader.
            if case .message(let message) = timed.event, message.chat == wasShown, !isShown(message.chat) {
                hold(timed, rank: rank(of: message))
            }
        }
        for chat in frontEnd.chats.sorted() {
            frontEnd.leave(chat)
            release(chat) { ask(.leave(chat: chat)) }
        }
        updateAttention()
        deadlineChanged()
    }

    func suspend(_ frontEnd: FrontEnd, _ completion: @escaping () -> Void) {
        if frontEnd.isPatient { return node.suspend(completion) }
        frontEnd.isSuspended = true
        drafts.drop(frontEnd.number, at: now).forEach(perform)
        updateAttention()
        deadlineChanged()
        completion()
    }

    func resume(_ frontEnd: FrontEnd) {
        if frontEnd.isPatient { return node.resume() }
        frontEnd.isSuspended = false
        updateAttention()
        deadlineChanged()
    }

    func stop(_ frontEnd: FrontEnd, _ completion: @escaping () -> Void) {
        if frontEnd.isPatient { return stopNode(completion) }
        detach(frontEnd, .stopped)
        completion()
    }

    func isAttached(_ frontEnd: FrontEnd) -> Bool { frontEnds.contains { $0 === frontEnd } }

    private func remove(_ frontEnd: FrontEnd) {
        frontEnds.removeAll { $0 === frontEnd }
        unread.forgetTaken(by: frontEnd.place)
        guard hasEnded, frontEnds.isEmpty, let allAnswered else { return }
        self.allAnswered = nil
        allAnswered()
    }

    func isShown(_ chat: String) -> Bool { frontEnds.contains { $0.shows(chat) } }

    /// Returns whether messages wait in a chat that no front end shows.
    package func isUnseen(_ chat: String) -> Bool { unread.count(in: chat) > 0 && !isShown(chat) }

    /// Forgets a chat and calls `leave`, if no front end is in the chat and it is not kept.
    func release(_ chat: String, leave: () -> Void) {
        guard !kept.contains(where: { $0.name == chat }), !frontEnds.contains(where: { $0.isIn(chat) }),
            joined.removeValue(forKey: chat) != nil
        else { return }
        unread.forget(chat: chat)
        if holds.removeValue(forKey: chat) != nil { surroundings.texts.forgetSwitch(chat) }
        recent.forget(chat: chat)
        drafts.forget(chat: chat)
        for frontEnd in frontEnds { frontEnd.forgetTold(in: chat) }
        leave()
    }

    // MARK: The node

    /// Makes a request to the node. `completion` gets the answer, perhaps after a wait for the disk.
    func ask(_ request: ServiceRequest, _ completion: @escaping (ServiceAnswer) -> Void = { _ in }) {
        node.perform(request) { [self] answer in
            turn { completion(answer) }
            deadlineChanged()
        }
    }

    package func take(_ timed: TimedEvent) {
        isTaking = true
        receive(timed)
        isTaking = false
    }

    /// Lets front ends get their outputs when the node has no more events for now.
    func flushLater() { isFlushDue = true }

    package func flush() {
        guard isFlushDue else { return }
        isFlushDue = false
        turn { for frontEnd in frontEnds where frontEnd.isFlushDue { frontEnd.flush() } }
        deadlineChanged()
    }

    package func end() {
        hasEnded = true
        turn { for frontEnd in frontEnds where !frontEnd.isAsked { finish(frontEnd) } }
        deadlineChanged()
    }

    /// Ends a front end after the end of the node.
    func finish(_ frontEnd: FrontEnd) {
        remove(frontEnd)
        _ = frontEnd.finish(.stopped)
    }

    /// Calls back when each front end has the answer for which it waited at the end of the node.
    package func whenAnswered(_ completion: @escaping () -> Void) {
        guard !frontEnds.isEmpty else { return completion() }
        allAnswered = completion
    }

    /// Ends the front ends that still wait for an answer.
    package func giveUp() { turn { for frontEnd in frontEnds { finish(frontEnd) } } }

    private func receive(_ timed: TimedEvent) {
        switch timed.event {
        case .peer where isEnding, .typing where isEnding: return
        case .message(let message) where level == .driven:
            guard let frontEnd = frontEnds.first(where: { $0.wants(timed.event) }) else { return settle(message.id) }
            return frontEnd.add(timed)
        case .message(let message):
            if !frontEnds.contains(where: { $0.isPatient && $0.wants(timed.event) }) { settle(message.id) }
            let rank = rank(of: message)
            // The last messages of a chat may come after the node left the chat.
            if joined[message.chat] != nil { recent.add(message, at: timed.at, isDelayed: timed.isDelayed) }
            keepLast(in: message.chat)
            if !isShown(message.chat) {
                hold(timed, rank: rank)
                messageUnseen(timed, rank)
            }
            for frontEnd in frontEnds where frontEnd.wants(timed.event) { frontEnd.add(timed, rank: rank) }
            return
        case .waiting(let receipt):
            recent.record(receipt)
            return forward(waiting: timed, of: receipt)
        case .notice(let notice):
            standingNotices.note(notice)
            if case .moved(let chat) = notice { moved(chat) }
            // The node has saved texts of earlier runs.
            if case .other("waiting-damaged", _) = notice {
                for chat in joined.keys.sorted() { restoreTexts(in: chat) }
            }
        case .delivered(let receipt):
            recent.record(receipt)
            if receipt.entry != nil { return forward(lateOutcome: timed, in: receipt.chat) }
            return forward(outcome: timed, of: receipt.message, in: receipt.chat)
        case .failed(let failure):
            recent.record(failure)
            if failure.entry != nil { return forward(lateOutcome: timed, in: failure.chat) }
            return forward(outcome: timed, of: failure.message, in: failure.chat)
        case .peer, .typing, .missed: break
        }
        for frontEnd in frontEnds where frontEnd.wants(timed.event) { frontEnd.add(timed) }
    }

    /// Returns how well the user knows a sender. A member of a private chat is not a stranger.
    func rank(of message: ReceivedMessage) -> SenderRank {
        let isPrivate = joined[message.chat].map(\.isOpen) == false
        return max(surroundings.rank(message.sender.user, message.chat), isPrivate ? .member : .stranger)
    }

    /// Reports an outcome to the sender and to all who get the messages of the chat.
    func forward(outcome: TimedEvent, of message: MessageID, in chat: String) {
        guard let sender = senders[message] else { return }
        senders[message] = sender.outcomes > 1 ? (sender.frontEnd, sender.outcomes - 1) : nil
        if level != .driven, senders[message] == nil { keepOutcomes(of: message, in: chat) }
        for frontEnd in frontEnds where frontEnd.number == sender.frontEnd || frontEnd.wantsMessages(in: chat) {
            frontEnd.add(outcome)
        }
    }

    /// Reports a sent message to the other front ends, before any outcome.
    func sent(_ text: String, _ message: MessageID, recipients: Int, in chat: String, by sender: FrontEnd) {
        if recipients > 0 { senders[message] = (sender.number, recipients) }
        guard level != .driven else { return }
        drafts.sent(in: chat, by: sender.number)
        let own = OwnMessage(
            at: surroundings.wall(), chat: chat, message: message, recipients: recipients, text: text)
        recent.add(own)
        keepLast(in: chat)
        for frontEnd in frontEnds where frontEnd !== sender && frontEnd.wantsMessages(in: chat) {
            frontEnd.add(.own(own))
        }
    }

    /// Records who gets the outcome of an invite.
    func invited(_ message: MessageID, by sender: FrontEnd) { senders[message] = (sender.number, 1) }

    func perform(_ edge: DraftUnion.Edge) {
        switch edge {
        case .start(let chat): node.edit(.startTyping(chat: chat))
        case .stop(let chat): node.edit(.stopTyping(chat: chat))
        }
    }

    /// Empties the input field of a front end in a chat.
    func dropDraft(in chat: String, of frontEnd: FrontEnd) {
        if level == .driven { return _ = node.edit(.compose("", chat: chat)) }
        if let edge = drafts.drop(in: chat, by: frontEnd.number, at: now) { perform(edge) }
    }

    // MARK: Messages that wait for a front end (M-20)

    /// Records that no front end has to take a message any more.
    func settle(_ message: MessageID) { settled.append(message) }

    /// Lets the node learn of settled messages.
    func tellSettled() {
        if !settled.isEmpty { node.settle() }
    }

    package func takeSettled() -> [MessageID] {
        defer { settled = [] }
        return settled
    }

    package var isWatched: Bool { frontEnds.contains { $0.isWatched } }

    package func look(patience: Int) {
        for frontEnd in frontEnds { frontEnd.look(patience: patience) }
    }

    /// Reports the notices that hold, except those that the front end got under its former subscription.
    func enqueueNotices(to frontEnd: FrontEnd, former: Subscription? = nil) {
        let faults = [surroundings.history.fault, surroundings.texts.fault()].compactMap { $0 }
        for notice in standingNotices.all + faults {
            guard frontEnd.subscription.wants(notice), former?.wants(notice) != true else { continue }
            frontEnd.add(TimedEvent(at: surroundings.wall(), event: .notice(notice)))
        }
    }

    // MARK: The user

    private var user: UserState {
        UserState(at: surroundings.wall(), name: identity.name, isAway: isAwayByWord)
    }

    /// Reports the user's state to all front ends.
    func enqueueUser() {
        guard level != .driven else { return }
        let user = user
        for frontEnd in frontEnds { frontEnd.add(.user(user)) }
    }

    /// Renames the user, by a front end's request or after a change of the settings.
    package func rename(_ name: String, for frontEnd: FrontEnd? = nil) {
        ask(.rename(name)) { [self] answer in
            let finish = { [self] (failure: Notice?) in
                frontEnd?.answer(answer)
                if answer == .done { enqueueUser() }
                if let failure { report(failure) }
                deadlineChanged()
            }
            guard answer == .done, !identity.isTemporary, let keepName = surroundings.keepName else {
                return finish(nil)
            }
            keepName(name, finish)
        }
    }

    /// Applies the user's request to be away or back.
    func setAway(_ isAway: Bool) {
        let isNew = isAwayByWord != isAway
        isAwayByWord = isAway
        if isAway, isAwayAnnounced {
            // The node ends typing only when the user goes away.
            let stops = level == .driven ? joined.keys.sorted().map { .stop(chat: $0) } : drafts.restAll()
            stops.forEach(perform)
        }
        announcePresence()
        if isNew { enqueueUser() }
    }

    /// Whether the setting makes the user away while no front end shows a chat.
    package var announcesAbsence: Bool {
        get { attention.isEnabled }
        set {
            attention.isEnabled = newValue
            announcePresence()
        }
    }

    var isAway: Bool { isAwayByWord || attention.isAway }

    /// Updates the user's presence after a possible change of the shown chats.
    func updateAttention() {
        let isShown = frontEnds.contains { frontEnd in frontEnd.openChat.map { frontEnd.shows($0) } ?? false }
        attention.update(isShown: isShown, at: now)
        announcePresence()
    }

    private func announcePresence() {
        guard isAway != isAwayAnnounced else { return }
        isAwayAnnounced = isAway
        // Going away ends typing.
        if isAway { _ = drafts.restAll() }
        ask(.setAway(isAway))
    }

    // MARK: Time

    /// The time of the next ``tick()``, in milliseconds of the steady clock.
    package var nextDeadline: Int64? {
        var deadline = Self.earlier(drafts.nextDeadline, attention.nextDeadline)
        for frontEnd in frontEnds { deadline = Self.earlier(deadline, frontEnd.patience.map { now + max($0, 0) }) }
        return deadline
    }

    private static func earlier(_ one: Int64?, _ other: Int64?) -> Int64? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    /// Performs the work that is due.
    package func tick() {
        drafts.advance(to: now).forEach(perform)
        attention.advance(to: now)
        announcePresence()
        for frontEnd in frontEnds {
            if let patience = frontEnd.patience, patience <= 0 { detach(frontEnd, .tooSlow) }
        }
        deadlineChanged()
    }
}

extension Optional {
    fileprivate func filter(_ isIncluded: (Wrapped) -> Bool) -> Wrapped? { flatMap { isIncluded($0) ? $0 : nil } }
}
