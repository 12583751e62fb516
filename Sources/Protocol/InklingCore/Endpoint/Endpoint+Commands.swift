import InklingWire

/// The commands of the user and the app.
extension Endpoint {
    // MARK: The node

    /// Sets the networks of this host, and the port of the socket. After a change of networks, the node pings its peers
    /// and restarts its openings (L-40).
    ///
    /// - Parameter own: The other source addresses of this host (L-78).
    package mutating func setNetworks(
        _ networks: [LocalNetwork], own: OwnAddresses = OwnAddresses(), port: UInt16, now: Instant
    ) {
        begin(now)
        defer { finish() }
        let isChange = surroundings.networks != networks
        surroundings.networks = networks
        surroundings.ownAddresses = own
        surroundings.ownPort = port
        directory.review(links, surroundings)
        guard isChange else { return }
        for id in links.sortedIDs {
            links[id].sender.setOnLink(surroundings.isOnLink(links[id].address))
            guard !links[id].isDown, !links[id].liveness.isSuspect else { continue }
            if links[id].hints.networksChanged(now) { ping(id, .everywhere, now) }
        }
        for person in Set(people() + openings.sortedIDs).sorted() { hasNews(of: person, now) }
    }

    /// Begins to hand out last wills, because a helper process now keeps them. Each session that sends hands over its
    /// last will (L-33).
    package mutating func keepsWills(now: Instant) {
        begin(now)
        defer { finish() }
        surroundings.keepsWills = true
        for id in links.sortedIDs { links[id].handOverWill(surroundings, &effects) }
    }

    /// Marks the user as away or back. Going away ends typing everywhere at once (T-10, T-21).
    package mutating func setAway(_ isAway: Bool, now: Instant) {
        begin(now)
        defer { finish() }
        guard surroundings.isAway != isAway else { return }
        surroundings.isAway = isAway
        for chat in chats.sortedIDs where takesPart(in: chat) {
            if isAway, let stop = chats[chat].announcer.end(now) {
                // The typing frame of this stop already announces the user as away.
                announce(stop, in: chat, now)
                continue
            }
            for id in links.ids(in: chat) where !links[id].isDown { sendHeartbeat(id, now) }
        }
    }

    /// Changes the name of the node. Peers get the name in a record (M-24).
    ///
    /// - Parameter name: NFC, at most 64 bytes of UTF-8.
    package mutating func rename(_ name: String, now: Instant) {
        begin(now)
        defer { finish() }
        guard surroundings.name != name else { return }
        surroundings.name = name
        for id in links.sortedIDs { links[id].sender.rename(name, now: now) }
    }

    /// Says bye to all peers, because the program will be stopped. The node receives nothing until `resume`.
    package mutating func suspend(now: Instant) {
        begin(now)
        defer { finish() }
        guard !surroundings.isSuspended else { return }
        leaveAll(.suspended, now)
        surroundings.activity.suspend()
    }

    /// Opens all links again after a suspension (L-88). The owner registers the service again.
    package mutating func resume(now: Instant) {
        begin(now)
        defer { finish() }
        guard surroundings.isSuspended else { return }
        surroundings.activity.resume()
        directory.endRests()
        for (person, address) in lastLinks where chats.contains(person.chat) {
            directory.keepLast(person, at: address, until: now + Limits.afterSuspension)
        }
        lastLinks = []
        for person in people() { hasNews(of: person, now) }
    }

    /// Says bye to all peers, because the node ends. The deadlines of the next 120 ms send the copies of the byes.
    package mutating func quit(now: Instant) {
        begin(now)
        defer { finish() }
        leaveAll(.quit, now)
        surroundings.activity.suspend()
    }

    /// Whether the node still has to send copies of byes.
    package var hasFarewells: Bool { !farewells.isEmpty }

    private mutating func leaveAll(_ reason: ByeReason, _ now: Instant) {
        for chat in chats.sortedIDs { chats[chat].announcer.abandon() }
        for id in links.sortedIDs where links.contains(id) {
            if reason == .suspended { lastLinks.append((links[id].personID, links[id].address)) }
            sayBye(id, reason, .quit, .bye, now)
        }
        for chat in chats.sortedIDs { tellDue(in: chat, now) }
        handshakes.removeAll { _ in true }
        for person in openings.sortedIDs { openings.remove(person) }
    }

