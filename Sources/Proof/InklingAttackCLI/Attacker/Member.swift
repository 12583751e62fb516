import InklingWire

/// One identity of the attacker in the open chat, with at most one link to the victim.
final class Member {
    /// The interval in the member's heartbeats: 25.5 s, the longest possible. With it, a link needs the fewest
    /// datagrams.
    private static let interval: UInt8 = 255
    /// The seconds between heartbeats.
    private static let heartbeatSeconds = 15.0
    /// The seconds between pings on a link that is not up yet.
    private static let pingSeconds = 0.25
    /// The seconds of silence after which a member restarts its link: before the link is up, and afterwards.
    private static let (joiningPatience, linkPatience) = (3.0, 60.0)
    /// The seconds for which a member with a full window waits for an ack.
    private static let windowPatience = 0.05

    private enum Phase {
        case idle
        case opening(PendingHandshake)
        case joined(TransportKeys, remoteIndex: UInt32)
    }

    private let name: String
    let index: UInt32
    /// The source address of the member; nil for the attacker's first one.
    private let source: IPv4Address?
    /// Whether the member repeats its initiation with the cookie of a retry. A node opens few initiations with a cookie
    /// from one source (L-97). Without load, a node opens more initiations without a cookie (L-9).
    private let obeysRetries: Bool
    private let identity: KeyPair
    private var phase = Phase.idle
    private var counter: UInt32 = 0
    private var nextHeartbeat = 0.0
    private var nextPing = 0.0
    private var heardAt = 0.0
    /// The number of the next record, the time of the last one, and the record that the victim expects.
    private var record: UInt32 = 1
    private var recordSentAt = 0.0
    private var expected: UInt32 = 0

    init(
        name: String, source: IPv4Address?, obeysRetries: Bool, using random: inout SystemRandomNumberGenerator
    ) {
        self.name = name
        self.source = source
        self.obeysRetries = obeysRetries
        index = random.next()
        identity = KeyPair(using: &random)
    }

    /// Whether the victim acknowledged the member's name, and therefore shows the member (L-85).
    var isUp: Bool { expected > 0 }

    /// The number of records that the victim acknowledged, without the name.
    var acknowledgedCount: Int { max(0, Int(expected) - 1) }

    /// The index that the victim chose for the session.
    var remoteIndex: UInt32? {
        if case .joined(_, let remoteIndex) = phase { remoteIndex } else { nil }
    }

    /// Sends an initiation. The member repeats the same one until the victim's response gives it a session.
    func open(to key: PublicKey, _ attacker: Attacker) throws {
        switch phase {
        case .idle:
            // Each call uses a new run, so the victim's epoch of an earlier link does not matter.
            let handshake = try PendingHandshake(
                chat: attacker.chat, identity: identity, ephemeral: KeyPair(using: &attacker.random), remote: key,
                senderIndex: index, own: RunAndEpoch(run: attacker.random.next(), epoch: 0))
            phase = .opening(handshake)
            attacker.send(handshake.initiation.encode(), from: source)
        case .opening(let handshake): attacker.send(handshake.initiation.encode(), from: source)
        case .joined: keepAlive(now: monotonicSeconds(), attacker)
        }
    }

    private func beginAgain() {
        (phase, counter, record, expected, nextPing, nextHeartbeat) = (.idle, 0, 1, 0, 0, 0)
    }

    /// Receives a datagram with one of this member's indices.
    func receive(_ datagram: Datagram, _ attacker: Attacker) {
        switch (datagram, phase) {
        case (.retry(let retry), .opening(let handshake)):
            guard obeysRetries else { return }
            var initiation = handshake.initiation
            initiation.cookie = retry.cookie
            attacker.send(initiation.encode(), from: source)
        case (.response(let response), .opening(let handshake)):
            guard let session = try? handshake.complete(response) else { return }
            phase = .joined(session.keys, remoteIndex: session.index)
            heardAt = monotonicSeconds()
            keepAlive(now: heardAt, attacker)
        case (.sealed(let sealed), .joined(let keys, _)):
            guard
                let plaintext = try? keys.open(sealed),
                let frames = try? Frames.parse(plaintext, counter: sealed.counter)
            else { return }
            heardAt = monotonicSeconds()
            for frame in Frames.inOrder(frames) { apply(frame, attacker) }
        case (.initiation, _), (.response, _), (.sealed, _), (.retry, _), (.ask, _), (.tell, _): break
        }
    }

    private func apply(_ frame: Frame, _ attacker: Attacker) {
        switch frame {
        case .ping(let token): send([heartbeat, .pong(token)], attacker)
        case .pong: if !isUp { send(Record(number: 0, type: .name, body: Array(name.utf8)), attacker) }
        case .ack(let ack): expected = max(expected, ack.next)
        case .bye: beginAgain()
        case .heartbeat, .typing, .record, .forward, .textID, .unknown: break
        }
    }

    /// Sends pings until the link is up, and then the heartbeats that are due. After a long silence the member restarts
    /// the link.
    func keepAlive(now: Double, _ attacker: Attacker) {
        guard case .joined = phase else { return }
        if now > heardAt + (isUp ? Member.linkPatience : Member.joiningPatience) { return beginAgain() }
        if !isUp, now >= nextPing {
            nextPing = now + Member.pingSeconds
            ping(attacker)
        } else if isUp, now >= nextHeartbeat {
            // A random delay spreads the first heartbeats of many members.
            let isFirst = nextHeartbeat == 0
            nextHeartbeat = now + Member.heartbeatSeconds * (isFirst ? Double(index % 100) / 100 : 1)
            if !isFirst { send([heartbeat], attacker) }
        }
    }

    func ping(_ attacker: Attacker) { send([heartbeat, .ping(attacker.random.next())], attacker) }

    /// Sends a heartbeat from another address, so that the victim moves the link there.
    func move(to address: IPv4Address, _ attacker: Attacker) { send([heartbeat], from: address, attacker) }

    /// Sends the next record: a whole message, or a part of a message that never ends. With a full window (M-10) the
    /// member waits a little, and then repeats unacknowledged records.
    func sendText(_ text: String, endsMessage: Bool, _ attacker: Attacker) {
        guard isUp else { return }
        record = max(record, expected)
        if record >= expected + UInt32(Limits.recordsAbove) {
            guard monotonicSeconds() > recordSentAt + Member.windowPatience else { return }
            record = expected
        }
        recordSentAt = monotonicSeconds()
        let isFirst = endsMessage || record == 1
        let body = Array(text.utf8)
        send(Record(number: record, type: .text, isFirst: isFirst, isLast: endsMessage, body: body), attacker)
        record += 1
    }

    private var heartbeat: Frame { .heartbeat(Heartbeat(status: Status(), interval: Member.interval)) }

    private func send(_ record: Record, _ attacker: Attacker) {
        send([.typing(Status()), .record(record)], attacker)
    }

    private func send(_ frames: [Frame], from address: IPv4Address? = nil, _ attacker: Attacker) {
        guard case .joined(let keys, let remoteIndex) = phase else { return }
        let sealed = keys.seal(frames, receiverIndex: remoteIndex, counter: counter)
        counter += 1
        attacker.send(sealed.encode(), from: address ?? source)
    }
}

extension Datagram {
    /// The receiver index of a datagram that has one.
    var receiverIndex: UInt32? {
        switch self {
        case .response(let response): response.receiverIndex
        case .sealed(let sealed): sealed.receiverIndex
        case .retry(let retry): retry.receiverIndex
        case .initiation, .ask, .tell: nil
        }
    }
}
