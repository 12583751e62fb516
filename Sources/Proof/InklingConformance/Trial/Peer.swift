import InklingWire

/// A peer that a case plays. The case chooses the frames, counters and times of the peer; `habits` lists the actions
/// that the peer does by itself.
///
/// - `open(to:)` opens a link as the initiator and waits until both ends are up and named. `awaitLink(from:)` waits
///   for the program's own opening. `openSession(to:)` only completes a handshake, and `bringUp(_:)` does the rest.
/// - `send`, `sendPlaintext`, `sendMessage`, `sendRecord`, `announce`, `sendAck` use a session, by default `sending`.
/// - `bye(_:)` ends the link as an honest node does; `forget()` drops the link silently; `restart()` also draws a run.
/// - `state` is the newest state: its counters, records and epochs. A case may change any of them.
/// - `received`, `texts`, `records`, `acks`, `byes`, `initiations` … hold the received data; `await` waits for more.
package final class Peer {
    package unowned let trial: Trial
    package var identity: KeyPair
    package var chat: ChatKeys
    package var name: String
    package var habits = PeerHabits.all
    package var status = Status()
    /// The interval in the peer's heartbeats, in units of 100 ms.
    package var announcedInterval: UInt8 = 10

    package private(set) var addresses: [UDPAddress]
    /// The run and the epoch in the peer's handshakes.
    package var run: UInt64
    package var epoch: UInt32 = 0

    package internal(set) var states: [PeerState] = []
    package internal(set) var sessions: [PeerSession] = []
    package internal(set) var openings: [PeerOpening] = []
    /// The session on which the peer's habits send; by default the newest.
    package var sending: PeerSession?

    /// All received data, by kind.
    package internal(set) var received: [ReceivedFrames] = []
    package internal(set) var initiations:
        [(at: Duration, value: Initiation, bytes: [UInt8], source: UDPAddress, destination: UDPAddress)] = []
    package internal(set) var responses: [(at: Duration, value: Response, bytes: [UInt8], source: UDPAddress)] = []
    package internal(set) var retries: [(at: Duration, value: Retry, bytes: [UInt8], source: UDPAddress)] = []
    package internal(set) var asks: [(at: Duration, value: Ask, bytes: [UInt8], source: UDPAddress)] = []
    package internal(set) var tells: [(at: Duration, value: Tell, bytes: [UInt8], source: UDPAddress)] = []
    /// Malformed datagrams, and sealed ones that no session could open.
    package internal(set) var unreadable: [(at: Duration, bytes: [UInt8], source: UDPAddress)] = []
    /// The number of all received datagrams.
    package internal(set) var datagramCount = 0

    private var nextHeartbeat: Duration?
    private var nextPing: Duration?
    /// The sessions on which the program has not acknowledged the peer's name, and the times of the next repeats.
    private var unnamed: [(session: PeerSession, due: Duration)] = []
    /// The responses sent so far, by the bytes of the initiation without its cookie.
    var answered: [[UInt8]: [UInt8]] = [:]

    init(trial: Trial, address: UDPAddress, chat: ChatKeys, identity: KeyPair, name: String) {
        self.trial = trial
        self.chat = chat
        self.identity = identity
        self.name = name
        addresses = [address]
        run = trial.generator.next()
    }

    package var address: UDPAddress { addresses[0] }
    package var user: String { identity.publicKey.userID.description }

    /// The newest state of the peer.
    package var state: PeerState {
        guard let state = states.last else { preconditionFailure("the case opens a session before it has a state") }
        return state
    }

    /// Binds one more socket of the peer.
    package func addAddress(host: String = "127.0.0.1") throws -> UDPAddress {
        let address = try trial.stage.bind(host: host)
        addresses.append(address)
        return address
    }

    /// Acts as a restarted program: draws a new run, and drops all links.
    package func restart() {
        forget()
        (run, epoch) = (trial.generator.next(), 0)
        (openings, answered) = ([], [:])
    }

    /// Forgets the link as a node does (L-60), which changes the epoch. The peer still reads on the sessions, but does
    /// not send on them.
    package func forget() {
        epoch += 1
        for state in states { state.ended = true }
        sending = nil
        (nextHeartbeat, nextPing, unnamed) = (nil, nil, [])
    }

    // MARK: Sending

    /// Sends frames on a session, by default `sending`, under the next counter or another one.
    @discardableResult
    package func send(_ frames: [Frame], on session: PeerSession? = nil, counter: UInt32? = nil) -> [UInt8] {
        sendPlaintext(Frames.encode(frames), on: session, counter: counter)
    }

    /// Seals any bytes correctly and sends them.
    @discardableResult
    package func sendPlaintext(
        _ plaintext: [UInt8], on session: PeerSession? = nil, counter: UInt32? = nil
    ) -> [UInt8] {
        let session = session ?? needSession()
        let bytes = seal(plaintext, on: session, counter: counter)
        trial.send(bytes, from: session.source, to: session.destination)
        return bytes
    }

    /// Seals a datagram without sending it.
    package func seal(
        _ plaintext: [UInt8], on session: PeerSession? = nil, counter: UInt32? = nil
    ) -> [UInt8] {
        let session = session ?? needSession()
        let used = counter ?? session.state.nextCounter
        if used >= session.state.nextCounter, used <= Limits.lastCounter { session.state.nextCounter = used + 1 }
        return session.seal(plaintext, counter: used)
    }

    private func needSession() -> PeerSession {
        guard let sending else { preconditionFailure("the case opens a session before it sends") }
        return sending
    }

    /// Sends any bytes from the peer's address.
    package func sendBytes(_ bytes: [UInt8], to destination: UDPAddress, from source: UDPAddress? = nil) {
        trial.send(bytes, from: source ?? address, to: destination)
    }

    /// The current heartbeat. While the peer's end is down, the heartbeat reports "unheard" (L-44).
    package var heartbeatFrame: Frame { heartbeat(on: sending) }

    func heartbeat(on session: PeerSession?) -> Frame {
        let isDown = habits.comesUp && !(session?.state.isUp ?? false)
        return .heartbeat(Heartbeat(status: isDown ? Status(isUnheard: true) : status, interval: announcedInterval))
    }

    /// A record of the peer's name.
    package func nameRecord(_ number: UInt32, _ name: String? = nil) -> Record {
        Record(number: number, type: .name, body: Array((name ?? self.name).utf8))
    }

    /// Sends the peer's name once, as the next record, and returns the number.
    @discardableResult
    package func sendName(_ name: String? = nil, on session: PeerSession? = nil) -> UInt32 {
        let session = session ?? needSession()
        let number = session.state.nextOwnRecord
        session.state.nextOwnRecord += 1
        send([.typing(status), .record(nameRecord(number, name))], on: session)
        return number
    }

    /// Changes the status, and sends it once in a typing frame.
    package func announce(typing: Bool? = nil, away: Bool? = nil, on session: PeerSession? = nil) {
        if let typing { status.isTyping = typing }
        if let away { status.isAway = away }
        send([.typing(status)], on: session)
    }

    /// Sends a message of one record, without repeats (M-9).
    ///
    /// - Returns: The record's number.
    @discardableResult
    package func sendMessage(_ text: String, on session: PeerSession? = nil) -> UInt32 {
        let session = session ?? needSession()
        let number = session.state.nextOwnRecord
        session.state.nextOwnRecord += 1
        sendRecord(number, text, on: session)
        return number
    }

    package func sendRecord(
        _ number: UInt32, _ text: String, first: Bool = true, last: Bool = true, on session: PeerSession? = nil
    ) {
        let record = Record(number: number, type: .text, isFirst: first, isLast: last, body: Array(text.utf8))
        send([.typing(status), .record(record)], on: session)
    }

    /// Sends a bye, and forgets the link.
    package func bye(_ reason: ByeReason, on session: PeerSession? = nil) {
        send([.bye(reason)], on: session)
        forget()
    }

    /// Sends a heartbeat with a ping, and awaits the pong.
    @discardableResult
    package func sendPing(on session: PeerSession? = nil) -> UInt16 {
        let session = session ?? needSession()
        let token = trial.token()
        session.state.awaitedPings.insert(token)
        send([heartbeat(on: session), .ping(token)], on: session)
        return token
    }

    // MARK: Actions by habit

    /// The time of the next action of the habits.
    package var nextDeadline: Duration? {
        let name = unnamed.lazy.map(\.due).min()
        guard let sending, !sending.ended else { return name }
        return [habits.heartbeat.flatMap { _ in nextHeartbeat }, nextPing, name].compactMap { $0 }.min()
    }

    func runDeadlines(_ now: Duration) {
        let late = unnamed.filter { $0.due <= now }
        unnamed.removeAll { $0.due <= now }
        for (session, _) in late where !session.ended && session.state.acknowledged == 0 && habits.sendsName {
            repeatName(on: session)
        }
        guard let sending, !sending.ended else { return }
        if let interval = habits.heartbeat, let due = nextHeartbeat, due <= now {
            nextHeartbeat = now + interval
            send([heartbeatFrame], on: sending)
        }
        if let due = nextPing, due <= now {
            nextPing = nil
            let isDue = habits.comesUp && (!sending.state.isUp || !sending.isComplete)
            if isDue, let joined = sending.joinedAt, now - joined < .seconds(3) { startPings(on: sending) }
        }
    }

    /// Begins to bring a session up (L-74), as far as the habits include that.
    func join(_ session: PeerSession) {
        session.joinedAt = trial.now
        sending = session
        nextHeartbeat = habits.heartbeat.map { trial.now + min($0, .milliseconds(300)) }
        if habits.comesUp { startPings(on: session) }
    }

    private func startPings(on session: PeerSession) {
        sendPing(on: session)
        nextPing = trial.now + .milliseconds(250)
    }

    /// Brings the peer's end up: sends a heartbeat, and record 0 if it was not acknowledged (L-82, M-24).
    func comeUp(on session: PeerSession) {
        session.state.isUp = true
        guard habits.comesUp else { return }
        send([heartbeat(on: session)], on: session)
        if habits.sendsName, session.state.acknowledged == 0 { repeatName(on: session) }
    }

    private func repeatName(on session: PeerSession) {
        session.state.nextOwnRecord = max(1, session.state.nextOwnRecord)
        send([.typing(status), .record(nameRecord(0))], on: session)
        unnamed.append((session, trial.now + .milliseconds(250)))
    }
}

