import InklingCore
import InklingModel
import InklingWire

/// The commands and questions of an app to a node.
extension Node {
    // MARK: Chats

    /// The chats that the node is in, in the order in which it joined them.
    public var chats: [Chat] { joined.map(\.chat) }

    /// Joins a chat: the node advertises itself there, and looks for peers.
    ///
    /// An open chat (``Chat/isOpen``) keeps nothing secret: anybody on the network can join and read it. A program that
    /// shows an open chat to its user must say so (S-4).
    ///
    /// - Parameter chat: The chat. Its name and its secret must differ from those of all chats that the node is in. In
    ///   place of a chat that has moved, the node joins the newest one, under this name.
    /// - Throws: ``NodeError/chatMoved(_:)`` if the user left the newest one, ``NodeError/chatExists(_:)`` (a chat of
    ///   this node has the name, or the secret), ``NodeError/tooManyChats``, ``NodeError/stopped``.
    /// - Returns: A handle on the chat, valid until the node leaves it. Code that uses the chat's name needs no handle.
    @discardableResult
    public func join(_ chat: Chat) throws(NodeError) -> ChatHandle {
        guard !isStopped else { throw .stopped }
        guard let chat = present(chat) else { throw .chatMoved(chat.name) }
        guard joinedChat(chat.name) == nil else { throw .chatExists(chat.name) }
        do {
            try enter(chat)
        } catch .tooManyChats where endOldestDeparture() {
            return try join(chat)
        } catch {
            throw nodeError(error, chat: chat.name)
        }
        let (entry, advertisement) = entry(for: chat, Membership())
        joined.append(entry)
        recall(entry)
        if let texts = openTexts(of: chat) { restore(texts, in: entry) }
        endInvitations(to: entry.id)
        enterMoves(of: chat)
        advertise(entry, advertisement)
        drain()
        return ChatHandle(chat: chat, node: self, membership: entry.membership)
    }

    /// Returns the entry of a chat that the protocol has joined, and its first advertisement.
    func entry(for chat: Chat, _ membership: Membership) -> (JoinedChat, Advertisement) {
        let keys = chat.keys
        let advertisement = Advertisement.random(key: ownKey, keys: keys)
        let entry = JoinedChat(
            chat, keys: keys, instance: advertisement.instance, membership: membership, at: clock.now)
        return (entry, advertisement)
    }

    /// Advertises a chat, and looks for others in it. A suspended node is not advertised (L-88).
    func advertise(_ entry: JoinedChat, _ first: Advertisement) {
        let (key, keys) = (ownKey, entry.keys)
        if endpoint.isSuspended {
            discovery?.browse(keys)
        } else {
            discovery?.join(keys, port: port, first: first) { Advertisement.random(key: key, keys: keys) }
        }
    }

    /// Joins the open chat of that name, as ``join(_:)-(Chat)`` does.
    ///
    /// - Parameter name: The name. The node converts it to NFC.
    /// - Throws: ``NodeError/chatName(_:)``, and the errors of ``join(_:)-(Chat)``.
    @discardableResult
    public func join(_ name: String) throws(NodeError) -> ChatHandle { try join(Chat(name)) }

    /// Leaves a chat. The peers get a bye, and the node keeps only the times when they were last seen. Messages that
    /// were not acknowledged yet fail with ``FailureReason/left``.
    ///
    /// - Parameter chat: The name of a chat that the node is in.
    /// - Throws: ``NodeError/unknownChat(_:)``, ``NodeError/stopped``.
    public func leave(_ chat: String) throws(NodeError) {
        let entry = try member(chat)
        discovery?.leave(entry.id)
        noteWhoIsThere(in: entry)
        endTexts(of: entry) { _ in }
        // The protocol has left a chat that has ended.
        try? endpoint.leave(entry.id, now: clock.now)
        leaveMoves(of: entry.chat)
        drain()
        joined.removeAll { $0 === entry }
        observers.finish(chat: chat)
        take(readers.finish(chat: chat))
    }

    // MARK: Typing

    /// Sets the text of a chat's input field. Call it on every change.
    ///
    /// From the texts the node derives whether the user types, and announces that (T-1 to T-10). The text itself never
    /// leaves the node.
    ///
    /// - Parameters:
    ///   - text: The whole text of the field, of any length; empty when the user cleared it.
    ///   - chat: The name of a chat. Nothing happens in a chat that the node is not in.
    public func compose(_ text: String, in chat: String) {
        guard let entry = joinedChat(chat), !isStopped else { return }
        try? endpoint.compose(text, in: entry.id, now: clock.now)
        drain()
    }

