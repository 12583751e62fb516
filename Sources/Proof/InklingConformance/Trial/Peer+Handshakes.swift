import InklingWire

extension Peer {
    // MARK: Opening

    /// Makes a handshake with the peer's run and epoch, or others, and sends nothing.
    package func makeOpening(
        to program: Program, from source: UDPAddress? = nil, as identity: KeyPair? = nil, key: PublicKey? = nil,
        index: UInt32? = nil, run: UInt64? = nil, epoch: UInt32? = nil
    ) throws -> PeerOpening {
        let own = RunAndEpoch(run: run ?? self.run, epoch: epoch ?? self.epoch)
        let handshake = try PendingHandshake(
            chat: chat, identity: identity ?? self.identity, ephemeral: KeyPair(using: &trial.generator),
            remote: key ?? program.key, senderIndex: index ?? UInt32(truncatingIfNeeded: trial.generator.next()),
            own: own)
        return PeerOpening(
            handshake: handshake, own: own, key: (identity ?? self.identity).publicKey, chat: chat,
            source: source ?? address, destination: program.address)
    }

    /// Begins a handshake, without retransmissions.
    @discardableResult
    package func begin(to program: Program, from source: UDPAddress? = nil) throws -> PeerOpening {
        let opening = try makeOpening(to: program, from: source)
        begin(opening)
        return opening
    }

    /// Sends the initiation of a handshake from `makeOpening`.
    package func begin(_ opening: PeerOpening) {
        openings.append(opening)
        transmit(opening)
    }

    package func transmit(_ opening: PeerOpening) {
        trial.send(opening.bytes, from: opening.source, to: opening.destination)
    }

    /// Opens a link with the program: a handshake, pings, and names, until both ends show the other (L-85).
    @discardableResult
    package func open(
        to program: Program, from source: UDPAddress? = nil, in chat: String? = nil
    ) throws -> PeerSession {
        let session = try openSession(to: program, from: source)
        try awaitNamed(on: session)
        try trial.wait(
            .seconds(5), for: "`peer` says that \(user) is online",
            actual: { "the last presence is \(program.presence(of: self.user, in: chat) ?? "none")" },
            until: { program.presence(of: user, in: chat).flatMap { $0 == "offline" ? nil : $0 } })
        return session
    }

    /// Completes a handshake as the initiator, with the retransmissions of L-4. Afterwards the peer sends only by its
    /// habits.
    package func openSession(to program: Program, from source: UDPAddress? = nil) throws -> PeerSession {
        try openSession(makeOpening(to: program, from: source))
    }

    /// Completes a handshake from `makeOpening`.
    package func openSession(_ opening: PeerOpening) throws -> PeerSession {
        begin(opening)
        for wait in [Duration.milliseconds(300), .milliseconds(300), .milliseconds(600), .milliseconds(1_200)] {
            let end = trial.now + wait
            while trial.now < end {
                if let session = session(of: opening) { return session }
                trial.pump(until: min(end, trial.now + .milliseconds(10)))
            }
            if let session = session(of: opening) { return session }
            transmit(opening)
        }
        return try trial.wait(
            .milliseconds(600), for: "a response to an initiation sent at 0, 0.3, 0.6, 1.2 and 2.4 s",
            actual: { "\(self.responses.count) responses and \(self.retries.count) retries came" },
            until: { session(of: opening) })
    }

    package func session(of opening: PeerOpening) -> PeerSession? {
        // The newest session comes first, because a case can have a thousand.
        let index = opening.index
        return sessions.last { $0.role == .initiator && $0.localIndex == index }
    }

    /// Waits until both ends are up and have the other's record 0. The peer's habits must do its part.
    package func awaitNamed(on session: PeerSession) throws {
        try trial.wait(
            .seconds(5), for: "an awaited pong, record 0, and an ack of the peer's record 0",
            actual: { self.summary(since: session.createdAt) },
            when: { session.state.isUp && session.state.hasName && session.state.acknowledged > 0 })
    }

    /// Does the work of the habits by hand: brings both ends of a session up, exchanges names, and waits until the
    /// program shows the peer.
    package func bringUp(_ session: PeerSession, at program: Program) throws {
        habits.answersPings = true
        habits.acknowledges = true
        habits.comesUp = true
        habits.sendsName = true
        join(session)
        try awaitNamed(on: session)
        try program.awaitPresence("online", of: user)
    }

    /// Opens one more session of the peer's link. The peer sends on it from then on. Waits until the program's pong
    /// arrives on it.
    @discardableResult
    package func openAnother(to program: Program, from source: UDPAddress? = nil) throws -> PeerSession {
        let session = try openSession(to: program, from: source)
        try hear(on: session)
        return session
    }

    /// Waits until the program, started with this peer's address, opens a link by itself.
    @discardableResult
    package func awaitLink(
        from program: Program, within limit: Duration = .seconds(10), in chat: String? = nil
    ) throws -> PeerSession {
        let session = try trial.wait(
            limit, for: "the program opens to a peer that was added by hand",
            actual: { "\(self.asks.count) asks and \(self.initiations.count) initiations came" },
            until: { sessions.last { $0.role == .responder && $0.isComplete } })
        try awaitNamed(on: session)
        try program.awaitPresence("online", of: user, in: chat)
        return session
    }

    // MARK: Incoming datagrams

