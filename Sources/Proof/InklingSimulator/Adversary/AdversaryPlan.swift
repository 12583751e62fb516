import InklingCore
import InklingWire

extension Scenario {
    /// The plan of an attacker on the LAN, and what the people of the scenario do during the attack.
    ///
    /// The attack lasts some seconds longer than the faults. Its effect on a good network shows then.
    package struct AdversaryPlan: Sendable {
        /// The attacks, which all run at the same time.
        package let attacks: [Attack]
        /// The begin and the end of the attack, in milliseconds from the start of the run.
        let begin: Int
        package let end: Int
        /// The time when a friend restarts; nil if none does.
        let restart: Int
        /// The datagrams in a second, of all attacks together.
        let rate: Int
        /// The only host that the adversary attacks; nil if the attacks go to several hosts.
        let focus: Int?
        /// How well the users know each other. Members of a secret chat are friends even where this says strangers.
        let standing: Standing
        /// The hosts whose users take no messages during the attack.
        let slowReaders: Set<Int>
        /// Additional steps after the faults: a friend restarts, and people write.
        let steps: [Step]
    }

    /// The kinds of attack.
    package enum Attack: String, CaseIterable, Sendable {
        /// Initiations with random keys and ciphertexts, from the adversary's own and from forged sources.
        case initiations
        /// Valid initiations from many sources, repeated with their cookies. The adversary confirms no session.
        case cookies
        /// Like ``cookies``, from one source.
        case cookiesOfOneSource
        /// Members of an open chat who change typing and presence twenty times a second.
        case chatter
        /// A member who sends messages without pause, beyond the permitted rate.
        case flood
        /// Members whose long messages the users do not take.
        case hoard
        /// Members from five addresses who begin long messages and never finish them.
        case reserve
        /// Members who skip the expected record. Each later record of theirs begins a message.
        case chainBeyond
        /// ``reserve`` and ``chainBeyond`` by members of a secret chat, with one link for each key.
        case members
        /// More links of one key, and more links from one source, than a node permits.
        case manyLinks
        /// Links of strangers from a friend's host.
        case neighbours
        /// Links from all addresses of the node's own host, more than a node permits to other users of its host.
        case ownHost
        /// 60 to 119 members who follow all rules. With so many, idle intervals stretch.
        case crowd
        /// As many links in all as a node holds.
        case fullTable
        /// Service instances with forged keys, at addresses without a host.
        case instances
        /// Service instances that change their keys again and again, at one address without a host.
        case changingKeys
        /// Service instances with the keys of friends, at addresses without a host.
        case friends
        /// Service instances with the keys of friends, at relays. A relay passes on handshakes only.
        case relays
        /// Random responses to initiations that the adversary received or overheard.
        case responses
        case asks
        /// Random retries, and sealed garbage for random indices.
        case garbage
        /// Recorded initiations of friends.
        case recordings
        /// Members who never name themselves (L-85, L-86).
        case ghosts
        /// Members who report again and again that they hear nothing, and are listed at addresses without a host
        /// (L-110).
        case unheard

        /// The weight of the attack in the draw. Attacks that make a run slow have low weights.
        var weight: Int {
            switch self {
            case .fullTable: 1
            case .instances: 15
            case .cookies, .hoard, .crowd, .neighbours: 25
            case .manyLinks, .flood, .cookiesOfOneSource, .reserve, .chainBeyond, .members, .ownHost: 40
            case .initiations, .chatter, .changingKeys, .friends, .relays, .responses, .asks, .garbage, .recordings,
                .ghosts, .unheard:
                60
            }
        }
    }
}

extension Scenario.AdversaryPlan {
    /// Draws the adversary of a seed, from a separate sequence of random numbers. Five of six scenarios have none.
    ///
    /// - Parameters:
    ///   - attack: the only attack, in each scenario that allows an adversary; random if nil.
    ///   - faultsEnd: the end of the faults, in milliseconds from the start.
    init?(
        seed: UInt64, attack: Scenario.Attack?, hosts: [Scenario.HostPlan], network: Scenario.NetworkPlan,
        faultsEnd: Int
    ) {
        var generator = SeededGenerator(seed: seed, purpose: 8)
        guard generator.oneIn(6) || attack != nil, hosts.count <= 5, !network.isByHand, faultsEnd < 30_000 else {
            return nil
        }
        let ways = Scenario.Attack.allCases
        let first = ways[generator.pick(weights: ways.map(\.weight))]
        var attacks = [attack ?? first]
        if generator.oneIn(3), attack == nil {
            let second = ways[generator.pick(weights: ways.map(\.weight))]
            if second != first { attacks.append(second) }
        }
        self.attacks = attacks
        let isLong = attacks.contains(.fullTable)
        let isHoarding = attacks.contains(.hoard)
        let isReserving = !attacks.allSatisfy { ![.reserve, .chainBeyond, .members].contains($0) }
        let lead = isLong ? 12_000 : isHoarding || isReserving ? 3_000 : generator.pick([300, 1_000, 3_000])
        begin = max(0, faultsEnd - lead)
        // Friends who restart have 5 s to meet.
        restart = faultsEnd + (isLong ? 13_000 : 1_000) + generator.number(in: 0...800)
        let forgesFriends = attacks.contains(.friends) || attacks.contains(.relays)
        // With forged instances of friends, the attack leaves more time than friends may need to find each other.
        end = restart + (forgesFriends ? 12_000 : 7_000)
        // The rate fills 8 MiB with text, or keeps a processor busy that computes for each datagram.
        let fast: Int? =
            if isHoarding {
                1_000 * attacks.count
            } else if attacks.contains(.flood) {
                // The rate is twice what one link may send.
                2 * Limits.datagramsPerLink
            } else if attacks.contains(.responses) {
                attacks.count == 1 ? 3_000 : 1_500
            } else {
                attacks.contains(.initiations) ? 1_000 : nil
            }
        rate = fast ?? generator.pick([300, 600, 1_000])
        let target = isHoarding || isReserving ? 0 : generator.number(in: 0...min(hosts.count, Adversary.targets) - 1)
        focus = fast != nil || isReserving || generator.oneIn(2) ? target : nil
        let inSecret = hosts.filter { $0.chats.contains(2) }
        // No verified friends here: the limit of a source does not bind them, so strangers on their host cannot keep
        // them out.
        let isNeighbour = attacks.contains(.neighbours)
        standing =
            isNeighbour
            ? .met
            : generator.pick(
                Set(inSecret.map(\.identity)).count > 1 ? [.stranger, .met, .verified] : [.met, .met, .verified])
        slowReaders = Set(hosts.indices.filter { _ in isHoarding || generator.oneIn(6) })
        steps = Scenario.AdversaryPlan.steps(
            hosts: hosts, restart: restart, end: end,
            isRestarted: isNeighbour || forgesFriends || !generator.oneIn(4), among: isNeighbour ? 2 : hosts.count,
            &generator)
    }

