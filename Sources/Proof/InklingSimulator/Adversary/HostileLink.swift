import InklingCore
import InklingWire

/// A link of the adversary's to a node: first the handshake, then any frames.
final class HostileLink {
    /// The progress of the link.
    private enum State {
        case none
        case initiated(PendingHandshake, cookie: [UInt8]?)
        case open(TransportKeys, index: UInt32, counter: UInt32)
    }

    let attack: Scenario.Attack
    /// The index of the node's host.
    let target: Int
    let identity: KeyPair
    let run: UInt64
    let address: Address
    /// The idle interval in the link's heartbeats, in units of 100 ms.
    let interval: UInt8
    /// The number of text records that the link has sent.
    var records: UInt32 = 0
    /// The start of the node, counted from 1, for which the link was begun.
    private(set) var incarnation = 0
    private(set) var begunAt = Instant.zero
    private var state = State.none
    /// The adversary's own epoch. The epoch rises with each handshake, because the adversary keeps no state.
    private var epoch: UInt32 = 0
    /// Whether the node disclosed state that a nameless peer may not know.
    private(set) var isTold = false
    /// Whether the node has acknowledged record 0 of the link, the name.
    private var isNamed = false

    init(
        _ attack: Scenario.Attack, to target: Int, identity: KeyPair, run: UInt64, address: Address, interval: UInt8
    ) {
        self.attack = attack
        self.target = target
        self.identity = identity
        self.run = run
        self.address = address
        self.interval = interval
    }

    var isOpen: Bool {
        if case .open = state { true } else { false }
    }

    /// Whether the link begins only once and never confirms its session.
    var isFleeting: Bool { attack == .cookies || attack == .cookiesOfOneSource }

    /// Whether the link's initiation went out with a cookie.
    var hasCookie: Bool {
        if case .initiated(_, let cookie) = state { cookie != nil } else { false }
    }

    // MARK: Handshake

    /// Returns the initiation of the link, which waits for the response from now on.
    func begin(
        _ index: UInt32, with remote: PublicKey, _ keys: ChatKeys, incarnation: Int,
        using generator: inout SeededGenerator, _ now: Instant
    ) -> [UInt8]? {
        epoch = self.incarnation == incarnation ? epoch + 1 : 0
        self.incarnation = incarnation
        begunAt = now
        records = 0
        isNamed = false
        let handshake = try? PendingHandshake(
            chat: keys, identity: identity, ephemeral: KeyPair(using: &generator), remote: remote, senderIndex: index,
            own: RunAndEpoch(run: run, epoch: epoch))
        guard let handshake else { return nil }
        state = .initiated(handshake, cookie: nil)
        return handshake.initiation.encode()
    }

    /// Returns the initiation again, with the cookie of a retry.
    func retried(_ cookie: [UInt8]) -> [UInt8]? {
        guard case .initiated(let handshake, _) = state else { return nil }
        state = .initiated(handshake, cookie: cookie)
        var initiation = handshake.initiation
        initiation.cookie = cookie
        return initiation.encode()
    }

    /// Returns the first sealed datagram after a response; nil if the response is not valid.
    func finish(_ response: Response) -> [UInt8]? {
        guard case .initiated(let handshake, _) = state, let (index, _, keys) = try? handshake.complete(response)
        else { return nil }
        state = .open(keys, index: index, counter: 0)
        return seal([heartbeat, .ping(1)])
    }

    private var heartbeat: Frame { .heartbeat(Heartbeat(status: Status(), interval: interval)) }

    // MARK: Frames

    /// Receives a sealed datagram of the node.
    ///
    /// - Returns: The immediate answer and, if the node sent an ack, the next record that the node expects.
    func receive(_ sealed: SealedDatagram) -> (answer: [UInt8]?, next: UInt32?) {
        guard case .open(let keys, _, _) = state, let plaintext = try? keys.open(sealed),
            let frames = try? Frames.parse(plaintext, counter: sealed.counter)
        else { return (nil, nil) }
        var answer: [Frame] = []
        var next: UInt32?
        for frame in frames {
            if attack == .ghosts, HostileLink.tells(frame) { isTold = true }
            switch frame {
            case .ping(let token): answer += [heartbeat, .pong(token)]
            // The link acknowledges only the node's name, record 0.
            case .record(let record) where record.number == 0: answer.append(.ack(Ack(next: 1)))
            case .ack(let ack):
                isNamed = isNamed || ack.next > 0
                next = ack.next
            default: continue
            }
        }
        if !answer.isEmpty, !isNamed, attack != .ghosts { answer.append(HostileLink.name) }
        return (answer.isEmpty ? nil : seal(answer), next)
    }

    /// Returns whether a frame discloses more than a nameless peer may know (L-85).
    private static func tells(_ frame: Frame) -> Bool {
        switch frame {
        case .heartbeat(let heartbeat): heartbeat.status.isTyping || heartbeat.status.isAway
        case .typing(let status): status.isTyping || status.isAway
        case .record(let record): record.number > 0
        case .ack, .ping, .pong, .bye, .forward, .textID, .unknown: false
        }
    }

    private static let name = Frame.record(Record(number: 0, type: .name, body: Array("stranger".utf8)))

    /// Returns a text record, numbered from 0. Each message has `count` records.
    static func record(_ number: UInt32, of count: UInt32, text: String) -> Frame {
        .record(
            Record(
                number: number + 1, type: .text, isFirst: number % count == 0, isLast: number % count == count - 1,
                body: Array(text.utf8)))
    }

    /// Seals frames for the node; nil while the link has no session.
    func seal(_ frames: [Frame]) -> [UInt8]? {
        guard case .open(let keys, let index, let counter) = state else { return nil }
        state = .open(keys, index: index, counter: counter + 1)
        return keys.seal(frames, receiverIndex: index, counter: counter).encode()
    }
}
