import InklingCore
import InklingWire
import Testing

/// A peer that is driven by hand: it speaks the wire with one node of the LAN, and does nothing unless told to.
final class HandPeer {
    /// One handshake's keys, as this side has them.
    struct Session {
        let localIndex: UInt32
        let remoteIndex: UInt32
        let keys: TransportKeys
        var counter: UInt64 = 0
    }

    /// A handshake of this side that waits for its response.
    struct Opening {
        let handshake: NoiseInitiator
        let initiation: Initiation
        var bytes: [UInt8] { initiation.encode() }
    }

    /// What came in one sealed datagram.
    struct Received {
        let at: Instant
        let counter: UInt32
        let frames: [Frame]
        let bytes: [UInt8]

        var heartbeat: Heartbeat? {
            frames.compactMap { if case .heartbeat(let value) = $0 { value } else { nil } }.first
        }
        var hello: Hello? { frames.compactMap { if case .hello(let value) = $0 { value } else { nil } }.first }
        var ping: UInt16? { frames.compactMap { if case .ping(let value) = $0 { value } else { nil } }.first }
        var pong: UInt16? { frames.compactMap { if case .pong(let value) = $0 { value } else { nil } }.first }
        var bye: ByeReason? { frames.compactMap { if case .bye(let value) = $0 { value } else { nil } }.first }
    }

    let lan: VirtualLAN
    let node: Int
    let identity: KeyPair
    var chat: ChatKeys
    var address: Address
    var run: UInt64
    var stream: UInt32 = 77
    var name: String
    /// The stream of the node that this peer says to hold, and the record that it expects next.
    var heldStream: UInt32 = 0
    var nextRecord: UInt32 = 0
    /// The interval that its heartbeats announce, in units of 100 ms: by default it may be silent for 44 s.
    var interval: UInt8 = 255
    private var random: SeededGenerator
    private var seen = 0

    init(
        _ lan: VirtualLAN, identity: KeyPair, node: Int = 0, address: Address = VirtualLAN.address(100),
        chat: ChatKeys = VirtualLAN.lobby, name: String = "Hand", seed: UInt64 = 7
    ) {
        self.lan = lan
        self.node = node
        self.identity = identity
        self.address = address
        self.chat = chat
        self.name = name
        run = 1_000 + seed
        random = SeededGenerator(seed: seed)
    }

    convenience init(
        _ lan: VirtualLAN, identity: Int, node: Int = 0, address: Address = VirtualLAN.address(100),
        chat: ChatKeys = VirtualLAN.lobby, name: String = "Hand", seed: UInt64 = 7
    ) {
        self.init(
            lan, identity: VirtualLAN.identities[identity], node: node, address: address, chat: chat, name: name,
            seed: seed)
    }

    var nodeKey: PublicKey { lan.hosts[node].endpoint.publicKey }

    func number() -> UInt32 { random.next() as UInt32 }

    // MARK: Handshakes

    /// An initiation that was not sent yet.
    func initiation(index: UInt32? = nil, remote: PublicKey? = nil, preSharedKey: [UInt8]? = nil) throws -> Opening {
        let index = index ?? number()
        let (handshake, message) = try NoiseInitiator.initiate(
            identity: identity, ephemeral: KeyPair(using: &random), remote: remote ?? nodeKey,
            preSharedKey: preSharedKey ?? chat.preSharedKey,
            prologue: Initiation.prologue(senderIndex: index, tag: chat.tag))
        return Opening(
            handshake: handshake, initiation: Initiation(senderIndex: index, tag: chat.tag, noise: message))
    }

    /// The session that a response completes; nil if it does not open.
    func finish(_ opening: Opening, _ response: Response) -> Session? {
        guard response.receiverIndex == opening.initiation.senderIndex,
            let (payload, keys) = try? opening.handshake.finish(response.noise), payload.count == 4
        else { return nil }
        return Session(
            localIndex: opening.initiation.senderIndex,
            remoteIndex: payload.reduce(0) { $0 << 8 | UInt32($1) }, keys: keys)
    }

    /// Opens a session: initiation, response, and nothing sealed yet.
    func open() throws -> Session { try open(try initiation()) }

    func open(_ opening: Opening) throws -> Session {
        let sessions = exchange(opening.bytes).compactMap {
            if case .response(let response) = $0 { finish(opening, response) } else { nil }
        }
        return try #require(sessions.first, "the node answers")
    }

