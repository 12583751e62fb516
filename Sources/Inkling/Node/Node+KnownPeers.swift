import InklingCore
import InklingWire
import NIOCore
import NIOPosix

/// The file of known peers, as a node stands to it.
enum KnownPeersState {
    /// What is known ends with the node.
    case none
    case kept(KnownPeersFile)
    /// There are changes, which a timer will have written.
    case changed(KnownPeersFile, Scheduled<Void>)
    /// A task writes what was known as it began. For changes since then there is a timer.
    case saving(KnownPeersFile, Task<Void, Never>, Scheduled<Void>?)
}

/// What a node knows of people beyond the chat and the run that it met them in.
extension Node {
    // MARK: Questions

    /// Everybody this user's nodes have met, the latest seen first; at most 1,000.
    public var allKnownPeers: [KnownPeer] {
        knownPeers.all.map(\.known).sorted { ($1.lastSeen, $0.key) < ($0.lastSeen, $1.key) }
    }

    /// What is known of a key, in base64url; nil if this user's nodes have not met it.
    public func knownPeer(key: String) -> KnownPeer? {
        PublicKey(base64url: key).flatMap { knownPeers[$0]?.known }
    }

    /// Those who are known by a user ID: one, unless somebody made a second key for it.
    public func knownPeers(_ user: UserID) -> [KnownPeer] { allKnownPeers.filter { $0.user == user } }

    /// Who somebody could be mistaken for because of the name: somebody verified, if there is one.
    package func namesake(of peer: Peer) -> KnownPeer? {
        guard let key = PublicKey(base64url: peer.key) else { return nil }
        let namesakes = knownPeers.namesakes(of: key, name: peer.name).compactMap { knownPeers[$0] }
        return (namesakes.first(where: \.isVerified) ?? namesakes.first)?.known
    }

    /// What the user and the owner of a key, in base64url, compare: both are shown the same.
    ///
    /// - Throws: ``NodeError/unknownPeer(_:)`` for what is not a key.
    public nonisolated func fingerprint(with key: String) throws(NodeError) -> Fingerprint {
        guard let other = PublicKey(base64url: key) else { throw .unknownPeer(key) }
        return Fingerprint(of: ownKey, and: other)
    }

    // MARK: Decisions

    /// Remembers, permanently, that the user has compared fingerprints with the owner of a key, or undoes that.
    ///
    /// - Throws: ``NodeError/unknownPeer(_:)`` for a key that nobody has met, ``NodeError/stopped``.
    public func setVerified(_ isVerified: Bool, key: String) throws(NodeError) {
        guard !isStopped else { throw .stopped }
        guard let peer = PublicKey(base64url: key),
            knownPeers.setVerified(isVerified, peer, at: Node.wallClock())
        else { throw .unknownPeer(key) }
        keepKnownPeers(within: .zero)
        tellPresence(of: peer)
    }

    /// Blocks the owner of a key as ``block(_:)`` does, in this run and later ones, or undoes that.
    ///
    /// - Throws: ``NodeError/unknownPeer(_:)`` for a key that nobody has met, ``NodeError/stopped``.
    public func setBlocked(_ isBlocked: Bool, key: String) throws(NodeError) {
        guard !isStopped else { throw .stopped }
        guard let peer = PublicKey(base64url: key),
            knownPeers.setBlocked(isBlocked, peer, at: Node.wallClock())
        else { throw .unknownPeer(key) }
        keepKnownPeers(within: .zero)
        applyBlocks()
        // Also one that was blocked for this run alone.
        if !isBlocked { unblock(peer.userID) }
        tellPresence(of: peer)
    }

    /// Those who observe a chat are shown what has changed about one of its people.
    private func tellPresence(of peer: PublicKey) {
        for chat in chats.map(\.name) where met[chat]?[peer] != nil && observers.observePresence(in: chat) {
            observers.presence(peers(in: chat), in: chat)
        }
    }

    // MARK: The file

    /// Reads what earlier runs kept.
    func openKnownPeers() {
        guard let (directory, isWritable) = keyStore?.knownPeers else { return }
        let file = KnownPeersFile(directory: directory)
        knownPeersFile = isWritable ? .kept(file) : .none
        switch file.read() {
        case .missing: break
        case .peers(let peers): knownPeers = peers
        case .damaged:
            tell(.notice(.knownPeersDamaged(file: "\(directory)/\(KnownPeersFile.damagedName)")))
        case .newer: tellNewer(directory)
        // Where nothing can be kept the notice on the identity says it.
        case .unreadable(let reason): if isWritable { tellUnkept(directory, reason) }
        }
        applyBlocks()
    }