// Received frames and records.
extension Peer {
    /// Returns the datagrams received since an instant.
    package func received(since start: Duration) -> [ReceivedFrames] { received.filter { $0.at >= start } }

    package var records: [(at: Duration, value: Record)] {
        received.compactMap { datagram in datagram.record.map { (datagram.at, $0) } }
    }

    /// The received text records.
    package var texts: [(at: Duration, value: Record)] { records.filter { $0.value.type == .text } }

    /// The received name records.
    package var names: [(at: Duration, value: Record)] { records.filter { $0.value.type == .name } }

    package var acks: [(at: Duration, value: Ack)] {
        received.compactMap { datagram in datagram.ack.map { (datagram.at, $0) } }
    }

    package var byes: [(at: Duration, value: ByeReason)] {
        received.compactMap { datagram in datagram.bye.map { (datagram.at, $0) } }
    }

    /// Waits for a sealed datagram that arrived after `start` and fulfils the condition.
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

    /// Describes the received datagrams since an instant in a few words.
    package func summary(since start: Duration) -> String {
        let recent = received(since: start)
        guard !recent.isEmpty else { return "no sealed datagram came" }
        let words = recent.suffix(6).map { "\($0.frames.map(\.word).joined(separator: "+")) at \($0.at.text)" }
        return "\(recent.count) sealed datagrams came, the last: " + words.joined(separator: ", ")
    }

