import InklingCore
import InklingWire

/// The core's main paths, each in a function with its own name, so that a profiler can count its instructions alone.
///
/// Nodes exchange datagrams in memory. No datagram is lost or late.
package struct CostWorkload {
    /// The measured paths.
    package enum Path: String, CaseIterable, Sendable {
        /// A received heartbeat of a peer whose link is up. The node has ten links.
        case heartbeat
        /// An edge of typing, sent to ten peers.
        case edge
        /// A handshake, from the discovery of a peer until each node shows the other. The work of both nodes counts.
        case handshake
    }

    private struct Node {
        var endpoint: Endpoint
        let address: Address
    }

    private struct Datagram {
        let bytes: [UInt8]
        let source: Address
        let destination: Address
    }

    private static let chat = Simulation.chats[0]
    private var nodes: [Node] = []
    private var now = Instant.zero

    package init() {}

    /// Prepares the nodes, and runs one path a number of times.
    ///
    /// - Returns: The number of runs.
    package static func run(_ path: Path, count: Int) -> Int {
        var workload = CostWorkload()
        switch path {
        case .heartbeat: return workload.heartbeats(count)
        case .edge: return workload.edges(count)
        case .handshake: return workload.handshakes(count)
        }
    }

    // MARK: Paths

    private mutating func heartbeats(_ count: Int) -> Int {
        meet(peers: 10)
        var done = 0
        var received: [[UInt8]] = []
        while received.count < count {
            now = now + .milliseconds(500)
            for datagram in advance(1) where datagram.destination == nodes[0].address {
                received.append(datagram.bytes)
            }
            for datagram in advance(0) { deliver(datagram) }
        }
        let source = nodes[1].address
        for bytes in received.prefix(count) {
            CostWorkload.measuredHeartbeat(&nodes[0].endpoint, bytes, source, now)
            done += 1
        }
        return done
    }

    private mutating func edges(_ count: Int) -> Int {
        meet(peers: 10)
        for done in 0..<count {
            // The measurement leaves out the edge's copies, the heartbeats and the end of typing.
            for _ in 0..<16 {
                now = now + .milliseconds(250)
                settle()
            }
            CostWorkload.measuredEdge(&nodes[0].endpoint, CostWorkload.chat.id, now)
            let sent = drain(0)
            guard sent.count == 10 else { return done }
            for datagram in sent { deliver(datagram) }
        }
        return count
    }

    private mutating func handshakes(_ count: Int) -> Int {
        for done in 0..<count {
            nodes = []
            add(0)
            add(1)
            let key = nodes[1].endpoint.publicKey
            let address = nodes[1].address
            let isUp = CostWorkload.measuredHandshake(&self, key, address)
            guard isUp else { return done }
        }
        return count
    }

    @inline(never)
    private static func measuredHeartbeat(
        _ endpoint: inout Endpoint, _ bytes: [UInt8], _ source: Address, _ now: Instant
    ) {
        endpoint.receive(bytes, from: source, now: now)
        while endpoint.nextOutput() != nil {}
    }

    @inline(never)
    private static func measuredEdge(_ endpoint: inout Endpoint, _ chat: ChatID, _ now: Instant) {
        try? endpoint.startTyping(in: chat, now: now)
    }

    @inline(never)
    private static func measuredHandshake(
        _ workload: inout CostWorkload, _ key: PublicKey, _ address: Address
    ) -> Bool {
        workload.nodes[0].endpoint.found(
            "peer", chat: chat.id, key: key, addresses: [address], now: workload.now)
        workload.settle()
        workload.now = workload.now + .milliseconds(300)
        workload.settle()
        return workload.nodes.allSatisfy { $0.endpoint.present(in: CostWorkload.chat.id).count == 1 }
    }

    // MARK: Nodes

    private mutating func add(_ index: Int) {
        var keys = SeededGenerator(seed: 100 + UInt64(index))
        let address = Address(ipv4: 0x0A00_0001 + UInt32(index), port: 4_000)
        let configuration = Endpoint.Configuration(
            identity: KeyPair(using: &keys), name: "node \(index)")
        var endpoint = Endpoint(configuration: configuration, now: now, random: SeededGenerator(seed: UInt64(index)))
        let network = LocalNetwork(address: Address(ipv4: 0x0A00_0001 + UInt32(index), port: 0), prefixLength: 120)
        endpoint.setNetworks([network], port: address.port, now: now)
        try? endpoint.join(CostWorkload.chat, isSecret: false, now: now)
        nodes.append(Node(endpoint: endpoint, address: address))
    }

    /// Makes a node with links to a number of peers. The peers have no links to each other.
    private mutating func meet(peers: Int) {
        add(0)
        for index in 1...peers {
            add(index)
            nodes[0].endpoint.found(
                "peer \(index)", chat: CostWorkload.chat.id, key: nodes[index].endpoint.publicKey,
                addresses: [nodes[index].address], now: now)
        }
        for _ in 0..<20 {
            now = now + .milliseconds(100)
            settle()
        }
    }

    /// Runs due timers, and delivers datagrams until none is on its way.
    private mutating func settle() {
        for index in nodes.indices {
            for datagram in advance(index) { deliver(datagram) }
        }
    }

    private mutating func advance(_ index: Int) -> [Datagram] {
        nodes[index].endpoint.advance(to: now)
        return drain(index)
    }

    private mutating func drain(_ index: Int) -> [Datagram] {
        var sent: [Datagram] = []
        while let output = nodes[index].endpoint.nextOutput() {
            guard case .send(let bytes, let destination, _) = output else { continue }
            sent.append(Datagram(bytes: bytes, source: nodes[index].address, destination: destination))
        }
        return sent
    }

    private mutating func deliver(_ datagram: Datagram) {
        guard let index = nodes.firstIndex(where: { $0.address == datagram.destination }) else { return }
        nodes[index].endpoint.receive(datagram.bytes, from: datagram.source, now: now)
        for answer in drain(index) { deliver(answer) }
    }
}
