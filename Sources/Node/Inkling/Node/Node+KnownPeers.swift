import InklingCore
import InklingWire
import NIOCore
import NIOPosix

/// The state of a node's file of known peers.
enum KnownPeersState {
    /// The node has no file, and forgets people when it ends.
    case none
    case kept(KnownPeersFile)
    /// The file lacks recent changes. A timer will write them.
    case changed(KnownPeersFile, Scheduled<Void>)
    /// A write is under way. Several callers may wait for its end, and a timer will write later changes.
    case saving(KnownPeersFile, [@Sendable () -> Void], Scheduled<Void>?)
}

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

    // MARK: The file

    /// Loads the people that earlier runs kept.
    func openKnownPeers(_ opening: NodePreparation.KnownPeersOpening) {
        let directory = opening.file.directory
        knownPeersFile = opening.isWritable ? .kept(opening.file) : .none
        switch opening.reading {
        case .missing: break
        case .peers(let peers):
            knownPeers = peers
            for age in peers.all.flatMap(\.ages.values) { nodeAge.counter.advance(toAtLeast: age) }
        case .damaged:
            tell(.notice(.knownPeersDamaged(file: "\(directory)/\(KnownPeersFile.damagedName)")))
        case .newer: tellNewer(directory)
        // If the node can't store anything in the directory, the notice on the identity reports that.
        case .unreadable(let reason): if opening.isWritable { tellUnkept(directory, reason) }
        }
        applyBlocks()
        applyPreferred()
    }

    /// Writes the changes, merged with those of this user's other nodes. When `completion` is called, on the event
    /// loop, the file has all changes made before the call, or a notice reports a failure.
    func saveKnownPeers(_ completion: @escaping @Sendable () -> Void = {}) {
        switch knownPeersFile {
        case .none, .kept: return completion()
        case .saving(let file, let waiting, let timer):
            let next: @Sendable () -> Void = { [self] in onLoop { $0.saveKnownPeers(completion) } }
            knownPeersFile = .saving(file, waiting + [next], timer)
        case .changed(let file, let timer):
            noteWhoIsThere()
            timer.cancel()
            knownPeersFile = .saving(file, [completion], nil)
            knownPeersSaved = clock.now
            let (peers, now) = (knownPeers, Node.wallClock())
            let saving = worker.run(on: eventLoop) {
                var random = SystemRandomNumberGenerator()
                return file.save(peers, at: now.rawValue, using: &random)
            }
            saving.whenSuccess { [self] saving in onLoop { $0.saved(saving, to: file) } }
        }
    }

    private func saved(_ saving: KnownPeersFile.Saving, to file: KnownPeersFile) {
        var waiting: [@Sendable () -> Void] = []
        defer { for completion in waiting { completion() } }
        var hasChanged = false
        if case .saving(_, let completions, let timer) = knownPeersFile {
            waiting = completions
            hasChanged = timer != nil
            knownPeersFile = timer.map { .changed(file, $0) } ?? .kept(file)
        }
        switch saving {
        case .saved(let all):
            // A merge would draw again whom to evict.
            if hasChanged {
                knownPeers.merge(all, at: Node.wallClock().rawValue, using: &random)
            } else {
                knownPeers = all
            }
            applyPreferred()
            if !isStopped { applyBlocks() }
        case .newer: tellNewer(file.directory)
        case .busy where !isStopped: keepKnownPeers(within: KnownPeersLimits.saveDelay)
        case .busy: tellUnkept(file.directory, "another program is using it")
        case .failed(let reason): tellUnkept(file.directory, reason)
        }
    }

    /// Schedules the write of changes that peers caused, at most once a minute.
    private func keepKnownPeers() {
        let next = knownPeersSaved.map { $0 + configuration.saveInterval - clock.now } ?? .zero
        keepKnownPeers(within: max(next, KnownPeersLimits.saveDelay), isUrgent: false)
    }

    /// Schedules a write. An urgent one replaces a later one.
    private func keepKnownPeers(within delay: Duration, isUrgent: Bool = true) {
        switch knownPeersFile {
        case .none: return
        case .kept(let file): knownPeersFile = .changed(file, saveTimer(delay))
        case .changed(let file, let timer):
            guard isUrgent else { return }
            timer.cancel()
            knownPeersFile = .changed(file, saveTimer(delay))
        case .saving(let file, let waiting, let timer):
            guard timer == nil || isUrgent else { return }
            timer?.cancel()
            knownPeersFile = .saving(file, waiting, saveTimer(delay))
        }
    }

    private func saveTimer(_ delay: Duration) -> Scheduled<Void> {
        eventLoop.scheduleTask(in: TimeAmount(delay)) { [weak self] in
            guard let self else { return }
            self.onLoop { $0.saveKnownPeers() }
        }
    }

    private func tellNewer(_ directory: String) {
        knownPeersFile = .none
        tell(.notice(.knownPeersNewer(directory: directory)))
    }

    private func tellUnkept(_ directory: String, _ reason: String) {
        knownPeersFile = .none
        tell(.notice(.knownPeersUnkept(directory: directory, reason: reason)))
    }

    /// Passes the people whom the user has blocked permanently to the protocol.
    private func applyBlocks() {
        let blocks = Set(knownPeers.blocked.map(\.userID))
        guard blocks != keptBlocks else { return }
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
