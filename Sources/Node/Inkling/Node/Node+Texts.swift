import InklingCore
import InklingModel
import InklingWire
import NIOCore

/// The texts of the user that wait for people who are offline.
extension Node {
    /// Keeps texts in a store from now on. The node is in no chat yet.
    ///
    /// - Parameter holds: The switches that differ from the usual ones, by chat.
    package func keepTexts(in store: NIOLoopBound<any TextStore>, holds: [String: Bool]) {
        precondition(joined.isEmpty, "texts wait from the first chat on")
        texts.store = store
        texts.holds = holds
        store.value.setStandings(knownPeers.standings)
        store.value.begin { [weak self] fault in self?.onLoop { $0.report(fault) } }
    }

    private func report(_ fault: TextFault) {
        switch fault {
        case .damaged(let text):
            // The disk then has nothing that the node has given up.
            texts.store?.value.whenIdle { [weak self] in
                self?.onLoop { node in
                    node.takeSavedTexts()
                    node.tell(.notice(.other(code: "waiting-damaged", text: text)))
                }
            }
        case .unwritable(let text):
            let notice = Notice.other(code: "waiting-not-kept", text: text)
            texts.fault = notice
            tell(.notice(notice))
        case .remote(let text):
            logger.notice("\(text)")
            tell(.notice(.other(code: "store-remote", text: text)))
        case .writable: texts.fault = nil
        }
    }

    // MARK: Chats

    /// Reads the texts of a chat that the node is about to join; nil if no text waits there.
    func openTexts(of chat: Chat) -> (log: TextLogID, state: TextState)? {
        guard texts.holds(in: chat), let store = texts.store?.value else { return nil }
        let log = TextLogID(digits: logID(of: chat)) ?? TextLogID(chat)
        return (log, texts.ending.contains(log) ? TextState() : store.state(of: log))
    }

    func restore(_ kept: (log: TextLogID, state: TextState), in entry: JoinedChat) {
        var chatTexts = ChatTexts(log: kept.log)
        chatTexts.left = kept.state.left
        entry.texts = chatTexts
        for text in kept.state.unread { restore(text, in: entry) }
        for text in kept.state.waiting { nodeAge.counter.advance(toAtLeast: text.since) }
        texts.queues.restore(kept.state.waiting, in: entry.name, highestEntry: kept.state.highestEntry)
        lookAtTexts()
    }

    private func restore(_ text: KeptText, in entry: JoinedChat) {
        let id = MessageID(rawValue: endpoint.reserveMessageNumber())
        entry.texts?.unread[id] = text
        entry.texts?.restored.append(id)
    }

    /// Takes the texts that the store saved from a damaged file after the node had joined their chats.
    private func takeSavedTexts() {
        for entry in joined {
            guard let chatTexts = entry.texts, let state = texts.store?.value.state(of: chatTexts.log),
                !texts.ending.contains(chatTexts.log)
            else { continue }
            texts.queues.restore(state.waiting, in: entry.name, highestEntry: state.highestEntry)
            let known = Set(
                (Array(chatTexts.unread.values) + chatTexts.arrivals.map(\.text)).map { TextState.Name($0.key, $0.id) })
            for text in state.unread where !known.contains(.init(text.key, text.id)) { restore(text, in: entry) }
            endpoint.addSeenTexts(state.seen, in: entry.id)
            for key in endpoint.reachable(in: entry.id).sorted() { sendTexts(to: key, in: entry) }
        }
        lookAtTexts()
    }

    /// Takes the texts of a chat to its successor. The node gives up the texts that wait for people who stay behind.
    ///
    /// - Parameter moves: Returns whether a person moves too.
    func moveTexts(from entry: JoinedChat, to next: JoinedChat, _ moves: (PublicKey) -> Bool) {
        let chat = next.name
        guard let former = entry.texts, let kept = openTexts(of: next.chat), kept.log != former.log else {
            next.texts = entry.texts
            return giveUpTexts { $0.chat == chat && !moves($0.content.key) }
        }
        giveUpTexts { $0.chat == chat }
        restore(kept, in: next)
        next.texts?.arrivals = former.arrivals
        mergeTexts(former, into: next)
    }

