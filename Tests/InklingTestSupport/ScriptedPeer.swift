import InklingCore
import InklingWire
import Testing

/// A peer that does what a test tells it: it speaks the wire with one node of the LAN, under the counters and at the
/// times that the test chooses. It is no host of the network: what goes to it is read from what the node sent.
package final class ScriptedPeer {
    /// The keys of one handshake, as this side has them.
    package final class Session {
        package let localIndex: UInt32
        package let remoteIndex: UInt32
        package let keys: TransportKeys
        package var nextCounter: UInt64 = 0
        /// When this side answered the node's opening; nil where this side opened.
        let answeredAt: Instant?

        package init(localIndex: UInt32, remoteIndex: UInt32, keys: TransportKeys, answeredAt: Instant? = nil) {
            self.localIndex = localIndex
            self.remoteIndex = remoteIndex
            self.keys = keys
            self.answeredAt = answeredAt
        }
    }

    /// A handshake of this side that waits for its response.
    package struct Opening {
        package let handshake: NoiseInitiator
        package let initiation: Initiation
        package var bytes: [UInt8] { initiation.encode() }
    }

    /// A sealed datagram of the node, opened.
    package struct Received {
        package let at: Instant
        package let session: Session
        package let counter: UInt32
        package let frames: [Frame]
        package let bytes: [UInt8]
    }

    /// The node did not answer an initiation.
    package struct Unanswered: Error {}

    package let lan: VirtualLAN
    /// The host that it is a peer of.
    package let node: Int
    package let identity: KeyPair
    package var chat: ChatKeys
    package var address: Address
    package var run: UInt64
    package var stream: UInt32
    package var name: String
    /// The stream of the node that this peer says it holds, and the record that it expects next.
    package var heldStream: UInt32 = 0
    package var nextRecord: UInt32 = 0
    /// The interval that its heartbeats announce, in units of 100 ms: by default it may be silent for 44 s.
    package var interval: UInt8 = 255
    /// All sessions, in the order in which their keys were known.
    package private(set) var sessions: [Session] = []
    /// What ``poll()`` has opened.
    package internal(set) var seen: [Received] = []
    /// Records beyond the next one.
    var beyond: Set<UInt32> = []
    /// Whether ``poll()`` acknowledges messages.
    package var acknowledges = false
    /// What is sent every 500 ms of ``run(for:)``, to stay alive.
    package var sign: [Frame]?
    private var generator: SeededGenerator
    /// The number of the last packet that was looked at.
    private var lastSequence = 0

    /// - Parameter seed: What its keys and indices follow from, and by default its run.
    package init(
        _ lan: VirtualLAN, identity: KeyPair, node: Int = 0, address: Address = VirtualLAN.address(100),
        chat: ChatKeys = VirtualLAN.lobby, name: String = "Hand", run: UInt64? = nil, stream: UInt32 = 77,
        seed: UInt64 = 7
    ) {
        self.lan = lan
        self.node = node
        self.identity = identity
        self.address = address
        self.chat = chat
        self.name = name
        self.run = run ?? 1_000 + seed
        self.stream = stream
        generator = SeededGenerator(seed: seed)
    }

    package convenience init(
        _ lan: VirtualLAN, identity: Int, node: Int = 0, address: Address = VirtualLAN.address(100),
        chat: ChatKeys = VirtualLAN.lobby, name: String = "Hand", seed: UInt64 = 7
    ) {
        self.init(
            lan, identity: VirtualLAN.identities[identity], node: node, address: address, chat: chat, name: name,
            seed: seed)
    }

    /// One of several peers, each at an address and with keys of its own.
    package convenience init(
        _ lan: VirtualLAN, identity: Int = 1, node: Int = 0, host: Int, chat: ChatKeys = VirtualLAN.lobby,
        name: String = "Hand", run: UInt64 = 77, stream: UInt32 = 5_000
    ) {
        self.init(
            lan, identity: VirtualLAN.identities[identity], node: node, address: VirtualLAN.address(host), chat: chat,
            name: name, run: run, stream: stream, seed: UInt64(host) * 1_000 + run)
    }

    /// A node that runs alone, and a peer with a link to it on which nothing but its hello, counter 0, was sent.
    package static func linked(settled: Bool = true, sendsTyping: Bool = true) throws -> ScriptedPeer {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "Node", sendsTyping: sendsTyping)
        let peer = ScriptedPeer(lan, host: 100)
        try peer.meet()
        if settled { peer.settle() }
        return peer
    }

    package var nodeKey: PublicKey { lan.hosts[node].endpoint.publicKey }

    package func number() -> UInt32 { generator.next() as UInt32 }

    // MARK: Handshakes

    /// An initiation that was not sent yet.
    package func initiation(
        index: UInt32? = nil, remote: PublicKey? = nil, preSharedKey: [UInt8]? = nil
    ) throws -> Opening {
        let index = index ?? number()
        let (handshake, message) = try NoiseInitiator.initiate(
            identity: identity, ephemeral: KeyPair(using: &generator), remote: remote ?? nodeKey,
            preSharedKey: preSharedKey ?? chat.preSharedKey,
            prologue: Initiation.prologue(senderIndex: index, tag: chat.tag))
        return Opening(
            handshake: handshake, initiation: Initiation(senderIndex: index, tag: chat.tag, noise: message))
    }

    /// The session that a response completes; nil if it does not open.
    package func finish(_ opening: Opening, _ response: Response) -> Session? {
        guard response.receiverIndex == opening.initiation.senderIndex,
            let (payload, keys) = try? opening.handshake.finish(response.noise),
            let remoteIndex = UInt32(bigEndianBytes: payload)
        else { return nil }
        return keep(Session(localIndex: opening.initiation.senderIndex, remoteIndex: remoteIndex, keys: keys))
    }

    /// Opens a session: initiation, response, and nothing sealed yet.
    @discardableResult
    package func open() throws -> Session { try open(try initiation()) }

    package func open(_ opening: Opening) throws -> Session {
        for case .response(let response) in exchange(opening.bytes) {
            if let session = finish(opening, response) { return session }
        }
        throw Unanswered()
    }

    /// Opens a session, late enough after one that the node opened not to cross it (L-21).
    package func openUncrossed() throws {
        while let answeredAt = sessions.last?.answeredAt, lan.now - answeredAt < .seconds(5) {
            send([.heartbeat(Heartbeat(status: Status(isTyping: false, isAway: false), interval: 10))])
            run(for: 500)
        }
        poll()
        try open()
    }

    /// Answers an initiation of the node.
    package func answer(
        _ initiation: Initiation, index: UInt32? = nil
    ) throws -> (session: Session, response: [UInt8]) {
        let index = index ?? number()
        let received = try NoiseResponder.read(
            identity: identity, prologue: initiation.prologue, message: initiation.noise)
        let (message, keys) = try received.reply(
            ephemeral: KeyPair(using: &generator), preSharedKey: chat.preSharedKey, payload: index.bigEndianBytes)
        let session = Session(
            localIndex: index, remoteIndex: initiation.senderIndex, keys: keys, answeredAt: lan.now)
        return (keep(session), Response(receiverIndex: initiation.senderIndex, noise: message).encode())
    }

    /// Answers the newest initiation that the node sent to it.
    package func answerNewest() throws {
        let newest = lan.sent(node, kind: 1).last { $0.destination == address }
        guard case .initiation(let initiation) = try Datagram.parse(try #require(newest).bytes) else { return }
        inject(try answer(initiation).response)
        poll()
    }

    private func keep(_ session: Session) -> Session {
        sessions.append(session)
        return session
    }

    // MARK: Links

    /// A session that the node opens to this peer as a discovered one, complete on the node's side.
    package func opened() throws -> Session {
        lan.find("a", key: identity.publicKey, at: [address], by: node)
        lan.run(for: .milliseconds(1))
        let (session, response) = try answer(try lastInitiation(lan, by: node))
        _ = arrived()
        lan.inject(response, into: node, from: address)
        return session
    }

    /// A link, opened by this side.
    package func link() throws -> Session {
        let session = try open()
        greet(on: session)
        return session
    }

    /// Is discovered by the node, whose key has to be the smaller one, and completes the handshake with its hello.
    package func meet() throws {
        lan.find("hand \(address.port) \(address.low)", key: identity.publicKey, at: [address], by: node, in: chat)
        lan.run(for: .zero)
        try answerNewest()
        sayHello()
    }

    /// Says hello, and holds the stream that the node answers with; afterwards the link is up on both sides.
    package func greet(on session: Session) {
        send([heartbeat(), hello], on: session)
        for received in receive(on: session) {
            guard let hello = received.hello else { continue }
            heldStream = hello.stream
        }
        send([heartbeat(), hello], on: session)
    }

    package func sayHello() {
        send([hello])
        poll()
    }

    /// Keeps a link alive: a heartbeat each `step`, pings answered.
    package func live(
        on session: Session, for duration: Duration, step: Duration = .milliseconds(500),
        collect: ((Received) -> Void)? = nil
    ) {
        let end = lan.now + duration
        while lan.now < end {
            lan.run(until: min(lan.now + step, end))
            for received in receive(on: session) {
                collect?(received)
                if let ping = received.ping { send([heartbeat(), .pong(ping)], on: session) }
            }
            send([heartbeat()], on: session)
        }
    }

    /// Sends a heartbeat from another address, and answers the ping that comes there: the link follows (L-51). The
    /// peer's own address stays what it was.
    package func move(to other: Address, on session: Session) {
        _ = arrived(anywhere: true)
        send([heartbeat()], on: session, from: other)
        let packets = arrived(anywhere: true).filter { $0.destination == other }
        for received in sessions.flatMap({ open(packets, on: $0) }) {
            if let ping = received.ping { send([heartbeat(), .pong(ping)], on: session, from: other) }
        }
    }

    /// Goes on as a new start of the same identity, which knows of nothing.
    package func restart(run: UInt64, stream: UInt32) {
        self.run = run
        self.stream = stream
        (heldStream, nextRecord, beyond) = (0, 0, [])
    }

    // MARK: Sending

    /// The hello that says how things stand.
    package var hello: Frame {
        .hello(Hello(run: run, stream: stream, heldStream: heldStream, nextRecord: nextRecord, name: name))
    }

    package func heartbeat(typing: Bool = false, away: Bool = false) -> Frame {
        .heartbeat(Heartbeat(status: Status(isTyping: typing, isAway: away), interval: interval))
    }

    /// A sealed datagram of a session, by default the newest; under `counter` instead of the session's next one, if
    /// given.
    package func seal(_ frames: [Frame], on session: Session? = nil, counter: UInt64? = nil) -> [UInt8] {
        seal(plaintext: Frames.encode(frames), on: session, counter: counter)
    }

    package func seal(plaintext: [UInt8], on session: Session? = nil, counter: UInt64? = nil) -> [UInt8] {
        let session = session ?? sessions[sessions.count - 1]
        let number = counter ?? session.nextCounter
        if counter == nil { session.nextCounter += 1 }
        let header = SealedDatagram.header(
            receiverIndex: session.remoteIndex, counter: UInt32(truncatingIfNeeded: number))
        return header + session.keys.send.seal(plaintext, counter: number, associatedData: header)
    }

    /// Sends one sealed datagram, from another address or under another counter if given; the session goes on after
    /// that counter, but for a last will's.
    package func send(
        _ frames: [Frame], on session: Session? = nil, counter: UInt64? = nil, from source: Address? = nil
    ) {
        let session = session ?? sessions[sessions.count - 1]
        let bytes = seal(frames, on: session, counter: counter)
        if let counter, counter != Limits.lastWillCounter {
            session.nextCounter = max(session.nextCounter, counter + 1)
        }
        lan.inject(bytes, into: node, from: source ?? address)
    }

    package func send(typing: Bool, away: Bool = false, on session: Session? = nil, counter: UInt64? = nil) {
        send([.typing(Status(isTyping: typing, isAway: away))], on: session, counter: counter)
    }

    /// Sends a record of its stream.
    package func send(
        record number: UInt32, _ text: String, first: Bool = true, last: Bool = true, stream: UInt32? = nil
    ) {
        let record = Record(
            stream: stream ?? self.stream, number: number, isFirst: first, isLast: last, text: text)
        send([.typing(Status(isTyping: false, isAway: false)), .message(record)])
        poll()
    }

    package func send(ack next: UInt32, bitmap: UInt16 = 0, stream: UInt32? = nil) {
        send([.ack(Ack(stream: stream ?? heldStream, next: next, bitmap: bitmap))])
        poll()
    }

    package func inject(_ bytes: [UInt8]) { lan.inject(bytes, into: node, from: address) }

    /// Sends bytes, and returns what the node sends in answer at once.
    package func exchange(_ bytes: [UInt8], from source: Address? = nil) -> [Datagram] {
        _ = arrived()
        lan.inject(bytes, into: node, from: source ?? address)
        let destination = source ?? address
        return arrived(anywhere: true).filter { $0.destination == destination }
            .compactMap { try? Datagram.parse($0.bytes) }
    }

    // MARK: What came

    /// The datagrams that the node has sent since they were last looked at, to this peer's address or any.
    package func arrived(anywhere: Bool = false) -> [VirtualLAN.Packet] {
        let sent = lan.hosts[node].sent
        let known = sent.lastIndex { $0.sequence <= lastSequence } ?? -1
        let new = sent[(known + 1)...]
        lastSequence = new.last?.sequence ?? lastSequence
        return new.filter { anywhere || $0.destination == address }
    }

    /// The frames that the node has sealed for a session since what came was last looked at.
    package func receive(on session: Session, anywhere: Bool = false) -> [Received] {
        open(arrived(anywhere: anywhere), on: session)
    }

    package func open(_ packets: [VirtualLAN.Packet], on session: Session) -> [Received] {
        packets.compactMap { packet in
            guard case .sealed(let sealed)? = try? Datagram.parse(packet.bytes),
                sealed.receiverIndex == session.localIndex,
                let plaintext = try? session.keys.receive.open(
                    sealed.ciphertext, counter: UInt64(sealed.counter), associatedData: sealed.header),
                let frames = try? Frames.parse(plaintext)
            else { return nil }
            return Received(
                at: packet.at, session: session, counter: sealed.counter, frames: frames, bytes: packet.bytes)
        }
    }
}
