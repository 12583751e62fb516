import InklingCore
import InklingWire

/// A link of the adversary's to a node, as far as it cares: it begins it, and then says on it what it likes.
final class HostileLink {
    /// How far it has come.
    private enum State {
        case none
        case initiated(NoiseInitiator, Initiation, hasCookie: Bool)
        case open(TransportKeys, index: UInt32, counter: UInt32)
    }

    let attack: Scenario.Attack
    /// The host at which the node is.
    let target: Int
    let identity: KeyPair
    let run: UInt64
    let address: Address
    /// The idle interval that its heartbeats announce, in units of 100 ms.
    let interval: UInt8
    /// The records of its own stream that it has sent.
    var records: UInt32 = 0
    /// Which start of the node it was begun with.
    private(set) var incarnation = 0
    private(set) var begunAt = Instant.zero
    private var state = State.none
    /// The stream of the node's that its hello named.
    private var heldStream: UInt32 = 0

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

    /// The adversary's stream.
    private static let stream: UInt32 = 1

    var isOpen: Bool {
        if case .open = state { true } else { false }
    }

    /// Whether it is begun once, and its response answered by nothing.
    var isFleeting: Bool { attack == .cookies || attack == .cookiesOfOneSource }

    /// Whether its initiation went out with a cookie.
    var hasCookie: Bool {
        if case .initiated(_, _, let hasCookie) = state { hasCookie } else { false }
    }

    // MARK: Handshake

    /// An initiation, and from now on the link awaits its response.
    func begin(
        _ index: UInt32, with remote: PublicKey, _ keys: ChatKeys, incarnation: Int,
        using generator: inout SeededGenerator, _ now: Instant
    ) -> [UInt8]? {
        self.incarnation = incarnation
        begunAt = now
        records = 0
        heldStream = 0
        let prologue = Initiation.prologue(senderIndex: index, tag: keys.tag)
        let ephemeral = KeyPair(using: &generator)
        guard
            let (handshake, message) = try? NoiseInitiator.initiate(
                identity: identity, ephemeral: ephemeral, remote: remote, preSharedKey: keys.preSharedKey,
                prologue: prologue)
        else { return nil }
        let initiation = Initiation(senderIndex: index, tag: keys.tag, noise: message)
        state = .initiated(handshake, initiation, hasCookie: false)
        return initiation.encode()
    }

    /// The initiation once more, with the cookie that a retry brought.
    func retried(_ cookie: [UInt8]) -> [UInt8]? {
        guard case .initiated(let handshake, var initiation, _) = state else { return nil }
        initiation.cookie = cookie
        state = .initiated(handshake, initiation, hasCookie: true)
        return initiation.encode()
    }

    /// The hello with which it answers a response; nil if that was none.
    func finish(_ response: Response) -> [UInt8]? {
        guard case .initiated(let handshake, _, _) = state,
            let (payload, keys) = try? handshake.finish(response.noise), payload.count == 4
        else { return nil }
        state = .open(keys, index: payload.reduce(0) { $0 << 8 | UInt32($1) }, counter: 0)
        return hello()
    }

    // MARK: Frames

    /// What is sealed comes from the node.
    ///
    /// - Returns: What answers it at once, and the record that the node expects next if it says so.
    func receive(_ sealed: SealedDatagram) -> (answer: [UInt8]?, next: UInt32?) {
        guard case .open(let keys, _, _) = state,
            let plaintext = try? keys.receive.open(
                sealed.ciphertext, counter: UInt64(sealed.counter), associatedData: sealed.header),
            let frames = try? Frames.parse(plaintext)
        else { return (nil, nil) }
        var answer: [UInt8]?
        var next: UInt32?
        for frame in frames {
            switch frame {
            case .hello(let hello) where hello.stream != heldStream:
                heldStream = hello.stream
                answer = self.hello()
            case .ack(let ack) where ack.stream == HostileLink.stream: next = ack.next
            default: continue
            }
        }
        return (answer, next)
    }

    private func hello() -> [UInt8]? {
        let hello = Hello(
            run: run, stream: HostileLink.stream, heldStream: heldStream, nextRecord: 0, name: "stranger")
        let status = Status(isTyping: false, isAway: false)
        return seal([.heartbeat(Heartbeat(status: status, interval: interval)), .hello(hello)])
    }

    /// The record of that number, of messages of so many records.
    static func record(_ number: UInt32, of count: UInt32, text: String) -> Frame {
        .message(
            Record(
                stream: stream, number: number, isFirst: number % count == 0, isLast: number % count == count - 1,
                text: text))
    }

    /// Seals frames for the node; nil while the link is not open.
    func seal(_ frames: [Frame]) -> [UInt8]? {
        guard case .open(let keys, let index, let counter) = state else { return nil }
        state = .open(keys, index: index, counter: counter + 1)
        let header = SealedDatagram.header(receiverIndex: index, counter: counter)
        return header + keys.send.seal(Frames.encode(frames), counter: UInt64(counter), associatedData: header)
    }
}
