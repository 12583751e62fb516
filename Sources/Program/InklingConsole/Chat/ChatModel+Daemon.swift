import InklingModel
import InklingText

/// The attachment to a daemon's node, which other front ends use too. The node may end before this front end does.
extension ChatModel {
    /// The time for which waiting messages are on the screen before the front end reports them as read.
    static let readWait: Int64 = 200

    enum Attachment {
        case attached
        /// The front end has detached, because the program is about to be stopped. After the stop it attaches again.
        case suspended
        /// The node is lost, and the program looks for it. The user was informed.
        case lost
    }

    var isDetached: Bool {
        if case .attached = attachment { false } else { true }
    }

    // MARK: The node goes, and comes back

    /// Handles the end of the node's outputs.
    mutating func ended(_ why: ServiceEnd) {
        guard isRunning, display.isAttached else { return conclude() }
        if case .lost = attachment { return }
        let lines = [ChatLines.error(text(why))]
        let isLooking = isDetached
        attachment = .lost
        show(lines + (isLooking ? [] : detach()))
        if !isLooking { emit(.reattach) }
    }

    /// Detaches from the node before the program is stopped.
    mutating func detachQuietly() {
        guard isRunning, !isDetached else { return }
        attachment = .suspended
        show(detach())
    }

    /// Gives up all pending requests.
    ///
    /// - Returns: The lines about messages whose outcome is now unknown.
    private mutating func detach() -> [Line] {
        let unsent = pending.drain().compactMap { request, purpose in
            if case (.send(let text, _), .send) = (request, purpose) { text } else { nil }
        }
        leaving = [:]
        invitations = [:]
        sentInvites = [:]
        shownMoves = [:]
        readAt = nil
        var lines: [Line] = []
        for index in states.indices {
            lines += shown(states[index].abandon(isSeen: index == openIndex), in: index)
            states[index].detach(at: moment.wall)
        }
        return lines + unsent.map { ChatLines.error("It is not known whether this was sent: \($0)") }
    }

    private func text(_ why: ServiceEnd) -> String {
        let draft = keyboard.editor.text.isEmpty ? "" : " Your draft is kept."
        return switch why {
        case .stopped where display.place == .prompt, .lost where display.place == .prompt:
            "The \(holder) has ended.\(draft) This prompt takes its place"
        case .stopped, .lost: "The \(holder) has ended.\(draft) To start the daemon again: inkling daemon"
        case .tooSlow:
            "The \(holder) closed the connection, because this prompt read nothing for too long.\(draft) This prompt "
                + "connects again"
        case .silent: "The \(holder) does not answer.\(draft) This prompt connects again"
        }
    }

    /// The program that has the node, after "the".
    private var holder: String { display.place == .prompt ? "prompt that runs Inkling" : "daemon" }
    /// The keeper of chats, as the beginning of a sentence.
    var keeper: String { display.place == .daemon ? "The daemon" : "Inkling" }

    /// Attaches to the same node or its successor, and joins all chats again.
    ///
    /// - Parameter place: Where the node is now; nil for the same place as before.
    package mutating func reattached(
        _ identity: NodeIdentity, in place: NodePlace? = nil, at moment: Moment
    ) -> [ChatEffect] {
        reacting(at: moment) { model in
            guard model.isDetached, model.isRunning else { return }
            let wasLost = if case .lost = model.attachment { true } else { false }
            if let place { model.display.place = place }
            if wasLost { model.show([ChatLines.notice(model.backText)]) }
            model.attachment = .attached
            model.apply(identity)
            // A node that never ended reports whether the user is away.
            if !wasLost { model.isAway = false } else if model.isAway { model.ask(.setAway(true)) }
            model.awaitReturns()
            guard model.hasBegun else {
                return model.ask(model.request(toJoin: model.firstChat), for: .begin(model.firstChat))
            }
            for state in model.states { model.ask(model.request(toJoin: state.chat), for: .rejoin) }
            model.lookAtOpenChat()
            model.followOthers()
        }
    }

    private var backText: String {
        switch display.place {
        case .own, .holder: "This prompt runs Inkling now"
        case .prompt: "Another prompt runs Inkling now"
        case .daemon: "The daemon is back"
        }
    }

