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

extension Peer {
    /// Returns whether a pong with a token has arrived.
    package func hasPong(_ token: UInt16) -> Bool { received.contains { $0.pong == token } }
}

/// A datagram or plaintext to send, with a description for reports.
package struct Sample {
    package let what: String
    package let bytes: [UInt8]

    package init(_ what: String, _ bytes: [UInt8]) {
        self.what = what
        self.bytes = bytes
    }
}

extension Trial {
    /// The most bytes of frames that a datagram can hold.
    package static let plaintextSize = Limits.maximumDatagramSize - SealedDatagram.headerSize - CipherKey.tagSize

    /// Sends datagrams in small groups from a peer that has no link, and fails if one is answered.
    ///
    /// `witness` has a link. Its pongs show that the program still runs, and has read the datagrams before them.
    package func expectSilence(
        to samples: [Sample], from stranger: Peer, at program: Program, witness: Peer, batch: Int = 24,
        pause: Duration = .zero
    ) throws {
        var rest = samples[...]
        while let first = rest.first {
            let some = rest.prefix(batch)
            let last = some.last ?? first
            rest = rest.dropFirst(batch)
            let start = now
            let count = stranger.datagramCount
            for sample in some { stranger.sendBytes(sample.bytes, to: program.address) }
            let what = some.count == 1 ? first.what : "\(first.what) … \(last.what)"
            do {
                try witness.ping()
            } catch let finding as Finding {
                let actual = program.exit.map { "it ended: \($0.status)" } ?? finding.actual
                throw Finding(expected: "the program lives on after \(what)", actual: actual)
            }
            run(for: max(.zero, pause - (now - start)))
            guard stranger.datagramCount == count else {
                throw Finding(expected: "no answer to \(what)", actual: answer(to: stranger, since: start))
            }
        }
        let start = now
        let count = stranger.datagramCount
        try never(
            for: .milliseconds(300), "no answer to any of \(samples.count) datagrams",
            actual: { self.answer(to: stranger, since: start) }, when: { stranger.datagramCount > count })
    }

    private func answer(to stranger: Peer, since start: Duration) -> String {
        let answer = trace.last { stranger.addresses.contains($0.destination) && $0.at >= start }
        return answer.map { "the answer \($0.bytes.hex)" } ?? "an answer came"
    }

    /// Sends plaintexts on a peer's link, each with a ping before its frames, and judges which ones the program
    /// accepts. The program must accept all of them as a whole if `areValid`, and none otherwise. The peer opens
    /// another link after each plaintext that ends the link.
    package func expectParsing(of samples: [Sample], areValid: Bool, by program: Program, from peer: Peer) throws {
        var pending: [(what: String, token: UInt16)] = []
        for sample in samples {
            if areValid, peer.sending == nil { try peer.open(to: program) }
            let token = token()
            let start = now
            if sample.bytes.count > Trial.plaintextSize - 3 {
                // The datagram has no room for the ping.
                peer.sendPlaintext(sample.bytes)
                try peer.ping()
                continue
            }
            peer.sendPlaintext([0x06] + token.bigEndianBytes + sample.bytes)
            if areValid {
                try peer.await("a pong to the ping before \(sample.what)", since: start) { $0.pong == token }
                let frames = (try? Frames.parse(sample.bytes)) ?? []
                if frames.contains(where: \.endsLink) { peer.forget() }
            } else {
                pending.append((sample.what, token))
                if pending.count % 16 == 0 { try peer.ping() }
            }
        }
        if areValid, peer.sending == nil { try peer.open(to: program) }
        try peer.ping()
        guard !areValid else { return }
        run(for: .milliseconds(200))
        for (what, token) in pending where peer.hasPong(token) {
            throw Finding(expected: "a datagram with \(what) is dropped as a whole", actual: "its ping was answered")
        }
    }

    /// Starts the program in a secret chat, or ends the case as unsupported.
    package func startInSecretChat(
        _ secret: ChatSecret, chat: String? = nil, peers: [Peer] = [], needs features: Feature...
    ) throws -> Program {
        let arguments = ProgramArguments(
            chat: chat ?? chatName, secret: secret.base32, peers: peers.map(\.address), state: "secret")
        let program = try launch(arguments)
        do {
            try program.awaitReady()
        } catch {
            // A program without secret chats may refuse the argument. Its `ready` in an open chat then lacks `secret`.
            try start(ProgramArguments(chat: chatName, state: "plain")).need(.secret)
            throw error
        }
        try program.need([.secret] + features)
        return program
    }
}