    /// Answers an initiation of the node.
    func answer(_ initiation: Initiation, index: UInt32? = nil) throws -> (session: Session, response: [UInt8]) {
        let index = index ?? number()
        let received = try NoiseResponder.read(
            identity: identity, prologue: initiation.prologue, message: initiation.noise)
        let (message, keys) = try received.reply(
            ephemeral: KeyPair(using: &random), preSharedKey: chat.preSharedKey,
            payload: (0..<4).map { UInt8(truncatingIfNeeded: index >> (24 - 8 * UInt32($0))) })
        return (
            Session(localIndex: index, remoteIndex: initiation.senderIndex, keys: keys),
            Response(receiverIndex: initiation.senderIndex, noise: message).encode()
        )
    }

    /// A session that the node opens to this peer as a discovered one, complete on the node's side.
    func opened() throws -> Session {
        lan.find("a", key: identity.publicKey, at: [address], by: node)
        lan.run(for: .milliseconds(1))
        let (session, response) = try answer(try lastInitiation(lan, by: node))
        _ = arrived()
        lan.inject(response, into: node, from: address)
        return session
    }

    // MARK: Sealing

    var hello: Frame {
        .hello(Hello(run: run, stream: stream, heldStream: heldStream, nextRecord: nextRecord, name: name))
    }

    func heartbeat(typing: Bool = false, away: Bool = false) -> Frame {
        .heartbeat(Heartbeat(status: Status(isTyping: typing, isAway: away), interval: interval))
    }

    /// A sealed datagram; under `counter` instead of the session's next one, if given.
    func seal(_ frames: [Frame], on session: inout Session, counter: UInt64? = nil) -> [UInt8] {
        seal(plaintext: Frames.encode(frames), on: &session, counter: counter)
    }

    func seal(plaintext: [UInt8], on session: inout Session, counter: UInt64? = nil) -> [UInt8] {
        let number = counter ?? session.counter
        if counter == nil { session.counter += 1 }
        let header = SealedDatagram.header(
            receiverIndex: session.remoteIndex, counter: UInt32(truncatingIfNeeded: number))
        return header + session.keys.send.seal(plaintext, counter: number, associatedData: header)
    }

    /// Sends one sealed datagram, from another address or under another counter if given.
    func send(_ frames: [Frame], on session: inout Session, counter: UInt64? = nil, from source: Address? = nil) {
        lan.inject(seal(frames, on: &session, counter: counter), into: node, from: source ?? address)
    }

    /// Says hello, and holds the stream that the node answers with; afterwards the link is up on both sides.
    func greet(on session: inout Session) {
        send([heartbeat(), hello], on: &session)
        for received in receive(on: session) {
            guard let hello = received.hello else { continue }
            heldStream = hello.stream
        }
        send([heartbeat(), hello], on: &session)
    }

    /// A link, opened by this side.
    func link() throws -> Session {
        var session = try open()
        greet(on: &session)
        return session
    }

    // MARK: What came

    /// The datagrams that the node has sent since the last call, to this peer's address or any.
    func arrived(anywhere: Bool = false) -> [VirtualLAN.Flight] {
        let sent = lan.hosts[node].sent
        let known = sent.lastIndex { $0.sequence <= seen } ?? -1
        let new = sent[(known + 1)...]
        seen = new.last?.sequence ?? seen
        return new.filter { anywhere || $0.destination == address }
    }

    /// Sends bytes, and returns what the node sends in answer at once.
    func exchange(_ bytes: [UInt8], from source: Address? = nil) -> [Datagram] {
        _ = arrived()
        lan.inject(bytes, into: node, from: source ?? address)
        let destination = source ?? address
        return arrived(anywhere: true).filter { $0.destination == destination }
            .compactMap { try? Datagram.parse($0.bytes) }
    }

    /// The frames that the node has sealed for a session since the last call.
    func receive(on session: Session, anywhere: Bool = false) -> [Received] {
        open(arrived(anywhere: anywhere), on: session)
    }

    func open(_ flights: [VirtualLAN.Flight], on session: Session) -> [Received] {
        flights.compactMap { flight in
            guard case .sealed(let sealed)? = try? Datagram.parse(flight.bytes),
                sealed.receiverIndex == session.localIndex,
                let plaintext = try? session.keys.receive.open(
                    sealed.ciphertext, counter: UInt64(sealed.counter), associatedData: sealed.header),
                let frames = try? Frames.parse(plaintext)
            else { return nil }
            return Received(at: flight.at, counter: sealed.counter, frames: frames, bytes: flight.bytes)
        }
    }

    /// Keeps a link alive: a heartbeat each `step`, pings answered.
    func live(
        on session: inout Session, for duration: Duration, step: Duration = .milliseconds(500),
        collect: ((Received) -> Void)? = nil
    ) {
        let end = lan.now + duration
        while lan.now < end {
            lan.run(until: min(lan.now + step, end))
            for received in receive(on: session) {
                collect?(received)
                if let ping = received.ping { send([heartbeat(), .pong(ping)], on: &session) }
            }
            send([heartbeat()], on: &session)
        }
    }
}
