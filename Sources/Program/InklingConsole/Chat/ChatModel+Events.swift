import InklingModel

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
        guard display.outlivesNode, !chat.isOpen, chat.partner == nil else { return }
        ask(.keep(chat, isConfirmed: true), for: .keep(chat: chat.name))
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
