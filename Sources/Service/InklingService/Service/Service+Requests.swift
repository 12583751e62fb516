import InklingModel

/// The requests of front ends.
extension Service {
    /// A write of a chat that front ends want to keep.
    final class Keeping {
        /// Called after the write with nil, or the reason for its failure.
        var waiting: [(String?) -> Void] = []
    }

    func perform(_ request: ServiceRequest, for frontEnd: FrontEnd) {
        switch request {
        // Nothing is kept for a later front end of a driven node. The node says so.
        case .join(_, isKept: true, _), .enter(_, _, isKept: true, _), .messages, .hold, .history:
            guard level != .driven else { return pass(request, for: frontEnd) }
            performKeeping(request, for: frontEnd)
        case .join(let chat, _, let isConfirmed): join(chat, isKept: false, isConfirmed: isConfirmed, frontEnd)
        case .enter(let source, let name, _, let isConfirmed):
            enter(source, named: name, isKept: false, isConfirmed: isConfirmed, frontEnd)
        case .invite(_, _?):
            ask(request) { [self] answer in
                if case .invited(let message, _) = answer { invited(message, by: frontEnd) }
                frontEnd.answer(answer)
            }
        case .leave(let chat):
            guard mayLeave(chat, frontEnd) else { return frontEnd.answer(.failed(.unknownChat(chat))) }
            guard joined[chat] != nil else { return leave(chat, of: [], frontEnd) }
            people(in: chat, for: frontEnd) { [self] in leave(chat, of: $0, frontEnd) }
        case .open(let chat?): open(chat, frontEnd)
        case .open(nil): closeChat(frontEnd)
        case .read(let chat): read(chat, frontEnd)
        case .compose(_, let chat), .startTyping(let chat), .stopTyping(let chat):
            frontEnd.answer(edit(request, by: frontEnd) ? .done : .failed(.unknownChat(chat)))
        case .send(let text, let chat): send(text, to: chat, for: frontEnd)
        case .setAway(let isAway):
            frontEnd.answer(.done)
            setAway(isAway)
        case .subscribe(let subscription): subscribe(subscription, frontEnd)
        case .invite(let name, nil) where level == .holder && resting(name) != nil:
            guard let chat = resting(name), chat.partner == nil else {
                return frontEnd.answer(.failed(.noInvite(name, .talk)))
            }
            frontEnd.answer(.invite(chat.invite))
        case .shutDown where level == .holder && !frontEnd.isPatient:
            frontEnd.answer(
                .failed(.other(code: "unsupported", text: "A prompt runs Inkling here. It ends with /quit.")))
        case .shutDown:
            frontEnd.answer(.done)
            surroundings.shutDown()
        case .quit: stop(frontEnd) {}
        case .identity: frontEnd.answer(.identity(identity))
        case .peers(nil): frontEnd.answer(.peers([]))
        case .rename(let name): rename(name, for: frontEnd)
        case .setVerified, .setBlocked, .peers, .measureRoundTrips, .knownPeers, .fingerprint, .invite, .sightings,
            .chats, .status, .statistics, .invitations, .decline,
            .knock, .move, .admit, .waitingTexts, .forget:
            pass(request, for: frontEnd)
        }
    }

    /// Performs a request about what outlives a front end.
    private func performKeeping(_ request: ServiceRequest, for frontEnd: FrontEnd) {
        switch request {
        case .join(let chat, _, let isConfirmed): join(chat, isKept: true, isConfirmed: isConfirmed, frontEnd)
        case .enter(let source, let name, _, let isConfirmed):
            enter(source, named: name, isKept: true, isConfirmed: isConfirmed, frontEnd)
        case .messages(let chat, let before, let text, let count):
            list(HistoryQuery(before: before, count: count, text: text.map { FoldedText($0) }), in: chat, for: frontEnd)
        case .hold(let isOn, let chat): switchHold(isOn, in: chat, for: frontEnd)
        case .history(let isOn, let chat): switchHistory(isOn, in: chat, for: frontEnd)
        default: break
        }
    }