    /// Returns all people for whom the node knows an instance.
    func people() -> [PersonID] {
        Set(directory.instances.unordered.compactMap(\.person)).sorted()
    }

    // MARK: Chats

    /// Joins a chat.
    ///
    /// - Parameters:
    ///   - isSecret: Whether the chat has a secret. The node prefers members of a secret chat to strangers there.
    ///   - other: The other key of a talk, the only key that the node has links with there (L-104).
    ///   - owner: The key that may move the chat; nil in a chat without an owner.
    ///   - refused: The keys that the owner has removed (M-91).
    ///   - keepsTexts: Whether the owner of the endpoint keeps texts with an ID on its disk (M-82).
    ///   - seen: The IDs of earlier texts, from that disk (M-83).
    package mutating func join(
        _ keys: ChatKeys, isSecret: Bool, talkWith other: PublicKey? = nil, owner: PublicKey? = nil,
        refusing refused: Set<PublicKey> = [], keepsTexts: Bool = false, seen: [PublicKey: SeenTexts] = [:],
        now: Instant
    ) throws(CommandError) {
        begin(now)
        defer { finish() }
        let chat = keys.id
        guard !chats.contains(chat) else { throw .chatExists }
        guard chats.count < Limits.chats else { throw .tooManyChats }
        chats.insert(ChatState(keys: keys, owner: owner), for: chat)
        if !refused.isEmpty { surroundings.refused[chat] = refused }
        if isSecret { surroundings.secretChats.insert(chat) }
        surroundings.talks[chat] = other
        if keepsTexts { texts.join(chat, seen: seen, surroundings) }
        if epochs[chat] == nil { epochs[chat] = Epochs(run: effects.number()) }
        for address in directory.peersByHand { directory.ask(.byHand(address), address, in: chat, now: now) }
    }

    /// Leaves a chat, with a bye to its peers. The node keeps only the chat's run and epochs (L-32, L-58).
    package mutating func leave(_ chat: ChatID, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard chats.contains(chat) else { throw .unknownChat }
        directory.removeAll(of: chat)
        for id in links.ids(in: chat) where links.contains(id) { sayBye(id, .left, .left, .bye, rest: nil, now) }
        handshakes.removeAll { $0.chat == chat }
        for person in openings.sortedIDs where person.chat == chat { openings.remove(person) }
        tellDue(in: chat, now)
        roster.forget(chat)
        chats.remove(chat)
        surroundings.secretChats.remove(chat)
        surroundings.talks[chat] = nil
        surroundings.refused[chat] = nil
        surroundings.departures[chat] = nil
        _ = texts.leave(chat)
    }

    /// Returns whether the node is in a chat, and has not departed from it.
    func takesPart(in chat: ChatID) -> Bool {
        chats.contains(chat) && surroundings.departures[chat] == nil
    }

    // MARK: Typing

    /// Applies the current text of a chat's input field. The node does not send the text (T-1).
    package mutating func compose(_ text: String, in chat: ChatID, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard takesPart(in: chat) else { throw .unknownChat }
        let counts = countsAsTyping(text)
        // The same text again is not an edit. But a text that does not count as typing ends the typing of
        // `startTyping`.
        guard chats[chat].draft != text || (!counts && chats[chat].announcer.isUnderWay) else { return }
        chats[chat].draft = text
        edit(isTyping: counts, in: chat, now)
    }

    /// Applies an edit of a text that the core does not see.
    package mutating func startTyping(in chat: ChatID, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard takesPart(in: chat) else { throw .unknownChat }
        edit(isTyping: true, in: chat, now)
    }

    /// Ends typing, because the input field is empty or the user gave its text up.
    package mutating func stopTyping(in chat: ChatID, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard takesPart(in: chat) else { throw .unknownChat }
        chats[chat].draft = ""
        edit(isTyping: false, in: chat, now)
    }

