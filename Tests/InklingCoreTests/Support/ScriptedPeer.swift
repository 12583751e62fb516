import InklingCore
import InklingWire
import Testing

/// A peer that is driven by hand: it speaks the wire by itself, under the counters and at the times that a test
/// chooses. It is no host of the network: what goes to it is read from what the node sent.
final class ScriptedPeer {
    struct OpenSession {
        let localIndex: UInt32
        let remoteIndex: UInt32
        let keys: TransportKeys
        /// Whether the node began the handshake, and when it was done.
        let isOfNode: Bool
        let at: Int
        var nextCounter: UInt64 = 0
    }

    /// A sealed datagram of the node, opened.
    struct Seen {
        let at: Int
        let session: Int
        let counter: UInt32
        let frames: [Frame]
    }

    /// The node did not answer an initiation.
    struct Unanswered: Error {}

    let lan: VirtualLAN
    /// The host that it is a peer of.
    let node: Int
    let identity: KeyPair
    let address: Address
    let chat: ChatKeys
    var run: UInt64
    var stream: UInt32
    var name: String
    private(set) var sessions: [OpenSession] = []
    private(set) var seen: [Seen] = []
    /// The node's stream, as its hello named it, and what is expected of it.
    var heldStream: UInt32 = 0
    var nextRecord: UInt32 = 0
    private var beyond: Set<UInt32> = []
    /// Whether messages are acknowledged as they are seen.
    var acknowledges = false
    /// What is sent every 500 ms of `run`, to stay alive.
    var sign: [Frame]?
    private var lastSequence = 0
    private var generator: SeededGenerator

    init(
        _ lan: VirtualLAN, node: Int = 0, identity: Int = 1, host: Int = 100, chat: ChatKeys = VirtualLAN.lobby,
        name: String = "Hand", run: UInt64 = 77, stream: UInt32 = 5_000
    ) {
        self.lan = lan
        self.node = node
        self.identity = VirtualLAN.identities[identity]
        address = VirtualLAN.address(host)
        self.chat = chat
        self.name = name
        self.run = run
        self.stream = stream
        generator = SeededGenerator(seed: UInt64(host) * 1_000 + run)
    }

    /// A node that runs alone, and a peer with a link to it on which nothing but its hello, counter 0, was sent.
    static func linked(settled: Bool = true, sendsTyping: Bool = true) throws -> ScriptedPeer {
        let lan = VirtualLAN()
        lan.add(identity: 0, name: "Node", sendsTyping: sendsTyping)
        let peer = ScriptedPeer(lan)
        try peer.meet()
        if settled { peer.settle() }
        return peer
    }

    /// Lets a while pass and forgets what was seen.
    func settle() {
        run(for: 500)
        forget()
    }

    // MARK: Handshakes

    /// Is discovered by the node, whose key has to be the smaller one, and completes the handshake with its hello.
    func meet() throws {
        let (key, addresses) = (identity.publicKey, [address])
        lan.perform(node) {
            $0.found(
                "hand \(self.address.port) \(self.address.low)", chat: chat.tag, key: key, addresses: addresses, now: $1
            )
        }
        lan.run(for: .zero)
        try answer()
        greet()
    }