extension Peer {
    /// Returns an identity from the vectors, which list its private key too.
    package static func identity(privateKey: [UInt8]) throws -> KeyPair {
        guard let pair = KeyPair(privateKey: privateKey) else { throw Untried(reason: "the vector's key is no key") }
        return pair
    }
}

extension Frame {
    /// Whether the frame ends the link: a bye, or an ack for records that the program never sent (L-94).
    var endsLink: Bool {
        switch self {
        case .bye, .ack: true
        case .heartbeat, .typing, .record, .ping, .pong, .forward, .textID, .unknown: false
        }
    }
}

extension ChatKeys {
    /// Makes the keys of an open chat, whose name must be valid.
    package init(open name: String) {
        guard let name = try? ChatName(name) else { preconditionFailure("the case names a chat") }
        self.init(openName: name)
    }
}

/// Returns the bytes of hex digits. Other characters count as 0.
package func bytes(hex: String) -> [UInt8] {
    let digits = hex.utf8.map { UInt8(Character(Unicode.Scalar($0)).hexDigitValue ?? 0) }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

extension Trial {
    /// Fails unless an event came `expected` after its cause, within the tolerance.
    package func judge(
        _ what: String, at: Duration, after cause: Duration, is expected: Duration,
        early: Duration? = nil, late: Duration? = nil
    ) throws {
        let (delay, early, late) = (at - cause, early ?? self.early, late ?? self.late)
        guard delay >= expected - early, delay <= expected + late else {
            throw Finding(
                expected: "\(what) after \(expected.text), within −\(early.text) and +\(late.text)",
                actual: "it came after \(delay.text)")
        }
    }
}

extension Duration {
    /// The time after a link came up from which an "unheard" datagram has its effect (L-110).
    static let settled = Duration.milliseconds(3_100)
}

extension Peer {
    /// Makes the peer send nothing more.
    ///
    /// - Returns: The time of the peer's last evidence.
    package func fallSilent() throws -> Duration {
        habits = .none
        let last = trial.now
        let token = trial.token()
        send([.ping(token)])
        try self.await("a pong to the last ping") { $0.pong == token }
        return last
    }

    /// Sends pings beyond the rate of a link (L-25). The next datagram exceeds the rate too.
    package func exceedRate() {
        let start = trial.now
        for round in 0..<750 {
            for number in 0..<6 { send([.ping(UInt16(6 * round + number))]) }
            trial.pump(until: start + .milliseconds(2 * (round + 1)))
        }
        // The program first reads all of these.
        trial.run(for: .milliseconds(100))
        for number in 0..<300 { send([.ping(UInt16(5_000 + number))]) }
    }

    /// Makes the peer send no more heartbeats by itself. It still answers pings.
    package func stopHeartbeats() { habits.heartbeat = nil }

    /// Returns the datagrams with a status that arrived on a session since an instant, in the order of their counters.
    package func statuses(since start: Duration, on session: PeerSession? = nil) -> [ReceivedFrames] {
        let session = session ?? sending
        return received(since: start).filter { $0.session === session && $0.status != nil }
            .sorted { $0.counter < $1.counter }
    }

    /// Returns the datagrams with a typing frame and no message that arrived since an instant, in the order of their
    /// counters.
    package func edges(since start: Duration) -> [ReceivedFrames] {
        statuses(since: start).filter { $0.typing != nil && $0.record == nil }
    }

    /// Waits for a status that reports whether the program's user types.
    @discardableResult
    package func awaitTyping(
        _ isTyping: Bool, within limit: Duration = .seconds(3), since start: Duration? = nil
    ) throws -> ReceivedFrames {
        let words = isTyping ? "a status that says typing" : "a status that does not say typing"
        return try self.await(words, within: limit, since: start) { $0.status?.isTyping == isTyping }
    }

    /// Sends text records within the window, and repeats them until all are acknowledged.
    package func deliver(_ records: [(text: String, first: Bool, last: Bool)]) throws {
        let state = state
        let base = state.nextOwnRecord
        let end = base + UInt32(records.count)
        state.nextOwnRecord = end
        var attempts = 0
        while state.acknowledged < end {
            let low = max(base, state.acknowledged)
            let high = min(end, low + 8)
            for number in low..<high {
                let record = records[Int(number - base)]
                sendRecord(number, record.text, first: record.first, last: record.last)
            }
            let limit = trial.now + .milliseconds(400)
            while state.acknowledged < high, trial.now < limit {
                trial.pump(until: min(limit, trial.now + .milliseconds(5)))
            }
            attempts = state.acknowledged > low ? 0 : attempts + 1
            guard attempts < 8 else {
                throw Finding(
                    expected: "an ack of record \(low), which was sent \(attempts) times",
                    actual: acks.isEmpty ? "no ack came" : "the highest ack says that \(low) is expected next")
            }
        }
    }
}

extension Program {
    /// Waits until the program shows a person as typing, or stops showing it.
    ///
    /// - Returns: The time of the program's report.
    @discardableResult
    package func awaitTyping(
        _ isShown: Bool, of user: String, within limit: Duration = .seconds(5), in chat: String? = nil
    ) throws -> Duration {
        let words = isShown ? "shows" : "no longer shows"
        return try trial.wait(
            limit, for: "`typing` \(words) \(user)",
            actual: { "the last `typing` is \(self.events("typing").last.map { self.describe($0.value) } ?? "none")" },
            until: { shows(typing: user, in: chat) == isShown ? events("typing").last?.at ?? trial.now : nil })
    }

    /// Returns the outcomes of messages in order: the kind, `delivered` or `failed`, the message's number and the
    /// reason.
    package func outcomes(for user: String) -> [(kind: String, message: Int?, why: String?)] {
        lines.compactMap { line in
            guard let kind = line.kind, kind == "delivered" || kind == "failed", let value = line.value,
                value["user"]?.string == user
            else { return nil }
            return (kind, value["message"]?.integer, value["why"]?.string)
        }
    }

    /// Waits until a message to a person has failed. Fails unless the reason is the expected one.
    @discardableResult
    package func awaitFailure(
        _ why: String, for user: String, within limit: Duration = .seconds(5), since start: Duration = .zero
    ) throws -> (at: Duration, value: JSONValue) {
        let event = try self.await(
            "failed", within: limit, since: start, "`failed` with the reason `\(why)`",
            where: { $0["user"]?.string == user })
        guard event.value["why"]?.string == why else {
            throw Finding(expected: "`failed` with the reason `\(why)`", actual: describe(event.value))
        }
        return event
    }

    /// Fails unless `count` messages to a person have been delivered.
    package func awaitDelivered(
        _ count: Int = 1, to user: String, within limit: Duration = .seconds(5)
    ) throws {
        let end = trial.now + limit
        // Counting thousands of lines takes time, so the loop does not count after each line.
        while true {
            let delivered = outcomes(for: user).count { $0.kind == "delivered" }
            if delivered >= count { return }
            guard trial.now < end else {
                throw Finding(
                    expected: "`delivered` of \(count) messages to \(user) within \(limit.text)",
                    actual: "there are \(delivered)")
            }
            trial.run(for: .milliseconds(10))
        }
    }
}

/// A difference between the program's behaviour and a clause.
package struct Finding: Error, Sendable, Equatable {
    /// The behaviour that the clause demands.
    package let expected: String
    /// The behaviour of the program.
    package let actual: String

    package init(expected: String, actual: String) {
        self.expected = expected
        self.actual = actual
    }
}

/// Fails unless a condition holds.
func expect(
    _ condition: Bool, _ expected: @autoclosure () -> String, actual: @autoclosure () -> String
) throws(Finding) {
    guard condition else { throw Finding(expected: expected(), actual: actual()) }
}

/// The absence of a feature that a case needs, as the program reports it (J-13).
package struct Unsupported: Error, Sendable, Equatable {
    package let feature: Feature
}

/// The reason why the case could not run. The program is not at fault.
package struct Untried: Error, Sendable, Equatable {
    package let reason: String
}

/// A feature that a program may leave out, with its word in `ready` (J-13, A-31).
package enum Feature: String, CaseIterable, Sendable {
    case away, block, chats, discovery, invitations, load, messages, moves, nick, people, peer, secret, sightings,
        stats,
        suspend, who
    case lastWill = "last-will"
    /// The answers to requests. A program without them leaves `interface` out of `ready` (A-1), instead of this word.
    case interface
}
