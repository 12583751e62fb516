import InklingWire

/// The reason why ``Endpoint/move(_:by:chosen:now:)`` or ``Endpoint/depart(from:by:chosen:now:)`` did nothing.
package enum MoveError: Error, Equatable, Sendable {
    case unknownChat
    /// This node's key is not the chat's owner.
    case notOwner
    /// The node departed from the chat before, for another successor.
    case hasMoved
    /// The chain has moved too often (M-88).
    case tooOften
}

/// Moving a chat to a successor, as its owner or as a member.
extension Endpoint {
    // MARK: As the owner

    /// Returns whether the rate of moves lets this node's user move a chat (M-88).
    package func mayMove(_ chat: ChatID, now: Instant) -> Bool { movePaces.nextMove(from: chat, now) <= now }

    /// Moves a chat of this node's key to a successor, as the chat's owner. The node departs from the chat, as
    /// ``depart(from:by:chosen:now:)`` says. The owner of the endpoint joins the new chat.
    ///
    /// - Parameter chosen: All keys that move, besides this node's own.
    package mutating func move(
        _ chat: ChatID, by successor: Successor, chosen: Set<PublicKey>, now: Instant
    ) throws(MoveError) {
        begin(now)
        defer { finish() }
        let state = try ownChat(chat)
        guard surroundings.departures[chat] == nil else { throw .hasMoved }
        guard mayMove(chat, now: now) else { throw .tooOften }
        movePaces.moved(from: chat, to: successor.keys(in: state.keys).id, now)
        depart(chat, successor, chosen, now)
    }

    /// Departs from a chat that has moved (M-65). The chosen keys get the successor whenever they show in the old chat.
    /// Everybody else there gets a bye.
    ///
    /// The owner of the endpoint restores a departure by this method after a restart, once it has joined the chat. A
    /// later call replaces the chosen keys: a further key follows, and a key that is no longer chosen loses its link
    /// (M-93). ``leave(_:now:)`` ends the departure, after ``Limits/departure``.
    package mutating func depart(
        from chat: ChatID, by successor: Successor, chosen: Set<PublicKey>, now: Instant
    ) throws(MoveError) {
        begin(now)
        defer { finish() }
        _ = try ownChat(chat)
        guard surroundings.departures[chat].map({ $0.successor == successor }) ?? true else { throw .hasMoved }
        depart(chat, successor, chosen, now)
    }

    private func ownChat(_ chat: ChatID) throws(MoveError) -> ChatState {
        guard let state = chats.find(chat) else { throw .unknownChat }
        guard state.owner == surroundings.ownKey else { throw .notOwner }
        return state
    }

    private mutating func depart(
        _ chat: ChatID, _ successor: Successor, _ chosen: Set<PublicKey>, _ now: Instant
    ) {
        let earlier = surroundings.departures[chat]
        var departure = earlier ?? Departure(by: successor)
        departure.choose(chosen)
        surroundings.departures[chat] = departure
        chats[chat].following = .none
        chats[chat].draft = ""
        chats[chat].announcer.abandon()
        let ids = links.ids(in: chat)
        // Failed messages are reported before their recipients' absence (T-29).
        for id in ids { failMessages(on: id, by: departure, now) }
        let present = hideAll(in: chat, now)
        for id in ids {
            guard let link = links.find(id), !surroundings.admits(link.personID) else { continue }
            let isRemoved = departure.successor.removed.contains(link.key)
            sayBye(id, isRemoved ? .removed : .left, .left, .bye, now)
        }
        let surroundings = surroundings
        handshakes.removeAll { $0.chat == chat && !surroundings.admits($0) }
        for person in openings.sortedIDs where person.chat == chat && !surroundings.admits(person) {
            stopOpening(with: person)
        }
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
        tellDue(in: chat, now)
        roster.forget(chat)
        return before.map(\.personID)
    }