    /// Joins the chat of a talk or an invitation.
    private func enter(
        _ source: ChatSource, named name: String?, isKept: Bool, isConfirmed: Bool, _ frontEnd: FrontEnd
    ) {
        do throws(NodeError) {
            join(try surroundings.chat(source, name), isKept: isKept, isConfirmed: isConfirmed, frontEnd)
        } catch {
            frontEnd.answer(.failed(error))
        }
    }

    /// Lets the node answer a request of a front end.
    private func pass(_ request: ServiceRequest, for frontEnd: FrontEnd) {
        ask(request) { [self] in frontEnd.answer(completed($0)) }
    }

    /// Calls `goOn` with the people in a chat. If the node is not in the chat, the front end gets that as its answer.
    private func people(in chat: String, for frontEnd: FrontEnd, then goOn: @escaping ([Peer]) -> Void) {
        ask(.peers(chat: chat)) { if case .peers(let peers) = $0 { goOn(peers) } else { frontEnd.answer($0) } }
    }

    /// Sends a message of a front end.
    private func send(_ text: String, to chat: String, for frontEnd: FrontEnd) {
        ask(.send(text, chat: chat)) { [self] answer in
            if case .sent(let message, let recipients) = answer {
                sent(text, message, recipients: recipients, in: chat, by: frontEnd)
            }
            frontEnd.answer(answer)
        }
    }

    /// Records the answer to the join of a kept chat at the start.
    func restored(_ chat: Chat, _ answer: ServiceAnswer) {
        let waiting = joining.removeValue(forKey: chat.name) ?? []
        defer { for again in waiting { again() } }
        switch answer {
        case .joined(let chat, _):
            joined[chat.name] = chat
            restoreTexts(in: chat.name)
        case .failed(let error): chatRefused(chat, error)
        default: break
        }
    }

    /// Returns an answer of the node, with the service's own state added.
    private func completed(_ answer: ServiceAnswer) -> ServiceAnswer {
        switch answer {
        case .chats(let chats): .chats(completed(chats))
        case .status(let status):
            .status(
                NodeStatus(
                    since: status.since, isAway: isAway, frontEnds: frontEnds.count, chats: completed(status.chats)))
        default: answer
        }
    }

    private func completed(_ chats: [ChatStatus]) -> [ChatStatus] {
        let rest = kept.filter { joined[$0.name] == nil }.map { chat in
            ChatStatus(chat.name, hasSecret: !chat.isOpen, owner: chat.owner, partner: chat.partner)
        }
        return (chats + (level == .holder ? rest : [])).map { chat in
            var chat = chat
            chat.isKept = level != .driven && kept.contains { $0.name == chat.name }
            chat.unread = unread.count(in: chat.name)
            chat.keepsHistory =
                (joined[chat.name] ?? resting(chat.name)).map { surroundings.history.keeps($0) } ?? false
            return chat
        }
    }

    // MARK: Chats

    private func join(_ chat: Chat, isKept: Bool, isConfirmed: Bool, _ frontEnd: FrontEnd) {
        let resting = resting(chat.name)
        // A bare name means the kept chat of that name. The node answers for a chat that its user has left.
        let named = chat.isOpen && !isConfirmed && resting?.isOpen == false ? resting : nil
        let chat = surroundings.present(named ?? chat) ?? chat
        // A kept chat stays until its user leaves it.
        if let resting, !chat.isOpen, resting.keys.id != chat.keys.id {
            return frontEnd.answer(.failed(.chatExists(chat.name)))
        }
        guard let existing = joined[chat.name] else {
            // A second join of a name waits for the first.
            if joining[chat.name] != nil {
                let again = { [self] in join(chat, isKept: isKept, isConfirmed: isConfirmed, frontEnd) }
                joining[chat.name]?.append(again)
                return
            }
            joining[chat.name] = []
            // Events of the chat that come while the node writes follow the answer.
            frontEnd.enter(chat.name)
            return enterNode(chat, isConfirmed: isConfirmed, isKept: isKept && !chat.isOpen) { [self] answer in
                if case .failed = answer { frontEnd.leave(chat.name) }
                let waiting = joining.removeValue(forKey: chat.name) ?? []
                joined(answer, isKept: isKept, frontEnd)
                for again in waiting { again() }
            }
        }
        // A join without a secret means the chat of that name, unless the user confirmed the open chat.
        // A talk can be joined again, which knocks again.
        let isAgain = isKept || chat.partner != nil || !frontEnd.isIn(chat.name)
        guard chat == existing || chat.isOpen && !isConfirmed else {
            // The node refuses the name.
            return pass(.join(chat, isConfirmed: isConfirmed), for: frontEnd)
        }
        guard isAgain else { return frontEnd.answer(.failed(.chatExists(chat.name))) }
        let enters = { [self] in
            if let partner = existing.partner { ask(.knock(key: partner)) }
            people(in: chat.name, for: frontEnd) { [self] in enter(existing, $0, frontEnd) }
        }
        if isKept { keep(existing, for: frontEnd, then: enters) } else { enters() }
    }

