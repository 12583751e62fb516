import InklingWire

extension Peer {
    // MARK: Opening

    /// Makes a handshake and sends nothing.
    package func makeOpening(
        to program: Program, from source: UDPAddress? = nil, as identity: KeyPair? = nil, key: PublicKey? = nil,
        preSharedKey: [UInt8]? = nil, tag: ChatTag? = nil, index: UInt32? = nil
    ) throws -> PeerOpening {
        let index = index ?? UInt32(truncatingIfNeeded: trial.generator.next())
        let tag = tag ?? chat.tag
        let (handshake, message) = try NoiseInitiator.initiate(
            identity: identity ?? self.identity, ephemeral: KeyPair(using: &trial.generator),
            remote: key ?? program.key, preSharedKey: preSharedKey ?? chat.preSharedKey,
            prologue: Initiation.prologue(senderIndex: index, tag: tag))
        return PeerOpening(
            handshake: handshake, initiation: Initiation(senderIndex: index, tag: tag, noise: message), chat: chat,
            source: source ?? address, destination: program.address)
    }

    /// Begins a handshake, without sending it again by itself.
    @discardableResult
    package func begin(to program: Program, from source: UDPAddress? = nil) throws -> PeerOpening {
        let opening = try makeOpening(to: program, from: source)
        begin(opening)
        return opening
    }

    /// Begins a handshake that was made before.
    package func begin(_ opening: PeerOpening) {
        openings.append(opening)
        transmit(opening)
    }

    package func transmit(_ opening: PeerOpening) {
        trial.send(opening.bytes, from: opening.source, to: opening.destination)
    }

    /// Opens a link with the program: handshake, and hellos until both hold the other's stream.
    @discardableResult
    package func open(to program: Program, from source: UDPAddress? = nil) throws -> PeerSession {
        let session = try openSession(to: program, from: source)
        try awaitHello(on: session)
        try trial.wait(
            .seconds(5), for: "`peer` says that \(user) is online",
            actual: { "the last presence is \(program.presence(of: self.user) ?? "none")" },
            until: { program.presence(of: user).flatMap { $0 == "offline" ? nil : $0 } })
        return session
    }

    /// Completes a handshake as the initiator, sending as L-4 has it, and says nothing more but by habit.
    package func openSession(to program: Program, from source: UDPAddress? = nil) throws -> PeerSession {
        try openSession(makeOpening(to: program, from: source))
    }

    /// Completes a handshake that was made before.
    package func openSession(_ opening: PeerOpening) throws -> PeerSession {
        begin(opening)
        for wait in [Duration.milliseconds(300), .milliseconds(300), .milliseconds(600), .milliseconds(1_200)] {
            let end = trial.now + wait
            while trial.now < end {
                if let session = session(of: opening) { return session }
                trial.pump(until: min(end, trial.now + .milliseconds(10)))
            }
            if let session = session(of: opening) { return session }
            transmit(openings.first { $0.initiation.senderIndex == opening.initiation.senderIndex } ?? opening)
        }
        return try trial.wait(
            .milliseconds(600), for: "a response to an initiation sent at 0, 0.3, 0.6, 1.2 and 2.4 s",
            actual: { "\(self.responses.count) responses and \(self.retries.count) retries came" },
            until: { session(of: opening) })
    }

    package func session(of opening: PeerOpening) -> PeerSession? {
        sessions.first { $0.role == .initiator && $0.localIndex == opening.initiation.senderIndex }
    }

    /// Waits until the program's hello has come and holds this peer's stream.
    package func awaitHello(on session: PeerSession) throws {
        try trial.wait(
            .seconds(4), for: "a hello that holds the peer's stream",
            actual: { self.summary(since: session.createdAt) },
            until: {
                received.contains { $0.session === session && $0.hello?.heldStream == stream } ? true : nil
            })
    }

    /// Waits for the program to open a link by itself, which was started with this peer's address.
    @discardableResult
    package func awaitLink(from program: Program, within limit: Duration = .seconds(10)) throws -> PeerSession {
        let session = try trial.wait(
            limit, for: "the program opens to a peer that was added by hand",
            actual: { "\(self.asks.count) asks and \(self.initiations.count) initiations came" },
            until: { sessions.last { $0.role == .responder && $0.isConfirmed } })
        try awaitHello(on: session)
        try program.awaitPresence("online", of: user)
        return session
    }

