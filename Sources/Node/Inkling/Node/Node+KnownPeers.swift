import InklingCore
import InklingWire
import NIOCore
import NIOPosix

/// The node's memory of people beyond one chat and one run.
extension Node {
    // MARK: Questions

    /// The people that this user's nodes have met, the latest seen first: all verified or blocked people, and at most
    /// 1,024 others.
    public var allKnownPeers: [KnownPeer] {
        knownPeers.all.map { (known: $0.known, key: $0.key.base64url) }
            .sorted { ($1.known.lastSeen, $0.key) < ($0.known.lastSeen, $1.key) }.map(\.known)
    }

    /// Returns the person with a key; nil if this user's nodes have not met the key, or have forgotten it.
    public func knownPeer(key: PublicKey) -> KnownPeer? { knownPeers[key]?.known }

    /// Returns the people with a user ID. There are several only if somebody made a second key for the user ID.
    public func knownPeers(_ user: UserID) -> [KnownPeer] { allKnownPeers.filter { $0.user == user } }

    /// Returns the fingerprint that the user and the owner of a key compare. Both see the same.
    public nonisolated func fingerprint(with key: PublicKey) -> Fingerprint { Fingerprint(of: ownKey, and: key) }

    // MARK: Decisions

    /// Records permanently that the user has verified the owner of a key by comparing fingerprints, or undoes that. The
    /// call returns after the write. The user's nodes need not have met the key.
    ///
    /// - Throws: ``NodeError/unknownPeer(_:)`` for the key of this node, ``NodeError/stopped``.
    public func setVerified(_ isVerified: Bool, key: PublicKey) async throws(NodeError) {
        try decideVerified(isVerified, key: key)
        await withCheckedContinuation { decided in saveKnownPeers { decided.resume() } }
    }

    /// Decides as ``setVerified(_:key:)`` does. ``saveKnownPeers(_:)`` reports when the decision is written.
    func decideVerified(_ isVerified: Bool, key: PublicKey) throws(NodeError) {
        try requireOther(key)
        knownPeers.setVerified(isVerified, key, name: name(of: key), at: meetingTime(), using: &random)
        hasDecided = true
        keepKnownPeers(within: .zero)
        applyPreferred()
        tellPresence(of: key)
    }

    /// Blocks the owner of a key as ``block(_:)`` does, in this run and later ones, or undoes that. The user's nodes
    /// need not have met the key.
    ///
    /// - Throws: ``NodeError/unknownPeer(_:)`` for the key of this node, ``NodeError/stopped``.
    public func setBlocked(_ isBlocked: Bool, key: PublicKey) async throws(NodeError) {
        try decideBlocked(isBlocked, key: key)
        await withCheckedContinuation { decided in saveKnownPeers { decided.resume() } }
    }

    /// Decides as ``setBlocked(_:key:)`` does. ``saveKnownPeers(_:)`` reports when the decision is written.
    func decideBlocked(_ isBlocked: Bool, key: PublicKey) throws(NodeError) {
        try requireOther(key)
        knownPeers.setBlocked(isBlocked, key, name: name(of: key), at: meetingTime(), using: &random)
        hasDecided = true
        keepKnownPeers(within: .zero)
        applyBlocks()
        applyPreferred()
        // Also undoes a block for this run alone.
        if !isBlocked { unblock(key.userID) }
        tellPresence(of: key)
    }

    private func requireOther(_ key: PublicKey) throws(NodeError) {
        guard !isStopped else { throw .stopped }
        guard key != ownKey else { throw .unknownPeer(key.base64url) }
    }

    /// Returns the name of a person in the first chat in which they were met.
    private func name(of peer: PublicKey) -> String? {
        joined.lazy.compactMap { $0.met[peer]?.name }.first
    }

    /// Reports a change of a person to the observers of their chats.
    private func tellPresence(of peer: PublicKey) {
        for entry in joined where entry.met[peer] != nil { observers.presenceChanged(in: entry.name) }
    }

