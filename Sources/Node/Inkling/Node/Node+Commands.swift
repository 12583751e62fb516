import InklingCore
import InklingModel
import InklingWire

/// What an app can ask a node to do.
extension Node {
    // MARK: Chats

    /// The chats that the node is in, in the order in which it joined them.
    public var chats: [Chat] { joined.map(\.chat) }

    /// Joins a chat: the node is advertised in it, and its peers are looked for.
    ///
    /// An open chat (``Chat/isOpen``) keeps nothing secret: anybody on the network can join and read it. Whoever shows the
    /// chat to a user has to say so (S-4).
    ///
    /// - Parameter chat: The chat, of which neither the name nor the secret is that of a chat that the node is in.
    /// - Throws: ``NodeError/chatExists(_:)`` (the name, or the secret, is in use by a chat of this node),
    ///   ``NodeError/tooManyChats``, ``NodeError/stopped``.
    /// - Returns: A handle on the chat, good until the node leaves it. Code that goes by the chat's name needs none.
    @discardableResult
    public func join(_ chat: Chat) throws(NodeError) -> ChatHandle {
        guard !isStopped else { throw .stopped }
        guard joinedChat(chat.name) == nil else { throw .chatExists(chat.name) }
        let keys = chat.keys
        do {
            try endpoint.join(keys, isSecret: !chat.isOpen, now: clock.now)
        } catch {
            throw nodeError(error, chat: chat.name)
        }
        let advertisement = Advertisement.random(key: ownKey, keys: keys)
        let entry = JoinedChat(chat, keys: keys, instance: advertisement.instance, at: clock.now)
        joined.append(entry)
        recall(entry)
        let key = ownKey
        discovery?.join(keys, port: port, first: advertisement) { Advertisement.random(key: key, keys: keys) }
        drain()
        return ChatHandle(chat: chat, node: self, membership: entry.membership)
    }

    /// Joins the open chat of that name, as ``join(_:)-(Chat)`` does.
    ///
    /// - Parameter name: Is brought into NFC.
    /// - Throws: ``NodeError/chatName(_:)``, and the errors of ``join(_:)-(Chat)``.
    @discardableResult
    public func join(_ name: String) throws(NodeError) -> ChatHandle { try join(Chat(name)) }

    /// Leaves a chat: its peers get a farewell, and nothing is kept except when they were last seen. Messages that were not
    /// acknowledged yet fail with ``FailureReason/left``.
    ///
    /// - Parameter chat: The name of a chat that the node is in.
    /// - Throws: ``NodeError/unknownChat(_:)``, ``NodeError/stopped``.
    public func leave(_ chat: String) throws(NodeError) {
        let entry = try member(chat)
        discovery?.leave(entry.id)
        noteWhoIsThere(in: entry)
        do {
            try endpoint.leave(entry.id, now: clock.now)
        } catch {
            throw nodeError(error, chat: chat)
        }
        drain()
        joined.removeAll { $0 === entry }
        observers.finish(chat: chat)
        take(readers.finish(chat: chat))
    }

    // MARK: Typing

    /// Tells the node what the input field of a chat holds now. Call it on every change.
    ///
    /// From the texts the node tells whether the user types, and announces that (T-1 to T-10). The text itself never leaves
    /// it.
    ///
    /// - Parameters:
    ///   - text: All that the field holds; empty when it was cleared. It may be of any length.
    ///   - chat: The name of a chat. Nothing happens in one that the node is not in.
    public func compose(_ text: String, in chat: String) {
        guard let entry = joinedChat(chat), !isStopped else { return }
        try? endpoint.compose(text, in: entry.id, now: clock.now)
        drain()
    }

    /// Tells the node that the user edited a message whose text it is not shown. Call it with each edit: 2.9 s after the last
    /// one typing ends (T-9). Nothing happens for a chat that the node is not in.
    public func startTyping(in chat: String) {
        guard let entry = joinedChat(chat), !isStopped else { return }
        try? endpoint.startTyping(in: entry.id, now: clock.now)
        drain()
    }

