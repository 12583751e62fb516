import InklingWire

/// The commands of the user and the app.
extension Endpoint {
    // MARK: The node

    /// Applies the networks that this host is attached to, and the port of the socket. When they change, the node pings
    /// its peers, and begins its openings again (L-40).
    ///
    /// - Parameter own: The source addresses of this host beside those on these networks (L-78).
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
        restartOpenings(now)
        for person in people() { review(person, now) }
    }

    /// From now on somebody keeps last wills: each session that sends hands one over (L-33).
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
        for chat in chats.sortedIDs {
            if isAway, let stop = chats[chat].announcer.end(now) {
                // The stop that this causes is the frame that says it.
                announce(stop, in: chat, now)
                continue
            }
            for id in links.ids(in: chat) where !links[id].isDown { sendHeartbeat(id, now) }
        }
    }

    /// The node has another name from now on: peers get it in a record (M-24).
    ///
    /// - Parameter name: NFC, at most 64 bytes of UTF-8.
    package mutating func rename(_ name: String, now: Instant) {
        begin(now)
        defer { finish() }
        guard surroundings.name != name else { return }
        surroundings.name = name
        for id in links.sortedIDs { links[id].sender.rename(name, now: now) }
    }

    /// Says bye to all: the program is about to be stopped. Nothing is received until `resume`.
    package mutating func suspend(now: Instant) {
        begin(now)
        defer { finish() }
        guard !surroundings.isSuspended else { return }
        leaveAll(.suspended, now)
        surroundings.activity.suspend()
    }

    /// Opens all links again, after a suspension (L-88). The owner registers again.
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
        for person in people() {
            hasNewCandidates(person, now)
            planRemembered(person, now)
        }
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
        for chat in chats.sortedIDs { chats[chat].announcer.abandon() }
        for id in links.sortedIDs where links.contains(id) {
            if reason == .suspended { lastLinks.append((links[id].personID, links[id].address)) }
            sayBye(id, reason, .quit, .bye, now)
        }
        tellDue(now)
        handshakes.removeAll { _ in true }
        for person in openings.sortedIDs { openings.remove(person) }
    }

    /// All people of whom an instance or an address is known.
    private func people() -> [PersonID] {
        Set(directory.instances.unordered.compactMap(\.person) + directory.remembered.people).sorted()
    }

    // MARK: Chats

    /// Joins a chat.
    ///
    /// - Parameter isSecret: Whether its keys are of a secret: then its members are preferred there.
    package mutating func join(_ keys: ChatKeys, isSecret: Bool, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        let chat = keys.id
        guard !chats.contains(chat) else { throw .chatExists }
        guard chats.count < Limits.chats else { throw .tooManyChats }
        chats.insert(ChatState(keys: keys), for: chat)
        if isSecret { surroundings.secretChats.insert(chat) }
        if epochs[chat] == nil { epochs[chat] = Epochs(run: effects.number()) }
        for address in directory.peersByHand { directory.ask(.byHand(address), address, in: chat, now: now) }
    }

    /// Leaves a chat: says bye to its peers and keeps nothing of it but its run and epochs (L-32, L-58).
    package mutating func leave(_ chat: ChatID, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard chats.contains(chat) else { throw .unknownChat }
        directory.removeAll(of: chat)
        for id in links.ids(in: chat) where links.contains(id) { sayBye(id, .left, .left, .bye, rests: false, now) }
        handshakes.removeAll { $0.chat == chat }
        for person in openings.sortedIDs where person.chat == chat { openings.remove(person) }
        tellDue(now)
        roster.forget(chat)
        chats.remove(chat)
        surroundings.secretChats.remove(chat)
    }

    // MARK: Typing

    /// The input field of a chat now holds this text. The text itself goes nowhere (T-1).
    package mutating func compose(_ text: String, in chat: ChatID, now: Instant) throws(CommandError) {
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
    package mutating func startTyping(in chat: ChatID, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard chats.contains(chat) else { throw .unknownChat }
        edit(isTyping: true, in: chat, now)
    }

    /// The input is empty, or was given up.
    package mutating func stopTyping(in chat: ChatID, now: Instant) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard chats.contains(chat) else { throw .unknownChat }
        chats[chat].draft = ""
        edit(isTyping: false, in: chat, now)
    }

    private mutating func edit(isTyping: Bool, in chat: ChatID, _ now: Instant) {
        guard surroundings.configuration.sendsTyping, !surroundings.isSuspended else { return }
        let emission = isTyping ? chats[chat].announcer.edit(now) : chats[chat].announcer.end(now)
        if let emission { announce(emission, in: chat, now) }
    }

    // MARK: Messages

    /// Sends a message to everybody in a chat whose link is shown or down (M-36). The message ends typing, in the
    /// same datagram and before the text (M-9).
    ///
    /// - Parameter text: 1 to 65,536 bytes of UTF-8.
    /// - Returns: The number of the message, and the number of recipients.
    /// - Throws: An error after which nothing was sent.
    package mutating func send(
        _ text: String, to chat: ChatID, now: Instant
    ) throws(CommandError) -> (message: UInt64, recipients: Int) {
        begin(now)
        defer { finish() }
        guard chats.contains(chat) else { throw .unknownChat }
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty else { throw .messageEmpty }
        guard bytes.count <= Limits.messageSizes.upperBound else { throw .messageTooLong(bytes: bytes.count) }
        let ids = links.ids(in: chat).filter { links[$0].takesMessages }
        let rooms = ids.map {
            (link: $0, person: links[$0].personID, room: links[$0].sender.room(for: bytes.count, now: now))
        }
        guard case .accepted(let message, let open, let failed) = outbox.add(to: rooms) else {
            let full = rooms.first { $0.room == .full } ?? rooms.first
            throw .queueFull(full?.person.key ?? publicKey)
        }
        effects.counters.messagesSent += 1
        chats[chat].draft = ""
        let edge = chats[chat].announcer.end(now)
        for id in open {
            if surroundings.configuration.isGreasing, let body = effects.greasingRecord() {
                links[id].sender.grease(body)
            }
            links[id].sender.enqueue(message, text: bytes, now: now)
            requestRecords(id, now)
        }
        let sent = sendRecords(now)
        if let edge { announce(edge, in: chat, excluding: sent, now) }
        for outcome in failed { tell(outcome) }
        return (message, Set(rooms.map(\.person)).count)
    }

    /// The user took a message that ``Output/message(_:from:number:text:)`` handed out under that number, so that it is
    /// held no more (M-20). Until then it counts; an owner that takes nothing gets 8 MiB of text at most.
    package mutating func messageTaken(_ number: UInt64) {
        guard let (link, size) = untaken.removeValue(forKey: number) else { return }
        pools.take(size, of: link)
        finish()
    }

    // MARK: Standing

    /// Replaces the standings of all people; people not listed are strangers. A node evicts lower standings first
    /// (L-52), and keeps a share of some limits for higher ones (L-6, L-10).
    package mutating func setStandings(_ standings: [PublicKey: Standing], now: Instant) {
        begin(now)
        defer { finish() }
        guard standings != surroundings.standings else { return }
        surroundings.standings = standings
        directory.remembered.forgetStrangers(surroundings)
        for id in links.sortedIDs where !links[id].isDown { remember(links[id]) }
        knownAddresses.rebuild(links, directory, surroundings)
    }

    /// Takes up where somebody whom the user knows was in an earlier run of the node, the last address first (D-19).
    package mutating func recall(_ key: PublicKey, at addresses: [Address], in chat: ChatID, now: Instant) {
        begin(now)
        defer { finish() }
        let person = PersonID(chat: chat, key: key)
        let unicast = addresses.filter(\.isUnicast)
        guard chats.contains(chat), key != surroundings.ownKey, !unicast.isEmpty, surroundings.isPreferred(person),
            directory.remembered[person] == nil
        else { return }
        directory.remembered.remember(person, at: unicast, links, surroundings)
        planRemembered(person, now)
    }

    // MARK: Blocking

    /// Blocks an identity in all chats: its links end at once, and nothing of it is shown or answered (L-36).
    package mutating func block(_ user: UserID, now: Instant) {
        begin(now)
        defer { finish() }
        guard surroundings.blocked.insert(user).inserted else { return }
        for id in links.sortedIDs where links.find(id)?.key.userID == user {
            sayBye(id, .left, .blocked, .blocked, now)
        }
        tellDue(now)
        handshakes.removeAll { $0.key.userID == user }
        for person in openings.sortedIDs where person.key.userID == user { openings.remove(person) }
    }

    /// Undoes a block: the peer's instances are new (L-36).
    package mutating func unblock(_ user: UserID, now: Instant) {
        begin(now)
        defer { finish() }
        guard surroundings.blocked.remove(user) != nil else { return }
        for person in people() where person.key.userID == user {
            for instance in directory.instances.instances(of: person) {
                directory.instances[instance.id].restsUntil = nil
            }
            hasNewCandidates(person, now)
            planRemembered(person, now)
        }
    }

    /// Reports the effects of the user's own command at once (T-26).
    private mutating func tellDue(_ now: Instant) {
        for chat in chats.sortedIDs { roster.tellDue(in: chat, links, &effects, now: now) }
    }

    /// Asks a chat's nodes for a round trip.
    package mutating func measureRoundTrip(in chat: ChatID, now: Instant) {
        begin(now)
        defer { finish() }
        for id in links.ids(in: chat) { probe(id, now) }
    }
}
