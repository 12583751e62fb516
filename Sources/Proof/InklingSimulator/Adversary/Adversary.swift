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

/// The datagrams of each attack.
extension Adversary {
    /// The records of a long message, and of a short one.
    private static let recordsPerMessage: UInt32 = 56
    private static let longText = String(repeating: "y", count: Limits.maximumRecordTextSize)
    /// The most initiations that the adversary makes itself for one attack. Each of them makes a run slower.
    private static let initiations = 500
    /// The records of a hoarding link: more than enough to fill a node's store.
    private static let hoardedRecords: UInt32 = 2_600

    // MARK: Before

    /// Adds the links that an attack needs to the adversary's table.
    func prepare(_ attack: Scenario.Attack, targets: Int) {
        for target in 0..<targets {
            switch attack {
            case .chatter:
                for number in 0..<4 {
                    add(attack, to: target, key: number, from: Adversary.address(number), interval: 10)
                }
            case .flood:
                add(attack, to: target, key: 8, from: Adversary.address(8), interval: 10)
            case .hoard:
                guard target == 0 else { continue }
                for number in 0..<4 {
                    add(attack, to: target, key: 10 + number, from: Adversary.address(10), interval: 10)
                }
            case .reserve:
                guard target == 0 else { continue }
                for number in 0..<140 {
                    let address = Adversary.address(number % 5, port: 54_000 + UInt16(number))
                    add(attack, to: target, key: number % 128, run: 3 + number / 128, from: address, interval: 30)
                }
            case .chainBeyond:
                guard target == 0 else { continue }
                for number in 0..<24 {
                    add(attack, to: target, key: 60 + number, run: 4, from: Adversary.address(number), interval: 30)
                }
            case .members:
                guard target == 0 else { continue }
                for number in 0..<127 {
                    let address = Adversary.address(number, port: 55_000 + UInt16(number))
                    add(attack, to: target, key: number, from: address, interval: 30)
                }
            case .manyLinks:
                for run in 1...12 {
                    let address = Adversary.address(20, port: 50_000 + UInt16(run))
                    add(attack, to: target, key: 20, run: run, from: address, interval: 30)
                }
                guard target == 0 else { continue }
                for number in 0..<Limits.linksPerSource + 6 {
                    let address = Adversary.address(21, port: 50_000 + UInt16(number))
                    // These links use another run than other attacks do. With the same run the links of those
                    // attacks would move here, which L-53 allows.
                    add(attack, to: target, key: 21 + number, run: 2, from: address, interval: 30)
                }
            case .neighbours:
                // The friend's host: the first target sees strangers on the second host. All others see strangers on
                // the first host.
                guard target < 2 else { continue }
                let host = Address(ipv4: 0x0A00_0001 + UInt32(1 - target), port: 1)
                for number in 0..<Limits.linksPerSource {
                    let address = Address(high: host.high, low: host.low, port: 51_000 + UInt16(number))
                    add(attack, to: target, key: number, from: address, interval: 40)
                }
            case .ownHost:
                guard target == 0 else { continue }
                for number in 0..<Limits.linksOfOtherUsers + 40 {
                    // The sources are the node's own address on the network and addresses of 127.0.0.0/8.
                    let host: UInt32 = number % 8 == 0 ? 0x0A00_0001 : 0x7F00_0001 + UInt32(number)
                    let address = Address(ipv4: host, port: 57_000 + UInt16(number))
                    add(attack, to: target, key: number % 128, run: 20 + number / 128, from: address, interval: 40)
                }
            case .crowd:
                guard target == 0 else { continue }
                for number in 0..<generator.number(in: 60...119) {
                    let address = Adversary.address(number, port: 53_000 + UInt16(number / 55))
                    add(attack, to: target, key: number, from: address, interval: 30)
                }
            case .fullTable:
                guard target == 0 else { continue }
                for number in 0..<Limits.links + 16 {
                    let address = Adversary.address(number, port: 50_000 + UInt16(number / 55))
                    add(attack, to: target, key: 128 + number, from: address, interval: 200)
                }
            case .ghosts:
                for number in 0..<4 {
                    add(
                        attack, to: target, key: 40 + number, run: 30, from: Adversary.address(40 + number),
                        interval: 10)
                }
            case .unheard:
                for number in 0..<4 {
                    add(
                        attack, to: target, key: 44 + number, run: 30, from: Adversary.address(44 + number),
                        interval: 10)
                }
            case .initiations, .cookies, .cookiesOfOneSource, .instances, .changingKeys, .friends, .relays, .responses,
                .asks, .garbage, .recordings:
                continue
            }
        }
    }

