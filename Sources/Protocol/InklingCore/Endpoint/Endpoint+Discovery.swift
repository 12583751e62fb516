import InklingWire

/// Possible addresses of peers, from discovery and added by hand.
extension Endpoint {
    /// Applies that discovery lists an instance of a chat, or lists it with other addresses.
    ///
    /// - Parameters:
    ///   - name: The instance's name.
    ///   - key: The static key in its TXT record.
    ///   - addresses: All listed addresses. The node ignores addresses that are not on-link and unicast, and its own
    ///     (D-8).
    package mutating func found(
        _ name: String, chat: ChatID, key: PublicKey, addresses: [Address], now: Instant
    ) {
        begin(now)
        defer { finish() }
        let person = PersonID(chat: chat, key: key)
        // An owner's other devices matter once the owner departs (M-94).
        guard chats.contains(chat), key != surroundings.ownKey || key == chats[chat].owner else { return }
        meet(person)
        let (isNew, before) = directory.found(name, person, addresses: addresses, links, surroundings)
        if let before, before != person {
            directory.bringBack(before, links, surroundings)
            review(before, now)
        }
        let hasLeft = peerHasOtherCandidates(name, person, now)
        if isNew || hasLeft { hasNewCandidates(person, now) }
    }

    /// Handles a covered instance whose candidates no longer include its link's address: the peer may have moved
    /// (L-41).
    ///
    /// - Returns: Whether a link no longer covers the instance, because its address is another instance's.
    private mutating func peerHasOtherCandidates(_ name: String, _ person: PersonID, _ now: Instant) -> Bool {
        guard let id = directory.instances.id(of: .discovered(name), in: person.chat) else { return false }
        var hasLeft = false
        for link in links.ids(of: person) where directory.instances[id].links.contains(link) {
            let address = links[link].address
            guard !directory.instances[id].addresses.contains(address) else { continue }
            let others = directory.instances.instances(of: person).filter { $0.id != id }
            if others.contains(where: { $0.addresses.contains(address) }) {
                directory.instances[id].links.remove(link)
                hasLeft = true
            } else {
                probe(link, now)
            }
        }
        return hasLeft
    }

    /// Applies that discovery no longer lists an instance. The node pings the peer, but ends no link (L-29).
    package mutating func lost(_ name: String, chat: ChatID, now: Instant) {
        begin(now)
        defer { finish() }
        guard let instance = directory.lost(name, chat: chat, links, surroundings), let person = instance.person
        else { return }
        for id in links.ids(of: person) where directory.covers(links[id], instance) { probe(id, now) }
        review(person, now)
    }

    /// Pings the peers at an address after an ICMP error or another hint. Each peer gets at most one such ping a second
    /// (L-29).
    package mutating func doubt(_ address: Address, now: Instant) {
        begin(now)
        defer { finish() }
        for id in links.sortedIDs where links[id].address == address { probe(id, now) }
    }

    /// Adds the address of a peer by hand. The node asks the address for its key in every chat (D-11).
    package mutating func addPeer(_ address: Address, now: Instant) {
        begin(now)
        defer { finish() }
        guard address.isUnicast, !directory.peersByHand.contains(address) else { return }
        guard !surroundings.isOneself(address) else { return effects.tell(.peerIsOneself(address)) }
        guard directory.addPeer(address) else { return }
        for chat in chats.sortedIDs { directory.ask(.byHand(address), address, in: chat, now: now) }
    }

    // MARK: Time

    mutating func advance(instance id: InstanceID, _ now: Instant) {
        guard let instance = directory.instances.find(id) else { return }
        if case .last(_, let expires) = instance.origin, expires <= now { return removeInstance(id, now) }
        if let until = instance.restsUntil, until <= now {
            directory.instances[id].restsUntil = nil
            if let person = instance.person { hasNewCandidates(person, now) }
        }
        guard let due = instance.nextAsk, due <= now else { return }
        guard !surroundings.isSuspended else { return directory.instances[id].nextAsk = now + Limits.askInterval }
        if case .crowded(let address) = instance.origin, !directory.crowds.isCrowded(address, in: instance.chat) {
            return removeInstance(id, now)
        }
        ask(id)
        let pause = directory.instances[id].askPace.asked()
        directory.instances[id].nextAsk = effects.instant(after: now, pause, percent: Opening.jitter)
    }

    mutating func removeInstance(_ id: InstanceID, _ now: Instant) {
        let person = directory.instances.find(id)?.person
        directory.instances.remove(id)
        if let person { review(person, now) }
    }

    // MARK: Asks and tells

    /// Sends an ask to an instance's address, for the key of its node (D-11).
    mutating func ask(_ id: InstanceID) {
        guard let address = directory.instances[id].addresses.first,
            let keys = chats.find(directory.instances[id].chat)?.keys
        else { return }
        let token = effects.number()
        directory.instances[id].askToken = token
        effects.send(Datagram.ask(keys.ask(token: token)).encode(), to: address, .ask)
    }

    /// Answers an ask if it matches a chat and the limits permit (D-13, D-25).
    mutating func receive(_ ask: Ask, from address: Address, isFar: Bool) {
        guard admission.admitsAsk(now: lastInput) else { return effects.drop(.answerLimit) }
        guard let chat = chats.sortedIDs.first(where: { chats[$0].keys.fits(ask) }) else {
            return effects.drop(.unknownChat)
        }
        let isKnown = knownAddresses.acquaintance(at: address) > .none && !isFar
        guard admission.admitsTell(isKnown: isKnown, now: lastInput) else { return effects.drop(.answerLimit) }
        let tell = chats[chat].keys.tell(token: ask.token, nonce: effects.number(), key: surroundings.ownKey)
        effects.send(Datagram.tell(tell).encode(), to: address, .tell)
    }

    /// Applies a tell, which answers an ask (D-12).
    mutating func receive(_ tell: Tell, from address: Address, _ now: Instant) {
        guard let instance = directory.instance(asking: tell.token, at: address),
            let keys = chats.find(instance.chat)?.keys
        else { return effects.drop(.unexpected) }
        guard let key = try? keys.open(tell) else { return effects.drop(.malformed) }
        initiations.answered(from: address, &effects)
        directory.instances[instance.id].askToken = nil
        if key == surroundings.ownKey { return toldOwnKey(by: instance, at: address, now) }
        directory.instances[instance.id].nextAsk = nil
        guard key != instance.key else { return }
        directory.instances.setKey(of: instance.id, to: key)
        if let before = instance.person { review(before, now) }
        guard let person = directory.instances[instance.id].person else { return }
        meet(person)
        hasNewCandidates(person, now)
    }

    /// Handles an address whose node has our own identity. The node makes no link, and asks the address once a minute
    /// (D-14).
    private mutating func toldOwnKey(by instance: Instance, at address: Address, _ now: Instant) {
        directory.instances.setKey(of: instance.id, to: nil)
        directory.instances[instance.id].nextAsk = now + Limits.ownKeyAskInterval
        if let person = instance.person { review(person, now) }
        // A notice is only for addresses that the user added.
        guard instance.isByHand, directory.noteOneself(address) else { return }
        effects.tell(.peerIsOneself(address))
    }
}
