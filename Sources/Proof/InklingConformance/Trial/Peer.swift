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
