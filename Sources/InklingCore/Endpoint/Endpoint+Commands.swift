import InklingWire

/// What the user and the app ask for.
extension Endpoint {
    // MARK: The node

    /// Applies the networks that this host is attached to, and the port of the socket. When they change, the node pings
    /// its peers, and tries those again that were out of reach (L-40).
    ///
    /// - Parameter own: What this host can send from, beside its addresses on these networks (L-53).
    package mutating func setNetworks(
        _ networks: [LocalNetwork], own: OwnAddresses = OwnAddresses(), port: UInt16, now: Instant
    ) {
        begin(now)
        defer { finish() }
        let isChange = surroundings.networks != networks
        surroundings.networks = networks
        surroundings.ownAddresses = own
        surroundings.ownPort = port
        directory.review(links, surroundings, now: now)
        guard isChange else { return }
        for id in links.sortedIDs { links[id].networksChanged(directory, surroundings, &effects, now: now) }
        directory.restartUnderWay(links, surroundings, now: now)
    }

    /// From now on somebody keeps last wills: each session that sends hands one over (L-33).
    package mutating func keepsWills(now: Instant) {
        begin(now)
        defer { finish() }
        surroundings.keepsWills = true
        for id in links.sortedIDs { links[id].handOverWill(surroundings, &effects) }
    }

    /// Marks the user as away or back. Going away ends typing everywhere at once.
    package mutating func setAway(_ isAway: Bool, now: Instant) {
        begin(now)
        defer { finish() }
        guard surroundings.isAway != isAway else { return }
        surroundings.isAway = isAway
        for tag in chats.sortedIDs {
            if isAway, let stop = chats[tag].announcer.end(now) {
                // The stop that this causes is the frame that says it.
                announce(stop, in: tag, now)
                continue
            }
            let own = heartbeat(in: tag)
            for id in links.ids(in: tag) {
                links[id].send([.heartbeat(own)], .heartbeat, surroundings, &effects, now: now)
            }
        }
    }

    /// Says bye to all: the program is about to be stopped. Nothing is received until `resume`.
    package mutating func suspend(now: Instant) {
        begin(now)
        defer { finish() }
        guard !surroundings.isSuspended else { return }
        leaveAll(.suspended, now)
        surroundings.activity.suspend()
    }

    /// Opens all links again, after a suspension.
    package mutating func resume(now: Instant) {
        begin(now)
        defer { finish() }
        guard surroundings.isSuspended else { return }
        surroundings.activity.resume()
        directory.startAll(links, surroundings, now: now)
    }

    /// Says bye to all: the node ends. Its copies are sent by the deadlines of the next 120 ms.
    package mutating func quit(now: Instant) {
        begin(now)
        defer { finish() }
        leaveAll(.quit, now)
        surroundings.activity.suspend()
    }

    /// Whether copies of a farewell still have to go out.
    package var hasFarewells: Bool { !farewells.isEmpty }

    private mutating func leaveAll(_ reason: ByeReason, _ now: Instant) {
        for tag in chats.sortedIDs { chats[tag].announcer.abandon() }
        for id in links.sortedIDs {
            let link = links[id]
            sayBye(id, reason, now)
            let hasSource = !directory.sources(coveredBy: link).isEmpty
            removeLink(id, .quit, .bye, now)
            if !hasSource, reason == .suspended { directory.remember(link, links, surroundings, now: now) }
        }
        tellDue(now)
        handshakes.removeAll { _ in true }
        directory.idle { _ in true }
    }

    // MARK: Chats

    /// Joins a chat.
    package mutating func join(_ keys: ChatKeys, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard !chats.contains(keys.tag) else { throw .chatExists }
        guard chats.count < Limits.chatsPerNode else { throw .tooManyChats }
        chats.insert(ChatState(keys: keys), for: keys.tag)
        if !keys.isOpen { surroundings.secretChats.insert(keys.tag) }
        for address in directory.peersByHand {
            directory.open(byHand: address, in: keys.tag, links, surroundings, now: now)
        }
    }

    /// Leaves a chat: says farewell to its peers and keeps nothing of it.
    package mutating func leave(_ chat: ChatTag, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard chats.contains(chat) else { throw .unknownChat }
        directory.removeAll(of: chat)
        for id in links.ids(in: chat) {
            sayBye(id, .left, now)
            removeLink(id, .left, .bye, now)
        }
        handshakes.removeAll { $0.chat == chat }
        tellDue(now)
        roster.forget(chat)
        directory.removeAll(of: chat)
        chats.remove(chat)
        surroundings.secretChats.remove(chat)
    }

    // MARK: Typing

    /// The input field of a chat now holds this text. The text itself goes nowhere.
    package mutating func compose(_ text: String, in chat: ChatTag, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard let state = chats.find(chat) else { throw .unknownChat }
        let counts = countsAsTyping(text)
        // Composing the same text again is not an edit, but one that doesn't count ends what `startTyping` began.
        guard state.draft != text || (!counts && state.announcer.isUnderWay) else { return }
        chats[chat].draft = text
        edit(isTyping: counts, in: chat, now)
    }

    /// An edit of a text that the core is not shown.
    package mutating func startTyping(in chat: ChatTag, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard chats.contains(chat) else { throw .unknownChat }
        edit(isTyping: true, in: chat, now)
    }

