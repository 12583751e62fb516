import InklingModel
import NIOCore

/// What waits for one reader of a node's events.
///
/// - Of who types in a chat, and of a person's presence in a chat, the latest waits. Of notices the latest on each
///   subject does.
/// - Messages wait in a queue for each sender. Senders take turns.
/// - What one person did in a chat keeps its order: a presence that changed before their messages comes before them, one
///   that changed after them comes after them. Of whom a message waits in a chat, the list of typists says what was so
///   just before it; who goes is off that list first.
/// - Outcomes of own messages wait one by one.
/// - What was given up is counted for each chat, and told first.
package struct EventQueue: Sendable {
    /// How much was given up in a chat.
    package struct Gap: Sendable {
        package var messages = 0
        package var outcomes = 0
        /// When the last of it came.
        package var at: Double
    }

    /// Somebody in a chat.
    private struct Member: Hashable {
        let chat: String
        let user: UserID
    }

    private enum Item: Hashable, Sendable {
        case typing(String)
        case presence(Member)
        case notice(NoticeSubject)
        case outcomes
        case messages(UserID)
    }

    private struct TypingList {
        var latest: [Person]
        var at: Double
        /// As the reader was told.
        var told: [Person]
    }

    /// What waits of a person in a chat, in the order: `before`, the messages, `after`.
    private struct Standing {
        /// Whether the reader was told that they are there.
        var isThere = false
        var before: TimedEvent?
        /// Of each message, whether its author was typing when it came.
        var messages = CircularBuffer<Bool>(initialCapacity: 0)
        var after: TimedEvent?

        var isSettled: Bool { !isThere && before == nil && messages.isEmpty && after == nil }
    }

    private struct Waiting {
        let turn: Turn
        let chat: String
        let event: TimedEvent
    }

    private struct Sender {
        var flow = Flow(burst: NodeLimits.messagesInOrder)
        var messages = CircularBuffer<Waiting>()
    }

    private var agenda = Agenda<Item>()
    private var clock = 0
    private var arrivals = 0
    private var gaps: [String: Gap] = [:]
    private var typing: [String: TypingList] = [:]
    /// The earliest turn of a chat's next list of typists, on the clock of the agenda.
    private var nextLists: [String: Int] = [:]
    private var members: [Member: Standing] = [:]
    private var presenceFlow = Flow(burst: NodeLimits.changesInOrder)
    private var notices: [NoticeSubject: TimedEvent] = [:]
    private var noticeFlow = Flow(burst: NodeLimits.noticesInOrder)
    private var outcomes = CircularBuffer<Waiting>()
    private var outcomeFlow = Flow(burst: NodeLimits.changesInOrder)
    private var senders: [UserID: Sender] = [:]

    package init() {}

    /// Whether nothing waits.
    package var isEmpty: Bool { agenda.isEmpty && gaps.isEmpty }
    /// How many messages wait.
    package var messageCount: Int { senders.values.reduce(0) { $0 + $1.messages.count } }
    /// The messages that wait, in no order.
    package var waitingMessages: [UInt64] {
        senders.values.flatMap(\.messages).compactMap { waiting in
            if case .message(_, _, let number, _) = waiting.event.event { number } else { nil }
        }
    }
    /// How many things wait beside messages.
    package var otherCount: Int { members.count + typing.count + notices.count + outcomes.count + gaps.count }

    /// How many turns are remembered, past ones included.
    package var turnCount: Int { agenda.turnCount }

    // MARK: Before anything is told

    /// The reader knows who is there and who types in a chat: it will be told of what differs.
    package mutating func begin(chat: String, present: [UserID], typing people: [InklingModel.Person]) {
        for user in present { members[Member(chat: chat, user: user), default: Standing()].isThere = true }
        if !people.isEmpty { typing[chat] = TypingList(latest: people, at: 0, told: people) }
    }

    /// The reader knows nothing of who types in a chat.
    package mutating func forgetTyping(in chat: String) {
        typing[chat] = nil
        agenda[.typing(chat)] = nil
    }

    /// The reader is told no more of who is there and who types in a chat.
    ///
    /// - Returns: Whom it was told to be there, and whether it was told that somebody types.
    package mutating func end(chat: String) -> (present: Set<UserID>, isTyping: Bool) {
        var present: Set<UserID> = []
        for member in Array(members.keys) where member.chat == chat {
            if members[member]?.isThere == true { present.insert(member.user) }
            members[member]?.isThere = false
            members[member]?.after = nil
            place(nil, of: member)
        }
        let isTyping = typing[chat]?.told.isEmpty == false
        forgetTyping(in: chat)
        return (present, isTyping)
    }

    // MARK: What came

    /// Something happened that the reader is to be told.
    package mutating func add(_ timed: TimedEvent) {
        switch timed.event {
        case .peer(let chat, let peer, _): addPresence(timed, of: Member(chat: chat, user: peer.user))
        case .typing(let chat, let people): addTyping(people, in: chat, at: timed.at)
        case .message(let chat, let person, _, _): addMessage(timed, of: Member(chat: chat, user: person.user))
        case .delivered(let chat, _, _), .failed(let chat, _, _, _): addOutcome(timed, in: chat)
        case .notice(let notice): addNotice(timed, on: NoticeSubject(notice))
        case .missed(let chat, let messages, let outcomes):
            miss(Gap(messages: messages, outcomes: outcomes, at: timed.at), in: chat)
        }
    }

    /// A reader that gets no messages for now will be told that it missed this one.
    package mutating func missMessage(in chat: String, at time: Double) {
        miss(Gap(messages: 1, at: time), in: chat)
    }

    /// Gives up all messages that wait.
    ///
    /// - Returns: Their numbers.
    package mutating func giveUpMessages() -> [UInt64] {
        var numbers: [UInt64] = []
        for (user, sender) in senders {
            agenda[.messages(user)] = nil
            for message in sender.messages {
                if case .message(_, _, let number, _) = message.event.event { numbers.append(number) }
                missMessage(in: message.chat, at: message.event.at)
                settle(Member(chat: message.chat, user: user))
            }
        }
        senders = [:]
        return numbers.sorted()
    }

    /// What the reader will never be told, by chat: the queue ends.
    package mutating func giveUp() -> (numbers: [UInt64], gaps: [String: Gap]) {
        let numbers = giveUpMessages()
        for outcome in outcomes { miss(Gap(outcomes: 1, at: outcome.event.at), in: outcome.chat) }
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

    private mutating func addTyping(_ people: [Person], in chat: String, at time: Double) {
        typing[chat] = TypingList(latest: people, at: time, told: typing[chat]?.told ?? [])
        // What came before it, such as the arrival of who types, is told before it.
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

    private mutating func addMessage(_ timed: TimedEvent, of member: Member) {
        let turn = senders[member.user, default: Sender()].flow.enter(clock: clock, arrival: nextArrival())
        senders[member.user]?.messages.append(Waiting(turn: turn, chat: member.chat, event: timed))
        if agenda[.messages(member.user)] == nil { agenda[.messages(member.user)] = turn }
        let isTyping = typing[member.chat]?.latest.contains { $0.user == member.user } ?? false
        members[member, default: Standing()].messages.append(isTyping)
        if members[member]?.messages.count == 1 { reviewTyping(in: member.chat) }
    }

    private mutating func addOutcome(_ timed: TimedEvent, in chat: String) {
        guard outcomes.count < NodeLimits.waitingOutcomes else { return miss(Gap(outcomes: 1, at: timed.at), in: chat) }
        let turn = outcomeFlow.enter(clock: clock, arrival: nextArrival())
        outcomes.append(Waiting(turn: turn, chat: chat, event: timed))
        if agenda[.outcomes] == nil { agenda[.outcomes] = turn }
    }

    private mutating func addNotice(_ timed: TimedEvent, on subject: NoticeSubject) {
        if notices[subject] == nil, notices.count >= NodeLimits.unheardNotices {
            // Only people are so many: what concerns the node itself stays.
            let people = notices.keys.filter(\.isPerson)
            let oldest = people.min { (agenda[.notice($0)]?.arrival ?? 0) < (agenda[.notice($1)]?.arrival ?? 0) }
            if let oldest { _ = takeNotice(on: oldest) }
        }
        let isNew = notices.updateValue(timed, forKey: subject) == nil
        let turn = isNew ? noticeFlow.enter(clock: clock, arrival: nextArrival()) : agenda[.notice(subject)]
        agenda[.notice(subject)] = Turn(start: turn?.start ?? clock, arrival: isNew ? arrivals : nextArrival())
    }

    // MARK: What is told

    /// What the reader is told next; nil if nothing waits.
    package mutating func take() -> TimedEvent? {
        if let chat = gaps.keys.min(), let gap = gaps.removeValue(forKey: chat) {
            return TimedEvent(
                at: gap.at, event: .missed(chat: chat, messages: gap.messages, outcomes: gap.outcomes))
        }
        while let item = agenda.first() {
            clock = max(clock, agenda[item]?.start ?? clock)
            if let event = take(item) { return event }
            agenda[item] = nil
        }
        return nil
    }

    private mutating func take(_ item: Item) -> TimedEvent? {
        switch item {
        case .typing(let chat): takeTyping(in: chat)
        case .presence(let member): takePresence(of: member)
        case .notice(let subject): takeNotice(on: subject)
        case .outcomes: takeOutcome()
        case .messages(let user): takeMessage(of: user)
        }
    }

    private mutating func takeTyping(in chat: String) -> TimedEvent? {
        guard agenda[.typing(chat)] != nil, let list = typing[chat] else { return nil }
        let shown = shown(list.latest, in: chat)
        typing[chat]?.told = shown
        nextLists[chat] = clock + 1
        reviewTyping(in: chat)
        return TimedEvent(at: list.at, event: .typing(chat: chat, shown))
    }

    /// The list that waits, if it changes whether that person types to what belongs before an event of theirs.
    private mutating func takeTyping(in chat: String, if user: UserID, types isTyping: Bool) -> TimedEvent? {
        guard let list = typing[chat], list.told.contains(where: { $0.user == user }) != isTyping,
            shown(list.latest, in: chat).contains(where: { $0.user == user }) == isTyping
        else { return nil }
        return takeTyping(in: chat)
    }

    private mutating func takePresence(of member: Member) -> TimedEvent? {
        guard let change = members[member]?.before else { return nil }
        // A warning about somebody is told just before them.
        if case .peer(_, let peer, _) = change.event, let warning = takeNotice(on: .person(peer.user)) {
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

    private mutating func takeOutcome() -> TimedEvent? {
        guard let outcome = outcomes.popFirst() else { return nil }
        outcomeFlow.leave()
        agenda[.outcomes] = outcomes.first?.turn
        return outcome.event
    }

    private mutating func takeMessage(of user: UserID) -> TimedEvent? {
        guard let message = senders[user]?.messages.first else { return nil }
        let member = Member(chat: message.chat, user: user)
        if let change = takePresence(of: member) { return change }
        let isTyping = members[member]?.messages.first ?? false
        if let list = takeTyping(in: message.chat, if: user, types: isTyping) { return list }
        senders[user]?.messages.removeFirst()
        senders[user]?.flow.leave()
        let next = senders[user]?.messages.first?.turn
        agenda[.messages(user)] = next
        if next == nil { senders[user] = nil }
        settle(member)
        return message.event
    }

    // MARK: Order

    private mutating func nextArrival() -> Int {
        arrivals += 1
        return arrivals
    }

    /// Who types, without those who began after a message of theirs that waits.
    private func shown(_ people: [Person], in chat: String) -> [Person] {
        people.filter { members[Member(chat: chat, user: $0.user)]?.messages.first ?? true }
    }

    /// A list of typists waits while it differs from what was told.
    private mutating func reviewTyping(in chat: String) {
        guard let list = typing[chat] else { return }
        if shown(list.latest, in: chat) != list.told {
            // Lists that change all the time leave turns to others.
            let start = max(clock, nextLists[chat] ?? clock)
            if agenda[.typing(chat)] == nil { agenda[.typing(chat)] = Turn(start: start, arrival: nextArrival()) }
        } else {
            agenda[.typing(chat)] = nil
            if list.latest.isEmpty && list.told.isEmpty { typing[chat] = nil }
        }
    }

    /// A message of theirs waits no more.
    private mutating func settle(_ member: Member) {
        guard let standing = members[member], !standing.messages.isEmpty else { return }
        members[member]?.messages.removeFirst()
        if standing.messages.count == 1 {
            members[member]?.after = nil
            place(standing.after ?? standing.before, of: member)
        }
        reviewTyping(in: member.chat)
    }

    /// This is what waits of their presence, before any message of theirs. Nothing does if they went before the reader
    /// was told that they came.
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
        guard case .peer(_, let peer, _) = change.event else { return false }
        return peer.presence != .offline
    }
}