    private mutating func edit(isTyping: Bool, in chat: ChatID, _ now: Instant) {
        guard surroundings.configuration.sendsTyping, !surroundings.isSuspended else { return }
        let emission = isTyping ? chats[chat].announcer.edit(now) : chats[chat].announcer.end(now)
        if let emission { announce(emission, in: chat, now) }
    }

    // MARK: Messages

    /// Sends a message to all people in a chat with a named link, up or down (M-36). The message ends typing, in the
    /// same datagram and before the text (M-9).
    ///
    /// - Parameters:
    ///   - text: 1 to 65,536 bytes of UTF-8.
    ///   - ids: The IDs of the text for people for whom the owner keeps the text (M-80). For a person whose links have
    ///     no room, or lack an older text, the message fails at once with ``FailureReason/stalled`` (M-84).
    ///   - waiting: The people who get nothing now, because older texts wait for them (M-84).
    /// - Returns: The number of the message, and the number of recipients.
    /// - Throws: An error after which nothing was sent.
    package mutating func send(
        _ text: String, to chat: ChatID, ids textIDs: [PublicKey: TextID] = [:],
        without waiting: Set<PublicKey> = [], now: Instant
    ) throws(CommandError) -> (message: UInt64, recipients: Int) {
        begin(now)
        defer { finish() }
        guard takesPart(in: chat) else { throw .unknownChat }
        let bytes = try checked(text)
        let ids = links.ids(in: chat).filter { links[$0].takesMessages && !waiting.contains(links[$0].key) }
        let (message, open, failed, recipients) = try addToOutbox(bytes.count, textIDs, over: ids, now)
        effects.counters.messagesSent += 1
        chats[chat].draft = ""
        let edge = chats[chat].announcer.end(now)
        for id in open {
            if surroundings.configuration.isGreasing, let body = effects.greasingRecord() {
                links[id].sender.grease(body)
            }
            let textID = textIDs[links[id].key]
            if let textID { texts.sent(message, textID, to: links[id].personID) }
            links[id].sender.enqueue(message, text: bytes, textID, now: now)
            requestRecords(id, now)
        }
        let sent = sendRecords(now)
        if let edge { announce(edge, in: chat, excluding: sent, now) }
        for outcome in failed { tell(outcome) }
        return (message, recipients)
    }

    /// Sends an invite to a person, on all links of the chat that take messages (M-45).
    ///
    /// - Parameters:
    ///   - invite: Nil for a knock, which asks for a talk (M-46).
    ///   - key: The person in that chat.
    /// - Returns: The number of the invite among the messages.
    /// - Throws: An error after which nothing was sent. ``CommandError/unknownPerson`` if there is no such link.
    package mutating func invite(
        _ key: PublicKey, to invite: Invite?, in chat: ChatID, now: Instant
    ) throws(CommandError) -> UInt64 {
        begin(now)
        defer { finish() }
        guard chats.contains(chat) else { throw .unknownChat }
        let body = Array((invite?.text ?? "").utf8)
        let ids = links.ids(in: chat).filter { links[$0].key == key && links[$0].takesMessages }
        guard !ids.isEmpty else { throw .unknownPerson }
        let (message, open, failed, _) = try addToOutbox(body.count, over: ids, now)
        for id in open {
            links[id].sender.enqueue(message, invite: body, now: now)
            requestRecords(id, now)
        }
        for failure in failed { tell(failure) }
        return message
    }