    /// Reports an edit of a message whose text the node doesn't see. Call it with each edit: 2.9 s after the last one
    /// typing ends (T-9). Nothing happens for a chat that the node is not in.
    public func startTyping(in chat: String) {
        guard let entry = joinedChat(chat), !isStopped else { return }
        try? endpoint.startTyping(in: entry.id, now: clock.now)
        drain()
    }

    /// Reports that the user emptied or dropped the message of ``startTyping(in:)``: typing ends at once. Nothing
    /// happens for a chat that the node is not in.
    public func stopTyping(in chat: String) {
        guard let entry = joinedChat(chat), !isStopped else { return }
        try? endpoint.stopTyping(in: entry.id, now: clock.now)
        drain()
    }

    // MARK: Messages

    /// Sends a message to all people who are online or away in a chat. The message ends the user's typing (T-10).
    ///
    /// - Parameters:
    ///   - text: 1 to 65,536 bytes of UTF-8.
    ///   - chat: The name of a chat that the node is in.
    /// - Returns: The number in ``Event/delivered(_:)`` and ``Event/failed(_:)``, and the number of recipients. People
    ///   who are offline don't get the message later.
    /// - Throws: ``NodeError/unknownChat(_:)``, ``NodeError/chatMoved(_:)``, ``NodeError/messageEmpty``,
    ///   ``NodeError/messageTooLong(bytes:)``, ``NodeError/queueFull(_:)``, ``NodeError/stopped``.
    public func send(_ text: String, to chat: String) throws(NodeError) -> (message: MessageID, recipients: Int) {
        try send(text, to: chat) { _, _ in }
    }