    /// Takes the texts of a chat to the chat that follows it, in which the node is already. The node gives up those that
    /// wait.
    func mergeTexts(of entry: JoinedChat, into next: JoinedChat?) {
        guard let next, next.texts != nil, let former = entry.texts else { return endTexts(of: entry) { _ in } }
        let chat = entry.name
        giveUpTexts { $0.chat == chat }
        texts.queues.forgetRun(in: chat)
        entry.texts = nil
        for arrival in former.arrivals { show(arrival, in: entry) }
        mergeTexts(former, into: next)
    }

    /// Adds unread texts and seen IDs of a former chat to the texts of a chat with a log of its own. Then it removes
    /// the former log.
    private func mergeTexts(_ former: ChatTexts, into next: JoinedChat) {
        guard let store = texts.store?.value, let log = next.texts?.log else { return }
        var unread = former.unread
        for arrival in former.arrivals where !arrival.isRepeated {
            unread[MessageID(rawValue: arrival.number)] = arrival.text
        }
        var seen = store.state(of: former.log).seen
        for text in unread.values { seen[text.key, default: SeenTexts()].insert(text.id) }
        next.texts?.unread.merge(unread) { $1 }
        endpoint.addSeenTexts(seen, in: next.id)
        let received = unread.sorted { $0.key < $1.key }.map { TextRecord.received($0.value) }
        let ids = seen.keys.sorted().map { TextRecord.seen($0, endpoint.seenTexts(of: $0, in: next.id)) }
        store.append(received + ids, to: log) { [self] reason in
            guard reason == nil else { return }
            onLoop { $0.texts.store?.value.end(former.log) { _ in } }
        }
    }

    /// Gives up all texts of a chat, and removes those on disk.
    ///
    /// - Parameter completion: The argument is nil, or the reason why the disk still has them.
    func endTexts(of entry: JoinedChat, _ completion: @escaping (String?) -> Void) {
        guard let chatTexts = entry.texts, let store = texts.store?.value else { return completion(nil) }
        let chat = entry.name
        report(texts.queues.giveUp { $0.chat == chat }, .givenUp)
        texts.queues.forgetRun(in: chat)
        entry.texts = nil
        for arrival in chatTexts.arrivals { show(arrival, in: entry) }
        let log = chatTexts.log
        texts.ending.insert(log)
        store.end(log) { [self] reason in
            onLoop { node in _ = node.texts.ending.remove(log) }
            completion(reason)
        }
    }

    /// Switches waiting texts on or off in a chat. The node gives up texts when the disk has forgotten them.
    ///
    /// - Parameter completion: The argument is nil, or the reason why nothing changed.
    func setHold(_ isOn: Bool, in entry: JoinedChat, _ completion: @escaping (String?) -> Void) {
        let before = texts.holds[entry.name]
        texts.holds[entry.name] = isOn == !entry.chat.isOpen ? nil : isOn
        guard !isOn else {
            beginTexts(in: entry)
            return completion(nil)
        }
        guard let log = entry.texts?.log, let store = texts.store?.value else { return completion(nil) }
        let stay = entry.membership
        store.end(log) { [self] reason in
            onLoop { node in
                guard let entry = node.joined.first(where: { $0.membership === stay }), entry.texts?.log == log else {
                    return
                }
                guard reason == nil else { return node.texts.holds[entry.name] = before }
                // This also removes what came to the disk meanwhile.
                node.endTexts(of: entry) { _ in }
                // Acknowledges all texts.
                try? node.endpoint.setKeepsTexts(false, in: entry.id, now: node.clock.now)
                // Another front end may have switched them on meanwhile.
                node.beginTexts(in: entry)
                node.drain()
            }
            completion(reason)
        }
    }

    /// Lets texts wait in a chat, if the user wants that and they do not yet.
    private func beginTexts(in entry: JoinedChat) {
        guard entry.texts == nil, let kept = openTexts(of: entry.chat) else { return }
        restore(kept, in: entry)
        try? endpoint.setKeepsTexts(true, in: entry.id, seen: kept.state.seen, now: clock.now)
        drain()
    }

    // MARK: Sending

