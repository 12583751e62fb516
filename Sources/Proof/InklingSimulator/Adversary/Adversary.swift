import InklingCore
import InklingWire

/// An attacker on the LAN, who knows the wire format, holds any number of keys, overhears datagrams, and follows no
/// rule.
///
/// The adversary has 55 addresses, and forges others as sources. Datagrams to unused addresses do not reach the
/// adversary.
final class Adversary {
    /// A datagram that the adversary made. Its source may be anybody's address.
    struct Forgery {
        let bytes: [UInt8]
        let source: Address
        let destination: Address
    }

    /// A node that the adversary attacks.
    struct Target {
        let host: Int
        let key: PublicKey
        let address: Address
        let incarnation: Int
    }

    /// A service instance that the adversary announces, by its name.
    struct Instance {
        let name: String
        let key: PublicKey
        let addresses: [Address]
    }

    /// The highest number of attacked hosts; the adversary attacks the first ones.
    static let targets = 3
    /// The first port of the adversary's programs on the hosts of others. Their ports are this one and all above.
    static let firstPort: UInt16 = 50_000
    /// The time between two turns of the adversary.
    static let period = Duration.milliseconds(10)
    /// The most links that the adversary begins in a second, over all attacks.
    private static let linksPerSecond = 70

    let plan: Scenario.AdversaryPlan
    let keys: ChatKeys
    var generator: SeededGenerator
    var links: [HostileLink] = []
    /// The most links that the adversary makes with one node.
    private(set) var mostLinks = 0
    /// Initiations that reached the adversary, the newest last: index, sender, and the adversary's address.
    var arrived: [(index: UInt32, from: Address, at: Address)] = []
    /// Initiations between hosts that the adversary overheard.
    var overheard: [(bytes: [UInt8], index: UInt32, from: Address, to: Address)] = []
    /// The number of datagrams sent by each attack.
    private(set) var sent: [Scenario.Attack: Int] = [:]
    /// The number of valid initiations that the adversary began in each attack.
    var begun: [Scenario.Attack: Int] = [:]
    private var linkOfIndex: [UInt32: Int] = [:]
    /// The host to which each relay passes handshakes, by the relay's address.
    private var relays: [Address: Int] = [:]
    /// The senders of relayed handshakes, by the index in the answers.
    private var relayed: [UInt32: Address] = [:]
    private var nextIndex: UInt32 = 0x4000_0000
    private var turns = 0
    private var credit = 0
    private var linkCredit = 0

    init(_ plan: Scenario.AdversaryPlan, _ scenario: Scenario, _ keys: ChatKeys) {
        self.plan = plan
        self.keys = keys
        generator = SeededGenerator(seed: scenario.seed, purpose: 9)
        let targets = min(scenario.hosts.count, Adversary.targets)
        for attack in plan.attacks { prepare(attack, targets: targets) }
        mostLinks = (0..<targets).map { target in links.count { $0.target == target } }.max() ?? 0
    }

    // MARK: Keys and addresses

    private static let commonKeys: [KeyPair] = {
        var generator = SeededGenerator(seed: 44)
        return (0..<128).map { _ in KeyPair(using: &generator) }
    }()
    private static let moreKeys: [KeyPair] = {
        var generator = SeededGenerator(seed: 45)
        return (0..<1_024).map { _ in KeyPair(using: &generator) }
    }()
    private static let allCommon = Set(commonKeys.map(\.publicKey))
    private static let all = Set((commonKeys + moreKeys).map(\.publicKey))

    /// Returns one of the adversary's keys, numbered from 0.
    static func key(_ number: Int) -> KeyPair {
        let common = commonKeys.count
        return number < common ? commonKeys[number] : moreKeys[(number - common) % moreKeys.count]
    }

    /// Returns whether a person that a node shows is the adversary.
    func holds(_ key: PublicKey) -> Bool {
        (plan.attacks.contains(.fullTable) ? Adversary.all : Adversary.allCommon).contains(key)
    }

    /// Returns one of the adversary's addresses, numbered from 0. Limits for each source ignore the port.
    static func address(_ number: Int, port: UInt16 = 50_000) -> Address {
        Address(ipv4: 0x0A00_00C8 + UInt32(number % 55), port: port)
    }

    /// Returns an address on the link that no host has.
    func silentAddress() -> Address {
        Address(
            ipv4: 0x0A00_0080 + UInt32(generator.number(in: 0...63)),
            port: UInt16(generator.number(in: 1_024...49_999)))
    }

    /// Returns whether the adversary receives datagrams to an address: on its own hosts, or by its programs on other
    /// hosts.
    func owns(_ address: Address) -> Bool {
        guard address.port >= Adversary.firstPort else { return false }
        return address.isLoopback || address.ipv4.map { $0 >> 8 == 0x0A_0000 } ?? false
    }

    /// Returns the address of a relay to a host.
    func relay(to host: Int, _ number: Int) -> Address {
        let address = Adversary.address(host * 12 + number, port: 58_000 + UInt16(host))
        relays[address] = host
        return address
    }