    /// Handles a chat that the node has joined again.
    mutating func rejoined(_ chat: Chat, _ peers: [Peer]) {
        guard let index = index(of: chat.name) else { return }
        // The chat may have moved while this front end had no node.
        states[index].chat = chat
        states[index].refresh(peers)
        show(apply(present: peers, in: index))
    }

    /// Answers a request that can't be made without a node.
    mutating func refuse(_ request: ServiceRequest) {
        switch request {
        case .send(let text, _): answer(ChatLines.error("Not sent, because the \(holder) has ended: \(text)"))
        case .leave(let chat):
            leaving[chat] = nil
            answer(ChatLines.error("The \(holder) has ended; leave the chat when it runs again"))
        case .peers: break
        default: answer(ChatLines.error("The \(holder) has ended; try again when it runs"))
        }
    }

    /// Puts a line that can't be sent back into the input field.
    ///
    /// - Returns: Whether the input field has the line.
    mutating func keepUnsent(_ text: String) -> Bool {
        guard isDetached, display.form == .screen else { return false }
        _ = keyboard.editor.exchange(LineEditor.Draft(text))
        answer(
            ChatLines.error(
                "The \(holder) has ended; your message is kept. Send it when \(display.place == .prompt ? "Inkling" : "the daemon") runs"
            ))
        return true
    }

    /// The line about a daemon that runs but does not answer.
    var silence: Line { ChatLines.error("The \(holder) does not answer. What you have entered waits until it does") }

    // MARK: The chat in sight

    /// Reports the open chat to the node, which then sends the chat's waiting messages. A pipe shows no chat.
    mutating func lookAtOpenChat() {
        guard display.form != .pipe, let open else { return }
        ask(.open(chat: open.chat.name))
        hasShownWaited = false
    }

    /// Receives a message that arrived while no front end showed its chat.
    mutating func receive(unread timed: TimedEvent) {
        let chat: String
        var lines: [Line] = []
        switch timed.event {
        case .message(let message):
            chat = message.chat
            guard let index = index(of: chat) else { return }
            _ = muted.countMessage(from: message.sender.user.description)
            lines = states[index].receive(
                message: message.text, from: message.sender, page: page, at: moment.steady,
                time: texts.localTime(timed.at), isDelayed: timed.isDelayed,
                written: written(message, at: timed.at))
        case .missed(let missed):
            chat = missed.chat
            let what = missed.messages == 1 ? "1 message" : "\(missed.messages) messages"
            lines = [ChatLines.notice("\(what) that came before are not kept any more")]
        default: return
        }
        guard let index = index(of: chat), index == openIndex else { return }
        if !hasShownWaited, let last = lines.popLast() {
            hasShownWaited = true
            // Lines about people come before the waiting messages.
            show(lines + [ChatLines.newMessages()])
            lines = [last]
        }
        show(lines, at: texts.localTime(timed.at))
        readAt = moment.steady + Self.readWait
    }

    /// Reports the messages on the screen as read.
    mutating func reportRead() {
        readAt = nil
        if let open { ask(.read(chat: open.chat.name)) }
    }

    /// Applies a change of the user's name or away state, perhaps by another front end.
    mutating func apply(_ user: UserState) {
        if user.name != identity.name { renamed(user.name) }
        if user.isAway != isAway {
            isAway = user.isAway
            answer(ChatLines.notice(isAway ? "You are away now. To return: /back" : "You are back"))
        }
    }

    /// Receives a message that the user sent by another front end.
    mutating func receive(_ message: OwnMessage) {
        guard let index = index(of: message.chat) else { return }
        show(shown(states[index].receive(own: message.text, time: texts.localTime(message.at)), in: index))
    }
}

/// A chat of the daemon that this front end is not in.
struct OtherChat: Sendable {
    let name: String
    let isOpen: Bool
    var unread: Int
    var typing: [Person] = []
}

/// The chats of a daemon, of which this front end may show only some.
extension ChatModel {
    /// Begins to follow the daemon's other chats, also later ones. The prompt counts their unread messages.
    mutating func followOthers() {
        guard display.keeps, display.form != .pipe else { return }
        ask(.subscribe(Subscription(chats: .all)))
        countOthers()
    }

