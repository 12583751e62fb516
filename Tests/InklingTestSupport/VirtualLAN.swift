import InklingCore
import InklingWire

extension Instant {
    package static func at(_ milliseconds: Int) -> Instant { .zero + .milliseconds(milliseconds) }
    package var milliseconds: Int { Int(nanoseconds / 1_000_000) }
}

/// Nodes on one virtual network under a virtual clock.
package final class VirtualLAN {
    /// One datagram on its way.
    package struct Packet {
        package let at: Instant
        package let sequence: Int
        package let source: Address
        package let destination: Address
        package let bytes: [UInt8]
    }

    package struct Entry {
        package let at: Instant
        package let output: Output
    }

    package struct Host {
        package var endpoint: Endpoint
        package var address: Address
        package var isRunning = true
        /// Everything the node told its app.
        package var log: [Entry] = []
        /// Everything it sent.
        package var sent: [Packet] = []
        /// What waits in the socket of a host that is stopped.
        package var socket: [Packet] = []
        package var isStopped = false
        /// Whether its user takes messages as they come.
        package fileprivate(set) var takesMessages = true
    }

    package private(set) var now = Instant.zero
    package private(set) var hosts: [Host] = []
    private var packets: [Packet] = []
    private var sequence = 0
    /// When each copy of a datagram arrives after it was sent: none for a loss, two for a duplicate.
    package var transit: (Packet) -> [Duration] = { _ in [.microseconds(200)] }

    package init() {}

    /// A key pair for each index, in ascending order of the public keys.
    package static let identities: [KeyPair] = {
        var generator = SeededGenerator(seed: 42)
        return (0..<12).map { _ in KeyPair(using: &generator) }.sorted { $0.publicKey < $1.publicKey }
    }()

    package static func address(_ index: Int, port: UInt16 = 4_000) -> Address {
        Address(ipv4: 0x0A00_0001 + UInt32(index), port: port)
    }

    package static let lobby = ChatKeys(openName: "lobby")

    /// A running node, a member of the lobby.
    ///
    /// - Parameter identity: The index of its key pair: a higher one has the larger key.
    @discardableResult
    package func add(
        identity: Int, name: String? = nil, run: UInt64? = nil, host: Int? = nil, chats: [ChatKeys] = [lobby],
        sendsTyping: Bool = true, acceptsRouted: Bool = false
    ) -> Int {
        let index = hosts.count
        let seed = UInt64(1_000 + index)
        let address = VirtualLAN.address(host ?? index)
        var endpoint = Endpoint(
            configuration: .init(
                identity: VirtualLAN.identities[identity], run: run ?? seed, name: name ?? "node \(index)",
                sendsTyping: sendsTyping, acceptsRouted: acceptsRouted),
            now: now, random: SeededGenerator(seed: seed))
        let network = LocalNetwork(
            address: Address(high: address.high, low: address.low, port: 0), prefixLength: 120)
        endpoint.setNetworks([network], port: address.port, now: now)
        for chat in chats { try? endpoint.join(chat, now: now) }
        hosts.append(Host(endpoint: endpoint, address: address))
        return index
    }

    /// Tells every running node of every other, as discovery would.
    package func discoverAll(in chat: ChatKeys = lobby) {
        for index in hosts.indices where hosts[index].isRunning {
            for other in hosts.indices where other != index && hosts[other].isRunning {
                discover(other, by: index, in: chat)
            }
        }
    }

    package func discover(_ other: Int, by index: Int, in chat: ChatKeys = lobby) {
        let key = hosts[other].endpoint.publicKey
        let address = hosts[other].address
        perform(index) { $0.found("instance \(other)", chat: chat.tag, key: key, addresses: [address], now: $1) }
    }

    /// Gives an input to a node, and sends what it asks for.
    package func perform(_ index: Int, _ input: (inout Endpoint, Instant) throws -> Void) rethrows {
        try input(&hosts[index].endpoint, now)
        drain(index)
    }

    package func run(for duration: Duration) { run(until: now + duration) }

    package func run(until end: Instant) {
        while true {
            let arrival = packets.first?.at
            var deadline: Instant?
            for index in hosts.indices where hosts[index].isRunning && !hosts[index].isStopped {
                deadline = [deadline, hosts[index].endpoint.nextDeadline].compactMap(\.self).min()
            }
            guard let next = [arrival, deadline].compactMap(\.self).min(), next <= end else { break }
            now = max(now, next)
            if let arrival, arrival <= now {
                deliver(packets.removeFirst())
                continue
            }
            for index in hosts.indices where hosts[index].isRunning && !hosts[index].isStopped {
                guard let deadline = hosts[index].endpoint.nextDeadline, deadline <= now else { continue }
                hosts[index].endpoint.advance(to: now)
                drain(index)
                confirmDrained(index)
            }
        }
        now = max(now, end)
    }

    /// Hands bytes to a node as if they had come from `source`.
    package func inject(_ bytes: [UInt8], into index: Int, from source: Address) {
        hosts[index].endpoint.receive(bytes, from: source, now: now)
        drain(index)
    }

    /// From now on the user of a node takes messages as they come, or takes none.
    package func takeMessages(_ index: Int, _ takes: Bool) { hosts[index].takesMessages = takes }

    /// Ends a node without a word.
    package func kill(_ index: Int) { hosts[index].isRunning = false }

    /// Stops a node as SIGSTOP does: datagrams wait in its socket.
    package func stop(_ index: Int) { hosts[index].isStopped = true }

    /// Resumes a stopped node: its timer first, then what waited in the socket.
    package func resume(_ index: Int) {
        hosts[index].isStopped = false
        hosts[index].endpoint.advance(to: now)
        drain(index)
        let waiting = hosts[index].socket
        hosts[index].socket = []
        for packet in waiting {
            hosts[index].endpoint.receive(packet.bytes, from: packet.source, now: now)
            drain(index)
        }
        confirmDrained(index)
    }

    package func move(_ index: Int, to address: Address) {
        hosts[index].address = address
        let network = LocalNetwork(address: Address(high: address.high, low: address.low, port: 0), prefixLength: 120)
        perform(index) { $0.setNetworks([network], port: address.port, now: $1) }
    }

    // MARK: What was seen

    package func forget() {
        for index in hosts.indices {
            hosts[index].log = []
            hosts[index].sent = []
        }
    }

    /// The typing lists that a node was told of, as names, with the time in milliseconds.
    package func typing(_ index: Int, in chat: ChatKeys = lobby) -> [(at: Int, names: [String])] {
        hosts[index].log.compactMap { entry in
            guard case .typing(chat.tag, let people) = entry.output else { return nil }
            return (entry.at.milliseconds, people.map(\.name))
        }
    }

    package func presences(_ index: Int) -> [(name: String, presence: Presence, why: PresenceReason, at: Int)] {
        hosts[index].log.compactMap { entry in
            guard case .presence(_, let person, let presence, let why) = entry.output else { return nil }
            return (person.name, presence, why, entry.at.milliseconds)
        }
    }

    package func messages(_ index: Int) -> [String] {
        hosts[index].log.compactMap { entry in
            guard case .message(_, _, _, let text) = entry.output else { return nil }
            return text
        }
    }

    package func online(_ index: Int, in chat: ChatKeys = lobby) -> [String] {
        hosts[index].endpoint.present(in: chat.tag).map(\.person.name)
    }

    package func sent(_ index: Int, kind: UInt8) -> [Packet] { hosts[index].sent.filter { $0.bytes[0] == 0x10 | kind } }

    package func compose(_ index: Int, _ text: String, in chat: ChatKeys = lobby) {
        perform(index) { try? $0.compose(text, in: chat.tag, now: $1) }
    }

    @discardableResult
    package func send(_ index: Int, _ text: String, in chat: ChatKeys = lobby) -> Int? {
        var recipients: Int?
        perform(index) { recipients = try? $0.send(text, to: chat.tag, now: $1).recipients }
        return recipients
    }

    // MARK: The network

    private func deliver(_ packet: Packet) {
        for index in hosts.indices where hosts[index].isRunning && hosts[index].address == packet.destination {
            guard !hosts[index].isStopped else {
                hosts[index].socket.append(packet)
                continue
            }
            hosts[index].endpoint.receive(packet.bytes, from: packet.source, now: now)
            drain(index)
            confirmDrained(index)
        }
    }

    private func confirmDrained(_ index: Int) {
        guard hosts[index].endpoint.wantsSocketDrained, !hosts[index].isStopped else { return }
        hosts[index].endpoint.socketDrained(now: now)
        drain(index)
    }

    private func drain(_ index: Int) {
        while let output = hosts[index].endpoint.nextOutput() {
            guard case .send(let bytes, let destination, _) = output else {
                hosts[index].log.append(Entry(at: now, output: output))
                if case .message(_, _, let number, _) = output, hosts[index].takesMessages {
                    hosts[index].endpoint.messageTaken(number)
                }
                continue
            }
            sequence += 1
            let packet = Packet(
                at: now, sequence: sequence, source: hosts[index].address, destination: destination, bytes: bytes)
            hosts[index].sent.append(packet)
            for delay in transit(packet) {
                sequence += 1
                let arriving = Packet(
                    at: now + delay, sequence: sequence, source: packet.source, destination: destination,
                    bytes: bytes)
                let place = packets.firstIndex { $0.at > arriving.at } ?? packets.endIndex
                packets.insert(arriving, at: place)
            }
        }
    }
}
