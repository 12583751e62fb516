import InklingModel
import NIOCore

/// The waiting events of one reader of a node. A front end's queue also has the user's own messages and state.
///
/// - Only the latest list of typists of a chat waits, and the latest presence of a person in a chat. Of several notices
///   on one subject, only the latest waits.
/// - Messages wait in a queue for each sender. Senders take turns.
/// - One person's events in a chat keep their order. A presence that changed before their messages comes first, and one
///   that changed after the messages comes last. Just before a message, the list of typists shows its author as at that
///   time. A person who leaves is off that list first.
/// - Outcomes of this node's messages wait one by one.
/// - The queue counts the dropped events of each chat, and delivers the counts first.
package struct EventQueue: Sendable {
    /// The number of dropped events in a chat.
    package struct Gap: Sendable {
        package var messages = 0
        package var outcomes = 0
        /// The time of the latest dropped event.
        package var at: Timestamp
    }

    /// A person in a chat.
    private struct Member: Hashable {
        let chat: String
        /// Nil for the user of the node.
        let user: UserID?
    }

    private enum Item: Hashable, Sendable {
        case typing(String)
        case presence(Member)
        case notice(NoticeSubject)
        case outcomes
        case messages(UserID?)
    }

    /// The typists of a chat.
    private struct TypingList {
        let chat: String
        var latest: [Person] = []
        var at: Timestamp = 0
        /// The list that the reader knows.
        var told: [Person] = []
        /// The earliest turn of the chat's next list, on the clock of the agenda.
        var nextTurn = 0

        var isEmpty: Bool { latest.isEmpty && told.isEmpty }
    }

    /// The waiting events of a person in a chat, in this order: `before`, the messages, `after`.
    private struct Standing {
        /// Whether the reader knows that the person is present.
        var isThere = false
        var before: TimedEvent?
        /// The waiting messages. For each, the element tells whether its author was typing when the message came.
        var messages = CircularBuffer<Bool>(initialCapacity: 0)
        var after: TimedEvent?

        var isSettled: Bool { !isThere && before == nil && messages.isEmpty && after == nil }
    }

    private struct Waiting {
        let turn: Turn
        let chat: String
        let output: QueuedOutput
    }

    private struct Sender {
        var flow = Flow(burst: NodeLimits.messagesInOrder)
        var messages = CircularBuffer<Waiting>()
    }

    private var agenda = Agenda<Item>()
    private var clock = 0
    private var arrivals = 0
    private var gaps: [String: Gap] = [:]
    /// The lists of typists. A reader has few chats, which a search finds faster than hashing does.
    private var typing: [TypingList] = []
    private var members: [Member: Standing] = [:]
    private var presenceFlow = Flow(burst: NodeLimits.changesInOrder)
    private var notices: [NoticeSubject: TimedEvent] = [:]
    private var noticeFlow = Flow(burst: NodeLimits.noticesInOrder)
    private var outcomes = CircularBuffer<Waiting>()
    private var outcomeFlow = Flow(burst: NodeLimits.changesInOrder)
    private var senders: [UserID?: Sender] = [:]
    private var user: UserState?

    package init() {}

    /// Whether nothing waits.
    // See EventBacklog.isWatched.
    @inline(__always)
    package var isEmpty: Bool { agenda.isEmpty && gaps.isEmpty && user == nil }
    /// The number of waiting messages.
    package var messageCount: Int { senders.values.reduce(0) { $0 + $1.messages.count } }
    /// The waiting messages, in no order.
    package var waitingMessages: [MessageID] { senders.values.flatMap(\.messages).compactMap(\.output.message?.id) }
    /// The number of waiting items beside messages.
    package var otherCount: Int {
        members.count + typing.count { !$0.isEmpty } + notices.count + outcomes.count + gaps.count
    }

    /// The number of stored turns, including outdated ones.
    package var turnCount: Int { agenda.turnCount }

    // MARK: Before the first event

    /// Sets the people and typists that the reader knows in a chat. The queue delivers only differences from them.
    package mutating func begin(chat: String, present: [UserID], typing people: [InklingModel.Person]) {
        for user in present { members[Member(chat: chat, user: user), default: Standing()].isThere = true }
        guard !people.isEmpty else { return }
        let index = typingIndex(of: chat)
        typing[index].latest = people
        typing[index].at = 0
        typing[index].told = people
    }

    /// Forgets the typists that the reader knows in a chat.
    package mutating func forgetTyping(in chat: String) {
        if let index = knownTypingIndex(of: chat) {
            typing[index].latest = []
            typing[index].told = []
        }
        agenda[.typing(chat)] = nil
    }

    /// Stops the reports on presence and typing in a chat.
    ///
    /// - Returns: The people whom the reader knows to be there, and whether its latest list of typists has anybody.
    package mutating func end(chat: String) -> (present: Set<UserID>, isTyping: Bool) {
        var present: Set<UserID> = []
        for member in Array(members.keys) where member.chat == chat {
            if let user = member.user, members[member]?.isThere == true { present.insert(user) }
            members[member]?.isThere = false
            members[member]?.after = nil
            place(nil, of: member)
        }
        let isTyping = knownTypingIndex(of: chat).map { !typing[$0].told.isEmpty } ?? false
        forgetTyping(in: chat)
        return (present, isTyping)
    }

    // MARK: Incoming events

    /// Adds an output for the front end.
    package mutating func add(_ output: QueuedOutput) {
        switch output {
        case .event(let timed): add(timed)
        case .own(let message): addMessage(output, of: Member(chat: message.chat, user: nil))
        case .user(let user): self.user = user
        }
    }

    /// Adds an event for the reader.
    package mutating func add(_ timed: TimedEvent) {
        switch timed.event {
        case .peer(let change): addPresence(timed, of: Member(chat: change.chat, user: change.peer.user))
        case .typing(let chat, let people): addTyping(people, in: chat, at: timed.at)
        case .message(let message): addMessage(.event(timed), of: Member(chat: message.chat, user: message.sender.user))
        case .delivered(let receipt): addOutcome(timed, in: receipt.chat)
        case .failed(let failure): addOutcome(timed, in: failure.chat)
        case .waiting(let receipt): addOutcome(timed, in: receipt.chat)
        case .notice(let notice): addNotice(timed, on: NoticeSubject(notice))
        case .missed(let missed):
            miss(Gap(messages: missed.messages, outcomes: missed.outcomes, at: timed.at), in: missed.chat)
        }
    }

    /// Counts a message that the reader misses while it gets none.
    package mutating func missMessage(in chat: String, at time: Timestamp) {
        miss(Gap(messages: 1, at: time), in: chat)
    }

    /// Drops all waiting messages.
    ///
    /// - Returns: Their numbers.
    package mutating func giveUpMessages() -> [MessageID] {
        var numbers: [MessageID] = []
        for (user, sender) in senders {
            agenda[.messages(user)] = nil
            for message in sender.messages {
                if let received = message.output.message { numbers.append(received.id) }
                missMessage(in: message.chat, at: message.output.at)
                settle(Member(chat: message.chat, user: user))
            }
        }
        senders = [:]
        return numbers.sorted()
    }

    /// Ends the queue. Returns the messages that waited, and the counts of dropped events, by chat.
    package mutating func giveUp() -> (numbers: [MessageID], gaps: [String: Gap]) {
        let numbers = giveUpMessages()
        for outcome in outcomes { miss(Gap(outcomes: 1, at: outcome.output.at), in: outcome.chat) }
        let gaps = gaps
        self = EventQueue()
        return (numbers, gaps)
    }

    package mutating func miss(_ gap: Gap, in chat: String) {
        let before = gaps[chat]
        gaps[chat] = Gap(
            messages: (before?.messages ?? 0) + gap.messages, outcomes: (before?.outcomes ?? 0) + gap.outcomes,
            at: gap.at)
    }

    private mutating func addTyping(_ people: [Person], in chat: String, at time: Timestamp) {
        let index = typingIndex(of: chat)
        typing[index].latest = people
        typing[index].at = time
        // Another turn lets earlier events come first, such as the arrival of a typist.
        agenda[.typing(chat)] = nil
        reviewTyping(in: chat)
    }

    private mutating func addPresence(_ timed: TimedEvent, of member: Member) {
        if members[member]?.messages.isEmpty == false {
            members[member]?.after = timed
        } else {
            place(timed, of: member)
        }
    }

    private mutating func addMessage(_ output: QueuedOutput, of member: Member) {
        let turn = senders[member.user, default: Sender()].flow.enter(clock: clock, arrival: nextArrival())
        senders[member.user]?.messages.append(Waiting(turn: turn, chat: member.chat, output: output))
        if agenda[.messages(member.user)] == nil { agenda[.messages(member.user)] = turn }
        let isTyping =
            knownTypingIndex(of: member.chat).map { typing[$0].latest.contains { $0.user == member.user } } ?? false
        members[member, default: Standing()].messages.append(isTyping)
        if members[member]?.messages.count == 1 { reviewTyping(in: member.chat) }
    }

    private mutating func addOutcome(_ timed: TimedEvent, in chat: String) {
        guard outcomes.count < NodeLimits.waitingOutcomes else { return miss(Gap(outcomes: 1, at: timed.at), in: chat) }
        let turn = outcomeFlow.enter(clock: clock, arrival: nextArrival())
        outcomes.append(Waiting(turn: turn, chat: chat, output: .event(timed)))
        if agenda[.outcomes] == nil { agenda[.outcomes] = turn }
    }

    private mutating func addNotice(_ timed: TimedEvent, on subject: NoticeSubject) {
        if notices[subject] == nil, notices.count >= NodeLimits.unheardNotices {
            // Only notices about people can be so many. Notices about the node itself stay.
            let people = notices.keys.filter(\.isPerson)
            let oldest = people.min { (agenda[.notice($0)]?.arrival ?? 0) < (agenda[.notice($1)]?.arrival ?? 0) }
            if let oldest { _ = takeNotice(on: oldest) }
        }
        let isNew = notices.updateValue(timed, forKey: subject) == nil
        let turn = isNew ? noticeFlow.enter(clock: clock, arrival: nextArrival()) : agenda[.notice(subject)]
        agenda[.notice(subject)] = Turn(start: turn?.start ?? clock, arrival: isNew ? arrivals : nextArrival())
    }

    // MARK: Deliveries

    /// Takes the next event of a reader that gets only events; nil if nothing waits.
    package mutating func take() -> TimedEvent? {
        if case .event(let timed) = next() { timed } else { nil }
    }

    /// Takes the next output; nil if nothing waits.
    package mutating func next() -> QueuedOutput? {
        if let user {
            self.user = nil
            return .user(user)
        }
        if let chat = gaps.keys.min(), let gap = gaps.removeValue(forKey: chat) {
            let missed = MissedEvents(chat: chat, messages: gap.messages, outcomes: gap.outcomes)
            return .event(TimedEvent(at: gap.at, event: .missed(missed)))
        }
        while let item = agenda.first() {
            clock = max(clock, agenda[item]?.start ?? clock)
            if let output = take(item) { return output }
            agenda[item] = nil
        }
        return nil
    }

    /// Does the same as ``add(_:)-(QueuedOutput)`` and then ``next()``.
    ///
    /// While nothing waits, an output needs no turn. A list of typists then takes 14,000 instructions less.
    package mutating func next(after output: QueuedOutput) -> QueuedOutput? {
        guard isEmpty else {
            add(output)
            return next()
        }
        guard case .event(let timed) = output else { return output }
        switch timed.event {
        case .typing(let chat, let people): return passTyping(people, in: chat) ? output : nil
        case .message, .delivered, .failed, .waiting, .notice: return output
        case .peer, .missed:
            add(timed)
            return next()
        }
    }

    /// Records that the reader of an empty queue gets a list of typists.
    ///
    /// - Returns: False if the reader knows the list.
    private mutating func passTyping(_ people: [Person], in chat: String) -> Bool {
        let index = typingIndex(of: chat)
        guard typing[index].told != people else { return false }
        clock = max(clock, typing[index].nextTurn)
        typing[index].nextTurn = clock + 1
        typing[index].latest = people
        typing[index].told = people
        return true
    }

    private mutating func take(_ item: Item) -> QueuedOutput? {
        switch item {
        case .typing(let chat): takeTyping(in: chat).map { .event($0) }
        case .presence(let member): takePresence(of: member).map { .event($0) }
        case .notice(let subject): takeNotice(on: subject).map { .event($0) }
        case .outcomes: takeOutcome()
        case .messages(let user): takeMessage(of: user)
        }
    }

    private mutating func takeTyping(in chat: String) -> TimedEvent? {
        guard agenda[.typing(chat)] != nil, let index = knownTypingIndex(of: chat) else { return nil }
        let shown = shown(typing[index].latest, in: chat)
        typing[index].told = shown
        typing[index].nextTurn = clock + 1
        reviewTyping(in: chat)
        return TimedEvent(at: typing[index].at, event: .typing(chat: chat, shown))
    }

    /// Takes the waiting list, if the list changes whether that person types to the state that belongs before their
    /// next event.
    private mutating func takeTyping(in chat: String, if user: UserID?, types isTyping: Bool) -> TimedEvent? {
        guard let index = knownTypingIndex(of: chat),
            typing[index].told.contains(where: { $0.user == user }) != isTyping,
            shown(typing[index].latest, in: chat).contains(where: { $0.user == user }) == isTyping
        else { return nil }
        return takeTyping(in: chat)
    }

    private mutating func takePresence(of member: Member) -> TimedEvent? {
        guard let change = members[member]?.before else { return nil }
        // A warning about a person comes just before their presence.
        if case .peer(let news) = change.event, let warning = takeNotice(on: .person(news.peer.user)) {
            return warning
        }
        if !Self.isThere(change), let list = takeTyping(in: member.chat, if: member.user, types: false) { return list }
        members[member]?.isThere = Self.isThere(change)
        place(nil, of: member)
        return change
    }

    private mutating func takeNotice(on subject: NoticeSubject) -> TimedEvent? {
        guard let notice = notices.removeValue(forKey: subject) else { return nil }
        agenda[.notice(subject)] = nil
        noticeFlow.leave()
        return notice
    }

    private mutating func takeOutcome() -> QueuedOutput? {
        guard let outcome = outcomes.popFirst() else { return nil }
        outcomeFlow.leave()
        agenda[.outcomes] = outcomes.first?.turn
        return outcome.output
    }

    private mutating func takeMessage(of user: UserID?) -> QueuedOutput? {
        guard let message = senders[user]?.messages.first else { return nil }
        let member = Member(chat: message.chat, user: user)
        if let change = takePresence(of: member) { return .event(change) }
        let isTyping = members[member]?.messages.first ?? false
        if let list = takeTyping(in: message.chat, if: user, types: isTyping) { return .event(list) }
        senders[user]?.messages.removeFirst()
        senders[user]?.flow.leave()
        let next = senders[user]?.messages.first?.turn
        agenda[.messages(user)] = next
        if next == nil { senders[user] = nil }
        settle(member)
        return message.output
    }

    // MARK: Order

    private mutating func nextArrival() -> Int {
        arrivals += 1
        return arrivals
    }

    /// Returns the typists. The list leaves out people who began to type after a message of theirs that still waits.
    private func shown(_ people: [Person], in chat: String) -> [Person] {
        people.filter { members[Member(chat: chat, user: $0.user)]?.messages.first ?? true }
    }

    /// Queues a list of typists while it differs from the reader's list.
    private mutating func reviewTyping(in chat: String) {
        guard let index = knownTypingIndex(of: chat) else { return }
        if shown(typing[index].latest, in: chat) != typing[index].told {
            // Lists that change all the time let other events come first.
            let start = max(clock, typing[index].nextTurn)
            if agenda[.typing(chat)] == nil { agenda[.typing(chat)] = Turn(start: start, arrival: nextArrival()) }
        } else {
            agenda[.typing(chat)] = nil
        }
    }

    private func knownTypingIndex(of chat: String) -> Int? { typing.firstIndex { $0.chat == chat } }

    /// Returns the index of a chat's list, which may be a new one.
    private mutating func typingIndex(of chat: String) -> Int {
        if let index = knownTypingIndex(of: chat) { return index }
        // Such lists have no effect any more.
        typing.removeAll { $0.isEmpty && $0.nextTurn <= clock }
        typing.append(TypingList(chat: chat))
        return typing.count - 1
    }

    /// Removes a message of a person from the waiting ones.
    private mutating func settle(_ member: Member) {
        guard let standing = members[member], !standing.messages.isEmpty else { return }
        members[member]?.messages.removeFirst()
        if standing.messages.count == 1 {
            members[member]?.after = nil
            place(standing.after ?? standing.before, of: member)
        }
        reviewTyping(in: member.chat)
    }

    /// Sets the presence that waits before a person's messages. If a person left before the reader learned of their
    /// arrival, neither waits.
    private mutating func place(_ change: TimedEvent?, of member: Member) {
        var standing = members[member] ?? Standing()
        let isNews = change.map { Self.isThere($0) || standing.isThere } ?? false
        standing.before = isNews ? change : nil
        members[member] = standing.isSettled ? nil : standing
        switch (agenda[.presence(member)] != nil, isNews) {
        case (false, true):
            agenda[.presence(member)] = presenceFlow.enter(clock: clock, arrival: nextArrival())
        case (true, false):
            agenda[.presence(member)] = nil
            presenceFlow.leave()
        case (true, true), (false, false): break
        }
    }

    private static func isThere(_ change: TimedEvent) -> Bool {
        guard case .peer(let news) = change.event else { return false }
        return news.peer.presence != .offline
    }
}
