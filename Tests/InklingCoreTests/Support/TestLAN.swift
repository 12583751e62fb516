import InklingWire

@testable import InklingCore

/// The fixtures of all tests: identities in ascending order of their keys, chats, and addresses of one network.
enum World {
    static let identities: [KeyPair] = {
        var generator = Seeded(7)
        return (0..<12).map { _ in KeyPair(using: &generator) }.sorted { $0.publicKey < $1.publicKey }
    }()

    static let lobby = openChat("lobby")
    static let other = openChat("other")
    static var chat: ChatID { lobby.id }

    static func openChat(_ name: String) -> ChatKeys {
        guard let name = try? ChatName(name) else { preconditionFailure("a name of a chat") }
        return ChatKeys(openName: name)
    }

    static let secret: ChatKeys = {
        var generator = Seeded(9)
        return ChatKeys(secret: ChatSecret(using: &generator))
    }()

    /// Returns the address 10.0.0.`host`.
    static func address(_ host: Int, port: UInt16 = 4_000) -> Address {
        Address(ipv4: 0x0A00_0000 | UInt32(host), port: port)
    }

    /// Returns an address beyond the network.
    static func remote(_ host: Int) -> Address { Address(ipv4: 0xC633_6400 | UInt32(host), port: 4_000) }

    static func network(_ host: Int) -> LocalNetwork {
        LocalNetwork(address: Address(ipv4: 0x0A00_0000 | UInt32(host), port: 0), prefixLength: 120)
    }

    static func key(_ identity: Int) -> PublicKey { identities[identity].publicKey }
    static func person(_ identity: Int, in chat: ChatID = World.chat) -> PersonID {
        PersonID(chat: chat, key: key(identity))
    }
}

extension Duration {
    static func ms(_ count: Int) -> Duration { .milliseconds(count) }
}

extension Instant {
    static func ms(_ count: Int) -> Instant { .zero + .milliseconds(count) }
    var ms: Int { Int(nanoseconds / 1_000_000) }
}

/// Some nodes on one network with virtual time.
final class TestLAN {
    struct Node {
        var endpoint: Endpoint
        var address: Address
        let identity: Int
        var isStopped = false
        /// The datagrams that arrived while the node was stopped.
        var socket: [(bytes: [UInt8], from: Address)] = []
        var outputs: [(at: Instant, output: Output)] = []
        var wills: [UInt32: (bytes: [UInt8], address: Address)] = [:]
    }

    struct Sent {
        let at: Instant
        let node: Int
        let from: Address
        let to: Address
        let bytes: [UInt8]
        let kind: DatagramKind
    }

    private struct Flight: Comparable {
        let at: Instant
        let order: Int
        let from: Address
        let to: Address
        let bytes: [UInt8]

        static func < (left: Flight, right: Flight) -> Bool { (left.at, left.order) < (right.at, right.order) }
    }

    private(set) var now = Instant.zero
    var nodes: [Int: Node] = [:]
    private(set) var sent: [Sent] = []
    /// The percentage of datagrams that are lost.
    var loss = 0
    var delay = Duration.ms(1)
    var jitter = Duration.zero
    /// The pairs of sender and receiver between which all datagrams are lost.
    var cuts: Set<[Int]> = []
    /// Decides on each datagram before its delivery; false loses it.
    var filter: (Sent) -> Bool = { _ in true }
    private var flights = Heap<Flight>()
    private var order = 0
    private var random: Seeded
    private var starts: UInt64 = 0

    init(seed: UInt64 = 1) { random = Seeded(seed) }

    /// Returns a network with two nodes that have met.
    static func pair(seed: UInt64 = 1, configure: (inout Endpoint.Configuration) -> Void = { _ in }) -> TestLAN {
        let lan = TestLAN(seed: seed)
        lan.start(0, configure: configure)
        lan.start(1, configure: configure)
        lan.listAll()
        lan.run(.seconds(1))
        return lan
    }

    // MARK: Nodes