    /// Lets the node join a chat, unless the names of the user's chats speak against it.
    ///
    /// - Parameter isKept: Whether the name is kept with the chat.
    func enterNode(
        _ chat: Chat, isConfirmed: Bool, isKept: Bool, _ completion: @escaping (ServiceAnswer) -> Void
    ) {
        guard surroundings.present(chat) != nil else { return completion(.failed(.chatMoved(chat.name))) }
        let enter = { [self] in ask(.join(chat, isConfirmed: isConfirmed), completion) }
        // If the node is in the chat under another name, the join fails with another error.
        guard !joined.values.contains(where: { $0.keys.id == chat.keys.id }) else { return enter() }
        surroundings.refusal(chat, isConfirmed, isKept) { error in
            if let error { completion(.failed(error)) } else { enter() }
        }
    }

    private func joined(_ answer: ServiceAnswer, isKept: Bool, _ frontEnd: FrontEnd) {
        guard case .joined(let chat, let peers) = answer else { return frontEnd.answer(answer) }
        joined[chat.name] = chat
        restoreTexts(in: chat.name)
        let entered = { [self] in enter(chat, peers, frontEnd) }
        if isKept { return keep(chat, for: frontEnd, undo: { frontEnd.leave(chat.name) }, then: entered) }
        guard level != .daemon, !chat.isOpen, !kept.contains(chat), !identity.isTemporary else { return entered() }
        // The user wants to find a private chat again. The chat is there even without that.
        kept.removeAll { $0.name == chat.name }
        store(chat) { [self] reason in
            entered()
            if let reason {
                report(
                    .other(
                        code: "chats-not-kept",
                        text: "The next start asks for the invite of \"\(chat.name)\": \(reason)"))
            }
        }
    }

    private func enter(_ chat: Chat, _ peers: [Peer], _ frontEnd: FrontEnd) {
        guard isAttached(frontEnd) else {
            // The front end has detached in the meantime.
            return release(chat.name) { ask(.leave(chat: chat.name)) }
        }
        let wantedTyping = frontEnd.subscription.wants(.typing, in: chat.name, isMember: frontEnd.isIn(chat.name))
        frontEnd.enter(chat.name)
        frontEnd.knows(peers, in: chat.name)
        frontEnd.answer(.joined(chat, peers))
        if !wantedTyping { enqueueTyping(in: chat.name, to: frontEnd) }
    }

    /// Keeps a chat, and calls `goOn` when the list is on disk. After a failure, calls `undo`, and the front end gets the
    /// reason.
    private func keep(
        _ chat: Chat, for frontEnd: FrontEnd, undo: @escaping () -> Void = {}, then goOn: @escaping () -> Void
    ) {
        let finish = { [self] (reason: String?) in
            guard let reason else { return goOn() }
            undo()
            release(chat.name) { ask(.leave(chat: chat.name)) }
            frontEnd.answer(.failed(.other(code: "not-kept", text: reason)))
        }
        guard isKept(chat.name) else { return store(chat, finish) }
        if let keeping = keeping[chat.name] { keeping.waiting.append(finish) } else { goOn() }
    }

