import InklingCore
import InklingModel
import InklingWire
import NIOCore

/// Moves of chats to new secrets (M-65, M-88 to M-95).
extension Node {
    // MARK: Questions

    /// Returns the chat that is now in the place of a chat: the newest one to which it has moved, or the chat itself. Nil
    /// if the user has left the newest one.
    package func present(_ chat: Chat) -> Chat? { moving.moves.present(chat) }

    /// Returns the ID of a chat's history, which continues when the chat moves.
    package func logID(of chat: Chat) -> String { moving.moves.logID(of: chat) }

    /// The chats that the node departed from and still gives a successor in, the oldest first (M-65).
    package var departedChats: [ChatID] { moving.departed.map(\.id) }

    // MARK: As the owner

    /// Moves a private chat of the user's to a new secret, which the owners of some keys get and nobody else. The chat
    /// keeps its name. For 30 days, this node gives the new chat to those who come later.
    ///
    /// The call returns when the move is stored. ``Notice/moved(_:)`` reports the new chat to all readers.
    ///
    /// - Parameters:
    ///   - chat: The name of a chat that the node is in.
    ///   - keys: The static keys that move, at most 1,024.
    ///   - removed: The keys that all members refuse in the new chat, the oldest first. Those removed before stay
    ///     removed, unless they are in `keys`.
    ///   - owner: The owner of the new chat, one of `keys`; nil for the user. The new owner alone moves the chat later.
    /// - Returns: The new chat.
    /// - Throws: ``NodeError/unknownChat(_:)``, ``NodeError/chatMoved(_:)``, ``NodeError/notOwner(_:)``,
    ///   ``NodeError/movedTooOften(_:)``, ``NodeError/notKept(_:)``, ``NodeError/tooManyChats``,
    ///   ``NodeError/stopped``.
    @discardableResult
    public func move(
        _ chat: String, choosing keys: [PublicKey], removing removed: [PublicKey] = [], owner: PublicKey? = nil
    ) async throws(NodeError) -> Chat {
        let result = await withCheckedContinuation { continuation in
            move(chat, choosing: keys, removing: removed, owner: owner) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Moves a chat as ``move(_:choosing:removing:owner:)`` does.
    ///
    /// - Parameter completion: Called on the event loop, before the events of the move.
    func move(
        _ chat: String, choosing keys: [PublicKey], removing removed: [PublicKey], owner: PublicKey?,
        completion: @escaping @Sendable (Result<Chat, NodeError>) -> Void
    ) {
        let owner = owner ?? ownKey
        let chosen = Set(keys + [ownKey, owner])
        let seed = SuccessorSeed(using: &random)
        change { moves throws(NodeError) in
            let entry = try self.member(chat)
            guard !entry.hasEnded else { throw .chatMoved(chat) }
            guard entry.chat.owner == self.ownKey, !entry.chat.isOpen else { throw .notOwner(chat) }
            guard chosen.count <= MovesLimits.chosenKeys + 1 else {
                throw .other(code: "bad-command", text: "At most \(MovesLimits.chosenKeys) people can move.")
            }
            guard self.endpoint.mayMove(entry.id, now: self.clock.now) else { throw .movedTooOften(chat) }
            let successor = Successor(
                seed: seed, owner: owner, removed: moves.removed(from: entry.chat, adding: removed, choosing: chosen))
            guard let next = Chat.successor(successor, of: entry) else { throw .unknownChat(chat) }
            moves.depart(
                from: entry.chat, for: successor, choosing: chosen,
                until: self.age() + Limits.departure)
            // The new chat is one more. Other departures make room, but not this one.
            while self.joined.count + moves.departures.count > Limits.chats {
                guard moves.endOldestDeparture(keeping: 1) else { throw .tooManyChats }
            }
            let replacement = Moving.Replacement(former: entry, next: next) { chosen.contains($0) }
            return Moving.Outcome(replacement: replacement) {
                // The user may have left the chat while the node wrote the move.
                guard self.joined.contains(where: { $0 === entry }) else {
                    completion(.failure(.unknownChat(chat)))
                    return false
                }
                completion(.success(next))
                self.depart(from: entry, to: next, by: successor, chosen)
                return true
            }
        } failed: {
            completion(.failure($0))
        }
    }

    /// Lets a further key follow a chat that this node has moved, in the 30 days after each move.
    ///
    /// The call returns when the change is stored.
    ///
    /// - Parameters:
    ///   - key: The static key of a person, such as that of ``Notice/newcomer(_:)``.
    ///   - chat: The name of the chat, which the node is in.
    /// - Throws: ``NodeError/unknownChat(_:)``, ``NodeError/notMoved(_:)``, ``NodeError/removed(_:chat:)``,
    ///   ``NodeError/notKept(_:)``, ``NodeError/stopped``.
    public func admit(_ key: PublicKey, to chat: String) async throws(NodeError) {
        let result = await withCheckedContinuation { continuation in
            admit(key, to: chat) { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    /// Admits a key as ``admit(_:to:)`` does.
    ///
    /// - Parameter completion: Called on the event loop.
    func admit(
        _ key: PublicKey, to chat: String, completion: @escaping @Sendable (Result<Void, NodeError>) -> Void
    ) {
        change { moves throws(NodeError) in
            let entry = try self.member(chat)
            let departures = moves.departures(to: entry.chat)
            guard !departures.isEmpty else { throw .notMoved(chat) }
            guard !moves.removes(key, onTheWayTo: entry.chat) else { throw .removed(key.userID, chat: chat) }
            guard departures.allSatisfy({ $0.chosen.count <= MovesLimits.chosenKeys || $0.chosen.contains(key) }) else {
                throw .other(code: "too-many-keys", text: "At most \(MovesLimits.chosenKeys) people can move.")
            }
            moves.admit(key, to: entry.chat)
            let admitted = moves.departures(to: entry.chat)
            return Moving.Outcome {
                completion(.success(()))
                for departure in admitted { self.give(departure) }
                self.drain()
                return true
            }
        } failed: {
            completion(.failure($0))
        }
    }

    /// Gives the successor of a departed chat to its chosen keys from now on, and to nobody else.
    private func give(_ departure: Moves.Departure) {
        guard moving.departed.contains(where: { $0.id == departure.keys.id }) else { return }
        try? endpoint.depart(
            from: departure.keys.id, by: departure.successor, chosen: Set(departure.chosen), now: clock.now)
    }

    /// Departs from a chat whose move is stored.
    private func depart(from entry: JoinedChat, to chat: Chat, by successor: Successor, _ chosen: Set<PublicKey>) {
        guard !isStopped else { return }
        noteWhoIsThere(in: entry)
        endDepartures()
        try? enter(chat)
        moving.departed.append(DepartedChat(id: entry.id, keys: entry.keys, name: entry.name))
        discovery?.browse(entry.keys)
        moving.newcomers = []
        try? endpoint.move(entry.id, by: successor, chosen: chosen, now: clock.now)
        for departure in moving.moves.departures(to: chat) where departure.keys.id != entry.id { give(departure) }
        drain()
        replace(entry, by: chat) { chosen.contains($0) }
        let newcomers = moving.newcomers ?? []
        moving.newcomers = nil
        for (chat, key) in newcomers { meet(key, in: chat) }
        followDepartures()
    }

    /// Reports a key that shows in a departed chat (M-95).
    func meet(_ key: PublicKey, in chat: ChatID) {
        if moving.newcomers != nil {
            // The notice of the move comes first.
            moving.newcomers?.append((chat, key))
            return
        }
        guard let departure = moving.moves.departures.first(where: { $0.keys.id == chat }) else { return }
        let next = departure.chat.flatMap { moving.moves.present($0) }
        guard let next, let entry = joinedChat(next.keys.id) else { return }
        let known = knownPeers[key]
        let (users, namesake) = known?.names.first.map { namesakes(of: key, name: $0, in: entry) } ?? ([], nil)
        tell(
            .notice(
                .newcomer(
                    Newcomer(
                        chat: entry.name, key: key, name: known?.names.first, isVerified: known?.isVerified ?? false,
                        namesakes: users, namesake: namesake))))
    }

    /// Reports that another device of the user has moved a departed chat to another place (M-94).
    func meetOtherSuccessor(in chat: ChatID) {
        guard let departure = moving.moves.departures.first(where: { $0.keys.id == chat }) else { return }
        tell(.notice(.movedApart(chat: departure.name)))
    }

    // MARK: As a member

    /// Follows the owner of a chat to its successor, which the core has checked (M-91). The move is on disk first, so that
    /// a kill of the node loses neither the chat nor the removed keys. If the disk fails, the node follows all the same.
    func follow(_ successor: Successor, from id: ChatID) {
        guard !isStopped, let entry = joinedChat(id), !entry.hasEnded else { return }
        entry.isFollowing = true
        change { moves throws(NodeError) in
            guard self.joined.contains(where: { $0 === entry }) else { return Moving.Outcome { true } }
            moves.follow(successor, from: entry.chat, ownLog: self.ownLog(of: successor, after: entry))
            let next = Chat.successor(successor, of: entry).flatMap { moves.present($0) }
            let isThere = next.map { self.joinedChat($0.keys.id) != nil } ?? true
            let replacement = next.flatMap { next in
                isThere ? nil : Moving.Replacement(former: entry, next: next) { !successor.removed.contains($0) }
            }
            return Moving.Outcome(replacement: replacement) {
                // The next start enters the chat that the disk has then.
                self.isStopped || self.follow(successor, from: entry)
            }
        } failed: { error in
            guard self.joined.contains(where: { $0 === entry }) else { return }
            self.moving.moves.follow(
                successor, from: entry.chat, ownLog: self.ownLog(of: successor, after: entry))
            _ = self.follow(successor, from: entry)
            self.reportUnkept(error)
        }
    }

    /// Returns the ID of the history that a successor had before the node moves there; nil without one.
    private func ownLog(of successor: Successor, after entry: JoinedChat) -> String? {
        guard let chat = Chat.successor(successor, of: entry) else { return nil }
        if let other = joinedChat(chat.keys.id) { return logID(of: other.chat) }
        let log = chat.logID
        let hasTexts = TextLogID(digits: log).flatMap { texts.store?.value.logs.contains($0) } ?? false
        return hasTexts || moving.hasHistory?.value(log) ?? false ? log : nil
    }

    /// Leaves a chat for its successor, or for the newest chat after that.
    ///
    /// - Returns: False if the user has left the chat.
    private func follow(_ successor: Successor, from entry: JoinedChat) -> Bool {
        guard !isStopped, joined.contains(where: { $0 === entry }),
            let next = Chat.successor(successor, of: entry)
        else { return false }
        noteWhoIsThere(in: entry)
        discovery?.leave(entry.id)
        try? endpoint.leave(entry.id, now: clock.now)
        let removed = Set(successor.removed)
        if let chat = moving.moves.present(next), joinedChat(chat.keys.id) == nil {
            try? enter(chat)
            drain()
            replace(entry, by: chat) { !removed.contains($0) }
        } else {
            endpoint.refuse(removed, in: next.keys.id, now: clock.now)
            end(entry, in: next)
        }
        return true
    }

    /// Ends a chat whose successor is there under another name, or whose newest chat the user left.
    private func end(_ entry: JoinedChat, in next: Chat) {
        entry.hasEnded = true
        drain()
        mergeTexts(of: entry, into: moving.moves.present(next).flatMap { joinedChat($0.keys.id) })
        tell(.notice(.moved(next)))
        observers.presenceChanged(in: entry.name)
        drain()
    }

    // MARK: Both

    /// Joins a chat of the protocol, as the node entered it.
    func enter(_ chat: Chat) throws(CommandError) {
        let place = moving.moves.place(of: chat)
        let texts = openTexts(of: chat)
        try endpoint.join(
            chat.keys, isSecret: !chat.isOpen, talkWith: chat.partner, owner: chat.owner,
            refusing: Set(place?.removed ?? []), keepsTexts: texts != nil, seen: texts?.state.seen ?? [:],
            now: clock.now)
    }

    /// Puts the successor in the place of a chat whose people have gone.
    ///
    /// - Parameter moves: Returns whether a person of the old chat belongs to the new one.
    private func replace(_ entry: JoinedChat, by chat: Chat, _ moves: (PublicKey) -> Bool) {
        guard let index = joined.firstIndex(where: { $0 === entry }) else { return }
        let (next, advertisement) = self.entry(for: chat, entry.membership)
        let people = entry.met.filter { moves($0.key) }
        for (key, peer) in people {
            next.recall(
                key, name: peer.name, lastSeen: peer.since, seen: peer.isThere ? age() : peer.seen, clock: peer.clock)
        }
        carry(people.keys.sorted(), from: entry.storedName, to: next.storedName)
        joined[index] = next
        moveTexts(from: entry, to: next, moves)
        recall(next)
        advertise(next, advertisement)
        tell(.notice(.moved(chat)))
        endInvitations(to: next.id)
        observers.presenceChanged(in: chat.name)
        drain()
    }

    /// Forgets the secret of a chat that the user leaves. The node still recognises the chats that led there.
    func leaveMoves(of chat: Chat) {
        if moving.moves.leave(chat) { keepMoves() }
    }

    /// Keeps the secret of a chat that the user had left and has joined again.
    func enterMoves(of chat: Chat) {
        if moving.moves.enter(chat) { keepMoves() }
    }

    // MARK: Departures

    /// Loads the moves that earlier runs kept, and restores the departed chats.
    func openMoves(_ moves: Moves) {
        moving.moves = moves
        if moving.moves.endLogs(state.ending) { keepMoves() }
        for departure in moving.moves.departures {
            nodeAge.counter.advance(toAtLeast: departure.until - Limits.departure)
        }
        if moving.moves.endDepartures(at: age()) { keepMoves() }
        for departure in moving.moves.departures where departure.owner == ownKey {
            let keys = departure.keys
            try? endpoint.join(
                keys, isSecret: true, owner: departure.owner, refusing: Set(departure.refused), now: clock.now)
            moving.departed.append(DepartedChat(id: keys.id, keys: keys, name: departure.name))
            give(departure)
        }
        followDepartures()
    }

    /// Lets discovery look for chosen keys in the departed chats.
    func browseDepartedChats() {
        for chat in moving.departed { discovery?.browse(chat.keys) }
    }

    /// Ends the oldest departure of the chain with most of them, because another chat needs its room.
    ///
    /// - Returns: Whether there was one.
    func endOldestDeparture() -> Bool {
        guard moving.moves.endOldestDeparture() else { return false }
        keepMoves()
        endDepartures()
        return true
    }

    /// Leaves the departed chats whose departure has ended.
    private func endDepartures() {
        let current = Set(moving.moves.departures.map(\.keys.id))
        for chat in moving.departed where !current.contains(chat.id) {
            discovery?.leave(chat.id)
            try? endpoint.leave(chat.id, now: clock.now)
        }
        drain()
        moving.departed.removeAll { !current.contains($0.id) }
    }

    /// Sets the timer that ends the next departure.
    private func followDepartures() {
        moving.timer?.cancel()
        guard let end = moving.moves.nextEnd, !isStopped else { return }
        // The clock of the timer stops while the machine sleeps.
        let rest = max(end - age(), .seconds(1))
        moving.timer = eventLoop.scheduleTask(in: TimeAmount(min(rest, NodeLimits.departureCheck))) { [weak self] in
            self?.onLoop { node in
                guard !node.isStopped else { return }
                if node.moving.moves.endDepartures(at: node.age()) {
                    node.keepMoves()
                    node.endDepartures()
                }
                node.followDepartures()
            }
        }
    }
}

extension Chat {
    /// Returns the chat of a successor, under the name of the chat before.
    fileprivate static func successor(_ successor: Successor, of entry: JoinedChat) -> Chat? {
        try? Chat(entry.name, secret: Secret(wire: successor.secret(in: entry.keys)), owner: successor.owner)
    }
}
