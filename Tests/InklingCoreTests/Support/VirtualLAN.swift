import InklingCore
import InklingWire

/// A generator whose numbers follow from a seed.
struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension Instant {
    static func at(_ milliseconds: Int) -> Instant { .zero + .milliseconds(milliseconds) }
    var milliseconds: Int { Int(nanoseconds / 1_000_000) }
}

/// Nodes on one virtual network under a virtual clock.
final class VirtualLAN {
    /// One datagram on its way.
    struct Flight {
        let at: Instant
        let sequence: Int
        let source: Address
        let destination: Address
        let bytes: [UInt8]
    }

    struct Entry {
        let at: Instant
        let output: Output
    }

    struct Host {
        var endpoint: Endpoint
        var address: Address
        var isRunning = true
        /// Everything the node told its app.
        var log: [Entry] = []
        /// Everything it sent.
        var sent: [Flight] = []
        /// What waits in the socket of a host that is stopped.
        var socket: [Flight] = []
        var isStopped = false
    }

    private(set) var now = Instant.zero
    private(set) var hosts: [Host] = []
    private var flights: [Flight] = []
    private var sequence = 0
    /// When each copy of a datagram arrives after it was sent: none for a loss, two for a duplicate.
    var transit: (Flight) -> [Duration] = { _ in [.microseconds(200)] }

    /// A key pair for each index, in ascending order of the public keys.
    static let identities: [KeyPair] = {
        var generator = SeededGenerator(seed: 42)
        return (0..<12).map { _ in KeyPair(using: &generator) }.sorted { $0.publicKey < $1.publicKey }
    }()

    static func address(_ index: Int, port: UInt16 = 4_000) -> Address {
        Address(ipv4: 0x0A00_0001 + UInt32(index), port: port)
    }

    static let lobby = ChatKeys(openName: "lobby")

    /// A running node, a member of the lobby.
    ///
    /// - Parameter identity: The index of its key pair: a higher one has the larger key.
    @discardableResult
    func add(
        identity: Int, name: String? = nil, run: UInt64? = nil, host: Int? = nil, chats: [ChatKeys] = [lobby],
        sendsTyping: Bool = true
    ) -> Int {
        let index = hosts.count
        let seed = UInt64(1_000 + index)
        let address = VirtualLAN.address(host ?? index)
        var endpoint = Endpoint(
            configuration: .init(
                identity: VirtualLAN.identities[identity], run: run ?? seed, name: name ?? "node \(index)",
                sendsTyping: sendsTyping),
            now: now, random: SeededGenerator(seed: seed))
        let network = LocalNetwork(
            address: Address(high: address.high, low: address.low, port: 0), prefixLength: 120)
        endpoint.setNetworks([network], port: address.port, now: now)
        for chat in chats { try? endpoint.join(chat, now: now) }
        hosts.append(Host(endpoint: endpoint, address: address))
        return index
    }

    /// Tells every running node of every other, as discovery would.
    func discoverAll(in chat: ChatKeys = lobby) {
        for index in hosts.indices where hosts[index].isRunning {
            for other in hosts.indices where other != index && hosts[other].isRunning {
                discover(other, by: index, in: chat)
            }
        }
    }

    func discover(_ other: Int, by index: Int, in chat: ChatKeys = lobby) {
        let key = hosts[other].endpoint.publicKey
        let address = hosts[other].address
        perform(index) { $0.found("instance \(other)", chat: chat.tag, key: key, addresses: [address], now: $1) }
    }

    /// Gives an input to a node, and sends what it asks for.
    func perform(_ index: Int, _ input: (inout Endpoint, Instant) throws -> Void) rethrows {
        try input(&hosts[index].endpoint, now)
        drain(index)
    }

    func run(for duration: Duration) { run(until: now + duration) }