    /// Sends a text to the people of a chat, and keeps it for those who are offline.
    func sendText(
        _ text: String, in entry: JoinedChat, _ prepare: (_ message: MessageID, _ recipients: Int) -> Void
    ) throws(NodeError) -> (message: MessageID, recipients: Int) {
        let now = Node.wallClock()
        let (linked, reachable) = (endpoint.recipients(in: entry.id), endpoint.reachable(in: entry.id))
        let plan = texts.queues.plan(size: text.utf8.count, in: entry.name, linked: linked, now: now)
        if let full = plan.full.first(where: reachable.contains) { throw .queueFull(full.userID) }
        let number: UInt64
        do throws(CommandError) {
            (number, _) = try endpoint.send(
                text, to: entry.id, ids: plan.ids, without: plan.queued, now: clock.now)
        } catch {
            throw nodeError(error, chat: entry.name)
        }
        let message = MessageID(rawValue: number)
        let age = age()
        let absent = entry.met.keys.filter { !linked.contains($0) && mayWait($0, in: entry, at: age) }
        let ranks = Dictionary(uniqueKeysWithValues: absent.map { ($0, rank(of: $0, in: entry)) })
        // Without places for all, those whom the user knows best have them.
        let inOrder = absent.sorted { (ranks[$1] ?? .stranger, $0) < (ranks[$0] ?? .stranger, $1) }
        let recipients = (linked + inOrder).map { key in
            TextQueues.Recipient(
                key: key, name: entry.met[key]?.name ?? knownPeers[key]?.names.first ?? "",
                isThere: reachable.contains(key))
        }
        let changes = texts.queues.add(
            text, message, in: entry.name, to: recipients, plan, now: now, age: age, rank: rank(of:))
        prepare(message, recipients.count)
        apply(changes, in: entry)
        return (message, recipients.count)
    }

    /// Returns whether texts wait for a person who is offline.
    private func mayWait(_ key: PublicKey, in entry: JoinedChat, at age: Age) -> Bool {
        guard let peer = entry.met[key], let chatTexts = entry.texts, key != ownKey else { return false }
        return !chatTexts.left.contains(key) && !texts.blocked.contains(peer.user)
            && (peer.isThere || age - peer.seen < NodeLimits.waitingAbsence)
    }

    /// Returns how well the user knows a person for whom texts wait.
    private func rank(of person: TextQueues.Person) -> SenderRank {
        joinedChat(person.chat).map { rank(of: person.key, in: $0) } ?? .stranger
    }

    private func rank(of key: PublicKey, in entry: JoinedChat) -> SenderRank {
        switch knownPeers.standings[key] {
        case .verified: .verified
        case .met: .met
        case .stranger, nil: entry.chat.isOpen ? .stranger : .member
        }
    }

    /// Sends the texts that wait for a person, if they are there.
    ///
    /// - Parameter again: Whether a new link needs the texts that are on their way over other links too (M-86).
    func sendTexts(to key: PublicKey, in entry: JoinedChat, again: Bool = false) {
        guard entry.texts != nil, !isStopped else { return }
        for text in texts.queues.due(for: .init(chat: entry.name, key: key), again: again) {
            do throws(CommandError) {
                let content = text.content
                let number = try endpoint.resend(content.text, content.id, to: key, in: entry.id, now: clock.now)
                texts.queues.sent(text, as: number)
            } catch {
                if case .queueFull = error { retryTexts() }
                break
            }
        }
        if !isDraining { drain() }
    }

    /// Sends failed texts again after a moment.
    private func retryTexts() {
        guard texts.retry == nil, !isStopped else { return }
        texts.retry = eventLoop.scheduleTask(in: TimeAmount(NodeLimits.textRetry)) { [weak self] in
            guard let self else { return }
            self.onLoop { node in
                node.texts.retry = nil
                for person in node.texts.queues.people() where node.texts.queues.isHeld(person) {
                    guard let entry = node.joinedChat(person.chat) else { continue }
                    node.sendTexts(to: person.key, in: entry)
                }
            }
        }
    }

    // MARK: Outcomes

