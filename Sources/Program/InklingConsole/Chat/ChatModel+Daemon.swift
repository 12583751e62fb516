import InklingModel
import InklingText

/// The attachment to a daemon's node, which other front ends use too. The node may end before this front end does.
extension ChatModel {
    /// The time for which waiting messages are on the screen before the front end reports them as read.
    private static let readWait: Int64 = 200

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
        guard isRunning, display.outlivesNode else { return conclude() }
        if case .lost = attachment { return }
        let lines = [ChatLines.error(Self.text(why))]
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

    private static func text(_ why: ServiceEnd) -> String {
        switch why {
        case .stopped, .lost: "The daemon has ended. Your draft is kept. Start it with: inkling daemon"
        case .tooSlow:
            "The daemon closed the connection, because this prompt read nothing for too long. Your draft is kept. The "
                + "prompt connects again"
        case .silent: "The daemon does not answer. Your draft is kept. The prompt connects again"
        }
    }

    /// Attaches to the same node or its successor, and joins all chats again.
    package mutating func reattached(_ identity: NodeIdentity, at moment: Moment) -> [ChatEffect] {
        reacting(at: moment) { model in
            guard model.isDetached, model.isRunning else { return }
            let wasLost = if case .lost = model.attachment { true } else { false }
            if wasLost { model.show([ChatLines.notice("The daemon is back")]) }
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
        case .send(let text, _): answer(ChatLines.error("Not sent, because the daemon has ended: \(text)"))
        case .leave(let chat):
            leaving[chat] = nil
            answer(ChatLines.error("The daemon has ended; leave the chat when it runs again"))
        case .peers: break
        default: answer(ChatLines.error("The daemon has ended; try again when it runs"))
        }
    }

    /// Puts a line that can't be sent back into the input field.
    ///
    /// - Returns: Whether the input field has the line.
    mutating func keepUnsent(_ text: String) -> Bool {
        guard isDetached, display.form == .screen else { return false }
        _ = keyboard.editor.exchange(LineEditor.Draft(text))
        answer(ChatLines.error("The daemon has ended; your message is kept. Send it when the daemon runs"))
        return true
    }

    /// The line about a daemon that runs but does not answer.
    static let silence = ChatLines.error("The daemon does not answer. What you have entered waits until it does")

    // MARK: The chat in sight

    /// Reports the open chat to the node, which then sends the chat's waiting messages. A pipe shows no chat.
    mutating func lookAtOpenChat() {
        guard display.form != .pipe, let open else { return }
        ask(.open(chat: open.chat.name))
        hasShownWaited = false
    }

    /// Receives a message that arrived while no front end showed its chat.
    mutating func receive(waited timed: TimedEvent) {
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
