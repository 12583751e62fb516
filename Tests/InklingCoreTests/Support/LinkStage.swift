import InklingWire

@testable import InklingCore

/// One node with one link. The test plays the peer of the link, datagram by datagram.
struct LinkStage {
    /// The keys of one handshake, for its initiator and its responder.
    static let keys: (peer: TransportKeys, node: TransportKeys) = {
        var generator = Seeded(3)
        let (peer, node) = (World.identities[1], World.identities[0])
        do {
            let pending = try PendingHandshake(
                chat: World.lobby, identity: peer, ephemeral: KeyPair(using: &generator), remote: node.publicKey,
                senderIndex: peerIndex, own: RunAndEpoch(run: 9, epoch: 0))
            let received = try ReceivedHandshake(pending.initiation, chat: World.lobby, identity: node)
            let (response, keys) = try received.respond(
                ephemeral: KeyPair(using: &generator), index: nodeIndex, own: RunAndEpoch(run: 5, epoch: 0))
            return (try pending.complete(response).keys, keys)
        } catch {
            preconditionFailure("the handshake is whole: \(error)")
        }
    }()

    static let peerIndex: UInt32 = 77
    static let nodeIndex: UInt32 = 55
    static let peerAddress = World.address(2)

    struct Seen {
        let at: Instant
        let to: Address
        let counter: UInt32
        let frames: [Frame]
        var kinds: [UInt8] { frames.map(\.type) }
    }

    var endpoint: Endpoint
    private(set) var now: Instant
    private(set) var seen: [Seen] = []
    private(set) var outputs: [(at: Instant, output: Output)] = []
    private(set) var nextCounter: UInt32 = 0
    let id: LinkID
    /// Whether the peer answers each record at once with an ack.
    var acknowledges = false
    /// Called after each input and each deadline.
    var observe: (Endpoint, Instant) -> Void = { _, _ in }

    /// Makes a node at 10.0.0.1 with a new link. At `start`, the link gets a complete first session.
    ///
    /// - Parameter isShown: Whether the link is up, and both ends have named themselves.
    init(
        at start: Instant = .zero, isShown: Bool = false, identity: Int = 0,
        configure: (inout Endpoint.Configuration) -> Void = { _ in }
    ) {
        now = start
        var configuration = Endpoint.Configuration(identity: World.identities[identity], name: "Node")
        configure(&configuration)
        endpoint = Endpoint(configuration: configuration, now: start, random: Seeded(4))
        endpoint.setNetworks([World.network(1)], port: 4_000, now: start)
        try? endpoint.join(World.lobby, isSecret: false, now: start)
        endpoint.begin(start)
        guard
            let id = endpoint.make(
                World.person(1), run: 9, EpochPair(own: 0, peer: 0), at: Self.peerAddress, start)
        else { preconditionFailure("there is room") }
        self.id = id
        var session = Session(
            localIndex: Self.nodeIndex, remoteIndex: Self.peerIndex, role: .responder, keys: Self.keys.node,
            address: Self.peerAddress, now: start)
        session.opened(order: 1, isNewest: true, now: start)
        endpoint.join(session, to: id, start)
        if isShown {
            endpoint.comeUp(id, start)
            let name = Record(number: 0, type: .name, body: Array("Peer".utf8))
            _ = endpoint.links[id].receive(.record(name), nil, &endpoint.pools, endpoint.surroundings, now: start)
            endpoint.links[id].status.name = "Peer"
            endpoint.links[id].sender.peerWasNamed(now: start)
            endpoint.report(id, start)
        }
        endpoint.finish()
        drain()
        if isShown { receiveAck(next: 1) }
    }

    /// Adds another session to the link, with the keys of the first one.
    ///
    /// - Parameter completion: Its number among the completed sessions; nil if no datagram has opened on it.
    mutating func join(_ index: UInt32, completion: UInt64? = nil) {
        var session = Session(
            localIndex: index, remoteIndex: Self.peerIndex, role: .responder, keys: Self.keys.node,
            address: Self.peerAddress, now: now)
        if let completion { session.opened(order: completion, isNewest: true, now: now) }
        endpoint.begin(now)
        endpoint.join(session, to: id, now)
        endpoint.finish()
        drain()
    }

    var link: Link? { endpoint.links.find(id) }
    var isUp: Bool { link.map { !$0.isDown } ?? false }

    mutating func with(_ body: (inout Endpoint, Instant) -> Void) {
        body(&endpoint, now)
        drain()
    }

