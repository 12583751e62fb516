import InklingWire

/// What the user and the app ask for, and what they can ask about.
extension Endpoint {
    // MARK: The node

    /// The networks that this host is attached to, and the port of the socket. When they change, the peers are told
    /// where we are now, and whoever was out of reach is tried anew (L-40).
    package mutating func setNetworks(_ networks: [LocalNetwork], port: UInt16, now: Instant) {
        begin(now)
        defer { finish() }
        let isChange = self.networks != networks
        self.networks = networks
        ownPort = port
        reviewCandidates(now)
        guard isChange else { return }
        for id in links.sortedIDs { sendPing(id, now) }
        reopenAll(now)
    }

    /// From now on somebody keeps last wills: each session that sends hands one over.
    package mutating func keepsWills(now: Instant) {
        begin(now)
        defer { finish() }
        makesWills = true
        for id in links.sortedIDs {
            if let index = links[id]?.sendingSession { keepWill(of: index) }
        }
    }

    /// Marks the user as away or back. Going away ends typing everywhere at once.
    package mutating func setAway(_ isAway: Bool, now: Instant) {
        begin(now)
        defer { finish() }
        guard self.isAway != isAway else { return }
        self.isAway = isAway
        for tag in chats.sortedIDs {
            if isAway, let stop = chats[tag]?.announcer.end(now) {
                // The stop that this causes is the frame that says it.
                announce(stop, in: tag, now)
                continue
            }
            for id in linkIDs(in: tag) {
                send([.heartbeat(heartbeat(in: tag))], over: id, as: .heartbeat, now)
            }
        }
    }

    /// Says bye to all: the program is about to be stopped. Nothing is received until `resume`.
    package mutating func suspend(now: Instant) {
        begin(now)
        defer { finish() }
        guard !isSuspended else { return }
        leaveAll(.suspended, now)
        isSuspended = true
    }

    /// Opens all links anew, after a suspension.
    package mutating func resume(now: Instant) {
        begin(now)
        defer { finish() }
        guard isSuspended else { return }
        isSuspended = false
        for id in instances.sortedIDs { startOpening(id, now) }
    }

    /// Says bye to all: the node ends. Its copies are sent by the deadlines of the next 120 ms.
    package mutating func quit(now: Instant) {
        begin(now)
        defer { finish() }
        leaveAll(.quit, now)
        isSuspended = true
    }

    /// Whether copies of a farewell still have to go out.
    package var hasFarewells: Bool { !farewells.isEmpty }

    private mutating func leaveAll(_ reason: ByeReason, _ now: Instant) {
        for tag in chats.sortedIDs { chats[tag]?.announcer.abandon() }
        for id in links.sortedIDs {
            guard let link = links[id] else { continue }
            sayBye(id, reason, now)
            let hasInstance = !instances(coveredBy: link).isEmpty
            removeLink(id, .quit, .bye, now)
            if !hasInstance, reason == .suspended { remember(link, now) }
        }
        for index in sessions.sortedIDs { removeSession(index) }
        for id in instances.sortedIDs {
            cancelPending(id)
            instances[id]?.opening = .idle
        }
    }

    // MARK: Chats

    /// Joins a chat.
    package mutating func join(_ keys: ChatKeys, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard chats[keys.tag] == nil else { throw .chatExists }
        guard chats.count < Limits.chatsPerNode else { throw .tooManyChats }
        chats[keys.tag] = ChatState(keys: keys)
        for address in peersByHand { addPeerByHand(address, to: keys.tag, now) }
    }

    /// Leaves a chat: a farewell to its peers, and nothing of it is kept.
    package mutating func leave(_ chat: ChatTag, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard chats[chat] != nil else { throw .unknownChat }
        for id in instances.sortedIDs where instances[id]?.chat == chat { removeInstance(id) }
        for id in linkIDs(in: chat) {
            sayBye(id, .left, now)
            removeLink(id, .left, .bye, now)
        }
        for index in sessions.sortedIDs where sessions[index]?.chat == chat { removeSession(index) }
        for id in people.keys.sorted() where id.chat == chat { people[id] = nil }
        for id in instances.sortedIDs where instances[id]?.chat == chat { removeInstance(id) }
        chats[chat] = nil
    }

    // MARK: Typing

    /// The input field of a chat now holds this text. The text itself goes nowhere.
    package mutating func compose(_ text: String, in chat: ChatTag, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard let state = chats[chat] else { throw .unknownChat }
        let counts = isTyping(text)
        // A text that is there already is no edit, but one that doesn't count ends what `startTyping` began.
        guard state.draft != text || (!counts && state.announcer.isUnderWay) else { return }
        chats[chat]?.draft = text
        edit(isTyping: counts, in: chat, now)
    }

    /// An edit of a text that the core is not shown.
    package mutating func startTyping(in chat: ChatTag, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard chats[chat] != nil else { throw .unknownChat }
        edit(isTyping: true, in: chat, now)
    }