    func run(until end: Instant) {
        while true {
            let arrival = flights.first?.at
            var deadline: Instant?
            for index in hosts.indices where hosts[index].isRunning && !hosts[index].isStopped {
                deadline = [deadline, hosts[index].endpoint.nextDeadline].compactMap(\.self).min()
            }
            guard let next = [arrival, deadline].compactMap(\.self).min(), next <= end else { break }
            now = max(now, next)
            if let arrival, arrival <= now {
                deliver(flights.removeFirst())
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
    func inject(_ bytes: [UInt8], into index: Int, from source: Address) {
        hosts[index].endpoint.receive(bytes, from: source, now: now)
        drain(index)
    }

    /// Ends a node without a word.
    func kill(_ index: Int) { hosts[index].isRunning = false }

    /// Stops a node as SIGSTOP does: datagrams wait in its socket.
    func stop(_ index: Int) { hosts[index].isStopped = true }

    /// Resumes a stopped node: its timer first, then what waited in the socket.
    func resume(_ index: Int) {
        hosts[index].isStopped = false
        hosts[index].endpoint.advance(to: now)
        drain(index)
        let waiting = hosts[index].socket
        hosts[index].socket = []
        for flight in waiting {
            hosts[index].endpoint.receive(flight.bytes, from: flight.source, now: now)
            drain(index)
        }
        confirmDrained(index)
    }

    func move(_ index: Int, to address: Address) {
        hosts[index].address = address
        let network = LocalNetwork(address: Address(high: address.high, low: address.low, port: 0), prefixLength: 120)
        perform(index) { $0.setNetworks([network], port: address.port, now: $1) }
    }

    // MARK: What was seen

    func forget() {
        for index in hosts.indices {
            hosts[index].log = []
            hosts[index].sent = []
        }
    }

    /// The typing lists that a node was told of, as names, with the time in milliseconds.
    func typing(_ index: Int, in chat: ChatKeys = lobby) -> [(at: Int, names: [String])] {
        hosts[index].log.compactMap { entry in
            guard case .typing(chat.tag, let people) = entry.output else { return nil }
            return (entry.at.milliseconds, people.map(\.name))
        }
    }

    func presences(_ index: Int) -> [(name: String, presence: Presence, why: PresenceReason, at: Int)] {
        hosts[index].log.compactMap { entry in
            guard case .presence(_, let person, let presence, let why) = entry.output else { return nil }
            return (person.name, presence, why, entry.at.milliseconds)
        }
    }

    func messages(_ index: Int) -> [String] {
        hosts[index].log.compactMap { entry in
            guard case .message(_, _, _, let text) = entry.output else { return nil }
            return text
        }
    }

    func online(_ index: Int, in chat: ChatKeys = lobby) -> [String] {
        hosts[index].endpoint.present(in: chat.tag).map(\.person.name)
    }

    func sent(_ index: Int, kind: UInt8) -> [Flight] { hosts[index].sent.filter { $0.bytes[0] == 0x10 | kind } }

    func compose(_ index: Int, _ text: String, in chat: ChatKeys = lobby) {
        perform(index) { try? $0.compose(text, in: chat.tag, now: $1) }
    }

    @discardableResult
    func send(_ index: Int, _ text: String, in chat: ChatKeys = lobby) -> Int? {
        var recipients: Int?
        perform(index) { recipients = try? $0.send(text, to: chat.tag, now: $1).recipients }
        return recipients
    }

    // MARK: The network

    private func deliver(_ flight: Flight) {
        for index in hosts.indices where hosts[index].isRunning && hosts[index].address == flight.destination {
            guard !hosts[index].isStopped else {
                hosts[index].socket.append(flight)
                continue
            }
            hosts[index].endpoint.receive(flight.bytes, from: flight.source, now: now)
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
                continue
            }
            sequence += 1
            let flight = Flight(
                at: now, sequence: sequence, source: hosts[index].address, destination: destination, bytes: bytes)
            hosts[index].sent.append(flight)
            for delay in transit(flight) {
                sequence += 1
                let arriving = Flight(
                    at: now + delay, sequence: sequence, source: flight.source, destination: destination,
                    bytes: bytes)
                let place = flights.firstIndex { $0.at > arriving.at } ?? flights.endIndex
                flights.insert(arriving, at: place)
            }
        }
    }
}