    /// Adds a chat to the kept ones, and writes these. After a failure, the chat is not kept.
    ///
    /// - Parameter completion: The argument is nil when the list is on disk, else the reason for the failure.
    private func store(_ chat: Chat, _ completion: @escaping (String?) -> Void) {
        kept.append(chat)
        let write = Keeping()
        keeping[chat.name] = write
        storeKept { [weak self] reason in
            guard let self else { return }
            if keeping[chat.name] === write { keeping[chat.name] = nil }
            if reason != nil { kept.removeAll { $0 == chat } }
            completion(reason)
            for finish in write.waiting { finish(reason) }
            deadlineChanged()
        }
    }

    private func isKept(_ chat: String) -> Bool { kept.contains { $0.name == chat } }

    /// Returns the kept chat of that name that a holder is not in; nil for none.
    private func resting(_ name: String) -> Chat? {
        level != .daemon && joined[name] == nil ? kept.first { $0.name == name } : nil
    }

    private func mayLeave(_ chat: String, _ frontEnd: FrontEnd) -> Bool { frontEnd.isIn(chat) || isKept(chat) }

    /// Removes a front end from a chat. For this front end, the people in the chat go offline.
    ///
    /// - Parameter peers: The people in the chat.
    private func leave(_ chat: String, of peers: [Peer], _ frontEnd: FrontEnd) {
        guard isAttached(frontEnd) else { return }
        // Another front end may have left the chat in the meantime.
        guard mayLeave(chat, frontEnd) else { return frontEnd.answer(.failed(.unknownChat(chat))) }
        let isKept = isKept(chat)
        if level != .driven { dropDraft(in: chat, of: frontEnd) }
        if frontEnd.isIn(chat) { frontEnd.part(from: peers, in: chat, at: surroundings.wall()) }
        frontEnd.leave(chat)
        if frontEnd.openChat == chat { frontEnd.openChat = nil }
        let left = joined[chat] ?? kept.first { $0.name == chat }
        kept.removeAll { $0.name == chat }
        updateAttention()
        guard isKept, let left else { return end(left, named: chat) { frontEnd.answer($0) } }
        // The end of the logs follows that of the chat. A start after a kill then completes it. While other front ends are
        // in the chat, the logs stay.
        let hasOthers = frontEnds.contains { $0.isIn(chat) }
        storeKept(leaving: hasOthers ? nil : left) { [weak self] reason in
            guard let self else { return }
            end(left, named: chat) { [self] answer in
                if reason == nil, !hasOthers { surroundings.finishLeaving(left) }
                frontEnd.answer(answer)
                let text = reason.map { "\"\(chat)\" stays one of your chats: \($0)" }
                if let text { report(.other(code: "chats-not-kept", text: text)) }
                deadlineChanged()
            }
        }
    }

    /// Leaves a chat with its logs, if no front end is in the chat and it is not kept.
    private func end(_ chat: Chat?, named name: String, _ completion: @escaping (ServiceAnswer) -> Void) {
        let endLogs = { [self] (answer: ServiceAnswer) in
            guard let chat else { return completion(answer) }
            endHistory(of: chat) { completion(answer) }
        }
        guard joined[name] != nil else {
            // The node is not in the chat, or the last connection in the chat ended during a write.
            return endLogs(.done)
        }
        var isLeft = false
        release(name) {
            isLeft = true
            ask(.leave(chat: name), endLogs)
        }
        if !isLeft { completion(.done) }
    }

    private func open(_ chat: String, _ frontEnd: FrontEnd) {
        guard frontEnd.isIn(chat) else { return frontEnd.answer(.failed(.unknownChat(chat))) }
        if let former = frontEnd.openChat, former != chat { dropDraft(in: former, of: frontEnd) }
        let wasShown = frontEnd.shows(chat)
        frontEnd.openChat = chat
        let unread = wasShown ? [] : collectUnread(in: chat, for: frontEnd)
        frontEnd.answer(.done, then: unread)
        updateAttention()
    }