    /// Returns the service instances that the adversary announces to a node that has just started, or at the attack's
    /// begin.
    ///
    /// - Parameter friends: The keys of the others, by their hosts.
    func instances(of friends: [(host: Int, key: PublicKey)]) -> [Instance] {
        plan.attacks.flatMap { attack -> [Instance] in
            switch attack {
            case .friends:
                friends.flatMap { friend in
                    (0..<Limits.instancesPerKey + 8).map { number in
                        Instance(
                            name: "friend \(friend.host), \(number)", key: friend.key, addresses: [silentAddress()])
                    }
                }
            case .relays:
                friends.flatMap { friend in
                    (0..<12).map { number in
                        Instance(
                            name: "relay to \(friend.host), \(number)", key: friend.key,
                            addresses: [relay(to: friend.host, number)])
                    }
                }
            case .instances:
                (0..<400).map { number in
                    let addresses = (0..<generator.pick([1, 1, 2])).map { _ in silentAddress() }
                    return Instance(name: "forged \(number)", key: anyKey(), addresses: addresses)
                }
            case .changingKeys: changingInstances()
            case .unheard:
                (0..<4).map { number in
                    let addresses = [Adversary.address(44 + number)] + (0..<7).map { _ in silentAddress() }
                    return Instance(
                        name: "unheard \(number)", key: Adversary.key(44 + number).publicKey, addresses: addresses)
                }
            case .responses: instancesOfItsOwn()
            default: []
            }
        }
    }

    /// Returns the service instances with new keys that the adversary announces again and again.
    func changedInstances() -> [Instance] {
        plan.attacks.flatMap { attack -> [Instance] in
            switch attack {
            case .changingKeys: changingInstances()
            default: []
            }
        }
    }

    private func changingInstances() -> [Instance] {
        let address = Address(ipv4: 0x0A00_0080, port: 1_000)
        return (0..<4).map { Instance(name: "changing \($0)", key: anyKey(), addresses: [address]) }
    }

    private func instancesOfItsOwn() -> [Instance] {
        (0..<4).map { number in
            let address = Adversary.address(30 + number, port: 52_000)
            return Instance(name: "its own \(number)", key: anyKey(), addresses: [address])
        }
    }

    /// Returns a random key. Random bytes are nearly always a valid key.
    private func anyKey() -> PublicKey { PublicKey(bytes(32)) ?? Adversary.key(0).publicKey }

    // MARK: Its turn

    /// Returns the datagrams with which members keep their links up. Members send them at their own pace, outside the
    /// attack's rate.
    func keepLinks(of attack: Scenario.Attack, _ targets: [Target], _ now: Instant) -> [Forgery] {
        var forgeries: [Forgery] = []
        let tick = Int((now - .zero).nanoseconds / Adversary.period.nanoseconds)
        for place in links.indices where links[place].attack == attack && links[place].isOpen {
            let interval = links[place].interval
            let isTyping = (tick / 5 + place) % 2 == 0
            let status = Status(isTyping: isTyping, isAway: (tick / 10 + place) % 2 == 0)
            let frame: Frame
            if attack == .chatter, (tick + place) % 5 == 0 {
                frame = .typing(status)
            } else if attack == .unheard, tick % 20 == 0 {
                frame = .heartbeat(Heartbeat(status: Status(isUnheard: tick % 40 == 0), interval: interval))
            } else if attack != .chatter, (tick + place) % (8 * Int(interval)) == 0 {
                frame = .heartbeat(Heartbeat(status: Status(isTyping: false, isAway: false), interval: interval))
            } else if attack == .chatter, (tick + place) % 80 == 1 {
                frame = .heartbeat(Heartbeat(status: status, interval: interval))
            } else {
                continue
            }
            if let forgery = seal([frame], on: place, targets) { forgeries.append(forgery) }
        }
        return forgeries
    }

    private func seal(_ frames: [Frame], on place: Int, _ targets: [Target]) -> Forgery? {
        guard let target = targets.first(where: { $0.host == links[place].target }),
            target.incarnation == links[place].incarnation, let bytes = links[place].seal(frames)
        else { return nil }
        return Forgery(bytes: bytes, source: links[place].address, destination: target.address)
    }

    /// One datagram of an attack.
    func forge(_ attack: Scenario.Attack, _ target: Target, _ now: Instant) -> Forgery? {
        switch attack {
        case .initiations: garbledInitiation(target, from: anySource(target))
        case .cookies: validInitiation(attack, target, perSecond: 260, now)
        case .cookiesOfOneSource:
            // The garbled initiations raise the load, so that the node asks for cookies.
            validInitiation(attack, target, perSecond: 40, now)
                ?? garbledInitiation(target, from: Adversary.address(generator.number(in: 0...54)))
        case .flood:
            record(attack, target, of: 1, text: "f")
        case .hoard:
            record(attack, target, of: Adversary.recordsPerMessage, text: Adversary.longText)
        case .reserve:
            record(attack, target, of: Adversary.recordsPerMessage, text: Adversary.longText)
        case .chainBeyond, .members:
            record(attack, target, of: 2, text: Adversary.longText)
        case .responses: response(target)
        case .asks:
            Forgery(
                bytes: Datagram.ask(keys.ask(token: generator.next())).encode(), source: anySource(target),
                destination: target.address)
        case .garbage: garbage(target)
        case .recordings:
            generator.oneIn(20) ? recording() : nil
        case .chatter, .manyLinks, .neighbours, .ownHost, .crowd, .fullTable, .instances, .changingKeys, .friends,
            .relays, .ghosts, .unheard:
            nil
        }
    }

