import InklingWire

extension PeerHabits {
    /// Habits that bring each link up once and send no heartbeats, for many links from one socket.
    static let mute: PeerHabits = {
        var habits = PeerHabits.all
        (habits.answersInitiations, habits.heartbeat) = (false, nil)
        return habits
    }()
}

extension PeerSession {
    /// Whether both nodes have the other's name.
    var isNamed: Bool { state.hasName && state.acknowledged > 0 }
}

extension Trial {
    /// Starts the program, and opens a link with it from a peer.
    func startLinked(named name: String = "Alice", needs features: Feature...) throws -> (program: Program, peer: Peer)
    {
        let (program, peer, _) = try link(named: name, features)
        return (program, peer)
    }

    /// The same, with the session of the link.
    func startInSession(needs features: Feature...) throws -> (program: Program, peer: Peer, session: PeerSession) {
        try link(named: "Alice", features)
    }

    private func link(
        named name: String, _ features: [Feature]
    ) throws -> (program: Program, peer: Peer, session: PeerSession) {
        let program = try start(ProgramArguments(chat: chatName))
        try program.need(features)
        let peer = try peer(named: name)
        return (program, peer, try peer.open(to: program))
    }

    /// Starts the program with the address of a peer that has sent no datagram so far.
    func startByHand(
        programIsSmaller: Bool? = nil, habits: PeerHabits = .all
    ) throws -> (program: Program, peer: Peer) {
        let peer = try peer()
        peer.habits = habits
        peer.habits.answersAsks = false
        let program = try start(peers: [peer], needs: .peer)
        if let programIsSmaller {
            peer.identity = identity(thatIsSmaller: !programIsSmaller, than: program.key)
        }
        return (program, peer)
    }

    /// Starts the program, with a peer that completes handshakes and sends nothing else by itself.
    func startWithQuietPeer(programIsSmaller: Bool? = nil) throws -> (program: Program, peer: Peer) {
        let program = try start()
        let identity = programIsSmaller.map { self.identity(thatIsSmaller: !$0, than: program.key) }
        let peer = try peer(identity: identity)
        peer.habits = .quiet
        return (program, peer)
    }

    /// Fails unless a time is in the range that the clause permits. The time is measured from its cause.
    func judge(_ what: String, _ time: Duration, from earliest: Duration, to latest: Duration? = nil) throws {
        let latest = latest ?? earliest
        guard time < earliest - early || time > latest + late else { return }
        let range = earliest == latest ? earliest.text : "\(earliest.text) to \(latest.text)"
        throw Finding(
            expected: "\(what) after \(range) (\(early.text) less or \(late.text) more are tolerated)",
            actual: "it came after \(time.text)")
    }
}

extension Peer {
    typealias ReceivedInitiation = (
        at: Duration, value: Initiation, bytes: [UInt8], source: UDPAddress, destination: UDPAddress
    )

    // MARK: The program opens

    /// Waits for the program's next ask.
    func awaitAsk(
        within limit: Duration = .seconds(8)
    ) throws -> (at: Duration, value: Ask, bytes: [UInt8], source: UDPAddress) {
        let count = asks.count
        return try trial.wait(limit, for: "an ask", until: { asks.dropFirst(count).first })
    }

    /// Answers the program's next ask, and returns the time.
    @discardableResult
    func tellKey() throws -> Duration {
        let ask = try awaitAsk()
        tell(ask.value, to: ask.source)
        return trial.now
    }

    @discardableResult
    func awaitInitiation(
        within limit: Duration = .seconds(5), since start: Duration? = nil
    ) throws -> ReceivedInitiation {
        let start = start ?? trial.now
        return try trial.wait(limit, for: "an initiation", until: { initiations.first { $0.at >= start } })
    }

    /// The received initiations, grouped by attempt. All initiations of an attempt have the same index.
    var attempts: [[ReceivedInitiation]] {
        var order: [UInt32] = []
        var attempts: [UInt32: [ReceivedInitiation]] = [:]
        for initiation in initiations {
            if attempts[initiation.value.senderIndex] == nil { order.append(initiation.value.senderIndex) }
            attempts[initiation.value.senderIndex, default: []].append(initiation)
        }
        return order.compactMap { attempts[$0] }
    }

    /// Waits until `count` attempts have begun.
    func awaitAttempts(_ count: Int, within limit: Duration) throws -> [[ReceivedInitiation]] {
        try trial.wait(
            limit, for: "the program begins \(count) attempts", actual: { "it began \(attempts.count)" },
            until: { attempts.count >= count ? attempts : nil })
    }

    /// Answers an initiation, and returns the session.
    func answer(_ initiation: ReceivedInitiation, from source: UDPAddress? = nil) throws -> PeerSession {
        guard
            let session = respond(to: initiation.value, from: initiation.source, to: source ?? initiation.destination)
        else {
            throw Finding(expected: "an initiation to the peer's key", actual: initiation.bytes.hex)
        }
        return session
    }

    // MARK: Checks of the program's end

    /// Waits until a sealed datagram of the program has opened on a session.
    func hear(on session: PeerSession, within limit: Duration = .seconds(3)) throws {
        try trial.wait(
            limit, for: "a sealed datagram on the session", actual: { self.summary(since: session.createdAt) },
            when: { session.isComplete })
    }

    /// Sends a ping on a session, and returns the datagram with the pong, which may come on any session. The pong
    /// proves that the link works and that the program has read the datagrams before the ping.
    @discardableResult
    func ping(on session: PeerSession? = nil) throws -> ReceivedFrames {
        let start = trial.now
        let token = trial.token()
        for limit in [Duration.seconds(1), .seconds(1), .seconds(2)] {
            send([.ping(token)], on: session)
            let end = trial.now + limit
            while true {
                // Looks only at the newest datagrams, because a case can receive thousands.
                let recent = received.reversed().prefix { $0.at >= start }
                if let pong = recent.last(where: { $0.pong == token }) { return pong }
                guard trial.now < end else { break }
                trial.pump(until: min(end, trial.now + .milliseconds(5)))
            }
        }
        throw Finding(expected: "a pong to a ping, sent three times in 4 s", actual: summary(since: start))
    }

    /// Sends a ping on a session, and fails if a pong comes.
    func pingInVain(on session: PeerSession, _ expected: String, for duration: Duration = .milliseconds(500)) throws {
        let token = UInt16(truncatingIfNeeded: trial.generator.next())
        let start = trial.now
        send([.ping(token)], on: session)
        try trial.never(for: duration, expected, actual: { "a pong came" }) {
            received.contains { $0.at >= start && $0.pong == token }
        }
    }

    /// Sends a ping on a session, and fails unless the pong comes on the expected one.
    func expectPong(of session: PeerSession, on expected: PeerSession, _ why: String) throws {
        let pong = try ping(on: session)
        guard pong.session === expected else {
            throw Finding(
                expected: why, actual: "the pong came on the session that began at \(pong.session.createdAt.text)")
        }
    }
}