    mutating func countOthers() { ask(.chats, for: .others) }

    mutating func follow(_ chats: [ChatStatus]) {
        others = chats.filter { index(of: $0.name) == nil }.map { chat in
            let typing = others.first { $0.name == chat.name }?.typing ?? []
            return OtherChat(name: chat.name, isOpen: !chat.hasSecret, unread: chat.unread, typing: typing)
        }
    }

    /// Counts a message in another chat of the daemon.
    mutating func count(_ message: ReceivedMessage) {
        guard display.keeps, display.form != .pipe else { return }
        if display.rings, ChatState.mention(of: identity.name).occurs(in: message.text, longest: Line.highlighted) {
            ring()
        }
        guard let other = others.firstIndex(where: { $0.name == message.chat }) else { return countOthers() }
        others[other].unread += 1
    }

    /// Returns the answer to /chats: first the chats of this front end with their numbers, then the daemon's other
    /// chats.
    func list(with chats: [ChatStatus]) -> [Line] {
        let others = chats.filter { index(of: $0.name) == nil }
        guard !others.isEmpty else { return list() }
        return (states.isEmpty ? [] : list())
            + others.map { chat in
                ChatLines.chat(
                    name: chat.name, isOpen: !chat.hasSecret, unread: chat.unread, isKept: chat.isKept)
            }
    }

    /// Opens a chat of this front end by its name, or joins one that the daemon is in.
    mutating func open(_ name: String) {
        if let index = index(named: name) { return answer(open(number: index + 1)) }
        guard display.keeps else { return answer(noChat(name)) }
        ask(.chats, for: .open(name: name))
    }

    mutating func open(_ name: String, among chats: [ChatStatus]) {
        let name = NormalForm.canonical(name)
        guard let status = chats.first(where: { $0.name == name }), let chat = try? Chat(status.name) else {
            return answer(noChat(name, among: chats.map(\.name)))
        }
        // A join by the name alone means the chat that the daemon is in (A-20).
        ask(.join(chat), for: .join(chat))
    }

    /// Handles the answer to /leave for a chat that this front end is not in.
    mutating func leftElsewhere(_ name: String, _ answer: ServiceAnswer) {
        switch answer {
        case .done: self.answer(ChatLines.notice("\(keeper) no longer keeps \(SafeText.line(name))"))
        case .failed(.unknownChat): self.answer(noChat(name))
        case .failed(let error): self.answer(ChatLines.error(texts.error(error)))
        default: break
        }
    }
}

/// The events of the chats.
extension ChatModel {
    mutating func receive(_ timed: TimedEvent) {
        let lines = apply(timed)
        // This program may have been stopped after the node received the message.
        if case .message = timed.event { show(lines, at: texts.localTime(timed.at)) } else { show(lines) }
        // Lines don't report the end of an indicator, because readers conclude it from the silence.
        if display.form != .screen, typists != reportedIndicator {
            reportedIndicator = typists
            if !typists.isEmpty { show([ChatLines.notice(typists)]) }
        }
    }