    /// Applies an outcome of a transmission.
    ///
    /// - Parameter failure: Nil if the person has the text.
    /// - Returns: Whether the transmission is one of a text with an ID. Then the node reports what follows.
    func finishText(_ number: UInt64, of key: PublicKey, in chat: String, _ failure: FailureReason?) -> Bool {
        guard let entry = joinedChat(chat) else { return false }
        let person = TextQueues.Person(chat: chat, key: key)
        guard let failure else {
            guard let text = texts.queues.delivered(number, to: person) else { return false }
            finishOnDisk([text])
            tell(.delivered(receipt(of: text, in: entry)))
            sendTexts(to: key, in: entry)
            return true
        }
        guard let text = texts.queues.failed(number, to: person) else { return false }
        if mayWait(key, in: entry, at: age()) {
            apply(texts.queues.becameAbsent(person, rank: rank(of:)), in: entry)
            sendTexts(to: key, in: entry)
        } else {
            report(texts.queues.giveUp { $0.content.entry == text.content.entry }, failure)
        }
        return true
    }

    /// Keeps the texts of a person who went.
    func becameAbsent(_ key: PublicKey, in entry: JoinedChat) {
        guard entry.texts != nil, mayWait(key, in: entry, at: age()) else { return }
        apply(texts.queues.becameAbsent(.init(chat: entry.name, key: key), rank: rank(of:)), in: entry)
    }

    /// Records that a member left the chat, or came back.
    func setLeft(_ hasLeft: Bool, _ key: PublicKey, in entry: JoinedChat) {
        guard let chatTexts = entry.texts, chatTexts.left.contains(key) != hasLeft, !(hasLeft && entry.isFollowing)
        else { return }
        if hasLeft { entry.texts?.left.set((), for: key, knownPeers.standings) } else { entry.texts?.left.remove(key) }
        texts.store?.value.append([.left(key, hasLeft)], to: chatTexts.log) { _ in }
        let chat = entry.name
        if hasLeft { giveUpTexts { $0.chat == chat && $0.content.key == key } }
    }

    /// Gives up the texts that the closure chooses.
    func giveUpTexts(_ isMeant: (TextQueues.Text) -> Bool) { report(texts.queues.giveUp(isMeant), .givenUp) }

    private func apply(_ changes: TextQueues.Changes, in entry: JoinedChat) {
        report(changes.refused, .noRoom)
        guard !changes.toStore.isEmpty, let log = entry.texts?.log, let store = texts.store?.value else { return }
        let (stored, chat) = (changes.toStore, entry.name)
        store.append(stored.map { .waiting($0.content) }, to: log) { [self] reason in
            onLoop { $0.stored(stored, in: chat, isKept: reason == nil) }
        }
        lookAtTexts()
    }

    private func stored(_ stored: [TextQueues.Text], in chat: String, isKept: Bool) {
        let changed = texts.queues.stored(stored, isKept: isKept)
        guard isKept else { return report(changed, .noRoom) }
        for text in changed {
            guard let message = text.message, let entry = joinedChat(chat) else { continue }
            let user = userID(of: text.content.key, in: entry)
            tell(.waiting(.init(chat: chat, message: message, user: user)))
        }
    }

    /// Reports that texts were given up, and removes them from the disk.
    private func report(_ given: [TextQueues.Text], _ reason: FailureReason) {
        finishOnDisk(given)
        for text in given {
            guard let entry = joinedChat(text.chat) else { continue }
            if text.sending != nil {
                endpoint.withdraw(text.content.id, to: text.content.key, in: entry.id, now: clock.now)
            }
            let receipt = receipt(of: text, in: entry)
            tell(
                .failed(
                    .init(
                        chat: receipt.chat, message: receipt.message, user: receipt.user, why: reason,
                        entry: receipt.entry)))
        }
    }

    private func finishOnDisk(_ finished: [TextQueues.Text]) {
        for (chat, texts) in Dictionary(grouping: finished.filter { $0.place != .memory }, by: \.chat) {
            guard let log = joinedChat(chat)?.texts?.log else { continue }
            self.texts.store?.value.append(texts.map { .finished($0.content.key, $0.content.id) }, to: log) { _ in }
        }
    }

    private func receipt(of text: TextQueues.Text, in entry: JoinedChat) -> DeliveryReceipt {
        DeliveryReceipt(
            chat: text.chat, message: text.message ?? 0, user: userID(of: text.content.key, in: entry),
            entry: text.message == nil ? text.content.entry : nil)
    }

