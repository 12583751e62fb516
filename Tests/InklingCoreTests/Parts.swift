import InklingTestSupport
import InklingWire

@testable import InklingCore

/// What the tests of single parts of the core are made of: no node, no network.
enum Parts {
    static let chat = VirtualLAN.lobby.tag
    static let otherChat = ChatKeys(openName: "other").tag
    static let here = VirtualLAN.address(100)
    static let there = VirtualLAN.address(101)
    static let elsewhere = VirtualLAN.address(102)

    /// A higher index is a larger key.
    static func key(_ identity: Int) -> PublicKey { VirtualLAN.identities[identity].publicKey }

    static func person(_ identity: Int = 1, in chat: ChatTag = chat) -> PersonID {
        PersonID(chat: chat, key: key(identity))
    }

    static func effects(seed: UInt64 = 1) -> Effects { Effects(random: SeededGenerator(seed: seed)) }

    /// The port of sockets of the node's own user, on any address of its host.
    static let ownUsersPort: UInt16 = 4_001

    /// A node at 10.0.0.1 that is attached to 10.0.0.0/24.
    static func surroundings(identity: Int = 0) -> Surroundings {
        var surroundings = Surroundings(
            configuration: .init(
                identity: VirtualLAN.identities[identity], run: 5, name: "Node", isOwnUsers: { $0.port == ownUsersPort }
            ))
        let own = VirtualLAN.address(0)
        surroundings.networks = [
            LocalNetwork(address: Address(high: own.high, low: own.low, port: 0), prefixLength: 120)
        ]
        surroundings.ownPort = own.port
        return surroundings
    }

    /// The keys of one handshake, as its responder has them. All sessions of these tests share them.
    static let keys: TransportKeys = {
        do {
            var generator = SeededGenerator(seed: 3)
            let (initiator, responder) = (VirtualLAN.identities[1], VirtualLAN.identities[0])
            let (_, message) = try NoiseInitiator.initiate(
                identity: initiator, ephemeral: KeyPair(using: &generator), remote: responder.publicKey,
                preSharedKey: VirtualLAN.lobby.preSharedKey, prologue: [])
            let received = try NoiseResponder.read(identity: responder, prologue: [], message: message)
            return try received.reply(
                ephemeral: KeyPair(using: &generator), preSharedKey: VirtualLAN.lobby.preSharedKey, payload: []
            ).keys
        } catch {
            preconditionFailure("the handshake is whole: \(error)")
        }
    }()

    /// A session that was made, and heard of last, at `now`.
    static func session(
        _ index: UInt32, order: Int = 0, role: Session.Role = .responder, opener: PeerSourceID? = nil,
        hasHello: Bool = false, at address: Address = here, now: Instant = .zero
    ) -> Session {
        var session = Session(
            localIndex: index, remoteIndex: index + 1_000, role: role, keys: keys, opener: opener, address: address,
            now: now)
        session.order = Parts.order(order)
        if hasHello { _ = session.notesHello(0) }
        return session
    }

    static func order(_ place: Int) -> SessionOrder { (0..<place).reduce(.first) { order, _ in order.next } }

    static func hello(name: String = "Hand", stream: UInt32 = 70, held: UInt32 = 0) -> Hello {
        Hello(run: 9, stream: stream, heldStream: held, nextRecord: 0, name: name)
    }

    /// A datagram that opened: with a status, and with a message if wanted.
    static func opened(_ counter: UInt64, _ status: Status?, hasMessage: Bool = false) -> Session.Opened {
        let record = Record(stream: 70, number: 0, isFirst: true, isLast: true, text: "x")
        return Session.Opened(
            frames: (status.map { [.typing($0)] } ?? []) + (hasMessage ? [.message(record)] : []), counter: counter,
            size: 27, isNewest: true, heardBefore: .zero, bye: nil, hello: nil, status: status, hasMore: hasMessage)
    }

    /// A link of which one session is there, by default number `1,000 + id`.
    static func link(
        _ id: UInt64, to identity: Int = 1, in chat: ChatTag = chat, name: String = "Hand", isAway: Bool = false,
        typingAt: Instant? = nil, key: PublicKey? = nil, at address: Address = here, now: Instant = .zero
    ) -> Link {
        let index = UInt32(1_000 + id)
        var link = Link(
            id: LinkID(value: id), personID: PersonID(chat: chat, key: key ?? Parts.key(identity)),
            hello: hello(name: name),
            session: session(index, hasHello: true, at: address, now: now), stream: 60,
            nextHeartbeat: now + .seconds(1), now: now)
        var effects = effects()
        if isAway {
            let away = opened(1, Status(isTyping: false, isAway: true))
            _ = link.receiveStatus(of: away, on: index, surroundings(), &effects, now: now)
        }
        if let typingAt {
            let typing = opened(2, Status(isTyping: true, isAway: isAway))
            _ = link.receiveStatus(of: typing, on: index, surroundings(), &effects, now: typingAt)
        }
        return link
    }

    static func table(_ links: [Link]) -> LinkTable {
        var table = LinkTable()
        for link in links { table.add(link) }
        return table
    }

    /// An initiation that nobody will read.
    static func initiation(_ index: UInt32 = 1, ephemeral: UInt8 = 7, cookie: [UInt8]? = nil) -> Initiation {
        let noise = [UInt8](repeating: ephemeral, count: Initiation.noiseSize)
        return Initiation(senderIndex: index, tag: chat, noise: noise, cookie: cookie)
    }

    /// A handshake that waits for its response.
    static func attempt(
        _ index: UInt32, to identity: Int = 1, now: Instant = .zero, _ effects: inout Effects
    ) throws -> Attempt {
        let (handshake, message) = try NoiseInitiator.initiate(
            identity: VirtualLAN.identities[0], ephemeral: effects.keyPair(), remote: key(identity),
            preSharedKey: VirtualLAN.lobby.preSharedKey,
            prologue: Initiation.prologue(senderIndex: index, tag: chat))
        let initiation = Initiation(senderIndex: index, tag: chat, noise: message)
        return Attempt(initiation, handshake, now: now, &effects)
    }
}

extension Effects {
    /// All outputs that were not taken.
    mutating func drain() -> [Output] {
        var outputs: [Output] = []
        while let output = next() { outputs.append(output) }
        return outputs
    }
}

/// The states of an opening by name.
enum OpeningState: String, CaseIterable, Sendable {
    case idle, waiting, resting, attempting, greeting

    init(_ opening: Opening) {
        switch opening {
        case .idle: self = .idle
        case .waiting: self = .waiting
        case .resting: self = .resting
        case .attempting: self = .attempting
        case .greeting: self = .greeting
        }
    }

    /// An opening in that state since `now`; its handshake has that index, and it waits until 700 ms later.
    func opening(_ index: UInt32, now: Instant = .zero, _ effects: inout Effects) throws -> Opening {
        switch self {
        case .idle: .idle
        case .waiting: .waiting(until: now + .milliseconds(700))
        case .resting: .resting(until: now + .milliseconds(700))
        case .attempting: .attempting(try Parts.attempt(index, now: now, &effects))
        case .greeting: .greeting(index, since: now)
        }
    }
}