    private mutating func apply(_ timed: TimedEvent) -> [Line] {
        switch timed.event {
        case .peer(let change):
            return index(of: change.chat).map { apply(change.peer, why: change.why, in: $0) } ?? []
        case .typing(let chat, let people):
            guard display.showsTyping else { return [] }
            guard let index = index(of: chat) else {
                if let other = others.firstIndex(where: { $0.name == chat }) { others[other].typing = people }
                return []
            }
            return shown(states[index].apply(typing: people), in: index)
        case .message(let message):
            let isMuted = muted.countMessage(from: message.sender.user.description)
            guard let index = index(of: message.chat) else {
                if !isMuted { count(message) }
                return []
            }
            let lines = states[index].receive(
                message: message.text, from: message.sender, page: page, at: moment.steady, time: localTime,
                isDelayed: timed.isDelayed, written: written(message, at: timed.at))
            if display.rings, !lines.isEmpty, states[index].mentionsUser(message.text) { ring() }
            return shown(lines, in: index, isMessage: !isMuted)
        case .delivered(let receipt):
            if receipt.entry != nil { return lateOutcome(of: receipt.user, in: receipt.chat, failure: nil) }
            if let lines = outcome(ofInvite: receipt.message, isFailure: false) { return lines }
            guard let index = index(of: receipt.chat) else { return [] }
            return shown(
                states[index].recordOutcome(
                    of: receipt.message, by: receipt.user, failure: nil, shares: display.folds, at: moment.steady),
                in: index)
        case .waiting(let receipt):
            guard let index = index(of: receipt.chat) else { return [] }
            return shown(states[index].recordWait(of: receipt.message, for: receipt.user), in: index)
        case .failed(let failure):
            if failure.entry != nil { return lateOutcome(of: failure.user, in: failure.chat, failure: failure.why) }
            if let lines = outcome(ofInvite: failure.message, isFailure: true) { return lines }
            guard let index = index(of: failure.chat) else { return [] }
            return shown(
                states[index].recordOutcome(
                    of: failure.message, by: failure.user, failure: failure.why, shares: display.folds,
                    at: moment.steady), in: index)
        case .notice(.keyChanged):
            // The presence event that follows reports the alarm with the person's label.
            return []
        case .notice(.invited(let invitation)) where display.form != .pipe: return receive(invitation)
        case .notice(.invitationOver(let number, let end)) where display.form != .pipe: return receive(end, of: number)
        case .notice(.moved(let chat)): return receive(moved: chat)
        case .notice(.newcomer(let newcomer)) where display.form != .pipe: return receive(newcomer)
        case .notice(let notice) where notice.isOfOtherProgram: return []
        case .notice(let notice):
            apply(notice)
            return [ChatLines.notice(texts.notice(notice))]
        case .missed(let missed):
            guard missed.messages > 0, let index = index(of: missed.chat) else { return [] }
            let what = missed.messages == 1 ? "1 message was" : "\(missed.messages) messages were"
            return shown([ChatLines.notice("\(what) left out: they came faster than they could be shown")], in: index)
        }
    }

    private mutating func apply(_ notice: Notice) {
        switch notice {
        case .discoveryDown(.absent), .discoveryDown(.gone), .discoveryDown(.noThread): isDiscoveryDown = true
        case .discoveryUp: isDiscoveryDown = false
        default: break
        }
    }

    private mutating func apply(_ peer: Peer, why: PresenceReason, in index: Int) -> [Line] {
        let isHeard = peer.presence != .offline && !muted.contains(peer.user.description)
        let alarm = isHeard ? warnings.alarm(about: peer) : nil
        let lines = states[index].apply(peer, why: why, alarm: alarm, at: moment)
        let removal = why == .removed ? [ChatLines.removed(from: states[index].chat.name)] : []
        return shown(removal + lines + (isHeard ? states[index].namesake(peer, of: identity.user) : []), in: index)
    }

    /// Adds a chat that the node has joined.
    ///
    /// - Parameter peers: the people whom the node knows there.
    mutating func add(_ chat: Chat, _ peers: [Peer]) {
        // If the node has already found people, it was in the chat before.
        let age = Self.isFound(peers) ? 2 * ChatState.settling : 0
        var state = ChatState(
            chat, ownName: identity.name, met: peers.filter { $0.presence == .offline }, at: moment.steady - age)
        state.hasExplainedSuffix = display.form == .pipe || states.contains(where: \.hasExplainedSuffix)
        if let other = others.firstIndex(where: { $0.name == chat.name }) {
            _ = state.apply(typing: others.remove(at: other).typing)
        }
        states.append(state)
        applyMuted()
        // The answer comes before the messages that wait.
        askForEarlier(in: chat)
        stay(in: chat)
    }

    /// Makes the daemon keep a private chat until the user leaves it. A node of this program does so by itself.
    private mutating func stay(in chat: Chat) {
        // A talk was kept when this front end joined it. To join it again would be another knock.
        guard display.keeps, !chat.isOpen, chat.partner == nil else { return }
        ask(.join(chat, isKept: true, isConfirmed: true), for: .keep(chat: chat.name))
    }