    private func closeChat(_ frontEnd: FrontEnd) {
        if let former = frontEnd.openChat { dropDraft(in: former, of: frontEnd) }
        frontEnd.openChat = nil
        frontEnd.answer(.done)
        updateAttention()
    }

    /// Returns the unread messages of a chat, for a front end that begins to show the chat.
    private func collectUnread(in chat: String, for frontEnd: FrontEnd) -> [TimedEvent] {
        guard frontEnd.shows(chat) else { return [] }
        var events: [TimedEvent] = []
        if let lost = unread.lost(in: chat), lost.count > frontEnd.toldLost[chat] ?? 0 {
            let count = lost.count - (frontEnd.toldLost[chat] ?? 0)
            frontEnd.toldLost[chat] = lost.count
            events.append(TimedEvent(at: lost.at, event: .missed(.init(chat: chat, messages: count, outcomes: 0))))
        }
        return events + unread.messages(in: chat).filter { !$0.isTaken(by: frontEnd.place) }.map(\.event)
    }

    private func read(_ chat: String, _ frontEnd: FrontEnd) {
        guard joined[chat] != nil else { return frontEnd.answer(.failed(.unknownChat(chat))) }
        markRead(by: frontEnd.place, in: chat)
        for other in frontEnds { other.toldLost[chat] = nil }
        frontEnd.answer(.done)
    }

    /// Edits a draft.
    ///
    /// - Returns: False if the request is about no draft, or about a chat that the front end is not in.
    func edit(_ request: ServiceRequest, by frontEnd: FrontEnd) -> Bool {
        guard request.isEdit, let chat = request.chat, frontEnd.isIn(chat) else { return false }
        if level == .driven { return node.edit(request) }
        let edge: DraftUnion.Edge? =
            switch request {
            case .compose(let text, _): drafts.compose(text, in: chat, by: frontEnd.number, at: now)
            case .startTyping: drafts.type(in: chat, by: frontEnd.number, at: now)
            default: drafts.drop(in: chat, by: frontEnd.number, at: now)
            }
        if let edge { perform(edge) }
        return true
    }

    // MARK: Events

    /// Applies a subscription. After the answer, the front end gets the present state for the events that it did not
    /// get before.
    private func subscribe(_ subscription: Subscription, _ frontEnd: FrontEnd) {
        let former = frontEnd.subscription
        let wasShown = frontEnd.openChat.map { frontEnd.shows($0) } ?? false
        frontEnd.subscription = subscription
        let unread = wasShown ? [] : frontEnd.openChat.map { collectUnread(in: $0, for: frontEnd) } ?? []
        frontEnd.answer(.done, then: unread)
        for chat in joined.keys.sorted() {
            func isNew(_ kind: Subscription.Kind) -> Bool {
                let isMember = frontEnd.isIn(chat)
                return subscription.wants(kind, in: chat, isMember: isMember)
                    && !former.wants(kind, in: chat, isMember: isMember)
            }
            if isNew(.peer) {
                ask(.peers(chat: chat)) { [self] in
                    if case .peers(let peers) = $0 { enqueue(peers, in: chat, to: frontEnd) }
                }
            }
            if isNew(.typing) { enqueueTyping(in: chat, to: frontEnd) }
        }
        enqueueNotices(to: frontEnd, former: former)
        updateAttention()
    }

    private func enqueueTyping(in chat: String, to frontEnd: FrontEnd) {
        guard frontEnd.subscription.wants(.typing, in: chat, isMember: frontEnd.isIn(chat)) else { return }
        frontEnd.forgetTyping(in: chat)
        let people = node.typists(in: chat)
        guard !people.isEmpty else { return }
        frontEnd.add(TimedEvent(at: surroundings.wall(), event: .typing(chat: chat, people)))
    }

    private func enqueue(_ peers: [Peer], in chat: String, to frontEnd: FrontEnd) {
        for peer in peers where peer.presence != .offline {
            let event = Event.peer(.init(chat: chat, peer, why: peer.presence == .away ? .away : .hello))
            if frontEnd.wants(event) { frontEnd.add(TimedEvent(at: surroundings.wall(), event: event)) }
        }
    }
}