    /// Writes what changed, together with what other nodes of this user know. On return all that was known at the call
    /// is kept, or a notice says that it is not.
    func saveKnownPeers() async {
        while true {
            switch knownPeersFile {
            case .none, .kept: return
            case .saving(_, let task, _): await task.value
            case .changed(let file, let timer):
                noteWhoIsThere()
                timer.cancel()
                let peers = knownPeers
                // A task of its own: that of the caller may have been cancelled.
                let task = Task { await write(peers, to: file) }
                knownPeersFile = .saving(file, task, nil)
                return await task.value
            }
        }
    }

    private func write(_ peers: KnownPeers, to file: KnownPeersFile) async {
        let saving = try? await NIOThreadPool.singleton.runIfActive { file.save(peers) }
        if case .saving(_, _, let timer) = knownPeersFile {
            knownPeersFile = timer.map { .changed(file, $0) } ?? .kept(file)
        }
        switch saving {
        case .saved(let all):
            knownPeers.merge(all)
            if !isStopped { applyBlocks() }
        case .newer: tellNewer(file.directory)
        case .failed(let reason): tellUnkept(file.directory, reason)
        case nil: tellUnkept(file.directory, "this process ends")
        }
    }

    /// Sees to it that changes are written: what the user decided at once.
    private func keepKnownPeers(within delay: Duration = KnownPeersLimits.saveDelay) {
        switch knownPeersFile {
        case .none: return
        case .kept(let file): knownPeersFile = .changed(file, saveTimer(delay))
        case .changed(let file, let timer):
            guard delay == .zero else { return }
            timer.cancel()
            knownPeersFile = .changed(file, saveTimer(delay))
        case .saving(let file, let task, let timer):
            guard timer == nil || delay == .zero else { return }
            timer?.cancel()
            knownPeersFile = .saving(file, task, saveTimer(delay))
        }
    }

    private func saveTimer(_ delay: Duration) -> Scheduled<Void> {
        eventLoop.scheduleTask(in: TimeAmount(delay)) { [weak self] in
            guard let self else { return }
            Task { await self.saveKnownPeers() }
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

    /// Tells the protocol who the user has blocked permanently.
    private func applyBlocks() {
        let blocks = Set(knownPeers.blocked.map(\.userID))
        guard blocks != keptBlocks else { return }
        let (added, ended) = (blocks.subtracting(keptBlocks).sorted(), keptBlocks.subtracting(blocks).sorted())
        keptBlocks = blocks
        added.forEach { block($0) }
        ended.forEach { unblock($0) }
    }

    // MARK: What happens

    /// Those who were met in a chat in earlier runs are away, since they were last seen there.
    func recall(_ entry: JoinedChat) {
        for (peer, time) in knownPeers.seen(in: entry.keys.tag.hex) where peer.key != ownKey {
            met[entry.chat.name, default: [:]][peer.key] = MetPeer(
                user: peer.key.userID, key: peer.key.base64url, name: peer.names.first ?? "", presence: .offline,
                since: time)
        }
    }

    /// Somebody is there: under a name that is known with another key, that is something to know.
    func noteArrival(of person: InklingCore.Person, tag: ChatTag, at time: Double) {
        let others = knownPeers.met(person.key, name: person.name, chat: tag.hex, at: time)
        keepKnownPeers()
        guard let known = others.compactMap({ knownPeers[$0] }).max(by: { $0.lastSeen < $1.lastSeen }) else { return }
        let isVerified = others.contains { knownPeers[$0]?.isVerified == true }
        tell(.notice(.keyChanged(Person(person), known: known.key.userID, isVerified: isVerified)))
    }

    func noteDeparture(of key: PublicKey, tag: ChatTag, at time: Double) {
        knownPeers.seen(key, chat: tag.hex, at: time)
        keepKnownPeers()
    }

    /// Those who are there now were last seen now.
    func noteWhoIsThere() {
        for entry in joined { noteWhoIsThere(in: entry) }
    }

    func noteWhoIsThere(in entry: JoinedChat) {
        let now = Node.wallClock()
        let present = (met[entry.chat.name] ?? [:]).filter { $0.value.presence != .offline }
        guard !present.isEmpty else { return }
        for key in present.keys { knownPeers.seen(key, chat: entry.keys.tag.hex, at: now) }
        keepKnownPeers()
    }
}
