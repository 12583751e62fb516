import InklingModel
import InklingText

/// The beginning, the timers and the end of a session.
extension ChatModel {
    // MARK: The beginning

    /// Handles the join of the first chat.
    ///
    /// - Parameter chat: the chat as the node has it. If the node was in the chat before, it has the secret.
    mutating func begun(_ chat: Chat, _ peers: [Peer]) {
        let hasMoved = !firstChat.isOpen && !chat.isOpen && chat != firstChat
        (firstChat, hasBegun) = (chat, true)
        add(chat, peers)
        openIndex = 0
        lookAtOpenChat()
        followOthers()
        guard display.form != .pipe else {
            if firstChat.isOpen { show([ChatLines.openWarning(chat: firstChat.name, takesCommands: false)]) }
            return show(apply(present: peers, in: 0))
        }
        let greeting = open?.greeting(isFound: Self.isFound(peers), keepsTexts: display.outlivesNode) ?? []
        let move = hasMoved ? [ChatLines.notice("\(SafeText.line(chat.name)) has moved to a new secret")] : []
        show(explanation + move + greeting + nameWarning)
        show(apply(present: peers, in: 0))
        aloneAt = moment.steady + Self.aloneTime
        if display.form == .screen { minuteAt = moment.steady + Self.minute }
    }

    /// Returns whether a node that was in a chat before has found anybody there.
    static func isFound(_ peers: [Peer]) -> Bool { peers.contains { $0.presence != .offline } }

    /// The explanation of the prompt, for a user who has not used it before.
    private var explanation: [Line] {
        display.explains
            ? [ChatLines.notice("Type and press Enter. /help shows more, /quit leaves.")] : []
    }

    /// The advice for a user whose name can't be shown.
    private var nameWarning: [Line] {
        guard Labels.shown(identity.name) == nil else { return [] }
        return [
            ChatLines.notice(
                "Others see you as Someone, because your name has no letter or digit. To change it: /nick NAME")
        ]
    }

    mutating func cannotStart(_ error: NodeError) {
        phase = .over(isAnswered: true)
        emit(.cannotStart(error))
    }

    // MARK: Time

    mutating func tickRunning() {
        let now = moment.steady
        keyboard.tick(at: now)
        proceed()
        // This key may have ended the session.
        guard isRunning else { return }
        dots.tick(at: now)
        if let time = returnedAt, time <= now {
            returnedAt = nil
            show(states.indices.flatMap { shown(states[$0].returned(at: now), in: $0) })
        }
        if let time = readAt, time <= now { reportRead() }
        if display.outlivesNode, pending.isOverdue(at: now) { show([Self.silence]) }
        if let time = aloneAt, time <= now {
            aloneAt = nil
            show(alone())
        }
        // Lines show in minutes how long ago a person was here.
        if let time = minuteAt, time <= now {
            minuteAt = now + Self.minute
            // Another front end may have shown their messages.
            if others.contains(where: { $0.unread > 0 }) { countOthers() }
        }
        show(due())
    }

    /// Returns the lines that are due.
    mutating func due() -> [Line] {
        var lines: [Line] = []
        for index in states.indices {
            if !states[index].isSettling(at: moment.steady) { sendWaiting(in: index) }
            lines += shown(states[index].due(at: moment.steady, isSeen: index == openIndex), in: index)
        }
        return lines
    }

    // MARK: The end

    /// Ends the session, and sends the waiting messages. The text in the input field no longer counts as typing.
    mutating func beginEnd() {
        guard isRunning else { return }
        phase = .ending(since: moment.steady)
        emit(.beginEnd)
        if readAt != nil { reportRead() }
        compose("")
        showing = .allChats(last: openIndex)
        for index in states.indices { sendWaiting(in: index) }
        show(due())
    }

    /// Stops waiting for answers.
    mutating func conclude() {
        if isRunning { beginEnd() }
        guard case .ending = phase else { return }
        let isAnswered = !hasUnanswered
        show(states.indices.flatMap { shown(states[$0].abandon(isSeen: $0 == openIndex), in: $0) })
        phase = .over(isAnswered: isAnswered)
        emit(.end)
    }

    /// Handles keys during the end: Ctrl-C and Ctrl-D end the wait for answers.
    mutating func pressAtEnd(_ keys: [Key]) {
        if keys.contains(where: { $0 == .control("c") || $0 == .control("d") }) { conclude() }
    }
}
