import InklingWire

/// One identity of the attacker in the open chat, with at most one session with the victim.
final class Member {
    /// The longest interval that a heartbeat can announce, 25.5 s: links are held with the fewest datagrams.
    static let interval: UInt8 = 255
    /// The time between its heartbeats, in seconds.
    static let heartbeatSeconds = 15.0

    /// After so long without the victim's hello, or without anything on a link, it begins again, in seconds.
    private static let (helloPatience, linkPatience) = (3.0, 60.0)

    /// How long a full window waits for an acknowledgement, in seconds.
    private static let windowPatience = 0.05

    private enum Phase {
        case idle
        case opening(NoiseInitiator, Initiation)
        case up(TransportKeys, remoteIndex: UInt32)
    }

    let name: String
    let index: UInt32
    /// The address that it sends from; nil for the attacker's first one.
    private let source: IPv4Address?
    /// A source gets few initiations with a cookie answered (L-10), and without one as many as fit under the load (L-9).
    private let obeysRetries: Bool
    private let identity: KeyPair
    private let run: UInt64
    private let stream: UInt32
    private var phase = Phase.idle
    private var counter: UInt64 = 0
    private var heldStream: UInt32 = 0
    private var nextHeartbeat = 0.0
    /// When the victim was heard last, or the session began.
    private var heardAt = 0.0
    /// The record that is sent next, when the last one went out, and the one that the victim expects.
    private var record: UInt32 = 0
    private var recordSentAt = 0.0
    private(set) var acknowledged: UInt32 = 0
    /// Whether the victim's hello holds this member's stream.
    private(set) var isUp = false
    private var hasSpoken = false

    init(
        name: String, source: IPv4Address?, obeysRetries: Bool, using random: inout SystemRandomNumberGenerator
    ) {
        self.name = name
        self.source = source
        self.obeysRetries = obeysRetries
        index = random.next()
        identity = KeyPair(using: &random)
        run = random.next()
        stream = UInt32.random(in: 1...UInt32.max, using: &random)
    }

    /// The index that the victim gave the session.
    var remoteIndex: UInt32? {
        if case .up(_, let remoteIndex) = phase { remoteIndex } else { nil }
    }

    /// Sends an initiation, the same one until a session has come of it.
    func open(to key: PublicKey, _ attacker: Attacker) throws {
        switch phase {
        case .idle:
            let (handshake, message) = try NoiseInitiator.initiate(
                identity: identity, ephemeral: KeyPair(using: &attacker.random), remote: key,
                preSharedKey: attacker.chat.preSharedKey,
                prologue: Initiation.prologue(senderIndex: index, tag: attacker.chat.tag))
            let initiation = Initiation(senderIndex: index, tag: attacker.chat.tag, noise: message)
            phase = .opening(handshake, initiation)
            attacker.send(initiation.encode(), from: source)
        case .opening(_, let initiation): attacker.send(initiation.encode(), from: source)
        case .up: if monotonicSeconds() > heardAt + Member.helloPatience { beginAgain() } else { sayHello(attacker) }
        }
    }

    private func beginAgain() {
        (phase, isUp, counter, heldStream, record, acknowledged) = (.idle, false, 0, 0, 0, 0)
    }

    /// Takes a datagram with this member's index.
    func receive(_ datagram: Datagram, _ attacker: Attacker) {
        switch (datagram, phase) {
        case (.retry(let retry), .opening(_, var initiation)):
            guard obeysRetries else { return }
            initiation.cookie = retry.cookie
            attacker.send(initiation.encode(), from: source)
        case (.response(let response), .opening(let handshake, _)):
            guard let finished = try? handshake.finish(response.noise),
                let remoteIndex = UInt32(bigEndianBytes: finished.payload)
            else { return }
            phase = .up(finished.keys, remoteIndex: remoteIndex)
            heardAt = monotonicSeconds()
            sayHello(attacker)
        case (.sealed(let sealed), .up(let keys, _)):
            guard
                let plaintext = try? keys.receive.open(
                    sealed.ciphertext, counter: UInt64(sealed.counter), associatedData: sealed.header),
                let frames = try? Frames.parse(plaintext)
            else { return }
            heardAt = monotonicSeconds()
            for frame in frames { apply(frame, attacker) }
        case (.initiation, _), (.response, _), (.sealed, _), (.retry, _), (.ask, _), (.tell, _): break
        }
    }

    private func apply(_ frame: Frame, _ attacker: Attacker) {
        switch frame {
        case .hello(let hello):
            let isNews = hello.stream != heldStream || hello.heldStream != stream
            heldStream = hello.stream
            if hello.heldStream == stream { isUp = true }
            if isNews { sayHello(attacker) }
        case .ping(let token): send([heartbeat, .pong(token)], attacker)
        case .ack(let ack): if ack.stream == stream { acknowledged = max(acknowledged, ack.next) }
        case .bye: beginAgain()
        case .heartbeat, .typing, .message, .pong, .unknown: break
        }
    }

    /// Sends a heartbeat, if one is due; gives up a link on which the victim has long been silent.
    func keepAlive(now: Double, _ attacker: Attacker) {
        guard isUp else { return }
        if now > heardAt + Member.linkPatience { return beginAgain() }
        guard now >= nextHeartbeat else { return }
        // Spread, so that a thousand members don't speak at once.
        let isFirst = nextHeartbeat == 0
        nextHeartbeat = now + Member.heartbeatSeconds * (isFirst ? Double(index % 100) / 100 : 1)
        if !isFirst { send([heartbeat], attacker) }
    }

    /// Sends a text of its own once.
    func speakOnce(_ attacker: Attacker) {
        guard isUp, !hasSpoken else { return }
        hasSpoken = true
        sendMessage("hello", attacker)
    }

    /// Sends the next record, which is a whole message. Where the window is full (M-10), it waits a little, and then goes
    /// back to what the victim has not acknowledged.
    func sendMessage(_ text: String, _ attacker: Attacker) {
        guard isUp else { return }
        if record < acknowledged { record = acknowledged }
        if record >= acknowledged + UInt32(Limits.recordsInFlight) {
            guard monotonicSeconds() > recordSentAt + Member.windowPatience else { return }
            record = acknowledged
        }
        recordSentAt = monotonicSeconds()
        let message = Record(stream: stream, number: record, isFirst: true, isLast: true, text: text)
        record += 1
        send([.typing(Status(isTyping: false, isAway: false)), .message(message)], attacker)
    }

    private var heartbeat: Frame {
        .heartbeat(Heartbeat(status: Status(isTyping: false, isAway: false), interval: Member.interval))
    }

    private func sayHello(_ attacker: Attacker) {
        let hello = Hello(run: run, stream: stream, heldStream: heldStream, nextRecord: 0, name: name)
        send([.hello(hello), heartbeat], attacker)
    }

    private func send(_ frames: [Frame], _ attacker: Attacker) {
        guard case .up(let keys, let remoteIndex) = phase else { return }
        let header = SealedDatagram.header(receiverIndex: remoteIndex, counter: UInt32(truncatingIfNeeded: counter))
        let ciphertext = keys.send.seal(Frames.encode(frames), counter: counter, associatedData: header)
        counter += 1
        attacker.send(header + ciphertext, from: source)
    }
}

extension Datagram {
    /// The index of the receiver, where the datagram has one.
    var receiverIndex: UInt32? {
        switch self {
        case .response(let response): response.receiverIndex
        case .sealed(let sealed): sealed.receiverIndex
        case .retry(let retry): retry.receiverIndex
        case .initiation, .ask, .tell: nil
        }
    }
}