    /// Tells the node that the user emptied or gave up the message of ``startTyping(in:)``: typing ends at once. Nothing happens
    /// for a chat that the node is not in.
    public func stopTyping(in chat: String) {
        guard let entry = joinedChat(chat), !isStopped else { return }
        try? endpoint.stopTyping(in: entry.id, now: clock.now)
        drain()
    }

    // MARK: Messages

    /// Sends a message to all who are online or away in a chat; the user's typing ends with it (T-10).
    ///
    /// - Parameters:
    ///   - text: 1 to 65,536 bytes of UTF-8.
    ///   - chat: The name of a chat that the node is in.
    /// - Returns: The number under which ``Event/delivered(chat:message:user:)`` and ``Event/failed(chat:message:user:why:)``
    ///   report it, and how many people it goes to. People who are offline don't get it later.
    /// - Throws: ``NodeError/unknownChat(_:)``, ``NodeError/messageEmpty``, ``NodeError/messageTooLong(bytes:)``,
    ///   ``NodeError/queueFull(_:)``, ``NodeError/stopped``.
    public func send(_ text: String, to chat: String) throws(NodeError) -> (message: UInt64, recipients: Int) {
        try send(text, to: chat) { _, _ in }
    }

    /// - Parameter prepare: Called with the number and the recipients, before anything becomes of the message.
    func send(
        _ text: String, to chat: String, prepare: (_ message: UInt64, _ recipients: Int) -> Void
    ) throws(NodeError) -> (message: UInt64, recipients: Int) {
        let entry = try member(chat)
        defer { drain() }
        do {
            let sent = try endpoint.send(text, to: entry.id, now: clock.now)
            prepare(sent.message, sent.recipients)
            return sent
        } catch {
            throw nodeError(error, chat: chat)
        }
    }

    // MARK: Presence

    /// Marks the user as away, or back, in all chats. Going away ends typing at once (T-6, T-21).
    public func setAway(_ away: Bool) {
        guard !isStopped else { return }
        endpoint.setAway(away, now: clock.now)
        drain()
    }

    /// Blocks somebody in all chats, while this node runs: they vanish from every list at once, and are not heard or
    /// answered. ``setBlocked(_:key:)`` lasts.
    public func block(_ user: UserID) {
        guard !isStopped else { return }
        endpoint.block(user, now: clock.now)
        drain()
    }

    /// Undoes a block while this node runs. Somebody whom ``setBlocked(_:key:)`` blocked is blocked again in the next run.
    public func unblock(_ user: UserID) {
        guard !isStopped else { return }
        endpoint.unblock(user, now: clock.now)
        drain()
    }

    /// Says bye to all before the process is stopped; returns when the copies went out as well.
    public func suspend() async {
        await withCheckedContinuation { continuation in suspend { continuation.resume() } }
    }

    /// As ``suspend()``; calls `completion` on the event loop.
    func suspend(_ completion: @escaping @Sendable () -> Void) {
        guard !isStopped else { return completion() }
        endpoint.suspend(now: clock.now)
        drain()
        afterFarewells { [self] in assumeIsolated { $0.saveKnownPeers(completion) } }
    }

    /// Goes on after ``suspend()``: peers are looked for again, and the node is the same person in the same run.
    public func resume() {
        guard !isStopped else { return }
        endpoint.resume(now: clock.now)
        drain()
    }

    // MARK: The name

    /// Changes the display name of this node. Peers who are online are told at once, and those who come later see the
    /// new name from the start. If peers were told of another name less than a second ago, they are told when that
    /// second is over, and of the name that the node has then (M-24).
    ///
    /// - Parameter name: Trimmed and in NFC, it must have 1 to 64 bytes of UTF-8 and no control characters.
    /// - Throws: ``NodeError/name(_:)``, ``NodeError/stopped``.
    public func setName(_ name: String) throws(NodeError) {
        let name = try Configuration.checked(name: name)
        guard !isStopped else { throw .stopped }
        currentName.withLock { $0 = name }
        endpoint.rename(name, now: clock.now)
        drain()
    }

