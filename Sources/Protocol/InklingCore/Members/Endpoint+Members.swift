import InklingWire

/// The reason why ``Endpoint/move(_:by:chosen:now:)`` did nothing.
package enum MoveError: Error, Equatable, Sendable {
    case unknownChat
    /// This node's key is not the chat's owner.
    case notOwner
    /// The successor does not rank above the chat, or ranks below the successor of an earlier move (M-61).
    case oldSuccessor
}

/// Moving a chat to a successor, as its owner or as a member.
extension Endpoint {
    // MARK: As the owner

    /// Departs from a chat of this node's key for a successor (M-65). The chosen keys get the successor whenever they
    /// show in the old chat. Everybody else there gets a bye.
    ///
    /// A later call replaces the successor and the chosen keys (M-68). The owner of the endpoint joins the new chat.
    /// After a restart, the owner of the endpoint restores a departed chat by
    /// ``join(_:isSecret:owner:generation:refusing:now:)`` and this method. ``leave(_:now:)`` ends the departure, after
    /// ``Limits/departure``.
    ///
    /// - Parameter chosen: All keys that move. This node's own key stands for the other devices of its identity.
    package mutating func move(
        _ chat: ChatID, by successor: Successor, chosen: Set<PublicKey>, now: Instant
    ) throws(MoveError) {
        begin(now)
        defer { finish() }
        guard let state = chats.find(chat) else { throw .unknownChat }
        guard state.owner == surroundings.ownKey else { throw .notOwner }
        guard successor.rank >= state.rank, successor.keys.id != chat else { throw .oldSuccessor }
        let earlier = surroundings.departures[chat]
        let departure = Departure(by: successor, chosen: chosen, after: earlier)
        surroundings.departures[chat] = departure
        chats[chat].rank = successor.rank
        chats[chat].draft = ""
        chats[chat].announcer.abandon()
        let present = hideAll(in: chat, now)
        for id in links.ids(in: chat) where links.contains(id) {
            if surroundings.admits(links[id].personID) {
                close(id, with: departure.record, now)
            } else {
                sayBye(id, .left, .left, .bye, now)
            }
        }
        let surroundings = surroundings
        handshakes.removeAll { $0.chat == chat && !surroundings.admits($0) }
        for person in openings.sortedIDs where person.chat == chat && !surroundings.admits(person) {
            stopOpening(with: person)
        }
        for person in directory.remembered.people where person.chat == chat { planRemembered(person, now) }
        for person in Set(present + people()).sorted() where person.chat == chat {
            meet(person)
            guard let earlier else {
                review(person, now)
                continue
            }
            if departure.chosen.contains(person.key), !earlier.chosen.contains(person.key) { treatAsNew(person, now) }
        }
    }

    /// Hides all people of a chat, and reports them as gone.
    ///
    /// - Returns: The people with a link.
    private mutating func hideAll(in chat: ChatID, _ now: Instant) -> [PersonID] {
        let before = links.ids(in: chat).map { links[$0] }
        // A person may have several links, and must not show by one of the rest.
        for link in before { links[link.id].isHidden = true }
        for link in before { reportGone(link, .bye, now) }
        tellDue(now)
        roster.forget(chat)
        return before.map(\.personID)
    }

    /// Begins to give a link the successor of its chat. The link sends no further message.
    private mutating func close(_ id: LinkID, with successor: [UInt8], _ now: Instant) {
        for message in links[id].sender.close(with: successor, now: now) {
            tell(outbox.failed(message, to: links[id].personID, over: id, .left))
        }
    }

    /// Ends a link whose peer has acknowledged the successor. The peer's run then rests, as its instances do (L-35).
    mutating func served(_ id: LinkID, _ now: Instant) {
        let (chat, run) = (links[id].chat, links[id].run)
        if var served = surroundings.departures[chat]?.served.filter({ now < $0.value }) {
            if served.count < Limits.links { served[run] = now + Limits.rest }
            surroundings.departures[chat]?.served = served
        }
        sayBye(id, .left, .left, .bye, now)
    }

    /// Reports a key in a departed chat that is neither chosen nor removed, once (M-67).
    mutating func meet(_ person: PersonID) {
        let isVerified = surroundings.standings[person.key] == .verified
        guard person.key != surroundings.ownKey, !surroundings.isBlocked(person.key, in: person.chat),
            surroundings.departures[person.chat]?.meet(person.key, isVerified: isVerified) ?? false
        else { return }
        effects.tell(.newcomer(person.chat, person.key))
    }

    // MARK: As a member

    /// Takes the body of a successor record, if the record comes from the chat's owner and leads to a chat of a higher
    /// rank (M-62).
    mutating func receive(successor body: [UInt8], on id: LinkID) {
        let (chat, key) = (links[id].chat, links[id].key)
        guard let state = chats.find(chat), state.owner == key, let successor = try? Successor(body) else { return }
        let rank = successor.rank
        guard rank > state.rank else { return }
        chats[chat].rank = rank
        effects.tell(.successor(chat, from: key, successor))
    }

    // MARK: Initiations

    /// Returns why an initiation gets no answer; nil if it gets one. This very node sent it, or the key is blocked,
    /// removed or not chosen. Another device of the owner has the same key and another run (M-69).
    mutating func refusal(of received: ReceivedHandshake, in chat: ChatID) -> DropReason? {
        if received.remote == surroundings.ownKey { return received.peer.run == run(in: chat) ? .ownIdentity : nil }
        let person = PersonID(chat: chat, key: received.remote)
        if surroundings.admits(person) {
            let until = surroundings.departures[chat]?.served[received.peer.run]
            return until.map { lastInput < $0 } ?? false ? .unexpected : nil
        }
        meet(person)
        return .blocked
    }
}