    /// The input is empty, or was given up.
    package mutating func stopTyping(in chat: ChatTag, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard chats.contains(chat) else { throw .unknownChat }
        chats[chat].draft = ""
        edit(isTyping: false, in: chat, now)
    }

    private mutating func edit(isTyping: Bool, in chat: ChatTag, _ now: Instant) {
        guard surroundings.configuration.sendsTyping, !surroundings.isSuspended else { return }
        let emission = isTyping ? chats[chat].announcer.edit(now) : chats[chat].announcer.end(now)
        if let emission { announce(emission, in: chat, now) }
    }

    /// Sends an edge or a copy of it to all links of the chat but `excluded`, which have it already.
    mutating func announce(
        _ emission: TypingAnnouncer.Emission, in chat: ChatTag, excluding excluded: Set<LinkID> = [], _ now: Instant
    ) {
        guard surroundings.configuration.sendsTyping else { return }
        let status = status(in: chat)
        if emission == .start { effects.counters.typingStartsSent += 1 }
        for id in links.ids(in: chat) {
            if emission == .start { links[id].putOffHeartbeat(now) }
            guard !excluded.contains(id) else { continue }
            links[id].send([.typing(status)], .typing, surroundings, &effects, now: now)
        }
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
        guard chats.contains(chat) else { throw .unknownChat }
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty else { throw .messageEmpty }
        guard bytes.count <= Limits.maximumMessageSize else { throw .messageTooLong(bytes: bytes.count) }
        let ids = links.ids(in: chat)
        let cost = SendStream.cost(of: bytes.count)
        let full = ids.filter { links[$0].outgoing.queuedBytes + cost > Limits.queuedBytesPerPeer }
        // Whoever acknowledges too little gets no more, and holds up nobody else.
        if let id = full.first(where: { full.count == ids.count || !links[$0].outgoing.isOverdue(now) }) {
            throw .queueFull(links[id].key)
        }
        effects.counters.messagesSent += 1
        chats[chat].draft = ""
        let edge = chats[chat].announcer.end(now)
        let message = outbox.add(over: ids.map { ($0, links[$0].key) })
        for id in ids where !full.contains(id) { links[id].outgoing.enqueue(message.number, text: bytes, now: now) }
        var told: Set<LinkID> = []
        let own = heartbeat(in: chat)
        for id in ids where links[id].pump(own, surroundings, &outbox, &effects, now: now) { told.insert(id) }
        if let edge { announce(edge, in: chat, excluding: told, now) }
        for id in full { outbox.failed(message.number, to: links[id].personID, over: id, .stalled, &effects) }
        return (message.number, message.recipients)
    }

    /// The user took a message that ``Output/message(_:from:number:text:)`` handed out under that number, so that it is
    /// held no more (M-20). Until then it counts; an owner that takes nothing gets 8 MiB of text at most.
    package mutating func messageTaken(_ number: UInt64) {
        inbox.take(number)
        finish()
    }

    // MARK: Standing

    /// How well the user knows whom, in place of what was said before; all others are strangers. Who is known better
    /// comes first where there is not room for all (L-52), and some of what is limited is kept for them (L-6, L-9, L-10).
    package mutating func setStandings(_ standings: [PublicKey: Standing], now: Instant) {
        begin(now)
        defer { finish() }
        guard standings != surroundings.standings else { return }
        surroundings.standings = standings
        directory.forgetStrangers(surroundings)
        for id in links.sortedIDs { directory.noteAddress(of: links[id], links, surroundings) }
        knownAddresses.rebuild(links, directory.sources, surroundings)
    }

    /// Takes up where somebody whom the user knows was in an earlier run of the node, the last address first (D-19).
    package mutating func recall(_ key: PublicKey, at addresses: [Address], in chat: ChatTag, now: Instant) {
        begin(now)
        defer { finish() }
        guard chats.contains(chat), key != surroundings.ownKey else { return }
        directory.recall(PersonID(chat: chat, key: key), at: addresses, links, surroundings, now: now)
    }

    // MARK: Blocking

    /// Blocks an identity in all chats: its links end at once, and nothing of it is shown or answered (L-36).
    package mutating func block(_ user: UserID, now: Instant) {
        begin(now)
        defer { finish() }
        guard surroundings.blocked.insert(user).inserted else { return }
        for id in links.sortedIDs where links[id].key.userID == user {
            sayBye(id, .removed, now)
            removeLink(id, .blocked, .blocked, now)
        }
        tellDue(now)
        handshakes.removeAll { $0.key.userID == user }
        directory.idle { $0.key?.userID == user }
    }

    /// What the user has just done shows at once (T-22).
    private mutating func tellDue(_ now: Instant) {
        for tag in chats.sortedIDs { roster.tellDue(in: tag, links, &effects, now: now) }
    }

    /// Undoes a block; the peer is opened again if it is listed.
    package mutating func unblock(_ user: UserID, now: Instant) {
        begin(now)
        defer { finish() }
        guard surroundings.blocked.remove(user) != nil else { return }
        directory.startAll(where: { $0.key?.userID == user }, links, surroundings, now: now)
    }

    /// Asks a chat's nodes for a round trip.
    package mutating func measureRoundTrip(in chat: ChatTag, now: Instant) {
        begin(now)
        defer { finish() }
        for id in links.ids(in: chat) { links[id].probe(directory, surroundings, &effects, now: now) }
    }
}