    // MARK: Time

    /// Gives up what waited too long, or for somebody whom nobody has seen for too long.
    private func lookAtTexts() {
        guard !isStopped else { return }
        let age = age()
        report(texts.queues.expire(at: age), .givenUp)
        for person in texts.queues.people() {
            // Of a person whom the node has forgotten, nobody knows when they were there.
            guard let entry = joinedChat(person.chat), entry.met[person.key] != nil,
                !mayWait(person.key, in: entry, at: age)
            else { continue }
            giveUpTexts { $0.person == person && $0.sending == nil }
        }
        texts.look?.cancel()
        texts.look = nil
        guard let oldest = texts.queues.waiting().map(\.content.since).min() else { return }
        let rest = oldest + NodeLimits.waitingTextTime - age
        let delay = min(max(rest, .seconds(1)), NodeLimits.textLook)
        texts.look = eventLoop.scheduleTask(in: TimeAmount(delay)) { [weak self] in
            guard let self else { return }
            self.onLoop { node in
                node.texts.look = nil
                node.lookAtTexts()
            }
        }
    }

    // MARK: The user's questions and words

    /// The texts that wait, of a chat or of all, the oldest first.
    package func waitingTexts(in chat: String?) -> [WaitingEntry] {
        texts.queues.waiting(in: chat).compactMap { text in
            guard let entry = joinedChat(text.chat) else { return nil }
            let content = text.content
            return WaitingEntry(
                entry: content.entry, chat: text.chat, user: userID(of: content.key, in: entry), name: content.name,
                key: content.key, at: content.at, text: content.text)
        }
    }

    /// Checks a request about texts.
    ///
    /// - Throws: ``NodeError/unknownChat(_:)``, or an error with the code `unsupported` or `unknown-entry`.
    func requireTexts(_ chat: String?, _ entry: UInt64?) throws(NodeError) {
        if let chat { try requireMember(chat) }
        guard texts.store != nil else { throw Self.keepsNoTexts }
        guard let entry, !texts.queues.waiting(in: chat).contains(where: { $0.content.entry == entry }) else { return }
        throw .other(code: "unknown-entry", text: "No text with that number waits. See: /waiting")
    }

    /// Performs a request about texts that was checked before.
    ///
    /// - Parameter completion: The argument is nil when the change is on disk, else the reason for a failure.
    func performTexts(_ request: ServiceRequest, _ completion: @escaping @Sendable (String?) -> Void) {
        switch request {
        case .hold(let isOn, let chat):
            guard let entry = joinedChat(chat) else { return completion(nil) }
            setHold(isOn, in: entry, completion)
        case .forget(let chat, let entry): forgetTexts(in: chat, entry: entry, completion)
        default: completion(nil)
        }
    }

    /// Gives up the text with that entry, the texts of a chat, or all texts.
    ///
    /// - Parameter completion: The argument is nil when the disk has forgotten them, else the reason for a failure.
    private func forgetTexts(
        in chat: String?, entry: UInt64?, _ completion: @escaping @Sendable (String?) -> Void
    ) {
        guard let store = texts.store?.value else { return completion(nil) }
        guard let entry else {
            let logs = joined.filter { chat ?? $0.name == $0.name }.compactMap(\.texts?.log)
            guard !logs.isEmpty else { return completion(nil) }
            return store.rekey(logs) { [self] reason in
                onLoop { node in
                    guard reason == nil else { return }
                    node.report(node.texts.queues.giveUp { chat ?? $0.chat == $0.chat }, .givenUp)
                }
                completion(reason)
            }
        }
        guard let text = texts.queues.waiting(in: chat).first(where: { $0.content.entry == entry }),
            let log = joinedChat(text.chat)?.texts?.log
        else { return completion(nil) }
        store.append([.finished(text.content.key, text.content.id)], to: log) { [self] reason in
            onLoop { node in
                guard reason == nil else { return }
                node.report(node.texts.queues.giveUp { $0.content.entry == entry }, .givenUp)
            }
            completion(reason)
        }
    }

    static var keepsNoTexts: NodeError {
        .other(code: "unsupported", text: "This node ends with its program: no texts wait for people who are offline.")
    }
}