    /// Returns whether a sealed datagram has the index of one of this peer's sessions.
    func holdsSession(of bytes: [UInt8]) -> Bool {
        guard bytes.first == 0x23, bytes.count >= 9, let index = UInt32(bigEndianBytes: Array(bytes[1..<5]))
        else { return false }
        return sessions.contains { $0.localIndex == index }
    }

    func receive(_ bytes: [UInt8], from source: UDPAddress, to destination: UDPAddress, at: Duration) {
        datagramCount += 1
        guard let datagram = parse(bytes) else {
            unreadable.append((at, bytes, source))
            return
        }
        switch datagram {
        case .initiation(let initiation):
            initiations.append((at, initiation, bytes, source, destination))
            if habits.answersInitiations { answer(initiation, bytes: bytes, from: source, to: destination) }
        case .response(let response):
            responses.append((at, response, bytes, source))
            if habits.takesResponses { complete(response, from: source, at: at) }
        case .sealed(let sealed):
            open(sealed, bytes: bytes, from: source, to: destination, at: at)
        case .retry(let retry):
            retries.append((at, retry, bytes, source))
            if habits.obeysRetries { obey(retry) }
        case .ask(let ask):
            asks.append((at, ask, bytes, source))
            if habits.answersAsks, chat.fits(ask) { tell(ask, to: source, from: destination) }
        case .tell(let tell):
            tells.append((at, tell, bytes, source))
        }
    }

    /// Parses a datagram. An ask may have other bytes than zeros at its end, because one case tests the zeros.
    private func parse(_ bytes: [UInt8]) -> Datagram? {
        if bytes.first == 0x25, bytes.count == 65 {
            return try? Datagram.parse(bytes.prefix(17) + [UInt8](repeating: 0, count: Limits.askZeros))
        }
        return try? Datagram.parse(bytes)
    }

    /// Answers an ask with the peer's key, or with another one.
    package func tell(
        _ ask: Ask, to destination: UDPAddress, from source: UDPAddress? = nil, key: PublicKey? = nil,
        token: UInt64? = nil
    ) {
        let tell = chat.tell(token: token ?? ask.token, nonce: trial.generator.next(), key: key ?? identity.publicKey)
        trial.send(tell.encode(), from: source ?? address, to: destination)
    }

    private func answer(_ initiation: Initiation, bytes: [UInt8], from source: UDPAddress, to destination: UDPAddress) {
        if let response = answered[Array(bytes.prefix(121))] {
            trial.send(response, from: destination, to: source)
            return
        }
        respond(to: initiation, from: source, to: destination)
    }

    /// Opens an initiation; nil unless it is for this peer in its chat.
    package func read(_ initiation: Initiation) -> ReceivedHandshake? {
        guard chat.fits(initiation) else { return nil }
        return try? ReceivedHandshake(initiation, chat: chat, identity: identity)
    }

    /// Answers an initiation of the program with a new session, under the peer's run and epoch or others.
    @discardableResult
    package func respond(
        to initiation: Initiation, from source: UDPAddress, to destination: UDPAddress, run: UInt64? = nil,
        epoch: UInt32? = nil
    ) -> PeerSession? {
        let index = UInt32(truncatingIfNeeded: trial.generator.next())
        let own = RunAndEpoch(run: run ?? self.run, epoch: epoch ?? self.epoch)
        guard
            let received = read(initiation),
            let reply = try? received.respond(ephemeral: KeyPair(using: &trial.generator), index: index, own: own)
        else { return nil }
        let response = reply.response.encode()
        answered[Array(initiation.encode().prefix(121))] = response
        let session = PeerSession(
            role: .responder, localIndex: index, remoteIndex: initiation.senderIndex, keys: reply.keys,
            state: state(of: identity.publicKey, own: own, program: received.peer, in: chat), at: trial.now,
            source: destination,
            destination: source)
        sessions.append(session)
        trial.send(response, from: destination, to: source)
        // The initiator sends first (L-67), and its datagram will complete the session.
        return session
    }

    private func complete(_ response: Response, from source: UDPAddress, at: Duration) {
        guard
            let opening = openings.last(where: { $0.index == response.receiverIndex }),
            let finished = try? opening.handshake.complete(response), session(of: opening) == nil
        else { return }
        let session = PeerSession(
            role: .initiator, localIndex: response.receiverIndex, remoteIndex: finished.index, keys: finished.keys,
            state: state(of: opening.key, own: opening.own, program: finished.peer, in: opening.chat), at: at,
            source: opening.source,
            destination: source)
        sessions.append(session)
        join(session)
    }

    /// Returns the state with a pair of epochs, which becomes the newest one. Makes the state if no session has it yet
    /// (L-68).
    private func state(
        of key: PublicKey, own: RunAndEpoch, program: RunAndEpoch, in chat: ChatKeys
    ) -> PeerState {
        let place = states.firstIndex {
            $0.key == key && $0.own == own && $0.program == program && $0.chat == chat && !$0.ended
        }
        let state = place.map { states.remove(at: $0) } ?? PeerState(chat: chat, key: key, own: own, program: program)
        states.append(state)
        return state
    }

    private func obey(_ retry: Retry) {
        guard let opening = openings.last(where: { $0.index == retry.receiverIndex }) else { return }
        var initiation = opening.initiation
        initiation.cookie = retry.cookie
        trial.send(initiation.encode(), from: opening.source, to: opening.destination)
    }
}

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
