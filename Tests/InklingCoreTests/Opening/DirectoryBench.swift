import InklingTestSupport
import InklingWire

@testable import InklingCore

/// A directory, and all that it goes by. The own key is smaller than each other, so that openings begin at once.
struct DirectoryBench {
    var directory = PeerDirectory()
    var links = LinkTable()
    var handshakes = Handshakes()
    var surroundings = Parts.surroundings()
    var effects = Parts.effects()
    private var nextIndex: UInt32 = 7

    /// A directory with one source in a state since 0; its handshake, if it has one, is number 7.
    init(
        _ state: OpeningState? = nil, origin: PeerSource.Origin = .discovered("a"), key: PublicKey? = Parts.key(1),
        at address: Address = Parts.here
    ) throws {
        if let state { try add(state, origin: origin, key: key, at: address) }
    }

    /// The source that the directory was made with.
    var first: PeerSourceID { PeerSourceID(value: 1) }

    @discardableResult
    mutating func add(
        _ state: OpeningState, origin: PeerSource.Origin, key: PublicKey? = Parts.key(1),
        at address: Address = Parts.here, link: LinkID? = nil, attempts: Int = 1, now: Instant = .zero
    ) throws -> PeerSourceID {
        let id = directory.sources.add(origin, chat: Parts.chat, key: key, addresses: [address])
        if case .discovered = origin { directory.sources[id].offered = [address] }
        directory.sources[id].pace = .fast(since: .zero, attempts: attempts)
        directory.sources[id].link = link
        directory.sources.move(id, to: try state.opening(nextIndex, now: now, &effects))
        nextIndex += 1
        return id
    }

    /// A link that covers the source.
    mutating func cover(_ id: PeerSourceID, at address: Address = Parts.here, now: Instant = .zero) -> Link {
        let link = Parts.link(1, at: address, now: now)
        links.add(link)
        directory.sources[id].link = link.id
        return link
    }

    /// The state of a source; nil once it is gone.
    func state(_ id: PeerSourceID) -> OpeningState? { directory.sources.find(id).map { OpeningState($0.opening) } }

    /// When the next attempt of a source begins.
    func due(_ id: PeerSourceID) -> Instant? {
        switch directory.sources.find(id)?.opening {
        case .waiting(let until), .resting(let until): until
        case .idle, .attempting, .greeting, nil: nil
        }
    }

    /// Whether an index leads to an attempt.
    func leads(_ index: UInt32 = 7) -> Bool { directory.sources.id(ofAttempt: index) != nil }

    // MARK: Inputs

    mutating func found(
        _ name: String = "a", key: PublicKey = Parts.key(1), at addresses: [Address] = [Parts.here], now: Int = 100
    ) -> LinkID? {
        directory.found(
            name, chat: Parts.chat, key: key, addresses: addresses, links, surroundings, now: .at(now))
    }

    mutating func lost(_ name: String, now: Int = 100) -> LinkID? {
        directory.lost(name, chat: Parts.chat, links, surroundings, now: .at(now))
    }

    mutating func told(_ key: PublicKey, for id: PeerSourceID, now: Int = 100) -> PeerDirectory.Told {
        directory.told(key, for: id, at: Parts.here, links, surroundings, now: .at(now))
    }

    mutating func receive(
        _ response: Response, from address: Address = Parts.here, now: Int = 100
    ) -> PeerDirectory.ResponseAnswer {
        directory.receive(response, from: address, now: .at(now))
    }

    mutating func ended(_ link: Link, _ reason: PresenceReason, now: Int) {
        _ = links.remove(link.id)
        directory.ended(link, reason, links, surroundings, now: .at(now))
    }

    mutating func advance(_ id: PeerSourceID, isMember: Bool = true, now: Instant) {
        let context = PeerDirectory.OpeningContext(
            keys: isMember ? VirtualLAN.lobby : nil, links: links, handshakes: handshakes, surroundings: surroundings,
            now: now)
        directory.advance(id, context, &effects)
    }

    mutating func advance(_ id: PeerSourceID, now: Int) { advance(id, now: .at(now)) }

    /// What was sent since the last call: its kind and where to.
    mutating func sent() -> [(kind: DatagramKind, to: Address)] {
        effects.drain().compactMap { if case .send(_, let address, let kind) = $0 { (kind, address) } else { nil } }
    }
}