    /// Starts a node in the lobby, at 10.0.0.`id + 1` or another address.
    func start(
        _ id: Int, identity: Int? = nil, name: String? = nil, at address: Address? = nil,
        chats: [ChatKeys] = [World.lobby],
        isSecret: Bool = false, configure: (inout Endpoint.Configuration) -> Void = { _ in }
    ) {
        starts += 1
        let place = address ?? World.address(id + 1)
        var configuration = Endpoint.Configuration(
            identity: World.identities[identity ?? id], name: name ?? "Node \(id)")
        configure(&configuration)
        let endpoint = Endpoint(
            configuration: configuration, now: now, random: Seeded(random.next() &+ starts))
        nodes[id] = Node(endpoint: endpoint, address: place, identity: identity ?? id)
        with(id) { endpoint, now in
            endpoint.setNetworks([World.network(Int(place.low & 0xFF))], port: place.port, now: now)
            for chat in chats { try? endpoint.join(chat, isSecret: isSecret, now: now) }
        }
    }

    /// Passes an input to a node, and performs its outputs.
    func with(_ id: Int, _ body: (inout Endpoint, Instant) -> Void) {
        guard nodes[id] != nil else { return }
        if let node = nodes[id] { body(&nodes[id, default: node].endpoint, now) }
        drain(id)
    }

    /// Makes discovery list one node to another, or all nodes to all others.
    func list(
        _ id: Int, to other: Int, name: String? = nil, in chat: ChatID = World.chat, at addresses: [Address]? = nil
    ) {
        guard let node = nodes[id] else { return }
        with(other) { endpoint, now in
            endpoint.found(
                name ?? "\(id)", chat: chat, key: World.key(node.identity), addresses: addresses ?? [node.address],
                now: now)
        }
    }

    func listAll() {
        for id in nodes.keys.sorted() {
            for other in nodes.keys.sorted() where other != id { list(id, to: other) }
        }
    }

    /// Kills a node. If a helper keeps its last wills, they are sent.
    func kill(_ id: Int) {
        guard let node = nodes.removeValue(forKey: id) else { return }
        for (_, will) in node.wills.sorted(by: { $0.key < $1.key }) {
            fly(Sent(at: now, node: id, from: node.address, to: will.address, bytes: will.bytes, kind: .bye))
        }
    }

    /// Moves a node to another address.
    func move(_ id: Int, to address: Address, isNoticed: Bool = true) {
        nodes[id]?.address = address
        guard isNoticed else { return }
        with(id) { endpoint, now in
            endpoint.setNetworks([World.network(Int(address.low & 0xFF))], port: address.port, now: now)
        }
    }

    func stop(_ id: Int) { nodes[id]?.isStopped = true }

    /// Continues a stopped node: runs its timer first, and then delivers the datagrams in its socket.
    func resume(_ id: Int) {
        nodes[id]?.isStopped = false
        with(id) { endpoint, now in endpoint.advance(to: now) }
        let waiting = nodes[id]?.socket ?? []
        nodes[id]?.socket = []
        for datagram in waiting {
            with(id) { endpoint, now in endpoint.receive(datagram.bytes, from: datagram.from, now: now) }
        }
        with(id) { endpoint, now in endpoint.socketDrained(now: now) }
    }

    /// Delivers a datagram as if it came from an address.
    func inject(_ bytes: [UInt8], from address: Address, to id: Int, hopLimit: Int? = nil) {
        with(id) { endpoint, now in endpoint.receive(bytes, from: address, hopLimit: hopLimit, now: now) }
    }

    private func drain(_ id: Int) {
        while let output = nodes[id]?.endpoint.nextOutput() {
            nodes[id]?.outputs.append((now, output))
            switch output {
            case .send(let bytes, let address, let kind):
                guard let from = nodes[id]?.address else { continue }
                let datagram = Sent(at: now, node: id, from: from, to: address, bytes: bytes, kind: kind)
                sent.append(datagram)
                fly(datagram)
            case .keepWill(let session, let bytes, let address): nodes[id]?.wills[session] = (bytes, address)
            case .dropWill(let session): nodes[id]?.wills[session] = nil
            case .typing, .presence, .message, .invite, .delivered, .failed, .peerIsOneself, .successor, .newcomer,
                .otherSuccessor,
                .reachable, .unreachable, .left:
                continue
            }
        }
    }

