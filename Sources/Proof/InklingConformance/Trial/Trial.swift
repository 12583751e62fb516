import InklingWire
import SeededRandom

/// One run of a case: its programs and peers, and all data from them.
///
/// A trial is single-threaded. `pump(until:)` takes one event of the stage at a time and hands it to its program or
/// peer. Then the peers perform the actions of their habits, such as answering pings.
package final class Trial {
    package let stage: any Stage
    package var generator: SeededGenerator
    package private(set) var programs: [Program] = []
    package private(set) var peers: [Peer] = []
    package private(set) var services: [(at: Duration, service: ServiceInstance)] = []
    /// The last datagrams in both directions, for the report of a failure.
    package private(set) var trace: [TracedDatagram] = []

    package init(stage: any Stage, seed: UInt64) {
        self.stage = stage
        generator = SeededGenerator(seed: seed)
    }

    package var now: Duration { stage.now }

    /// The tolerances of judged times.
    package var early: Duration { stage.tolerance.early }
    package var late: Duration { stage.tolerance.late }

    // MARK: Programs and peers

    /// Starts the program under test and waits until it is ready.
    package func start(_ arguments: ProgramArguments) throws -> Program {
        let program = try launch(arguments)
        try program.awaitReady()
        return program
    }

    /// Starts the program under test, in a chat that no other case uses.
    package func start(peers: [Peer] = [], needs features: Feature...) throws -> Program {
        let program = try start(ProgramArguments(chat: chatName, peers: peers.map(\.address)))
        try program.need(features)
        return program
    }

    /// Starts the program under test without waiting for it.
    package func launch(_ arguments: ProgramArguments) throws -> Program {
        let program = Program(id: try stage.start(arguments), arguments: arguments, trial: self)
        programs.append(program)
        return program
    }

    /// A name for the open chat of this trial.
    package private(set) lazy var chatName = "conformance-" + String(generator.next() % 1_000_000)

    private var lastToken: UInt16 = 0x5000

    /// Returns a token for a ping that this trial has not used yet.
    package func token() -> UInt16 {
        lastToken &+= 1
        return lastToken
    }

    /// Makes a peer with a new identity and a new socket, in the open chat of the trial or another one.
    package func peer(
        named name: String = "Alice", in chat: ChatKeys? = nil, identity: KeyPair? = nil, host: String = "127.0.0.1"
    ) throws -> Peer {
        let peer = Peer(
            trial: self, address: try stage.bind(host: host), chat: chat ?? ChatKeys(open: chatName),
            identity: identity ?? KeyPair(using: &generator), name: name)
        peers.append(peer)
        return peer
    }

    /// Makes a peer whose key is smaller, or larger, than the program's.
    package func peer(
        named name: String = "Alice", thatIsSmaller isSmaller: Bool, than program: Program
    ) throws -> Peer {
        try peer(named: name, identity: identity(thatIsSmaller: isSmaller, than: program.key))
    }

    /// Returns a key pair whose public key is smaller, or larger, than another key.
    package func identity(thatIsSmaller isSmaller: Bool, than key: PublicKey) -> KeyPair {
        while true {
            let identity = KeyPair(using: &generator)
            if (identity.publicKey < key) == isSmaller { return identity }
        }
    }

    // MARK: Time

    /// Lets an amount of time pass.
    package func run(for duration: Duration) { pump(until: now + duration) }

    /// Processes all events until an instant.
    package func pump(until end: Duration) {
        while step(until: end) {}
    }

    /// Waits until `value` returns a result, and fails after `limit`.
    @discardableResult
    package func wait<Value>(
        _ limit: Duration, for expected: @autoclosure () -> String, actual: () -> String = { "it did not happen" },
        until value: () throws -> Value?
    ) throws -> Value {
        let end = now + limit
        while true {
            if let value = try value() { return value }
            guard step(until: end) else { break }
        }
        if let value = try value() { return value }
        throw Finding(expected: expected() + " within \(limit.text)", actual: actual())
    }

    /// Waits until `condition` holds, and fails after `limit`.
    package func wait(
        _ limit: Duration, for expected: @autoclosure () -> String, actual: () -> String = { "it did not happen" },
        when condition: () throws -> Bool
    ) throws {
        try wait(limit, for: expected(), actual: actual, until: { try condition() ? true : nil })
    }

    /// Fails if `condition` becomes true within a while.
    package func never(
        for duration: Duration, _ expected: @autoclosure () -> String, actual: () -> String = { "it happened" },
        when condition: () throws -> Bool
    ) throws {
        let end = now + duration
        repeat {
            if try condition() { throw Finding(expected: expected(), actual: actual()) }
        } while step(until: end)
        if try condition() { throw Finding(expected: expected(), actual: actual()) }
    }

    /// Processes one event, or lets the peers act when due.
    ///
    /// - Returns: False once `end` has passed.
    private func step(until end: Duration) -> Bool {
        let due = peers.compactMap(\.nextDeadline).min()
        if let due, due <= now {
            for peer in peers { peer.runDeadlines(now) }
            return true
        }
        guard let event = stage.next(until: min(end, due ?? end)) else { return now < end }
        take(event)
        return true
    }

    private func take(_ event: StageEvent) {
        switch event {
        case .datagram(let bytes, let source, let destination, let at):
            note(TracedDatagram(at: at, source: source, destination: destination, bytes: bytes))
            // A last will of an earlier case's program may arrive at a port that belongs to a peer of this case now.
            for peer in peers
            where peer.addresses.contains(destination) && (isOfProgram(source) || peer.holdsSession(of: bytes)) {
                peer.receive(bytes, from: source, to: destination, at: at)
            }
        case .line(let bytes, let value, let program, let at):
            programs[program.number].receive(bytes, value, at: at)
        case .diagnostic(let text, let program, let at):
            programs[program.number].receiveDiagnostic(text, at: at)
        case .exited(let status, let program, let at):
            programs[program.number].receiveExit(status, at: at)
        case .found(let service, let at):
            services.append((at, service))
        }
    }

    /// Returns whether an address is that of a program. Before a program has reported its port, any address may be.
    private func isOfProgram(_ source: UDPAddress) -> Bool {
        programs.contains { program in program.readyLine["port"]?.integer.map { $0 == source.port } ?? true }
    }

    // MARK: Datagrams out

    /// Sends bytes from an address of a peer.
    package func send(_ bytes: [UInt8], from source: UDPAddress, to destination: UDPAddress) {
        note(TracedDatagram(at: now, source: source, destination: destination, bytes: bytes))
        stage.send(bytes, from: source, to: destination)
    }

    private func note(_ datagram: TracedDatagram) {
        if trace.count >= 64 { trace.removeFirst(32) }
        trace.append(datagram)
    }
}

/// A datagram in either direction.
package struct TracedDatagram: Sendable {
    package let at: Duration
    package let source: UDPAddress
    package let destination: UDPAddress
    package let bytes: [UInt8]

    /// The time, the two addresses and the bytes as hex, on one line.
    package var text: String { "\(at.text) \(source) > \(destination) \(bytes.hex)" }
}

extension [UInt8] {
    /// The bytes as lower-case hex digits, two for each byte.
    package var hex: String {
        var text = ""
        for byte in self {
            let digits = String(byte, radix: 16)
            text += digits.count == 1 ? "0" + digits : digits
        }
        return text
    }
}

extension Duration {
    /// The time in whole milliseconds.
    package var milliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
    }

    /// The time as text, such as "250 ms" or "3.25 s".
    package var text: String {
        let milliseconds = milliseconds
        if abs(milliseconds) < 1_000 { return "\(milliseconds) ms" }
        var digits = String(abs(milliseconds) % 1_000)
        digits = String(repeating: "0", count: 3 - digits.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        let whole = (milliseconds < 0 ? "-" : "") + String(abs(milliseconds) / 1_000)
        return digits.isEmpty ? "\(whole) s" : "\(whole).\(digits) s"
    }
}