    func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let number = generator.next()
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: number >> shift))
            }
        }
        return Array(bytes.prefix(count))
    }

    func number() -> UInt32 { UInt32(truncatingIfNeeded: generator.next()) }

    // MARK: Its turn

    /// Returns the datagrams that the adversary sends now.
    func act(on targets: [Target], _ now: Instant) -> [Forgery] {
        guard !targets.isEmpty else { return [] }
        turns += 1
        var forgeries = beginLinks(targets, now)
        for attack in plan.attacks {
            let before = forgeries.count
            forgeries += keepLinks(of: attack, targets, now)
            sent[attack, default: 0] += forgeries.count - before
        }
        credit += plan.rate
        while credit >= 100 {
            credit -= 100
            let attack = generator.pick(plan.attacks)
            let focus = targets.first { $0.host == plan.focus }
            guard let forgery = forge(attack, focus ?? generator.pick(targets), now) else { continue }
            forgeries.append(forgery)
            sent[attack, default: 0] += 1
        }
        return forgeries
    }

    /// Begins the links that are due, some in each call. A link is due after each start of its node, and after a failed
    /// attempt.
    private func beginLinks(_ targets: [Target], _ now: Instant) -> [Forgery] {
        linkCredit = min(linkCredit + Adversary.linksPerSecond, 500)
        var forgeries: [Forgery] = []
        for place in links.indices where linkCredit >= 100 && !links[place].isFleeting {
            guard let target = targets.first(where: { $0.host == links[place].target }) else { continue }
            let isOver = links[place].incarnation != target.incarnation
            guard isOver || (!links[place].isOpen && now - links[place].begunAt > .milliseconds(1_500)) else {
                continue
            }
            linkCredit -= 100
            if let forgery = begin(place, target, now) { forgeries.append(forgery) }
        }
        return forgeries
    }

    /// Returns the initiation of a link.
    func begin(_ place: Int, _ target: Target, _ now: Instant) -> Forgery? {
        nextIndex += 1
        linkOfIndex[nextIndex] = place
        begun[links[place].attack, default: 0] += 1
        let chat = links[place].attack == .members ? Simulation.chats[2] : keys
        let bytes = links[place].begin(
            nextIndex, with: target.key, chat, incarnation: target.incarnation, using: &generator, now)
        return bytes.map { Forgery(bytes: $0, source: links[place].address, destination: target.address) }
    }

    /// Adds a link of an attack to the table.
    func add(
        _ attack: Scenario.Attack, to target: Int, key: Int, run: Int = 1, from address: Address, interval: UInt8
    ) {
        links.append(
            HostileLink(
                attack, to: target, identity: Adversary.key(key), run: UInt64(run), address: address,
                interval: interval))
    }

    // MARK: Datagrams in

    /// Receives a datagram at one of the adversary's addresses, and returns the answer.
    func receive(_ bytes: [UInt8], from source: Address, at address: Address) -> Forgery? {
        guard let datagram = try? Datagram.parse(bytes) else { return nil }
        var answer: [UInt8]?
        switch datagram {
        case .initiation(let initiation):
            arrived.append((initiation.senderIndex, source, address))
            if arrived.count > 16 { arrived.removeFirst() }
        case .retry(let retry):
            guard let place = linkOfIndex[retry.receiverIndex] else { return nil }
            answer = links[place].retried(retry.cookie)
        case .response(let response):
            guard let place = linkOfIndex[response.receiverIndex] else { return nil }
            guard !links[place].isFleeting else { return nil }
            answer = links[place].finish(response)
        case .sealed(let sealed):
            guard let place = linkOfIndex[sealed.receiverIndex] else { return nil }
            let received = links[place].receive(sealed)
            answer = received.answer
            // Repeat the records that the network lost.
            if let next = received.next, next &+ 15 < links[place].records { links[place].records = max(next, 1) - 1 }
        case .ask, .tell: return nil
        }
        return answer.map { Forgery(bytes: $0, source: address, destination: source) }
    }

    /// Passes on a handshake's datagram that came to a relay. A relay works in both directions, and drops all other
    /// datagrams.
    ///
    /// - Parameter hosts: The address of each host.
    func relay(_ bytes: [UInt8], from source: Address, at address: Address, hosts: [Address?]) -> Forgery? {
        guard let host = relays[address], let destination = hosts[host], let datagram = try? Datagram.parse(bytes)
        else { return nil }
        switch datagram {
        case .initiation(let initiation):
            relayed[initiation.senderIndex] = source
            return Forgery(bytes: bytes, source: address, destination: destination)
        case .response(let response):
            return relayed[response.receiverIndex].map { Forgery(bytes: bytes, source: address, destination: $0) }
        case .retry(let retry):
            return relayed[retry.receiverIndex].map { Forgery(bytes: bytes, source: address, destination: $0) }
        case .sealed, .ask, .tell: return nil
        }
    }

    /// Returns whether an address is a relay's.
    func isRelay(_ address: Address) -> Bool { relays[address] != nil }

    /// Records a datagram that the adversary overhears between two hosts.
    func overhear(_ bytes: [UInt8], from source: Address, to destination: Address) {
        guard case .initiation(let initiation)? = try? Datagram.parse(bytes) else { return }
        overheard.append((bytes, initiation.senderIndex, source, destination))
        if overheard.count > 32 { overheard.removeFirst() }
    }

    /// Returns whether the adversary repeated the initiation with that index with a cookie.
    func hadCookie(_ index: UInt32) -> Bool { linkOfIndex[index].map { links[$0].hasCookie } ?? false }

    /// Returns the farewells of the adversary's links, which empty a table that was full.
    func leave(_ targets: [Target]) -> [Forgery] {
        links.indices.flatMap { place -> [Forgery] in
            guard let target = targets.first(where: { $0.host == links[place].target }) else { return [] }
            return (0..<2).compactMap { _ in links[place].seal([.bye(.quit)]) }
                .map { Forgery(bytes: $0, source: links[place].address, destination: target.address) }
        }
    }

    /// Whether the links of the attack that fills whole tables end with a farewell.
    var takesLeave: Bool { plan.attacks.contains(.fullTable) }
}