    /// Returns the bytes of a text.
    func checked(_ text: String) throws(CommandError) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty else { throw .messageEmpty }
        guard bytes.count <= Limits.messageSizes.upperBound else { throw .messageTooLong(bytes: bytes.count) }
        return bytes
    }

    /// Adds a message or invite of `size` bytes for these links. A text with an ID is never refused (M-84).
    ///
    /// - Returns: Its number, the links with room, the people for whom it failed at once, and the number of people.
    /// - Throws: ``CommandError/queueFull(_:)`` (M-14, M-30).
    mutating func addToOutbox(
        _ size: Int, _ textIDs: [PublicKey: TextID] = [:], over ids: [LinkID], _ now: Instant
    ) throws(CommandError) -> (UInt64, open: [LinkID], failed: [Outbox<LinkID, PersonID>.Outcome], recipients: Int) {
        let rooms = ids.map {
            let hasID = !textIDs.isEmpty && textIDs[links[$0].key] != nil
            let room = hasID ? roomForText(size, on: $0, now) : links[$0].sender.room(for: size, now: now)
            return (link: $0, person: links[$0].personID, room: room)
        }
        guard case .accepted(let message, let open, let failed) = outbox.add(to: rooms) else {
            let full = rooms.first { $0.room == .full } ?? rooms.first
            throw .queueFull(full?.person.key ?? publicKey)
        }
        return (message, open, failed, Set(rooms.map(\.person)).count)
    }

    /// Frees the text of a received message that the user has taken (M-20). The message is the one that
    /// ``Output/message(_:from:number:text:id:)`` handed out under `number`. Texts not taken use up the node's room: an
    /// owner that takes none gets at most 8 MiB of text.
    package mutating func messageTaken(_ number: UInt64, now: Instant) {
        begin(now)
        defer { finish() }
        guard let (link, size) = untaken.removeValue(forKey: number) else { return }
        pools.take(size, of: link)
    }

    // MARK: Standing

    /// Replaces the standings of all people. People not listed are strangers. A node evicts lower standings first
    /// (L-52), and keeps a share of some limits for higher ones (L-6, L-10).
    package mutating func setStandings(_ standings: [PublicKey: Standing], now: Instant) {
        begin(now)
        defer { finish() }
        guard standings != surroundings.standings else { return }
        surroundings.standings = standings
        directory.forgetStrangers(surroundings)
        for id in links.sortedIDs where !links[id].isDown { remember(links[id]) }
        knownAddresses.rebuild(links, directory, surroundings)
    }

    /// Restores the addresses of a known person from an earlier run of the node, the last address first (D-19).
    package mutating func recall(_ key: PublicKey, at addresses: [Address], in chat: ChatID, now: Instant) {
        begin(now)
        defer { finish() }
        let person = PersonID(chat: chat, key: key)
        let unicast = addresses.filter(\.isUnicast)
        guard chats.contains(chat), key != surroundings.ownKey, !unicast.isEmpty, surroundings.isPreferred(person),
            directory.remembered(of: person).isEmpty
        else { return }
        directory.remember(person, at: unicast, links, surroundings)
        hasNews(of: person, now)
    }

    // MARK: Blocking

    /// Blocks an identity in all chats. Its links end at once, and the node no longer shows or answers it (L-36).
    package mutating func block(_ user: UserID, now: Instant) {
        begin(now)
        defer { finish() }
        guard surroundings.blocked.insert(user).inserted else { return }
        var touched: Set<ChatID> = []
        for id in links.sortedIDs where links.find(id)?.key.userID == user {
            touched.insert(links[id].chat)
            sayBye(id, .left, .blocked, .blocked, now)
        }
        for chat in touched.sorted() { tellDue(in: chat, now) }
        handshakes.removeAll { $0.key.userID == user }
        for person in openings.sortedIDs where person.key.userID == user { openings.remove(person) }
    }

    /// Ends a block. The node treats the peer's instances as new (L-36).
    package mutating func unblock(_ user: UserID, now: Instant) {
        begin(now)
        defer { finish() }
        guard surroundings.blocked.remove(user) != nil else { return }
        for person in people() where person.key.userID == user { treatAsNew(person, now) }
    }

    /// Ends the rests of a person's instances, and opens to them.
    mutating func treatAsNew(_ person: PersonID, _ now: Instant) {
        for instance in directory.instances.instances(of: person) {
            directory.instances[instance.id].restsUntil = nil
        }
        hasNews(of: person, now)
    }

    /// Reports the effects of the user's own command in a chat at once, regardless of the pace of reports (T-27).
    mutating func tellDue(in chat: ChatID, _ now: Instant) {
        roster.tellDue(in: chat, links, &effects, now: now)
    }

    /// Pings all peers of a chat to measure the round trips.
    package mutating func measureRoundTrip(in chat: ChatID, now: Instant) {
        begin(now)
        defer { finish() }
        for id in links.ids(in: chat) { probe(id, now) }
    }
}