    /// Whether the adversary announces service instances with the keys of friends.
    var forgesFriends: Bool { attacks.contains(.friends) || attacks.contains(.relays) }

    /// Returns whether a friend restarts about now.
    func isDecisive(_ now: Instant) -> Bool {
        let time = Int(now.nanoseconds / 1_000_000)
        return restart - 500 <= time && time <= restart + 5_000
    }

    /// Returns additional steps: one of the first hosts restarts, and all users write now and then.
    private static func steps(
        hosts: [Scenario.HostPlan], restart: Int, end: Int, isRestarted: Bool, among first: Int,
        _ generator: inout SeededGenerator
    ) -> [Scenario.Step] {
        var drawn: [(at: Int, host: Int, action: Scenario.Action)] = []
        if isRestarted {
            let host = generator.number(in: 0...first - 1)
            drawn.append((restart - 200, host, generator.oneIn(2) ? .quit : .crash(will: false)))
            drawn.append((restart, host, .start))
        }
        for (index, host) in hosts.enumerated() {
            var at = restart + generator.number(in: 0...1_500)
            while at < end - 1_500 {
                let chat = generator.pick(host.chats)
                for _ in 0..<generator.number(in: 2...6) {
                    drawn.append((at, index, .edit(chat: chat)))
                    at += generator.number(in: 100...300)
                }
                let size = generator.pick([30, 30, 3_000])
                drawn.append((at, index, generator.oneIn(2) ? .empty(chat: chat) : .send(chat: chat, size: size)))
                at += generator.number(in: 300...1_500)
            }
        }
        let sorted = drawn.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        return sorted.enumerated().map { number, entry in
            Scenario.Step(
                number: number, at: entry.element.at, host: entry.element.host, action: entry.element.action)
        }
    }
}

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

/// The work of a node for one input.
struct Work {
    /// Datagrams read and sent, without the datagrams that `statuses` counts.
    var datagrams = 0
    /// Typing frames and heartbeats sent. The node alone decides how many.
    var statuses = 0
    /// Datagrams that the node sealed, opened, or tried to open without success.
    var seals = 0
    /// X25519 operations for received datagrams.
    var agreements = 0
    /// X25519 operations that the node limits to a number in a second: its own initiations, and new answers.
    var limitedAgreements = 0
}

/// The processor of a node, and the receive buffer of its socket. The processor handles one datagram at a time; later
/// arrivals wait in the socket.
///
/// An operation takes ten times its time on one core of a small server. There, an X25519 takes about 60 µs, and a
/// datagram through the socket 10 µs. Sealing or opening a small datagram with ChaCha20-Poly1305 takes 3 µs. So a flood
/// of 1,000 datagrams a second here is like one of 10,000 there, and a run stays short. Work that the node limits to a
/// number in a second takes its real time.
struct Processor {
    private static let agreement = Duration.microseconds(600)
    private static let seal = Duration.microseconds(30)
    private static let datagram = Duration.microseconds(100)
    /// The small datagrams that a socket's receive buffer holds at the system's default size: 208 KiB, 768 bytes each.
    private static let room = 277

    private(set) var busyUntil = Instant.zero
    private(set) var socket: [(packet: Packet, arrivedAt: Instant)] = []
    private var head = 0

    var isSocketEmpty: Bool { head == socket.count }

    /// Returns whether the processor is still working on an earlier datagram.
    func isBusy(_ now: Instant) -> Bool { busyUntil > now }

    mutating func spend(_ work: Work, _ now: Instant) {
        let time =
            Processor.agreement * work.agreements + Processor.agreement * work.limitedAgreements / 10
            + Processor.seal * work.seals + Processor.datagram * work.datagrams
            + (Processor.seal + Processor.datagram) * work.statuses / 10
        busyUntil = max(busyUntil, now) + time
    }

    /// Queues a datagram in the socket.
    ///
    /// - Returns: Whether the socket had room.
    mutating func add(_ packet: Packet, _ now: Instant) -> Bool {
        guard socket.count - head < Processor.room else { return false }
        socket.append((packet, now))
        return true
    }

    /// Returns the datagram that has waited longest, and removes it.
    mutating func next() -> (packet: Packet, arrivedAt: Instant)? {
        guard head < socket.count else {
            socket.removeAll(keepingCapacity: true)
            head = 0
            return nil
        }
        defer { head += 1 }
        return socket[head]
    }
}