    // MARK: The disk

    /// Loads what earlier runs kept.
    func openState(_ opening: NodeState.Opening) {
        for fault in opening.faults { tell(fault) }
        if let fault = keyStore?.takeFault() { tell(fault) }
        knownPeers = opening.contents.people
        let names = knownPeers.allNames
        worker.run(on: eventLoop) { KnownNames(names) }.whenSuccess { [weak self] known in
            self?.onLoop { $0.knownPeers.prepare(known, of: names) }
        }
        if let age = knownPeers.latestAge { nodeAge.counter.advance(toAtLeast: age) }
        applyBlocks()
        applyPreferred()
        if opening.thread != nil { openMoves(opening.contents.moves) }
    }

    /// Writes the changes. When `completion` is called, on the event loop, the disk has all changes made before the call, or
    /// a notice reports a failure.
    func saveKnownPeers(_ completion: @escaping @Sendable () -> Void = {}) {
        guard state.thread != nil else { return completion() }
        knownPeersTimer?.cancel()
        knownPeersTimer = nil
        if moving.isUnkept { keepMoves() }
        guard !knownPeers.changes.isEmpty else { return afterState(completion) }
        noteWhoIsThere()
        knownPeersTimer?.cancel()
        knownPeersTimer = nil
        knownPeersSaved = clock.now
        let changes = knownPeers.takeChanges()
        let isDecision = hasDecided
        hasDecided = false
        changeState(isDecision: isDecision) { tables throws(Database.Failure) in
            for (key, entry) in changes { try tables.put(key, entry) }
        } _: { [self] reason in
            if let reason {
                knownPeers.noteChanges(of: changes.keys)
                hasDecided = hasDecided || isDecision
                if !isFailingToKeep, state.refusal == nil { tell(.notKept(reason: reason)) }
                if !isStopped, hasDecided { keepKnownPeers(within: KnownPeersLimits.saveDelay) }
                if !isStopped { keepKnownPeers() }
            }
            isFailingToKeep = reason != nil
            completion()
        }
    }

    /// Schedules the write of changes that peers caused, at most once a minute.
    func keepKnownPeers() {
        guard knownPeersTimer == nil else { return }
        let next = knownPeersSaved.map { $0 + configuration.saveInterval - clock.now } ?? .zero
        keepKnownPeers(within: max(next, KnownPeersLimits.saveDelay))
    }

    /// Schedules a write in the place of a later one.
    private func keepKnownPeers(within delay: Duration) {
        guard state.thread != nil, state.refusal == nil else { return }
        knownPeersTimer?.cancel()
        knownPeersTimer = eventLoop.scheduleTask(in: TimeAmount(delay)) { [weak self] in
            self?.onLoop { $0.saveKnownPeers() }
        }
    }

    /// Passes the people whom the user has blocked permanently to the protocol.
    private func applyBlocks() {
        let keys = knownPeers.blocked
        guard keys != blockedKeys else { return }
        blockedKeys = keys
        let blocks = Set(keys.map(\.userID))
        let (added, ended) = (blocks.subtracting(keptBlocks).sorted(), keptBlocks.subtracting(blocks).sorted())
        keptBlocks = blocks
        added.forEach { block($0) }
        ended.forEach { unblock($0) }
    }

    /// Passes the people whom the node prefers to strangers to the protocol (L-52).
    private func applyPreferred() {
        guard endpoint.standings != knownPeers.standings else { return }
        endpoint.setStandings(knownPeers.standings, now: clock.now)
        texts.store?.value.setStandings(knownPeers.standings)
    }

    // MARK: - Arrivals and departures