    /// The different text records received in the newest state, by number.
    package var distinctTexts: [Record] {
        var records: [UInt32: Record] = [:]
        for datagram in received where datagram.session.state === state {
            if let record = datagram.text, records[record.number] == nil { records[record.number] = record }
        }
        return records.keys.sorted().compactMap { records[$0] }
    }
}

extension Frame {
    /// A short word for the frame, for reports.
    package var word: String {
        switch self {
        case .heartbeat(let heartbeat): "heartbeat" + heartbeat.status.word
        case .typing(let status): "typing" + status.word
        case .record(let record): "record(\(record.number), type \(record.type.code))"
        case .ack(let ack): "ack(next \(ack.next), bitmap \(ack.bitmap))"
        case .ping(let token): "ping(\(token))"
        case .pong(let token): "pong(\(token))"
        case .bye(let reason): "bye(\(reason))"
        case .forward(let next): "forward(\(next))"
        case .textID(let id): "text ID(\(id.number))"
        case .unknown(let type, let body): "frame 0x\(String(type, radix: 16)) of \(body.count) bytes"
        }
    }
}

extension Status {
    fileprivate var word: String {
        let words = [(isTyping, "typing"), (isAway, "away"), (isUnheard, "unheard")].compactMap { $0 ? $1 : nil }
        return words.isEmpty ? "" : "(\(words.joined(separator: ", ")))"
    }
}