    /// Applies the people who were in a chat before this front end joined it.
    mutating func apply(present peers: [Peer], in index: Int) -> [Line] {
        peers.filter { $0.presence != .offline }.flatMap { apply($0, why: .hello, in: index) }
    }

    /// Returns the alarm about the key of a person who was muted.
    mutating func keyAlarms(about user: UserID) -> [Line] {
        var lines: [Line] = []
        for index in states.indices {
            guard let peer = states[index].peer(user), peer.presence != .offline,
                let alarm = warnings.alarm(about: peer)
            else { continue }
            lines += shown(states[index].record(alarm, about: user, at: moment.steady), in: index)
        }
        return lines
    }
}

/// Messages that wait for people who are offline.
extension ChatModel {
    /// The difference between the times of writing and arrival above which a message counts as one that waited. Below
    /// it, the clocks of two computers may differ.
    private static let wait = 60.0

    /// Returns when a message was written that waited; nil for others.
    func written(_ message: ReceivedMessage, at time: Timestamp) -> LocalTime? {
        guard let written = message.written, time.seconds(since: written) >= Self.wait else { return nil }
        return texts.localTime(written)
    }

    /// Returns the line about a message of an earlier run of the daemon.
    mutating func lateOutcome(of user: UserID, in chat: String, failure: FailureReason?) -> [Line] {
        guard let index = index(of: chat) else { return [] }
        let name = states[index].label(of: user).isolated
        let line = "A message that waited for \(name) was \(failure == nil ? "delivered" : "given up")"
        return shown([ChatLines.notice(line)], in: index)
    }

    // MARK: Commands

    mutating func listWaiting() { askAboutTexts(.waitingTexts(chat: nil)) }

    mutating func hold(_ isOn: Bool, in chat: Chat) { askAboutTexts(.hold(isOn, chat: chat.name)) }

    /// Gives up the message with a number in the last list, or all messages.
    mutating func forget(_ number: Int?) {
        guard let number else { return askAboutTexts(.forget(chat: nil, entry: nil)) }
        guard listedTexts.indices.contains(number - 1) else {
            return answer(ChatLines.error("There is no waiting message number \(number); /waiting lists them"))
        }
        askAboutTexts(.forget(chat: nil, entry: listedTexts[number - 1]))
    }

    private mutating func askAboutTexts(_ request: ServiceRequest) {
        guard display.keeps else {
            return answer(
                ChatLines.error("Messages wait for nobody, because this identity ends with the prompt"))
        }
        ask(request, for: .texts)
    }

    /// Receives an answer about waiting messages.
    mutating func receive(_ answer: ServiceAnswer, aboutTexts request: ServiceRequest) {
        switch (request, answer) {
        case (_, .failed(let error)): self.answer(ChatLines.error(texts.error(error)))
        case (.waitingTexts, .waitingTexts(let waiting)): self.answer(list(waiting))
        case (.hold(true, _), .done):
            self.answer(
                ChatLines.notice(
                    "From now on, messages to this chat wait on your computer for members who are offline. To end that: "
                        + "/waiting off"))
        case (.hold(false, _), .done):
            self.answer(
                ChatLines.notice("Messages to this chat reach only people who are online. To change that: /waiting on"))
        case (.forget(_, nil), .done):
            listedTexts = []
            self.answer(ChatLines.notice("No message waits any more"))
        case (.forget, .done): self.answer(ChatLines.notice("That message waits no more"))
        default: break
        }
    }

    private mutating func list(_ waiting: [WaitingEntry]) -> [Line] {
        listedTexts = waiting.map(\.entry)
        guard !waiting.isEmpty else { return [ChatLines.notice("No message waits for anybody")] }
        let today = localTime.day
        return waiting.enumerated().map { index, text in
            let known = self.index(of: text.chat).flatMap { states[$0].knownLabel(of: text.user)?.isolated }
            let place = text.chat == open?.chat.name ? "" : " in \(ChatLines.cut(text.chat, columns: 20))"
            let since = texts.localTime(text.at).text(on: today)
            let name = known ?? ChatLines.shown(text.name)
            return ChatLines.notice("\(index + 1)  for \(name)\(place), since \(since): ", excerpt: text.text)
        }
    }
}