    /// Sends a message.
    ///
    /// - Parameter prepare: Called with the number and the recipients, before any outcome of the message.
    func send(
        _ text: String, to chat: String, prepare: (_ message: MessageID, _ recipients: Int) -> Void
    ) throws(NodeError) -> (message: MessageID, recipients: Int) {
        let entry = try member(chat)
        guard !entry.hasEnded else { throw .chatMoved(chat) }
        defer { drain() }
        guard entry.texts == nil else { return try sendText(text, in: entry, prepare) }
        do throws(CommandError) {
            let (number, recipients) = try endpoint.send(text, to: entry.id, now: clock.now)
            let message = MessageID(rawValue: number)
            prepare(message, recipients)
            return (message, recipients)
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

    /// Blocks a user in all chats, while this node runs. The user vanishes from every list at once, and the node
    /// neither hears nor answers them. ``setBlocked(_:key:)`` blocks permanently.
    public func block(_ user: UserID) {
        guard !isStopped else { return }
        texts.blocked.insert(user)
        giveUpTexts { $0.content.key.userID == user }
        endpoint.block(user, now: clock.now)
        endInvitations(of: user)
        drain()
    }

    /// Undoes a block while this node runs. A block by ``setBlocked(_:key:)`` returns in the next run.
    public func unblock(_ user: UserID) {
        guard !isStopped else { return }
        texts.blocked.remove(user)
        endpoint.unblock(user, now: clock.now)
        drain()
    }

    /// Sends a bye to all peers before the process is stopped, and withdraws the chats from discovery. Returns after the
    /// copies of the byes.
    public func suspend() async {
        await withCheckedContinuation { continuation in suspend { continuation.resume() } }
    }

    /// Suspends as ``suspend()`` does, and calls `completion` on the event loop.
    func suspend(_ completion: @escaping @Sendable () -> Void) {
        guard !isStopped else { return completion() }
        endpoint.suspend(now: clock.now)
        advertiseAll()
        drain()
        afterFarewells { [self] in onLoop { $0.saveKnownPeers(completion) } }
    }

    /// Resumes after ``suspend()``: the node is advertised and looks for peers again, as the same person in the same run.
    public func resume() {
        guard !isStopped, endpoint.isSuspended else { return }
        endpoint.resume(now: clock.now)
        advertiseAll()
        drain()
    }

    /// Withdraws all chats of a suspended node, or advertises them under new names (D-2).
    private func advertiseAll() {
        for entry in joined where !entry.hasEnded {
            advertise(entry, .random(key: ownKey, keys: entry.keys))
        }
    }

    // MARK: The name

    /// Changes the display name of this node. Online peers get the name at once, and later peers see the name from the
    /// start. A report less than a second after the last one waits for the end of that second. The node then reports
    /// the name that it has at that time (M-24).
    ///
    /// - Parameter name: Trimmed and in NFC, the name must have 1 to 64 bytes of UTF-8 and no control characters.
    /// - Throws: ``NodeError/name(_:)``, ``NodeError/stopped``.
    public func setName(_ name: String) throws(NodeError) {
        let name = try NormalForm.displayName(name)
        guard !isStopped else { throw .stopped }
        currentName.withLock { $0 = name }
        endpoint.rename(name, now: clock.now)
        drain()
    }

    // MARK: Questions

    /// Returns all people that this user's nodes have met in a chat, in this run or an earlier one, by name. People who
    /// left have the time when they were last seen. Empty for a chat that the node is not in.
    public func peers(in chat: String) -> [Peer] {
        guard let entry = joinedChat(chat) else { return [] }
        return entry.met.map { (peer: peer($0, $1, in: entry), key: $0.base64url) }
            .sorted { ($0.peer.name, $0.key) < ($1.peer.name, $1.key) }.map(\.peer)
    }

    /// Returns a person of a chat; nil if this user's nodes have not met them there.
    public func peer(_ user: UserID, in chat: String) -> Peer? { peers([user], in: chat).first }

    /// Returns several people of a chat, in the order of `users`, without those whom this user's nodes have not met
    /// there.
    public func peers(_ users: [UserID], in chat: String) -> [Peer] {
        guard let entry = joinedChat(chat) else { return [] }
        let wanted = Set(users)
        var keys: [UserID: PublicKey] = [:]
        for (key, peer) in entry.met where wanted.contains(peer.user) {
            // If somebody has made a second key for the user ID, the first key in the order of the list counts.
            let isLater = keys[peer.user].map { other in
                (entry.met[other]?.name ?? "", other.base64url) < (peer.name, key.base64url)
            }
            if isLater != true { keys[peer.user] = key }
        }
        return users.compactMap { user in
            guard let key = keys[user], let peer = entry.met[key] else { return nil }
            return self.peer(key, peer, in: entry)
        }
    }

    /// Returns a person with all that the node knows. The time that this takes grows only with the number of people of
    /// the same name.
    func peer(_ key: PublicKey, _ peer: JoinedChat.MetPeer, in entry: JoinedChat) -> Peer {
        let known = knownPeers[key]
        let (users, namesake) = namesakes(of: key, name: peer.name, in: entry)
        let since = peer.since(by: clockAtBoot())
        return Peer(
            user: peer.user, name: peer.name, presence: peer.presence, key: key,
            lastSeen: peer.isThere ? nil : since, onlineSince: peer.isThere ? since : nil,
            roundTrip: endpoint.roundTrip(to: key, in: entry.id),
            firstSeen: known.map { Timestamp(rawValue: $0.firstSeen) },
            isVerified: known?.isVerified ?? false, isBlocked: known?.isBlocked ?? false, namesakes: users,
            namesake: namesake, names: known?.names ?? [],
            namedSince: known.map { Timestamp(rawValue: $0.since($0.names.first ?? "")) })
    }

    /// Returns those for whom readers could mistake a person with this name, and the likeliest of them.
    func namesakes(of key: PublicKey, name: String, in entry: JoinedChat) -> ([UserID], Peer.Namesake?) {
        let namesakes = knownPeers.likeliest(of: knownPeers.namesakes(of: key, name: name))
        let users = namesakes.map { entry.met[$0.key]?.user ?? $0.key.userID }
        // For a name that two strangers brought within that time, nobody knows the owner.
        let latest = max(started, Node.wallClock() - KnownPeersLimits.provingTime)
        let namesake = namesakes.first { $0.isVerified || $0.since(name) < latest.rawValue }.map {
            Peer.Namesake(user: $0.key.userID, names: $0.names, isVerified: $0.isVerified)
        }
        return (users, namesake)
    }

    /// Returns the people who are typing in a chat, in the order in which to name them. Empty if this user does not see
    /// typing.
    func typingPeople(in chat: String) -> [Person] {
        guard configuration.showsTyping, let entry = joinedChat(chat) else { return [] }
        return endpoint.typing(in: entry.id).map(Person.init)
    }

    /// Returns the node's counters since its start.
    public func statistics() -> Statistics {
        let present = joined.flatMap { endpoint.present(in: $0.id) }
        return Statistics(
            endpoint.counters, sendErrors: sendErrors, elsewhere: datagramsElsewhere, links: endpoint.tableSizes.links,
            roundTrips: present.compactMap(\.roundTrip))
    }

    /// Measures the round trip to all peers of a chat again, with a ping to each. A moment later ``Peer/roundTrip`` in
    /// ``peers(in:)`` has the results.
    public func measureRoundTrips(in chat: String) {
        guard let entry = joinedChat(chat), !isStopped else { return }
        endpoint.measureRoundTrip(in: entry.id, now: clock.now)
        drain()
    }

    // MARK: Observing

    /// Returns a stream of the people who are typing in a chat: first the current list, then each change. The stream
    /// ends when the node leaves the chat or is stopped, and is empty for a chat that the node is not in. A reader that
    /// is slower than the changes gets the latest list only.
    public func typing(in chat: String) -> AsyncStream<[InklingModel.Person]> {
        let (stream, continuation) = AsyncStream<[Person]>.makeStream(bufferingPolicy: .bufferingNewest(1))
        observeTyping(in: joinedChat(chat), continuation)
        return stream
    }

    /// Yields the typists of a chat, now and at each change. Without a chat, the stream finishes at once.
    func observeTyping(in entry: JoinedChat?, _ continuation: AsyncStream<[Person]>.Continuation) {
        guard let chat = entry?.name, !isStopped else { return continuation.finish() }
        let id = observers.add(continuation, chat: chat)
        end(id, with: continuation)
        // If the reader dropped its stream before, the handler of its end has already run.
        if case .terminated = continuation.yield(typingPeople(in: chat)) { observers.remove(id) }
    }

    /// Calls with the typists of a chat, now and at each change. Without a chat, nothing happens.
    func observeTyping(in entry: JoinedChat?, _ observation: TypingObservation) {
        guard let chat = entry?.name, !isStopped else { return }
        observers.add(observation, chat: chat)
        let people = typingPeople(in: chat)
        executor.afterTurn { observation.call(people) }
    }

    /// Returns a stream of the people of a chat, with those of earlier runs as offline: first the current list, then
    /// each change. The stream ends when the node leaves the chat or is stopped, and is empty for a chat that the node
    /// is not in. The node makes a list when the reader takes it. So a reader that is slower than the changes gets the
    /// latest list only.
    public func presence(in chat: String) -> AsyncStream<[Peer]> {
        let changes = presenceChanges(in: chat)
        return AsyncStream { [weak self] in
            var next = changes.makeAsyncIterator()
            guard await next.next() != nil else { return nil }
            return await self?.peers(in: chat)
        }
    }

    /// Returns a stream that yields at once, and after each possible change of the list of people in a chat.
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

    /// Ends all sequences of ``events()``, ``typing(in:)`` and ``presence(in:)``. Readers can still take the waiting
    /// elements.
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

    /// Returns the chat of a handle; nil after the node has left the chat, even if it later joined a chat of that name.
    func joinedChat(_ handle: ChatHandle) -> JoinedChat? { joined.first { $0.membership === handle.membership } }

    func joinedChat(_ id: ChatID) -> JoinedChat? { joined.first { $0.id == id } }

    /// Returns the keys of a chat that the node is in or departed from.
    func keys(of id: ChatID) -> ChatKeys? { joinedChat(id)?.keys ?? moving.departed.first { $0.id == id }?.keys }

    /// Returns the name of a chat that the node is in or departed from.
    func name(of id: ChatID) -> String? { joinedChat(id)?.name ?? moving.departed.first { $0.id == id }?.name }

    /// - Throws: ``NodeError/unknownChat(_:)``, ``NodeError/stopped``.
    func requireMember(_ chat: String) throws(NodeError) { _ = try member(chat) }

    /// - Throws: ``NodeError/unknownChat(_:)``, ``NodeError/stopped``.
    func member(_ chat: String) throws(NodeError) -> JoinedChat {
        guard !isStopped else { throw .stopped }
        guard let entry = joinedChat(chat) else { throw .unknownChat(chat) }
        return entry
    }

    func nodeError(_ error: CommandError, chat: String) -> NodeError {
        switch error {
        case .unknownChat: .unknownChat(chat)
        case .chatExists: .chatExists(chat)
        case .tooManyChats: .tooManyChats
        case .messageEmpty: .messageEmpty
        case .messageTooLong(let bytes): .messageTooLong(bytes: bytes)
        case .queueFull(let key): .queueFull(key.userID)
        case .unknownPerson: .unknownPeer("")
        }
    }
}