extension Record {
    /// A record of text.
    package init(number: UInt32, isFirst: Bool = true, isLast: Bool = true, text: String) {
        self.init(number: number, type: .text, isFirst: isFirst, isLast: isLast, body: Array(text.utf8))
    }
}

extension Frame {
    /// An "unheard" heartbeat (L-44).
    package static let unheard = Frame.heartbeat(Heartbeat(status: Status(isUnheard: true), interval: 10))
}

extension Peer {
    func open(
        _ sealed: SealedDatagram, bytes: [UInt8], from source: UDPAddress, to destination: UDPAddress, at: Duration
    ) {
        guard
            let session = sessions.last(where: { $0.localIndex == sealed.receiverIndex }),
            let plaintext = try? session.keys.open(sealed)
        else {
            unreadable.append((at, bytes, source))
            return
        }
        let isFirst = !session.isComplete
        session.isComplete = true
        let frames = (try? Frames.parse(plaintext, counter: sealed.counter)) ?? []
        received.append(
            ReceivedFrames(
                at: at, session: session, counter: sealed.counter, plaintext: plaintext, frames: frames, bytes: bytes,
                source: source, destination: destination))
        for frame in Frames.inOrder(frames) { take(frame, on: session, from: source) }
        if isFirst, session.role == .responder, !session.ended { join(session) }
    }

    private func take(_ frame: Frame, on session: PeerSession, from source: UDPAddress) {
        let state = session.state
        switch frame {
        case .record(let record): take(record, on: session)
        case .ping(let token):
            guard habits.answersPings else { return }
            let destination = session.destination
            session.destination = source
            send([heartbeat(on: session), .pong(token)], on: session)
            session.destination = destination
        case .pong(let token):
            let isAwaited = state.awaitedPings.remove(token) != nil
            if isAwaited, !state.isUp { comeUp(on: session) }
        case .ack(let ack): state.acknowledged = max(state.acknowledged, ack.next)
        case .forward(let next):
            guard habits.acknowledges else { return }
            if next > state.nextRecord {
                state.nextRecord = next
                state.beyond = state.beyond.filter { $0 >= next }
            }
            sendAck(on: session)
        case .bye: if state === states.last { forget() } else { state.ended = true }
        case .heartbeat, .typing, .textID, .unknown: break
        }
    }

    private func take(_ record: Record, on session: PeerSession) {
        let state = session.state
        if record.number == 0, record.type == .name { state.hasName = true }
        guard habits.acknowledges else { return }
        if record.number >= state.nextRecord, record.number - state.nextRecord < 16 {
            state.beyond.insert(record.number)
        }
        while state.beyond.remove(state.nextRecord) != nil { state.nextRecord += 1 }
        sendAck(on: session)
    }

    /// Acknowledges all received records.
    package func sendAck(on session: PeerSession? = nil) {
        let state = session?.state ?? self.state
        var bitmap: UInt16 = 0
        for bit in 0..<16 where state.beyond.contains(state.nextRecord + 1 + UInt32(bit)) { bitmap |= 1 << UInt16(bit) }
        send([.ack(Ack(next: state.nextRecord, bitmap: bitmap))], on: session)
    }
}