    /// Adds the people met in a chat in earlier runs. They are offline, and were last seen there.
    func recall(_ entry: JoinedChat) {
        for (peer, time) in knownPeers.seen(in: entry.storedName) where peer.key != ownKey {
            let lastSeen = Timestamp(rawValue: time)
            let seen = peer.ages[entry.storedName] ?? nodeAge.counter.age(ofEarlier: lastSeen)
            entry.recall(peer.key, name: peer.names.first ?? "", lastSeen: lastSeen, seen: min(seen, age()))
            let addresses = (peer.addresses[entry.storedName] ?? []).compactMap(Resolution.address)
            endpoint.recall(peer.key, at: addresses, in: entry.id, now: clock.now)
        }
        entry.forgetSome(in: knownPeers)
    }

    /// Records that people met in a chat belong to the chat that follows it.
    func carry(_ people: [PublicKey], from chat: String, to next: String) {
        knownPeers.carry(people, from: chat, to: next)
        keepKnownPeers()
    }

    /// Records the addresses of the people whom the user knows (D-19).
    private func noteAddresses(in entry: JoinedChat) {
        for key in entry.met.keys.sorted() {
            let addresses = endpoint.lastAddresses(of: key, in: entry.id).map(\.peerText)
            if !addresses.isEmpty { knownPeers.setAddresses(addresses, of: key, in: entry.storedName) }
        }
    }

    /// Records an arrival. A name that is known with another key causes a notice.
    func noteArrival(of person: InklingCore.Person, in chat: String, at time: Timestamp) {
        let others = knownPeers.met(
            person.key, name: person.name, chat: chat, at: meetingTime(wall: time), using: &random)
        var stay = stays[person.key] ?? Stay(name: person.name, chat: chat, at: awakeClock.now)
        (stay.name, stay.chat) = (person.name, chat)
        stays[person.key] = stay
        scheduleCounting()
        keepKnownPeers()
        applyPreferred()
        guard let known = knownPeers.bestKnown(of: others) else { return }
        let isVerified = others.contains { knownPeers[$0]?.isVerified == true }
        tell(.notice(.keyChanged(Person(person), known: known.key.userID, isVerified: isVerified)))
    }

    /// Records a departure.
    func noteDeparture(of key: PublicKey, in chat: String, at time: Timestamp) {
        knownPeers.seen(key, chat: chat, at: meetingTime(wall: time), using: &random)
        countTimeTogether(with: key)
        let isElsewhere = joined.contains { $0.met[key]?.isThere ?? false }
        if !isElsewhere { stays[key] = nil }
        keepKnownPeers()
        applyPreferred()
    }

    /// Records that the people present now are seen.
    func noteWhoIsThere() {
        for entry in joined { noteWhoIsThere(in: entry) }
        for key in stays.keys.sorted() { countTimeTogether(with: key) }
        applyPreferred()
    }

    func noteWhoIsThere(in entry: JoinedChat) {
        noteAddresses(in: entry)
        let now = meetingTime()
        let present = entry.present
        guard !present.isEmpty else { return }
        for key in present.keys.sorted() { knownPeers.seen(key, chat: entry.storedName, at: now, using: &random) }
        keepKnownPeers()
    }

    private func countTimeTogether(with key: PublicKey) {
        guard var stay = stays[key] else { return }
        knownPeers.count(&stay, with: key, now: awakeClock.now, at: meetingTime(), using: &random)
        stays[key] = stay
    }

    /// Schedules the next count of time together. The process loses uncounted time when it is killed.
    private func scheduleCounting() {
        guard countingTimer == nil, !isStopped else { return }
        countingTimer = eventLoop.scheduleTask(in: TimeAmount(configuration.countingInterval)) { [weak self] in
            guard let self else { return }
            self.onLoop { node in
                node.countingTimer = nil
                guard !node.stays.isEmpty else { return }
                node.noteWhoIsThere()
                node.scheduleCounting()
            }
        }
    }

    private func meetingTime(wall: Timestamp = Node.wallClock()) -> MeetingTime {
        MeetingTime(wall: wall.rawValue, age: age())
    }
}