    /// Runs the deadlines up to and including an instant.
    mutating func run(until end: Instant) {
        while let deadline = endpoint.nextDeadline, deadline <= end {
            now = max(now, deadline)
            endpoint.advance(to: now)
            drain()
            observe(endpoint, now)
        }
        now = max(now, end)
    }

    mutating func run(_ duration: Duration) { run(until: now + duration) }

    /// Advances the clock without running the node, as if the process was stopped.
    mutating func skip(_ duration: Duration) { now = now + duration }

    /// Returns the datagram with some frames, under the next counter or another one.
    mutating func seal(_ frames: [Frame], counter: UInt32? = nil) -> [UInt8] {
        let counter = counter ?? nextCounter
        nextCounter = max(nextCounter, counter &+ 1)
        return Self.keys.peer.seal(frames, receiverIndex: Self.nodeIndex, counter: counter).encode()
    }

    /// Passes a datagram with frames of the peer to the node.
    mutating func receive(_ frames: [Frame], counter: UInt32? = nil, from address: Address = peerAddress) {
        deliver(seal(frames, counter: counter), from: address)
    }

    mutating func deliver(_ bytes: [UInt8], from address: Address = peerAddress) {
        endpoint.receive(bytes, from: address, now: now)
        if endpoint.wantsSocketDrained, !endpoint.surroundings.isBehind { endpoint.socketDrained(now: now) }
        drain()
        observe(endpoint, now)
    }

    mutating func receiveAck(next: UInt32) { receive([.ack(Ack(next: next))], counter: nil) }

    private mutating func drain() {
        var acks: [UInt32] = []
        while let output = endpoint.nextOutput() {
            outputs.append((now, output))
            guard case .send(let bytes, let address, _) = output,
                case .sealed(let sealed)? = try? Datagram.parse(bytes),
                let plaintext = try? Self.keys.peer.open(sealed),
                let frames = try? Frames.parse(plaintext, counter: sealed.counter)
            else { continue }
            seen.append(Seen(at: now, to: address, counter: sealed.counter, frames: frames))
            for case .record(let record) in frames { acks.append(record.number + 1) }
        }
        if acknowledges, let last = acks.max() { receive([.ack(Ack(next: last))], counter: nil) }
    }

    // MARK: Observations

    /// Returns the datagrams with a frame of a type since an instant.
    func sent(_ type: UInt8, since: Instant = Instant(nanoseconds: .min)) -> [Seen] {
        seen.filter { $0.at >= since && $0.kinds.contains(type) }
    }

    /// The node's pings in order, with their tokens and destinations.
    var pings: [(token: UInt16, to: Address, at: Instant)] {
        seen.flatMap { datagram in
            datagram.frames.compactMap { frame in
                if case .ping(let token) = frame { (token, datagram.to, datagram.at) } else { nil }
            }
        }
    }

    /// The tokens of distinct pings. A ping to several addresses counts once.
    var pingTokens: [UInt16] {
        var tokens: [UInt16] = []
        for ping in pings where !tokens.contains(ping.token) { tokens.append(ping.token) }
        return tokens
    }

    var presences: [(at: Instant, presence: Presence)] {
        outputs.compactMap { at, output in
            if case .presence(_, _, let presence, _) = output { (at, presence) } else { nil }
        }
    }

    var lists: [(at: Instant, isTyping: Bool)] {
        outputs.compactMap { at, output in
            if case .typing(_, let people) = output { (at, !people.isEmpty) } else { nil }
        }
    }

    var texts: [String] {
        outputs.compactMap { if case .message(_, _, _, let text, _) = $0.output { text } else { nil } }
    }
}

extension Frame {
    static let beat = Frame.heartbeat(Heartbeat(status: Status(), interval: 10))
    static let longBeat = Frame.heartbeat(Heartbeat(status: Status(), interval: 255))
    static let unheard = Frame.heartbeat(Heartbeat(status: Status(isUnheard: true), interval: 10))
    static let typingOn = Frame.typing(Status(isTyping: true))
    static let typingOff = Frame.typing(Status())

    static func name(_ name: String, number: UInt32 = 0) -> Frame {
        .record(Record(number: number, type: .name, body: Array(name.utf8)))
    }

    static func text(_ text: String, number: UInt32) -> Frame {
        .record(Record(number: number, type: .text, body: Array(text.utf8)))
    }
}