    /// The input is empty, or was given up.
    package mutating func stopTyping(in chat: ChatTag, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard chats[chat] != nil else { throw .unknownChat }
        chats[chat]?.draft = ""
        edit(isTyping: false, in: chat, now)
    }

    private mutating func edit(isTyping: Bool, in chat: ChatTag, _ now: Instant) {
        guard configuration.sendsTyping, !isSuspended else { return }
        let emission = isTyping ? chats[chat]?.announcer.edit(now) : chats[chat]?.announcer.end(now)
        if let emission { announce(emission, in: chat, now) }
    }

    // MARK: Messages

    /// Sends a message to all who are online in a chat. It ends typing, in the same datagram and before the text.
    ///
    /// - Parameter text: 1 to 65,536 bytes of UTF-8.
    /// - Returns: The number of the message, and to how many people it goes.
    /// - Throws: Nothing was sent then.
    package mutating func send(
        _ text: String, to chat: ChatTag, now: Instant
    ) throws(CommandError) -> (message: UInt64, recipients: Int) {
        begin(now)
        defer { finish() }
        guard chats[chat] != nil else { throw .unknownChat }
        let bytes = Array(text.utf8)
        let size = bytes.count
        guard size > 0 else { throw .messageEmpty }
        guard size <= Limits.maximumMessageSize else { throw .messageTooLong(bytes: size) }
        let ids = linkIDs(in: chat)
        for id in ids {
            guard let link = links[id] else { continue }
            let queued = link.outgoing.queuedBytes + SendStream.cost(of: size)
            guard queued <= Limits.queuedBytesPerPeer else { throw .queueFull(link.key) }
        }
        lastMessageSent += 1
        counters.messagesSent += 1
        chats[chat]?.draft = ""
        let edge = chats[chat]?.announcer.end(now)
        var waiting: [PublicKey: Set<LinkID>] = [:]
        for id in ids {
            guard let link = links[id] else { continue }
            waiting[link.key, default: []].insert(id)
            links[id]?.outgoing.enqueue(lastMessageSent, text: bytes, now: now)
        }
        if !waiting.isEmpty { outgoingMessages[lastMessageSent] = OutgoingMessage(chat: chat, waiting: waiting) }
        var told: Set<LinkID> = []
        for id in ids where pump(id, now) { told.insert(id) }
        if let edge { announce(edge, in: chat, excluding: told, now) }
        return (lastMessageSent, waiting.count)
    }

    // MARK: Blocking

    /// Blocks an identity in all chats: its links end at once, and nothing of it is shown or answered.
    package mutating func block(_ user: UserID, now: Instant) {
        begin(now)
        defer { finish() }
        guard blocked.insert(user).inserted else { return }
        for id in links.sortedIDs where links[id]?.key.userID == user {
            sayBye(id, .removed, now)
            removeLink(id, .blocked, .blocked, now)
        }
        for session in sessions.unorderedValues.filter({ $0.key.userID == user }) { removeSession(session.localIndex) }
        for id in instances.sortedIDs where instances[id]?.key?.userID == user {
            cancelPending(id)
            instances[id]?.opening = .idle
        }
    }

    /// Takes a block back; the peer is opened again if it is listed.
    package mutating func unblock(_ user: UserID, now: Instant) {
        begin(now)
        defer { finish() }
        guard blocked.remove(user) != nil else { return }
        for id in instances.sortedIDs where instances[id]?.key?.userID == user { startOpening(id, now) }
    }

    // MARK: Queries

    /// What is known of a person who is reachable.
    package struct PersonState: Sendable, Hashable {
        package let person: Person
        package let presence: Presence
        package let since: Instant
        package let roundTrip: Duration?
        package let addresses: [Address]
    }

    /// The people of a chat that links are up to, by key.
    package func present(in chat: ChatTag) -> [PersonState] {
        Set(linkIDs(in: chat).compactMap { links[$0]?.key }).sorted().map { key in
            let theirs = links(of: PersonID(chat: chat, key: key))
            return PersonState(
                person: Person(key: key, name: name(of: key, in: chat)),
                presence: theirs.contains { !$0.isAway } ? .online : .away,
                since: theirs.map(\.madeAt).min() ?? .zero,
                roundTrip: theirs.compactMap(\.roundTrip).min(),
                addresses: theirs.map(\.address))
        }
    }

    /// Who types in a chat, in the order in which to name them.
    package func typing(in chat: ChatTag) -> [Person] { chats[chat]?.shownTyping ?? [] }

    /// How many links, sessions, candidate sets and unfinished messages the node holds.
    package var tableSizes: (links: Int, sessions: Int, instances: Int, messages: Int) {
        (links.count, sessions.count, instances.count, outgoingMessages.count)
    }

    /// The chat that a session of this node's belongs to, by its local index; nil if there is none.
    package func chat(ofSession index: UInt32) -> ChatTag? { sessions[index]?.chat }

    /// Asks a person's nodes for a round trip.
    package mutating func measureRoundTrip(in chat: ChatTag, now: Instant) {
        begin(now)
        defer { finish() }
        for id in linkIDs(in: chat) { probe(id, now) }
    }
}