/// A static or ephemeral key that no honest peer sends, with the X25519 result that belongs to it.
package struct ForgedKey {
    package let bytes: [UInt8]
    /// Whether each X25519 result with the key is zero, as for a point of low order. Otherwise the results are those of
    /// the peer's own pair.
    package let hasLowOrder: Bool

    /// A point of low order: every result with it is zero (W-4).
    package static func lowOrder(_ bytes: [UInt8]) -> ForgedKey { ForgedKey(bytes: bytes, hasLowOrder: true) }

    /// A key with its top bit set. X25519 ignores the bit, but the number is not below 2^255 - 19 (W-3).
    package static func topBitSet(_ key: PublicKey) -> ForgedKey {
        var bytes = key.bytes
        bytes[31] |= 0x80
        return ForgedKey(bytes: bytes, hasLowOrder: false)
    }
}

extension Peer {
    private static let zeros = [UInt8](repeating: 0, count: 32)

    private func agree(_ pair: KeyPair, with key: [UInt8], forged: ForgedKey?) -> [UInt8] {
        forged?.hasLowOrder == true ? Peer.zeros : pair.sharedSecret(with: key) ?? Peer.zeros
    }

    /// Returns an initiation that is correct except for a key that the specification forbids.
    package func forgeInitiation(
        to program: Program, ephemeral: ForgedKey? = nil, staticKey: ForgedKey? = nil
    ) -> [UInt8] {
        let index = UInt32(truncatingIfNeeded: trial.generator.next())
        let pair = KeyPair(using: &trial.generator)
        var state = SymmetricState(prologue: chat.prologue(senderIndex: index), responder: program.key)
        let first = ephemeral?.bytes ?? pair.publicKey.bytes
        state.mixEphemeral(first)
        state.mixKey(agree(pair, with: program.key.bytes, forged: ephemeral))
        let sealed = state.encryptAndHash(staticKey?.bytes ?? identity.publicKey.bytes)
        state.mixKey(agree(identity, with: program.key.bytes, forged: staticKey))
        let payload = state.encryptAndHash(run.bigEndianBytes + epoch.bigEndianBytes)
        return chat.initiation(senderIndex: index, noise: first + sealed + payload).encode()
    }

    /// Returns a response that is correct except for its ephemeral key, a point of low order.
    package func forgeResponse(to initiation: Initiation, ephemeral: [UInt8]) -> [UInt8]? {
        let noise = initiation.noise
        var state = SymmetricState(
            prologue: chat.prologue(senderIndex: initiation.senderIndex), responder: identity.publicKey)
        let first = Array(noise[0..<32])
        state.mixEphemeral(first)
        state.mixKey(identity.sharedSecret(with: first) ?? Peer.zeros)
        guard let key = try? state.decryptAndHash(Array(noise[32..<80])) else { return nil }
        state.mixKey(identity.sharedSecret(with: key) ?? Peer.zeros)
        guard (try? state.decryptAndHash(Array(noise[80...]))) != nil else { return nil }
        state.mixEphemeral(ephemeral)
        state.mixKey(Peer.zeros)
        state.mixKey(Peer.zeros)
        state.mixKeyAndHash(chat.preSharedKey)
        let index = UInt32(truncatingIfNeeded: trial.generator.next())
        let payload = index.bigEndianBytes + run.bigEndianBytes + epoch.bigEndianBytes
        return Response(receiverIndex: initiation.senderIndex, noise: ephemeral + state.encryptAndHash(payload))
            .encode()
    }

    /// Returns a tell in the open chat of the trial that is correct except for a key that the specification forbids.
    package func forgeTell(for ask: Ask, key bytes: [UInt8]) -> [UInt8] {
        func derive(_ key: [UInt8], _ salt: [UInt8], _ label: String) -> [UInt8] {
            deriveKey(key, salt: salt, info: Array(label.utf8))
        }
        let chatKey = SHA256.hash(Array("inkling/2 open chat".utf8) + [0] + trial.chatName.utf8)
        let nonce = trial.generator.next()
        let salt = ask.token.bigEndianBytes + nonce.bigEndianBytes
        let key = CipherKey(bytes: derive(derive(chatKey, [], "inkling/2 seal"), salt, "inkling/2 tell"))
        return Tell(token: ask.token, nonce: nonce, sealedKey: key.seal(bytes, counter: 0, associatedData: [])).encode()
    }
}