    /// Reports the failure of the messages of a link in a departed chat. A chosen key's link only finishes a begun
    /// message, and then gives the successor (M-65).
    private mutating func failMessages(on id: LinkID, by departure: Departure, _ now: Instant) {
        let person = links[id].personID
        let failed =
            surroundings.admits(person)
            ? links[id].sender.close(with: departure.record, now: now) : links[id].sender.unfinished
        for message in failed { tell(outbox.failed(message, to: person, over: id, .left)) }
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

    /// Reports a key in a departed chat that is neither chosen nor removed, once (M-95).
    mutating func meet(_ person: PersonID) {
        // The standing in the chat says nothing, because each key has one in a private chat.
        let isStranger = surroundings.standings[person.key] ?? .stranger == .stranger
        guard person.key != surroundings.ownKey, !surroundings.isBlocked(person.key, in: person.chat),
            surroundings.departures[person.chat]?.meet(person.key, isStranger: isStranger) ?? false
        else { return }
        effects.tell(.newcomer(person.chat, person.key))
    }

    // MARK: As a member

    /// Takes the body of a successor record. The first one in a chat counts, from the chat's owner alone (M-90).
    mutating func receive(successor body: [UInt8], on id: LinkID, _ now: Instant) {
        let (chat, key) = (links[id].chat, links[id].key)
        guard let state = chats.find(chat), state.owner == key, let successor = try? Successor(body) else { return }
        if let departure = surroundings.departures[chat] {
            guard departure.successor != successor, !departure.hasReportedOther else { return }
            surroundings.departures[chat]?.hasReportedOther = true
            return effects.tell(.otherSuccessor(chat))
        }
        guard case .none = state.following else { return }
        chats[chat].following = .waiting(successor, until: movePaces.nextMove(from: chat, now))
        follow(chat, now)
    }

    /// Reports the successor that waits in a chat, once the rate of moves permits (M-88).
    mutating func follow(_ chat: ChatID, _ now: Instant) {
        guard let state = chats.find(chat), case .waiting(let successor, let until) = state.following, until <= now,
            let owner = state.owner
        else { return }
        chats[chat].following = .reported
        movePaces.moved(from: chat, to: successor.keys(in: state.keys).id, now)
        effects.tell(.successor(chat, from: owner, successor))
    }

    /// Refuses the keys that the owner removed, in a chat that the node is in already when a successor leads there
    /// (M-91). Their links end at once.
    package mutating func refuse(_ keys: Set<PublicKey>, in chat: ChatID, now: Instant) {
        begin(now)
        defer { finish() }
        guard chats.contains(chat), !keys.isEmpty else { return }
        surroundings.refused[chat] = keys
        for id in links.ids(in: chat) where links.find(id).map({ keys.contains($0.key) }) ?? false {
            sayBye(id, .left, .blocked, .blocked, now)
        }
        tellDue(in: chat, now)
        handshakes.removeAll { $0.chat == chat && keys.contains($0.key) }
        for person in openings.sortedIDs where person.chat == chat && keys.contains(person.key) {
            stopOpening(with: person)
        }
    }

    // MARK: Initiations

    /// Returns why an initiation gets no answer; nil if it gets one. This very node sent it, or the key is blocked,
    /// removed or not chosen. Another device of the owner has the same key and another run (M-94).
    mutating func refusal(of received: ReceivedHandshake, in chat: ChatID) -> DropReason? {
        let isOwn = received.remote == surroundings.ownKey
        if isOwn, received.peer.run == run(in: chat) { return .ownIdentity }
        let person = PersonID(chat: chat, key: received.remote)
        guard isOwn || surroundings.admits(person) else {
            meet(person)
            return .blocked
        }
        let until = surroundings.departures[chat]?.served[received.peer.run]
        return until.map { lastInput < $0 } ?? false ? .unexpected : nil
    }
}

/// A chat that its owner has left for a successor. The node still gives the successor to the chosen keys there (M-65).
struct Departure: Sendable {
    let successor: Successor
    /// The keys that move to the new chat.
    private(set) var chosen: Set<PublicKey> = []
    /// The keys that an output has reported as neither chosen nor removed (M-95).
    private var newcomers: Set<PublicKey> = []
    /// The number of strangers' keys among ``newcomers``.
    private var strangers = 0
    /// The runs that acknowledged the successor, and until when their initiations get no answer (M-92). A peer that
    /// passes the successor over would otherwise open again and again.
    var served: [UInt64: Instant] = [:]
    /// Whether an output has reported a different successor of the own key (M-94).
    var hasReportedOther = false
    /// The body of the record that each link gets.
    let record: [UInt8]

    init(by successor: Successor) {
        self.successor = successor
        record = successor.body
    }

    /// Replaces the chosen keys. A removed key is never chosen.
    mutating func choose(_ keys: Set<PublicKey>) { chosen = keys.subtracting(successor.removed) }

    /// Records a key that shows in the old chat.
    ///
    /// - Parameter isStranger: Whether the limit of reports applies to the key.
    /// - Returns: Whether the user must hear of the key.
    mutating func meet(_ key: PublicKey, isStranger: Bool) -> Bool {
        guard !chosen.contains(key), !successor.removed.contains(key), !newcomers.contains(key),
            !isStranger || strangers < Limits.newcomers
        else { return false }
        newcomers.insert(key)
        if isStranger { strangers += 1 }
        return true
    }
}

extension Surroundings {
    /// Returns whether the node opens to a person, answers the person's initiations and shows the person. In a chat
    /// that it departed from, the node has to do with chosen keys and its own alone (M-92, M-94).
    func admits(_ person: PersonID) -> Bool {
        guard !isBlocked(person.key, in: person.chat) else { return false }
        guard let departure = departures[person.chat] else { return person.key != ownKey }
        return person.key == ownKey || departure.chosen.contains(person.key)
    }

    /// Returns whether the user blocks a key (L-36), the chat's owner has removed it (M-91), or the chat is a talk with
    /// another key (L-104).
    func isBlocked(_ key: PublicKey, in chat: ChatID) -> Bool {
        isBlocked(key) || !refused.isEmpty && refused[chat]?.contains(key) ?? false
            || !talks.isEmpty && talks[chat].map { $0 != key } ?? false
    }

    /// Returns whether the user sees nobody on links with a person (M-92, M-94). The node departed from the chat, or the
    /// peer is another device of its identity.
    func hides(_ person: PersonID) -> Bool { person.key == ownKey || departures[person.chat] != nil }
}

/// The first successor that a node takes in a chat, which is the only one there (M-90).
enum Following: Sendable {
    case none
    /// The successor waits, because the chain has moved too often (M-88).
    case waiting(Successor, until: Instant)
    case reported

    /// The time when the successor no longer waits; nil unless one waits.
    var nextDeadline: Instant? {
        if case .waiting(_, let until) = self { until } else { nil }
    }
}

/// The rate of moves along each chain of chats (M-88). The chat that follows another inherits its rate.
struct MovePaces: Sendable {
    /// The times when the chains of these chats have all moves of a burst again.
    private var restored: [ChatID: Instant] = [:]

    /// Returns the time from which a chat may move.
    func nextMove(from chat: ChatID, _ now: Instant) -> Instant {
        guard let restored = restored[chat] else { return now }
        return max(now, restored + Limits.moveInterval * (1 - Limits.moveBurst))
    }

    /// Counts a move.
    mutating func moved(from chat: ChatID, to next: ChatID, _ now: Instant) {
        restored = restored.filter { now < $0.value }
        let end = max(now, restored[chat] ?? now) + Limits.moveInterval
        restored[chat] = end
        restored[next] = max(end, restored[next] ?? end)
    }
}
