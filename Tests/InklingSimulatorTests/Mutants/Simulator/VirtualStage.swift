import InklingConformance
import InklingWire

/// A stage for the cases of the conformance suite in virtual time: the programs are nodes of this module's core, with
/// the mutant that is awake, and a case of 20 s takes milliseconds.
package final class VirtualStage: Stage {
    /// A datagram, or whatever else happens at an instant.
    private struct Occurrence {
        let at: Instant
        let happen: () -> Void
    }

    package private(set) var clock = Instant.zero
    private var occurrences: [Occurrence] = []
    private var programs: [VirtualProgram] = []
    private var identities: [String: KeyPair] = [:]
    private var sockets: Set<UDPAddress> = []
    private var events: [StageEvent] = []
    private var nextPort = 20_000
    private var generator: SeededGenerator
    /// The values of the lines that `encode` has made: commands come back as bytes.
    private var encoded: [[UInt8]: JSONValue] = [:]

    /// How long a datagram is on its way.
    private static let transit = Duration.microseconds(200)

    package init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    package var now: Duration { clock - .zero }

    // MARK: Peers

    package func bind(host: String) throws(StageError) -> UDPAddress {
        nextPort += 1
        let address = UDPAddress(host: host, port: nextPort)
        sockets.insert(address)
        return address
    }

    package func send(_ bytes: [UInt8], from source: UDPAddress, to destination: UDPAddress) {
        schedule(after: VirtualStage.transit) { [unowned self] in
            programs.first { $0.isRunning && $0.port == destination.port }?.receive(
                bytes, from: source, at: destination.host)
        }
    }

    // MARK: Programs

    package func start(_ arguments: ProgramArguments) throws(StageError) -> ProgramID {
        let identity = identities[arguments.state] ?? KeyPair(using: &generator)
        identities[arguments.state] = identity
        nextPort += 1
        let program = VirtualProgram(
            id: ProgramID(number: programs.count), port: arguments.port ?? nextPort, identity: identity,
            arguments: arguments, stage: self, random: SeededGenerator(seed: generator.next()))
        programs.append(program)
        schedule(after: .milliseconds(1)) { program.begin() }
        return program.id
    }

    package func feed(_ line: [UInt8], to program: ProgramID) {
        let value = encoded[line]
        schedule(after: .microseconds(100)) { [unowned self] in programs[program.number].take(value) }
    }

    package func closeInput(of program: ProgramID) {
        schedule(after: .microseconds(100)) { [unowned self] in programs[program.number].quit() }
    }

    package func signal(_ signal: ProgramSignal, to program: ProgramID) { programs[program.number].take(signal) }

    package func encode(_ value: JSONValue) -> [UInt8] {
        let bytes = Array("\(value)".utf8)
        encoded[bytes] = value
        return bytes
    }

    package func advertise(_ service: AdvertisedService) throws(StageError) {
        throw StageError("there is no discovery in virtual time")
    }

    package func browse(subtype: String) throws(StageError) {
        throw StageError("there is no discovery in virtual time")
    }

    // MARK: Time

    package func next(until end: Duration) -> StageEvent? {
        while true {
            if !events.isEmpty {
                // Whatever a case does about it comes after it.
                clock = clock + .microseconds(1)
                return events.removeFirst()
            }
            let deadlines = programs.filter(\.isAwake).compactMap(\.nextDeadline)
            let next = [occurrences.first?.at, deadlines.min()].compactMap(\.self).min()
            guard let next, next <= .zero + end else {
                clock = max(clock, .zero + end)
                return nil
            }
            clock = max(clock, next)
            if let first = occurrences.first, first.at <= clock {
                occurrences.removeFirst()
                first.happen()
                continue
            }
            for program in programs where program.isAwake { program.runDeadlines() }
        }
    }

    func schedule(after delay: Duration, _ happen: @escaping () -> Void) {
        let occurrence = Occurrence(at: clock + delay, happen: happen)
        let place = occurrences.firstIndex { $0.at > occurrence.at } ?? occurrences.endIndex
        occurrences.insert(occurrence, at: place)
    }

    // MARK: What the programs do

    func carry(_ bytes: [UInt8], fromPort port: Int, host: String = "127.0.0.1", to destination: UDPAddress) {
        schedule(after: VirtualStage.transit) { [unowned self] in
            guard sockets.contains(destination) else { return }
            let source = UDPAddress(host: host, port: port)
            events.append(.datagram(bytes: bytes, from: source, to: destination, at: now))
        }
    }

    func say(_ value: JSONValue, by program: ProgramID) {
        events.append(.line(bytes: encode(value), value: value, program: program, at: now))
    }

    func exit(_ status: ExitStatus, of program: ProgramID) {
        events.append(.exited(status, program: program, at: now))
    }
}
