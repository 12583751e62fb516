import InklingModel
import NIOCore

/// The outputs and states that wait for one reader: a front end, or a reader of the library.
///
/// A queue has the outputs that may not be lost: messages, the user's own messages and outcomes, in their order. The rest
/// are states: the typists of a chat, a person's presence in a chat, a notice on a subject, the user. Only the latest
/// value of a state waits, and none that the reader knows already.
///
/// - Outputs and states are taken in the order in which they came. A state that changes keeps its place. Of a long queue,
///   at most ``NodeLimits/outputsInRow`` outputs come before the next state.
/// - A warning about a person comes just before their presence. The arrival of a typist comes before the list.
/// - Just before a message come the arrival of its author and, unless the author was typing when it came, a list without
///   them. Lists leave out people who began to type after a message of theirs that still waits. A change of presence
///   after a person's messages follows the last of them.
/// - The number of missed outputs of a chat comes before all else.
///
/// A reader that takes nothing for too long gets no messages until it takes again, so that no sender waits for it (M-20).
package struct Mailbox: Sendable {
    package typealias Gap = Gaps.Gap

    private var items = CircularBuffer<Item>(initialCapacity: 0)
    private var outcomes = 0
    private var arrivals = 0
    /// The outputs taken since ``due`` was set.
    private var inRow = 0
    /// The arrival up to which states come before outputs.
    private var due = 0
    /// The states that wait.
    private var states = DirtySet<State>()
    private var user: UserState?
    private var typing = TypingLists()
    private var members: [Member: Standing] = [:]
    private var notices: [NoticeSubject: TimedEvent] = [:]
    private var gaps = Gaps()
    private var attention = Attention()

    package init() {}

    /// Whether nothing waits.
    package var isEmpty: Bool { items.isEmpty && states.isEmpty && gaps.isEmpty }
    /// Whether something waits.
    // The getter changes nothing. One that only reads would get a copy of the whole mailbox, with 500 instructions.
    package var hasOutput: Bool { mutating get { !isEmpty } }
    /// Whether outputs wait, so that the node has to watch the reader.
    package var isWatched: Bool { mutating get { attention.isPaid && !isEmpty } }
    /// The waiting messages from others.
    package var waitingMessages: [MessageID] { items.compactMap(\.output.message?.id) }
    /// The number of things that the mailbox holds beside messages.
    package var otherCount: Int {
        members.count + typing.count + notices.count + outcomes + gaps.count
    }
    /// The number of stored places of states, including outdated ones.
    package var placeCount: Int { states.placeCount }

    // MARK: Before the first output

    /// Sets the people and typists that the reader knows in a chat.
    package mutating func begin(chat: String, present: [UserID], typing people: [InklingModel.Person]) {
        for user in present { members[Member(chat: chat, user: user), default: Standing()].isThere = true }
        guard !people.isEmpty else { return }
        _ = typing.told(people, in: chat)
    }

    /// Forgets the typists that the reader knows in a chat.
    package mutating func forgetTyping(in chat: String) {
        typing.remove(chat)
        states.remove(.typing(chat))
    }

    /// Stops the reports on presence and typing in a chat.
    ///
    /// - Returns: The people whom the reader knows to be there, and whether its latest list of typists has anybody.
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

    // MARK: Incoming outputs

    /// Adds an output.
    ///
    /// - Returns: False for a message to a reader that gets no messages. The mailbox counts the message.
    @discardableResult
    package mutating func add(_ output: ServiceOutput) -> Bool {
        if isEmpty { inRow = 0 }
        switch output {
        case .event(let timed): return add(timed)
        case .own(let message): append(output, in: message.chat)
        case .user(let user):
            self.user = user
            states.insert(.user, arrivals: &arrivals)
        // These never wait here.
        case .unread, .answer, .ended: break
        }
        return true
    }

    /// Adds an event, as ``add(_:)-(ServiceOutput)`` does.
    @discardableResult
    package mutating func add(_ timed: TimedEvent) -> Bool {
        switch timed.event {
        case .peer(let change): addPresence(timed, of: Member(chat: change.chat, user: change.peer.user))
        case .typing(let chat, let people):
            typing.came(people, in: chat, at: timed.at)
            reviewTyping(in: chat)
        case .message(let message):
            guard attention.isPaid else {
                miss(Gap(messages: 1, at: timed.at), in: message.chat)
                return false
            }
            addMessage(timed, of: Member(chat: message.chat, user: message.sender.user))
        case .delivered(let receipt): addOutcome(timed, in: receipt.chat)
        case .failed(let failure): addOutcome(timed, in: failure.chat)
        case .waiting(let receipt): addOutcome(timed, in: receipt.chat)
        case .notice(let notice): addNotice(timed, on: NoticeSubject(notice))
        case .missed(let missed):
            miss(Gap(messages: missed.messages, outcomes: missed.outcomes, at: timed.at), in: missed.chat)
        }
        return true
    }

    /// Counts outputs that the reader misses.
    package mutating func miss(_ gap: Gap, in chat: String) { gaps.add(gap, in: chat) }

    private mutating func append(_ output: ServiceOutput, in chat: String, from author: UserID? = nil) {
        arrivals += 1
        items.append(Item(arrival: arrivals, chat: chat, author: author, output: output))
    }

    private mutating func addMessage(_ timed: TimedEvent, of member: Member) {
        let isTyping = typing[member.chat]?.latest.contains { $0.user == member.user } ?? false
        append(.event(timed), in: member.chat, from: member.user)
        members[member, default: Standing()].messages.append(isTyping)
        if members[member]?.messages.count == 1 { reviewTyping(in: member.chat) }
    }

    private mutating func addOutcome(_ timed: TimedEvent, in chat: String) {
        guard outcomes < NodeLimits.waitingOutcomes else { return miss(Gap(outcomes: 1, at: timed.at), in: chat) }
        outcomes += 1
        append(.event(timed), in: chat)
    }

    private mutating func addNotice(_ timed: TimedEvent, on subject: NoticeSubject) {
        if notices[subject] == nil, notices.count >= NodeLimits.unheardNotices {
            // Only notices about people can be so many. Notices about the node itself stay.
            let people = notices.keys.filter(\.isPerson)
            let oldest = people.min { states.place(of: .notice($0)) < states.place(of: .notice($1)) }
            if let oldest { _ = takeNotice(on: oldest) }
        }
        notices[subject] = timed
        states.insert(.notice(subject), arrivals: &arrivals)
    }

    private mutating func addPresence(_ timed: TimedEvent, of member: Member) {
        if members[member]?.messages.isEmpty == false {
            members[member]?.after = timed
        } else {
            place(timed, of: member)
        }
    }

    // MARK: Deliveries

    /// Takes the next event of a reader that gets only events; nil if nothing waits.
    package mutating func take() -> TimedEvent? {
        if case .event(let timed) = next() { timed } else { nil }
    }

    /// Takes the next output; nil if nothing waits.
    package mutating func next() -> ServiceOutput? {
        guard !isEmpty, let output = first() else { return nil }
        attend()
        return output
    }

    /// Does the same as ``add(_:)-(ServiceOutput)`` and then ``next()``, for a reader that takes now. While nothing waits,
    /// most outputs need no place: a list of typists then takes 14,000 instructions less.
    package mutating func next(after output: ServiceOutput) -> ServiceOutput? {
        attend()
        if isEmpty, case .event(let timed) = output {
            inRow = 0
            switch timed.event {
            case .typing(let chat, let people):
                return typing.told(people, in: chat) ? output : nil
            case .delivered, .failed, .waiting, .notice: return output
            case .peer, .message, .missed: break
            }
        }
        add(output)
        return next()
    }

    private mutating func first() -> ServiceOutput? {
        if let missed = gaps.takeFirst() { return .event(missed) }
        while let (state, arrival) = states.first {
            if let item = items.first, arrival > max(item.arrival, due) { break }
            if let output = take(state) { return output }
            states.remove(state)
        }
        return takeItem()
    }

    private mutating func take(_ state: State) -> ServiceOutput? {
        switch state {
        case .user:
            states.remove(.user)
            defer { user = nil }
            return user.map { .user($0) }
        case .typing(let chat):
            guard let list = typing[chat], shown(list) != list.told else { return nil }
            return .event(takeTyping(list))
        case .presence(let member): return takePresence(of: member).map { .event($0) }
        case .notice(let subject): return takeNotice(on: subject).map { .event($0) }
        }
    }

    private mutating func takeTyping(_ list: TypingLists.List) -> TimedEvent {
        let shown = shown(list)
        typing.tell(shown, in: list.chat)
        states.remove(.typing(list.chat))
        return TimedEvent(at: list.at, event: .typing(chat: list.chat, shown))
    }

    /// Takes the waiting list of a chat before a person leaves, if the reader knows that they type.
    private mutating func takeTyping(before member: Member) -> TimedEvent? {
        guard let list = typing[member.chat], list.told.contains(where: { $0.user == member.user }),
            !shown(list).contains(where: { $0.user == member.user })
        else { return nil }
        return takeTyping(list)
    }

    private mutating func takePresence(of member: Member) -> TimedEvent? {
        guard let change = members[member]?.before else { return nil }
        if let warning = takeNotice(on: .person(member.user)) { return warning }
        if !change.isThere, let list = takeTyping(before: member) { return list }
        members[member]?.isThere = change.isThere
        place(nil, of: member)
        return change
    }

    private mutating func takeNotice(on subject: NoticeSubject) -> TimedEvent? {
        states.remove(.notice(subject))
        return notices.removeValue(forKey: subject)
    }

    private mutating func takeItem() -> ServiceOutput? {
        guard let item = items.popFirst() else { return nil }
        inRow = isEmpty ? 0 : inRow + 1
        if inRow == NodeLimits.outputsInRow { (inRow, due) = (0, arrivals) }
        if let member = item.member { settle(member) } else if item.output.isOutcome { outcomes -= 1 }
        return item.output
    }

    // MARK: Readers that take nothing

    /// Records that the reader takes, or waits for the next output.
    package mutating func attend() { attention.pay() }

    /// Stops messages to a reader after `patience` calls in a row without a taken output. Messages resume when the
    /// reader takes again.
    ///
    /// - Returns: The messages that don't wait for the reader any more.
    package mutating func look(patience: Int) -> [MessageID] {
        attention.isLost(after: patience, isIdle: isEmpty) ? giveUpMessages() : []
    }

    /// Ends the mailbox of a reader that is gone.
    ///
    /// - Returns: The messages that waited for the reader, and the numbers of outputs that it missed, by chat.
    package mutating func giveUp() -> (numbers: [MessageID], gaps: [String: Gap]) {
        let numbers = giveUpMessages()
        for item in items where item.output.isOutcome { miss(Gap(outcomes: 1, at: item.output.at), in: item.chat) }
        defer { self = Mailbox() }
        return (numbers, gaps.byChat)
    }

    /// Drops all waiting messages from others, and counts them.
    private mutating func giveUpMessages() -> [MessageID] {
        let given = items.filter { $0.author != nil }
        items = CircularBuffer(items.filter { $0.author == nil })
        for item in given {
            miss(Gap(messages: 1, at: item.output.at), in: item.chat)
            if let member = item.member { settle(member) }
        }
        return given.compactMap(\.output.message?.id).sorted()
    }

    // MARK: States

    /// Returns the typists without those who began to type after a message of theirs that still waits, and without those
    /// whose arrival waits, unless `withArrivals`.
    private func shown(_ list: TypingLists.List, withArrivals: Bool = false) -> [Person] {
        list.latest.filter { person in
            guard let standing = members[Member(chat: list.chat, user: person.user)] else { return true }
            return (standing.messages.first ?? true) && (withArrivals || standing.isThere || standing.before == nil)
        }
    }

    /// Lets the list of typists of a chat wait while it differs from the one that the reader knows.
    private mutating func reviewTyping(in chat: String) {
        guard let list = typing[chat] else { return }
        if shown(list, withArrivals: true) != list.told {
            states.insert(.typing(chat), arrivals: &arrivals)
        } else {
            states.remove(.typing(chat))
        }
    }

    /// Removes the first message of a person from their waiting ones.
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
        let isNews = change.map { $0.isThere || standing.isThere } ?? false
        standing.before = isNews ? change : nil
        members[member] = standing.isSettled ? nil : standing
        if isNews {
            states.insert(.presence(member), arrivals: &arrivals)
        } else if states.remove(.presence(member)) {
            // A list may have waited for the person's arrival.
            reviewTyping(in: member.chat)
        }
    }
}
