import InklingWire

/// A peer that a case plays: it speaks the wire with the program under test, under the counters and at the times that
/// the case chooses, and does the rest by itself as `habits` say.
package final class Peer {
    package unowned let trial: Trial
    package var identity: KeyPair
    package var chat: ChatKeys
    package var name: String
    package var habits = PeerHabits.all
    package var status = Status(isTyping: false, isAway: false)
    /// The interval that its heartbeats announce, in units of 100 ms.
    package var announcedInterval: UInt8 = 10

    package private(set) var addresses: [UDPAddress]
    package var run: UInt64
    package var stream: UInt32
    /// The program's stream that it holds, and the record of that which it expects next.
    package var heldStream: UInt32 = 0
    package var nextRecord: UInt32 = 0
    package var beyond: Set<UInt32> = []
    /// The number of its next record.
    package var nextOwnRecord: UInt32 = 0

    package internal(set) var sessions: [PeerSession] = []
    package internal(set) var openings: [PeerOpening] = []
    /// The session that it sends on by itself; by default the newest.
    package var sending: PeerSession?

    /// Everything that came, by kind.
    package internal(set) var received: [ReceivedFrames] = []
    package internal(set) var initiations:
        [(at: Duration, value: Initiation, bytes: [UInt8], source: UDPAddress, destination: UDPAddress)] = []
    package internal(set) var responses: [(at: Duration, value: Response, bytes: [UInt8], source: UDPAddress)] = []
    package internal(set) var retries: [(at: Duration, value: Retry, bytes: [UInt8], source: UDPAddress)] = []
    package internal(set) var asks: [(at: Duration, value: Ask, bytes: [UInt8], source: UDPAddress)] = []
    package internal(set) var tells: [(at: Duration, value: Tell, bytes: [UInt8], source: UDPAddress)] = []
    /// Datagrams that are none, or open on no session.
    package internal(set) var unreadable: [(at: Duration, bytes: [UInt8], source: UDPAddress)] = []
    /// The count of all datagrams.
    package internal(set) var datagramCount = 0

    private var nextHeartbeat: Duration?
    /// Responses already sent, by the bytes of the initiation.
    var answered: [[UInt8]: [UInt8]] = [:]

    init(trial: Trial, address: UDPAddress, chat: ChatKeys, identity: KeyPair, name: String) {
        self.trial = trial
        self.chat = chat
        self.identity = identity
        self.name = name
        addresses = [address]
        run = trial.generator.next()
        stream = UInt32(truncatingIfNeeded: trial.generator.next()) | 1
    }

    package var address: UDPAddress { addresses[0] }
    package var user: String { identity.publicKey.userID.description }

    /// Binds one more socket for it.
    package func addAddress(host: String = "127.0.0.1") throws -> UDPAddress {
        let address = try trial.stage.bind(host: host)
        addresses.append(address)
        return address
    }

    /// Starts over as a program that was restarted: a new run and stream, nothing held, no sessions.
    package func restart() {
        run = trial.generator.next()
        stream = UInt32(truncatingIfNeeded: trial.generator.next()) | 1
        (heldStream, nextRecord, beyond, nextOwnRecord) = (0, 0, [], 0)
        (sessions, openings, sending, nextHeartbeat) = ([], [], nil, nil)
        answered = [:]
    }

    // MARK: Sending

    /// Sends frames on a session, by default the one it sends on, under the next counter or another one.
    @discardableResult
    package func send(_ frames: [Frame], on session: PeerSession? = nil, counter: UInt64? = nil) -> [UInt8] {
        sendPlaintext(Frames.encode(frames), on: session, counter: counter)
    }

    /// Sends any bytes, well sealed.
    @discardableResult
    package func sendPlaintext(
        _ plaintext: [UInt8], on session: PeerSession? = nil, counter: UInt64? = nil
    ) -> [UInt8] {
        guard let session = session ?? sending else { preconditionFailure("the case opens a session before it sends") }
        let used = counter ?? session.nextCounter
        if used >= session.nextCounter, used < Limits.highestOrdinaryCounter { session.nextCounter = used + 1 }
        let bytes = session.seal(plaintext, counter: used)
        trial.send(bytes, from: session.source, to: session.destination)
        return bytes
    }

    /// Sends any bytes from its address.
    package func sendBytes(_ bytes: [UInt8], to destination: UDPAddress, from source: UDPAddress? = nil) {
        trial.send(bytes, from: source ?? address, to: destination)
    }

    /// Its hello as of now.
    package var hello: Hello {
        Hello(run: run, stream: stream, heldStream: heldStream, nextRecord: nextRecord, name: name)
    }

    package var heartbeatFrame: Frame { .heartbeat(Heartbeat(status: status, interval: announcedInterval)) }

    package func sendHello(on session: PeerSession? = nil) {
        (session ?? sending)?.lastHelloSent = trial.now
        send([.hello(hello), heartbeatFrame], on: session)
    }

    /// Changes the status, and says so in a typing frame, once.
    package func announce(typing: Bool? = nil, away: Bool? = nil, on session: PeerSession? = nil) {
        if let typing { status.isTyping = typing }
        if let away { status.isAway = away }
        send([.typing(status)], on: session)
    }

    /// Sends a message of one record, as M-9 has it. The case sees to it that it is acknowledged.
    @discardableResult
    package func sendMessage(_ text: String, on session: PeerSession? = nil) -> UInt32 {
        let number = nextOwnRecord
        nextOwnRecord += 1
        sendRecord(number, text, on: session)
        return number
    }

    package func sendRecord(
        _ number: UInt32, _ text: String, first: Bool = true, last: Bool = true, stream: UInt32? = nil,
        on session: PeerSession? = nil
    ) {
        let record = Record(stream: stream ?? self.stream, number: number, isFirst: first, isLast: last, text: text)
        send([.typing(status), .message(record)], on: session)
    }

    // MARK: What it does by itself

    /// When it next does something by itself.
    package var nextDeadline: Duration? {
        guard habits.heartbeat != nil, let sending, !sending.ended else { return nil }
        return nextHeartbeat
    }

    func runDeadlines(_ now: Duration) {
        guard let interval = habits.heartbeat, let sending, !sending.ended, let due = nextHeartbeat, due <= now
        else { return }
        nextHeartbeat = now + interval
        if habits.saysHello, !sending.hasHello {
            sendHello(on: sending)
        } else {
            send([heartbeatFrame], on: sending)
        }
    }

    /// Counts its next heartbeat from now on.
    func restartHeartbeats() {
        nextHeartbeat = habits.heartbeat.map { trial.now + min($0, .milliseconds(300)) }
    }

    // MARK: What came

    /// The frames that came since an instant.
    package func received(since start: Duration) -> [ReceivedFrames] { received.filter { $0.at >= start } }

    package var records: [(at: Duration, value: Record)] {
        received.compactMap { datagram in datagram.record.map { (datagram.at, $0) } }
    }

    package var acks: [(at: Duration, value: Ack)] {
        received.compactMap { datagram in datagram.ack.map { (datagram.at, $0) } }
    }

    package var hellos: [(at: Duration, value: Hello)] {
        received.compactMap { datagram in datagram.hello.map { (datagram.at, $0) } }
    }

    package var byes: [(at: Duration, value: ByeReason)] {
        received.compactMap { datagram in datagram.bye.map { (datagram.at, $0) } }
    }

    /// Waits for a sealed datagram that came after `start` and fits.
    @discardableResult
    package func await(
        _ expected: String, within limit: Duration = .seconds(3), since start: Duration? = nil,
        where fits: (ReceivedFrames) -> Bool
    ) throws -> ReceivedFrames {
        let start = start ?? trial.now
        return try trial.wait(
            limit, for: expected, actual: { self.summary(since: start) },
            until: { received.first { $0.at >= start && fits($0) } })
    }

    /// What came since an instant, in a few words.
    package func summary(since start: Duration) -> String {
        let recent = received(since: start)
        guard !recent.isEmpty else { return "no sealed datagram came" }
        let words = recent.suffix(6).map { "\($0.frames.map(\.word).joined(separator: "+")) at \($0.at.text)" }
        return "\(recent.count) sealed datagrams came, the last: " + words.joined(separator: ", ")
    }
}

extension Frame {
    /// The frame in a word or two, for reports.
    package var word: String {
        switch self {
        case .heartbeat(let heartbeat): heartbeat.status.isTyping ? "heartbeat(typing)" : "heartbeat"
        case .typing(let status): status.isTyping ? "typing(start)" : "typing(stop)"
        case .hello(let hello): "hello(held \(hello.heldStream), next \(hello.nextRecord))"
        case .message(let record): "message(record \(record.number))"
        case .ack(let ack): "ack(next \(ack.next), bitmap \(ack.bitmap))"
        case .ping(let token): "ping(\(token))"
        case .pong(let token): "pong(\(token))"
        case .bye(let reason): "bye(\(reason))"
        case .unknown(let type, let body): "frame 0x\(String(type, radix: 16)) of \(body.count) bytes"
        }
    }
}