    // MARK: Questions

    /// Everybody this user's nodes have met in a chat, in this run or an earlier one, by name; those who left with when
    /// they were last seen. Empty for a chat that the node is not in.
    public func peers(in chat: String) -> [Peer] {
        guard let entry = joinedChat(chat) else { return [] }
        return entry.met.map { peer($0, $1, in: entry) }.sorted { ($0.name, $0.key) < ($1.name, $1.key) }
    }

    /// What is known of somebody in a chat; nil if this user's nodes have not met them there.
    public func peer(_ user: UserID, in chat: String) -> Peer? { peers([user], in: chat).first }

    /// What is known of several people in a chat, in the order of `users`; those whom this user's nodes have not met there are
    /// left out.
    public func peers(_ users: [UserID], in chat: String) -> [Peer] {
        guard let entry = joinedChat(chat) else { return [] }
        let wanted = Set(users)
        var keys: [UserID: PublicKey] = [:]
        for (key, peer) in entry.met where wanted.contains(peer.user) {
            // Should somebody have made a second key for the user ID, it is the first of them as the list has them.
            let isLater =
                keys[peer.user].flatMap { entry.met[$0] }.map { ($0.name, $0.key) < (peer.name, peer.key) } ?? false
            if !isLater { keys[peer.user] = key }
        }
        return users.compactMap { user in
            guard let key = keys[user], let peer = entry.met[key] else { return nil }
            return self.peer(key, peer, in: entry)
        }
    }

    /// All that is known of somebody. It takes no more time for more people, unless they have the same name.
    func peer(_ key: PublicKey, _ peer: JoinedChat.MetPeer, in entry: JoinedChat) -> Peer {
        let known = knownPeers[key]
        let namesakes = knownPeers.likeliest(of: knownPeers.namesakes(of: key, name: peer.name))
        let users = namesakes.map { entry.met[$0.key]?.user ?? $0.key.userID }
        // Of a name that two strangers brought a moment ago nobody knows whose it is.
        let latest = max(started, Node.wallClock() - Double(KnownPeersLimits.provingTime.components.seconds))
        let namesake = namesakes.first { $0.isVerified || $0.since(peer.name) < latest }.map {
            Peer.Namesake(user: $0.key.userID, names: $0.names, isVerified: $0.isVerified)
        }
        return Peer(
            user: peer.user, name: peer.name, presence: Presence(peer.presence), key: peer.key,
            lastSeen: peer.isThere ? nil : peer.since, onlineSince: peer.isThere ? peer.since : nil,
            roundTrip: endpoint.roundTrip(to: key, in: entry.id), firstSeen: known?.firstSeen,
            isVerified: known?.isVerified ?? false, isBlocked: known?.isBlocked ?? false, namesakes: users,
            namesake: namesake, names: known?.names ?? [],
            namedSince: known.map { $0.since($0.names.first ?? "") })
    }

    /// Who is typing in a chat, in the order in which to name them, as far as this user sees that.
    func typingPeople(in chat: String) -> [Person] {
        guard configuration.showsTyping, let entry = joinedChat(chat) else { return [] }
        return endpoint.typing(in: entry.id).map(Person.init)
    }

    /// What the node has counted since its start.
    public func statistics() -> Statistics {
        let present = joined.flatMap { endpoint.present(in: $0.id) }
        return Statistics(
            endpoint.counters, sendErrors: sendErrors, elsewhere: datagramsElsewhere, links: endpoint.tableSizes.links,
            roundTrips: present.compactMap(\.roundTrip))
    }

