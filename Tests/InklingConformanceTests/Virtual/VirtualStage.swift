import FoundationEssentials
import InklingConformance
import InklingCore
import InklingWire
import SeededRandom

/// A stage in virtual time: its programs are nodes of the core, and a case of 20 s takes milliseconds.
final class VirtualStage: Stage {
    /// Something that happens at an instant, such as the arrival of a datagram.
    private struct Occurrence: Comparable {
        let at: Instant
        let order: Int
        let happen: () -> Void

        static func < (left: Occurrence, right: Occurrence) -> Bool { (left.at, left.order) < (right.at, right.order) }
        static func == (left: Occurrence, right: Occurrence) -> Bool { left.order == right.order }
    }

    private(set) var clock = Instant.zero
    private var occurrences = Heap<Occurrence>()
    private var order = 0
    private var nodes: [VirtualNode] = []
    /// The state directories by label.
    private var states: [String: VirtualNode.State] = [:]
    /// The hop limits of the peers' sockets.
    private var sockets: [UDPAddress: Int] = [:]
    private var events: ArraySlice<StageEvent> = []
    private var lastPort = 20_000
    private var generator: SeededGenerator
    private let encoder: JSONEncoder
    private let decoder = JSONDecoder()

    /// The time that a datagram takes, and the time that a line or a signal takes to a program.
    private static let (transit, delay) = (Duration.microseconds(200), Duration.microseconds(100))

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    }

    var now: Duration { clock - .zero }

    /// A datagram and a line take less than a millisecond.
    var tolerance: (early: Duration, late: Duration) { (.milliseconds(1), .milliseconds(5)) }

    // MARK: Peers

    func bind(host: String) throws(StageError) -> UDPAddress {
        lastPort += 1
        let address = UDPAddress(host: host, port: lastPort)
        sockets[address] = 255
        return address
    }

    func setHopLimit(_ limit: Int, of address: UDPAddress) { sockets[address] = limit }

    func send(_ bytes: [UInt8], from source: UDPAddress, to destination: UDPAddress) {
        let hopLimit = sockets[source]
        schedule(after: Self.transit) { [unowned self] in
            deliver(bytes, from: source, to: destination, hopLimit: hopLimit)
        }
    }

    private func deliver(_ bytes: [UInt8], from source: UDPAddress, to destination: UDPAddress, hopLimit: Int?) {
        nodes.first { $0.isRunning && $0.port == destination.port }?
            .receive(bytes, from: source, at: destination.host, hopLimit: hopLimit)
    }

    // MARK: Programs

    func start(_ arguments: ProgramArguments) throws(StageError) -> ProgramID {
        let state = states[arguments.state] ?? VirtualNode.State(identity: KeyPair(using: &generator))
        states[arguments.state] = state
        lastPort += 1
        let node = VirtualNode(
            id: ProgramID(number: nodes.count), port: arguments.port ?? lastPort, state: state, arguments: arguments,
            stage: self, seed: generator.next())
        nodes.append(node)
        schedule(after: .milliseconds(1)) { node.begin() }
        return node.id
    }

    func feed(_ line: [UInt8], to program: ProgramID) {
        let value = try? decoder.decode(JSONValue.self, from: Data(line))
        schedule(after: Self.delay) { [unowned self] in nodes[program.number].receive(line: value) }
    }

    func closeInput(of program: ProgramID) {
        schedule(after: Self.delay) { [unowned self] in nodes[program.number].quit() }
    }

    func signal(_ signal: ProgramSignal, to program: ProgramID) { nodes[program.number].receive(signal) }

    func encode(_ value: JSONValue) -> [UInt8] { (try? encoder.encode(value)).map { Array($0) } ?? [] }

    func advertise(_ service: ServiceInstance) throws(StageError) { throw StageError("virtual time has no discovery") }

    func browse() throws(StageError) { throw StageError("virtual time has no discovery") }

    // MARK: Time

    func next(until end: Duration) -> StageEvent? {
        let end = Instant.zero + end
        while events.isEmpty {
            let node = nodes.filter { $0.deadline != nil }.min { ($0.deadline ?? end) < ($1.deadline ?? end) }
            let next = [occurrences.first?.at, node?.deadline].compactMap(\.self).min()
            guard let next, next <= end else {
                clock = max(clock, end)
                return nil
            }
            clock = max(clock, next)
            if let first = occurrences.first, first.at == next {
                _ = occurrences.popFirst()
                first.happen()
            } else {
                node?.advance()
            }
        }
        // The reaction of a case comes after its cause.
        clock = clock + .microseconds(1)
        return events.popFirst()
    }

    func schedule(after delay: Duration, _ happen: @escaping () -> Void) {
        order += 1
        occurrences.insert(Occurrence(at: clock + delay, order: order, happen: happen))
    }

    // MARK: From the nodes

    /// Carries a datagram of a node to a socket, or to a node.
    func carry(_ bytes: [UInt8], from source: UDPAddress, to destination: UDPAddress) {
        schedule(after: Self.transit) { [unowned self] in
            if sockets[destination] == nil { return deliver(bytes, from: source, to: destination, hopLimit: 255) }
            events.append(.datagram(bytes: bytes, from: source, to: destination, at: now))
        }
    }

    func write(_ value: JSONValue, by program: ProgramID) {
        events.append(.line(bytes: encode(value), value: value, program: program, at: now))
    }

    func exit(_ status: ExitStatus, of program: ProgramID) {
        events.append(.exited(status, program: program, at: now))
    }
}