    /// Returns a random source: mostly an address of the adversary's, sometimes a friend's.
    private func anySource(_ target: Target) -> Address {
        if generator.oneIn(8) { return Address(ipv4: 0x0A00_0001 + UInt32(generator.number(in: 0...2)), port: 4_000) }
        return Adversary.address(generator.number(in: 0...54), port: UInt16(generator.number(in: 50_000...50_099)))
    }

    private func garbledInitiation(_ target: Target, from source: Address) -> Forgery {
        let initiation = keys.initiation(senderIndex: number(), noise: bytes(Limits.noiseMessage1Size))
        return Forgery(bytes: initiation.encode(), source: source, destination: target.address)
    }

    /// Returns an initiation with a new index, from one of the adversary's keys, while a friend restarts. The adversary
    /// confirms no session of such an initiation.
    private func validInitiation(
        _ attack: Scenario.Attack, _ target: Target, perSecond rate: Int, _ now: Instant
    ) -> Forgery? {
        let number = begun[attack] ?? 0
        guard target.host < 2, plan.isDecisive(now), number < Adversary.initiations,
            generator.number(in: 1...plan.rate) <= rate
        else { return nil }
        let source =
            attack == .cookies
            ? Adversary.address(number) : Adversary.address(54, port: UInt16(50_000 + number % 1_000))
        add(attack, to: target.host, key: number % 128, from: source, interval: 10)
        return begin(links.count - 1, target, now)
    }

    /// Returns the next record on one of the links of an attack.
    private func record(_ attack: Scenario.Attack, _ target: Target, of count: UInt32, text: String) -> Forgery? {
        let places = links.indices.filter {
            links[$0].attack == attack && links[$0].target == target.host && links[$0].isOpen
        }
        guard !places.isEmpty else { return nil }
        let place = generator.pick(places)
        let number = links[place].records
        let isMostSent =
            switch attack {
            case .hoard: number >= Adversary.hoardedRecords
            case .reserve: number > 0
            case .chainBeyond, .members: number > 6
            default: false
            }
        guard !isMostSent else { return nil }
        links[place].records += 1
        if attack == .chainBeyond || attack == .members && place % 2 == 0 {
            // Record 0 never comes; records 2, 4, … each begin a message.
            return seal([HostileLink.record(2 * number + 2, of: count, text: text)], on: place, [target])
        }
        guard attack != .members || number == 0 else { return nil }
        return seal([HostileLink.record(number, of: count, text: text)], on: place, [target])
    }

    /// Returns a random response for an initiation whose index the adversary knows. The source is the initiation's
    /// destination if that was the adversary's, else another address.
    private func response(_ target: Target) -> Forgery? {
        let noise = bytes(Limits.noiseMessage2Size)
        if let known = arrived.last(where: { $0.from == target.address }) {
            let source = generator.oneIn(2) ? known.at : anySourceOfItsOwn()
            let bytes = Datagram.response(Response(receiverIndex: known.index, noise: noise)).encode()
            return Forgery(bytes: bytes, source: source, destination: known.from)
        }
        guard let known = overheard.last(where: { $0.from == target.address }) else { return nil }
        let bytes = Datagram.response(Response(receiverIndex: known.index, noise: noise)).encode()
        return Forgery(bytes: bytes, source: anySourceOfItsOwn(), destination: known.from)
    }

    private func anySourceOfItsOwn() -> Address { Adversary.address(generator.number(in: 0...54)) }

    private func garbage(_ target: Target) -> Forgery {
        let bytes: [UInt8]
        if generator.oneIn(3) {
            let index = overheard.isEmpty ? number() : generator.pick(overheard).index
            bytes = Datagram.retry(Retry(receiverIndex: index, cookie: self.bytes(16))).encode()
        } else {
            let ciphertext = self.bytes(generator.pick([18, 200, 1_191]))
            bytes = SealedDatagram(receiverIndex: number(), counter: 0, ciphertext: ciphertext).encode()
        }
        return Forgery(bytes: bytes, source: anySource(target), destination: target.address)
    }

    private func recording() -> Forgery? {
        guard !overheard.isEmpty else { return nil }
        let recording = generator.pick(overheard)
        let source = generator.oneIn(2) ? recording.from : anySourceOfItsOwn()
        return Forgery(bytes: recording.bytes, source: source, destination: recording.to)
    }
}