    /// Answers the node's newest initiation.
    func answer() throws {
        let mine = lan.sent(node, kind: 1).last { $0.destination == address }
        guard case .initiation(let initiation) = try Datagram.parse(try #require(mine).bytes) else { return }
        let received = try NoiseResponder.read(
            identity: identity, prologue: initiation.prologue, message: initiation.noise)
        let index = UInt32.random(in: .min ... .max, using: &generator)
        let (message, keys) = try received.reply(
            ephemeral: KeyPair(using: &generator), preSharedKey: chat.preSharedKey, payload: index.bigEndianBytes)
        sessions.append(
            OpenSession(
                localIndex: index, remoteIndex: initiation.senderIndex, keys: keys, isOfNode: true, at: now))
        inject(Response(receiverIndex: initiation.senderIndex, noise: message).encode())
        poll()
    }

    /// Opens a session of its own to the node; late enough after one that the node opened not to be crossing it (L-21).
    func open() throws {
        while let last = sessions.last, last.isOfNode, now - last.at < 5_000 {
            send([.heartbeat(Heartbeat(status: Status(isTyping: false, isAway: false), interval: 10))])
            run(for: 500)
        }
        let index = UInt32.random(in: .min ... .max, using: &generator)
        let remote = lan.hosts[node].endpoint.publicKey
        let (handshake, message) = try NoiseInitiator.initiate(
            identity: identity, ephemeral: KeyPair(using: &generator), remote: remote,
            preSharedKey: chat.preSharedKey, prologue: Initiation.prologue(senderIndex: index, tag: chat.tag))
        inject(Initiation(senderIndex: index, tag: chat.tag, noise: message).encode())
        let answered = lan.sent(node, kind: 2).last { $0.destination == address && $0.sequence > lastSequence }
        guard let answered, case .response(let response) = try Datagram.parse(answered.bytes) else {
            throw Unanswered()
        }
        let (payload, keys) = try handshake.finish(response.noise)
        let remoteIndex = try #require(UInt32(bigEndianBytes: payload))
        sessions.append(
            OpenSession(localIndex: index, remoteIndex: remoteIndex, keys: keys, isOfNode: false, at: now))
    }

    /// The hello that says how things stand.
    var hello: Frame {
        .hello(Hello(run: run, stream: stream, heldStream: heldStream, nextRecord: nextRecord, name: name))
    }

    func greet() {
        send([hello])
        poll()
    }

    /// Goes on as a new start of the same identity, which knows of nothing.
    func restart(run: UInt64, stream: UInt32) {
        self.run = run
        self.stream = stream
        (heldStream, nextRecord, beyond) = (0, 0, [])
    }

    // MARK: Sending

    func seal(_ frames: [Frame], counter: UInt64, session: Int? = nil) -> [UInt8] {
        let session = sessions[session ?? sessions.count - 1]
        let header = SealedDatagram.header(
            receiverIndex: session.remoteIndex, counter: UInt32(truncatingIfNeeded: counter))
        return header + session.keys.send.seal(Frames.encode(frames), counter: counter, associatedData: header)
    }

    /// Sends frames under the next counter of a session (by default the newest), or under one that is given.
    func send(_ frames: [Frame], counter: UInt64? = nil, session: Int? = nil) {
        let place = session ?? sessions.count - 1
        let counter = counter ?? sessions[place].nextCounter
        sessions[place].nextCounter = max(sessions[place].nextCounter, counter + 1)
        inject(seal(frames, counter: counter, session: place))
    }

    func inject(_ bytes: [UInt8]) { lan.inject(bytes, into: node, from: address) }

    func send(typing: Bool, away: Bool = false, counter: UInt64? = nil, session: Int? = nil) {
        send([.typing(Status(isTyping: typing, isAway: away))], counter: counter, session: session)
    }

    /// Sends a record of its stream.
    func send(record number: UInt32, _ text: String, first: Bool = true, last: Bool = true, stream: UInt32? = nil) {
        let record = Record(
            stream: stream ?? self.stream, number: number, isFirst: first, isLast: last, text: text)
        send([.typing(Status(isTyping: false, isAway: false)), .message(record)])
        poll()
    }

    func send(ack next: UInt32, bitmap: UInt16 = 0, stream: UInt32? = nil) {
        send([.ack(Ack(stream: stream ?? heldStream, next: next, bitmap: bitmap))])
        poll()
    }

    // MARK: Time

    var now: Int { lan.now.milliseconds }

    /// Runs the network, answering millisecond by millisecond.
    func run(for milliseconds: Int) { run(until: now + milliseconds) }

    func run(until end: Int) {
        poll()
        while now < end {
            lan.run(for: .milliseconds(1))
            poll()
            if let sign, now % 500 == 0 { send(sign) }
        }
    }

    // MARK: What was seen

    /// Opens what the node has sent to it.
    func poll() {
        let sequence = lastSequence
        let fresh = lan.hosts[node].sent.reversed().prefix { $0.sequence > sequence }.reversed()
        for flight in fresh where flight.destination == address {
            lastSequence = flight.sequence
            guard case .sealed(let sealed)? = try? Datagram.parse(flight.bytes),
                let session = sessions.firstIndex(where: { $0.localIndex == sealed.receiverIndex }),
                let plaintext = try? sessions[session].keys.receive.open(
                    sealed.ciphertext, counter: UInt64(sealed.counter), associatedData: sealed.header),
                let frames = try? Frames.parse(plaintext)
            else { continue }
            seen.append(
                Seen(at: flight.at.milliseconds, session: session, counter: sealed.counter, frames: frames))
            for frame in frames { take(frame) }
        }
    }

    private func take(_ frame: Frame) {
        switch frame {
        case .hello(let hello):
            if hello.stream != heldStream { (heldStream, nextRecord, beyond) = (hello.stream, 0, []) }
        case .message(let record) where acknowledges && record.stream == heldStream:
            if record.number >= nextRecord { beyond.insert(record.number) }
            while beyond.remove(nextRecord) != nil { nextRecord += 1 }
            let bits = (0..<16).filter { beyond.contains(nextRecord + 1 + UInt32($0)) }
            send([.ack(Ack(stream: heldStream, next: nextRecord, bitmap: bits.reduce(0) { $0 | 1 << UInt16($1) }))])
        default:
            break
        }
    }

    /// Forgets what it saw itself.
    func clear() {
        poll()
        seen = []
    }

    func forget() {
        clear()
        lan.forget()
    }

    /// The typing frames seen: when, what they said, and whether they stood before a message.
    var typingFrames: [(at: Int, typing: Bool, away: Bool, withMessage: Bool)] {
        seen.compactMap { seen in
            for frame in seen.frames {
                guard case .typing(let status) = frame else { continue }
                let withMessage = if case .message? = seen.frames.last { true } else { false }
                return (seen.at, status.isTyping, status.isAway, withMessage)
            }
            return nil
        }
    }

    var heartbeats: [(at: Int, heartbeat: Heartbeat)] {
        seen.compactMap { seen in
            for frame in seen.frames { if case .heartbeat(let heartbeat) = frame { return (seen.at, heartbeat) } }
            return nil
        }
    }

    var records: [(at: Int, record: Record)] {
        seen.compactMap { seen in
            guard case .message(let record)? = seen.frames.last else { return nil }
            return (seen.at, record)
        }
    }

    var acks: [Ack] {
        seen.flatMap(\.frames).compactMap { if case .ack(let ack) = $0 { ack } else { nil } }
    }

    var hellos: [Hello] {
        seen.flatMap(\.frames).compactMap { if case .hello(let hello) = $0 { hello } else { nil } }
    }

    var byes: [(at: Int, reason: ByeReason)] {
        seen.flatMap { seen in
            seen.frames.compactMap { if case .bye(let reason) = $0 { (seen.at, reason) } else { nil } }
        }
    }

    var pings: [Int] {
        seen.filter { $0.frames.contains { if case .ping = $0 { true } else { false } } }.map(\.at)
    }

    /// Whether the node was told to show it as typing, each time that this changed.
    var shown: [(at: Int, shown: Bool)] {
        var changes: [(at: Int, shown: Bool)] = []
        for entry in lan.hosts[node].log {
            guard case .typing(chat.tag, let people) = entry.output else { continue }
            let isShown = people.contains { $0.key == identity.publicKey }
            if changes.last?.shown ?? false != isShown { changes.append((entry.at.milliseconds, isShown)) }
        }
        return changes
    }
}

/// Two nodes with a link, at rest; the first has the smaller key.
func twoNodes(sendsTyping: Bool = true) -> VirtualLAN {
    let lan = VirtualLAN()
    lan.add(identity: 0, name: "Alice", sendsTyping: sendsTyping)
    lan.add(identity: 1, name: "Bob")
    lan.discoverAll()
    lan.run(until: .at(1_000))
    lan.forget()
    return lan
}

extension VirtualLAN {
    /// The outcomes of messages that a node was told: number, and the reason of a failure.
    func outcomes(_ index: Int) -> [(message: UInt64, failure: FailureReason?)] {
        hosts[index].log.compactMap { entry in
            switch entry.output {
            case .delivered(let message, _, _): (message, nil)
            case .failed(let message, _, _, let reason): (message, reason)
            default: nil
            }
        }
    }

    /// Loses everything from now on, in both directions.
    func cut() { transit = { _ in [] } }

    /// Delivers everything again, after 0.2 ms.
    func mend() { transit = { _ in [.microseconds(200)] } }

    /// Runs until a time in milliseconds.
    func run(to milliseconds: Int) { run(until: .at(milliseconds)) }
}

extension Frame {
    var isMessage: Bool { if case .message = self { true } else { false } }
    var isHeartbeat: Bool { if case .heartbeat = self { true } else { false } }
    /// The status that it bears.
    var status: Status? {
        switch self {
        case .heartbeat(let heartbeat): heartbeat.status
        case .typing(let status): status
        default: nil
        }
    }
}