    private func fly(_ datagram: Sent) {
        guard filter(datagram), random.next() % 100 >= UInt64(loss) else { return }
        if let to = nodes.first(where: { $0.value.address == datagram.to })?.key, cuts.contains([datagram.node, to]) {
            return
        }
        order += 1
        let extra = jitter > .zero ? Int64(random.next() % UInt64(jitter.nanoseconds)) : 0
        flights.insert(
            Flight(
                at: datagram.at + delay + .nanoseconds(extra), order: order, from: datagram.from, to: datagram.to,
                bytes: datagram.bytes))
    }

    // MARK: Time

    func run(_ duration: Duration) { run(until: now + duration) }

    func run(until end: Instant) {
        while true {
            let wake = nodes.filter { !$0.value.isStopped }
                .compactMap { id, node in node.endpoint.nextDeadline.map { (at: max($0, now), id: id) } }
                .min { ($0.at, $0.id) < ($1.at, $1.id) }
            let flight = flights.first
            if let flight, flight.at <= end, flight.at < wake?.at ?? end + .ms(1) {
                _ = flights.popFirst()
                now = max(now, flight.at)
                arrive(flight)
            } else if let wake, wake.at <= end {
                now = wake.at
                with(wake.id) { endpoint, now in endpoint.advance(to: now) }
            } else {
                break
            }
        }
        now = max(now, end)
    }

    private func arrive(_ flight: Flight) {
        guard let id = nodes.first(where: { $0.value.address == flight.to })?.key else { return }
        if nodes[id]?.isStopped == true {
            nodes[id]?.socket.append((flight.bytes, flight.from))
        } else {
            with(id) { endpoint, now in
                endpoint.receive(flight.bytes, from: flight.from, now: now)
                if endpoint.wantsSocketDrained { endpoint.socketDrained(now: now) }
            }
        }
    }

    // MARK: Observations

    func counters(_ id: Int) -> Counters { nodes[id]?.endpoint.counters ?? Counters() }

    func outputs(_ id: Int, since: Instant = .zero) -> [Output] {
        (nodes[id]?.outputs ?? []).filter { $0.at >= since }.map(\.output)
    }

    /// Returns the presence of an identity that a node reported last.
    func presence(_ identity: Int, at id: Int) -> Presence {
        for case .presence(_, let person, let presence, _) in outputs(id).reversed()
        where person.key == World.key(identity) {
            return presence
        }
        return .offline
    }

    /// Returns the list of typists that a node reported last.
    func typists(at id: Int, in chat: ChatID = World.chat) -> [PublicKey] {
        nodes[id]?.endpoint.typing(in: chat).map(\.key) ?? []
    }

    func messages(at id: Int, since: Instant = .zero) -> [String] {
        outputs(id, since: since).compactMap { if case .message(_, _, _, let text, _) = $0 { text } else { nil } }
    }

    func link(_ id: Int, to identity: Int, in chat: ChatID = World.chat) -> Link? {
        nodes[id]?.endpoint.links.links(of: World.person(identity, in: chat)).last
    }

    func links(_ id: Int, to identity: Int, in chat: ChatID = World.chat) -> [Link] {
        nodes[id]?.endpoint.links.links(of: World.person(identity, in: chat)) ?? []
    }

    func isUp(_ id: Int, to identity: Int) -> Bool { link(id, to: identity)?.isShown ?? false }

    func sent(by id: Int, _ kind: DatagramKind? = nil, since: Instant = .zero) -> [Sent] {
        sent.filter { $0.node == id && $0.at >= since && (kind == nil || $0.kind == kind) }
    }

    func compose(_ id: Int, _ text: String) { with(id) { try? $0.compose(text, in: World.chat, now: $1) } }
    func say(_ id: Int, _ text: String) { with(id) { _ = try? $0.send(text, to: World.chat, now: $1) } }
}