    /// Measures the round trip to all peers of a chat again, with a ping to each. The answers show as ``Peer/roundTrip`` in
    /// ``peers(in:)`` a moment later.
    public func measureRoundTrips(in chat: String) {
        guard let entry = joinedChat(chat), !isStopped else { return }
        endpoint.measureRoundTrip(in: entry.id, now: clock.now)
        drain()
    }

    // MARK: Observing

    /// Who is typing in a chat: first the current state, then each change, until the node leaves the chat or is
    /// stopped. A chat that the node is not in gives an empty sequence. A reader that is slower than the changes gets the
    /// latest state alone.
    public func typing(in chat: String) -> AsyncStream<[InklingModel.Person]> {
        let (stream, continuation) = AsyncStream<[Person]>.makeStream(bufferingPolicy: .bufferingNewest(1))
        observeTyping(in: joinedChat(chat), continuation)
        return stream
    }

    /// Yields who is typing in a chat, now and at each change; finishes at once without a chat.
    func observeTyping(in entry: JoinedChat?, _ continuation: AsyncStream<[Person]>.Continuation) {
        guard let chat = entry?.name, !isStopped else { return continuation.finish() }
        let id = observers.add(continuation, chat: chat)
        end(id, with: continuation)
        // A reader that dropped its stream before this has ended it.
        if case .terminated = continuation.yield(typingPeople(in: chat)) { observers.remove(id) }
    }

    /// The people of a chat, also those of earlier runs, who are offline: first the current state, then each change,
    /// until the node leaves the chat or is stopped. A chat that the node is not in gives an empty sequence. A list is
    /// made when it is taken, so a reader that is slower than the changes gets the latest state alone.
    public func presence(in chat: String) -> AsyncStream<[Peer]> {
        let changes = presenceChanges(in: chat)
        return AsyncStream { [weak self] in
            var next = changes.makeAsyncIterator()
            guard await next.next() != nil else { return nil }
            return await self?.peers(in: chat)
        }
    }

    /// Comes at once, and when the list of people in a chat may have changed since it last came.
    func presenceChanges(in chat: String) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        guard joinedChat(chat) != nil, !isStopped else {
            continuation.finish()
            return stream
        }
        let id = observers.add(continuation, chat: chat)
        end(id, with: continuation)
        continuation.yield()
        return stream
    }

    /// Ends all sequences of ``events()``, ``typing(in:)`` and ``presence(in:)``. What waits in them can still be read.
    public func stopObserving() {
        observers.finish()
        take(readers.finish())
    }

    private func end<Element>(_ id: Int, with continuation: AsyncStream<Element>.Continuation) {
        continuation.onTermination = { [weak self] _ in
            guard let self else { return }
            Task { await self.forget(id) }
        }
    }

    private func forget(_ id: Int) { observers.remove(id) }

    // MARK: Helpers

    func joinedChat(_ name: String) -> JoinedChat? { joined.first { $0.name == name } }

    /// The chat of a handle; nil when the node has left it, also if it has joined one of that name again.
    func joinedChat(_ handle: ChatHandle) -> JoinedChat? { joined.first { $0.membership === handle.membership } }

    func joinedChat(_ id: ChatID) -> JoinedChat? { joined.first { $0.id == id } }

    /// - Throws: ``NodeError/unknownChat(_:)``, ``NodeError/stopped``.
    func requireMember(_ chat: String) throws(NodeError) { _ = try member(chat) }

    private func member(_ chat: String) throws(NodeError) -> JoinedChat {
        guard !isStopped else { throw .stopped }
        guard let entry = joinedChat(chat) else { throw .unknownChat(chat) }
        return entry
    }

    private func nodeError(_ error: CommandError, chat: String) -> NodeError {
        switch error {
        case .unknownChat: .unknownChat(chat)
        case .chatExists: .chatExists(chat)
        case .tooManyChats: .tooManyChats
        case .messageEmpty: .messageEmpty
        case .messageTooLong(let bytes): .messageTooLong(bytes: bytes)
        case .queueFull(let key): .queueFull(key.userID)
        }
    }
}