    // MARK: What came

    /// Whether a sealed datagram carries the index of one of its sessions.
    func holdsSession(of bytes: [UInt8]) -> Bool {
        guard bytes.first == 0x13, bytes.count >= 9, let index = UInt32(bigEndianBytes: Array(bytes[1..<5]))
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
            if habits.answersAsks, ask.tag == chat.tag { tell(ask, to: source, from: destination) }
        case .tell(let tell):
            tells.append((at, tell, bytes, source))
        }
    }

    /// The datagram; the padding of an ask is for the case that is about it.
    private func parse(_ bytes: [UInt8]) -> Datagram? {
        if bytes.first == 0x15, bytes.count == 45 {
            return try? Datagram.parse(bytes.prefix(13) + [UInt8](repeating: 0, count: 32))
        }
        return try? Datagram.parse(bytes)
    }

    /// Answers an ask with this peer's key, or another one.
    package func tell(
        _ ask: Ask, to destination: UDPAddress, from source: UDPAddress? = nil, key: PublicKey? = nil,
        token: UInt32? = nil
    ) {
        let nonce = chat.isOpen ? 0 : trial.generator.next()
        let tell = Tell(
            token: token ?? ask.token, nonce: nonce, key: chat.masked(key ?? identity.publicKey, nonce: nonce))
        trial.send(tell.encode(), from: source ?? address, to: destination)
    }

    private func answer(_ initiation: Initiation, bytes: [UInt8], from source: UDPAddress, to destination: UDPAddress) {
        guard initiation.tag == chat.tag else { return }
        let identifying = initiation.header + initiation.noise
        if let response = answered[identifying] {
            trial.send(response, from: destination, to: source)
            return
        }
        respond(to: initiation, from: source, to: destination)
    }

    /// Answers an initiation of the program with a new session.
    @discardableResult
    package func respond(
        to initiation: Initiation, from source: UDPAddress, to destination: UDPAddress, preSharedKey: [UInt8]? = nil
    ) -> PeerSession? {
        guard
            let responder = try? NoiseResponder.read(
                identity: identity, prologue: initiation.prologue, message: initiation.noise)
        else { return nil }
        let index = UInt32(truncatingIfNeeded: trial.generator.next())
        guard
            let reply = try? responder.reply(
                ephemeral: KeyPair(using: &trial.generator), preSharedKey: preSharedKey ?? chat.preSharedKey,
                payload: index.bigEndianBytes)
        else { return nil }
        let response = Response(receiverIndex: initiation.senderIndex, noise: reply.message).encode()
        answered[initiation.header + initiation.noise] = response
        let session = PeerSession(
            role: .responder, localIndex: index, remoteIndex: initiation.senderIndex, keys: reply.keys, chat: chat,
            at: trial.now, source: destination, destination: source)
        sessions.append(session)
        sending = session
        trial.send(response, from: destination, to: source)
        // The initiator sends first: its datagram completes the session (L-16).
        return session
    }

    private func complete(_ response: Response, from source: UDPAddress, at: Duration) {
        guard
            let opening = openings.first(where: { $0.initiation.senderIndex == response.receiverIndex }),
            let finished = try? opening.handshake.finish(response.noise),
            let index = UInt32(bigEndianBytes: finished.payload), session(of: opening) == nil
        else { return }
        let session = PeerSession(
            role: .initiator, localIndex: response.receiverIndex, remoteIndex: index, keys: finished.keys,
            chat: opening.chat, at: at, source: opening.source, destination: source)
        sessions.append(session)
        sending = session
        if habits.saysHello { sendHello(on: session) }
        restartHeartbeats()
    }

    private func obey(_ retry: Retry) {
        guard let number = openings.firstIndex(where: { $0.initiation.senderIndex == retry.receiverIndex })
        else { return }
        openings[number].initiation.cookie = retry.cookie
        transmit(openings[number])
    }
}
