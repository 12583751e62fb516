import InklingWire
import SeededRandom

/// The source addresses of datagrams.
enum SourceChoice {
    case own
    /// Random addresses of the link that no host has.
    case spoofed

    func address(_ attacker: Attacker) -> IPv4Address? {
        switch self {
        case .own: nil
        case .spoofed: attacker.address(of: Attacker.spoofedAddresses)
        }
    }
}

/// Random datagrams. The attack needs no knowledge of the victim.
final class RandomFlood: AttackPlan {
    private let source: SourceChoice
    private let make: (inout SeededGenerator) -> [UInt8]

    init(from source: SourceChoice = .own, make: @escaping (inout SeededGenerator) -> [UInt8]) {
        self.source = source
        self.make = make
    }

    func sendNext(_ attacker: Attacker) {
        attacker.send(make(&attacker.garbage), from: source.address(attacker))
    }
}

/// One valid initiation, sent many times.
final class RepeatedInitiation: AttackPlan {
    private var bytes: [UInt8] = []

    func prepare(_ attacker: Attacker) throws {
        bytes = try attacker.validInitiation().encode()
    }

    func sendNext(_ attacker: Attacker) { attacker.send(bytes) }
}

/// Valid initiations, repeated with the cookies of the victim's retries.
final class CookieFlood: AttackPlan {
    private struct Entry {
        var bytes: [UInt8]
        var initiation: Initiation
        let source: IPv4Address?
    }

    private let count: Int
    private let isSpread: Bool
    private var entries: [Entry] = []
    private var places: [UInt32: Int] = [:]
    private var next = 0

    init(count: Int, isSpread: Bool) {
        self.count = count
        self.isSpread = isSpread
    }

    func prepare(_ attacker: Attacker) throws {
        for number in 0..<count {
            let initiation = try attacker.validInitiation()
            let source = IPv4Address(value: Attacker.ownedAddresses.first + UInt32(number))
            places[initiation.senderIndex] = number
            entries.append(
                Entry(bytes: initiation.encode(), initiation: initiation, source: isSpread ? source : nil))
        }
    }

    func sendNext(_ attacker: Attacker) {
        attacker.send(entries[next].bytes, from: entries[next].source)
        next = (next + 1) % entries.count
    }

    func receive(_ datagram: Datagram, _ received: AttackSocket.Received, _ attacker: Attacker) {
        guard case .retry(let retry) = datagram, let place = places[retry.receiverIndex] else { return }
        entries[place].initiation.cookie = retry.cookie
        entries[place].bytes = entries[place].initiation.encode()
    }
}

/// Datagrams to the indices of the victim's own initiations. Forged instances make the victim send these.
final class IndexFlood: AttackPlan {
    /// The number of keys of the forged instances. Attempts to some keys run while attempts to others pause. With more
    /// keys at one address, the victim would open to none (D-17).
    private static let keyCount = Limits.keysPerAddress
    /// The most announcements that the plan sends, one a second, until the victim opens to an instance.
    private static let announcements = 15
    /// The seconds for which the plan uses an index after the victim last sent an initiation with it.
    private static let indexSeconds = 3.0

    private let source: SourceChoice
    private let make: (UInt32, inout SeededGenerator) -> [UInt8]
    private let services: ForgedServices
    private var indices: [(index: UInt32, since: Double)] = []
    private var next = 0

    init(from source: SourceChoice = .own, make: @escaping (UInt32, inout SeededGenerator) -> [UInt8]) throws {
        self.source = source
        self.make = make
        services = try ForgedServices()
    }

    func prepare(_ attacker: Attacker) throws {
        for _ in 0..<IndexFlood.keyCount {
            services.add(
                at: SocketEndpoint(address: Attacker.address, port: attacker.socket.port),
                key: KeyPair(using: &attacker.random).publicKey, for: attacker.chat, &attacker.garbage)
        }
        for _ in 0..<IndexFlood.announcements where indices.isEmpty {
            services.announceAll(attacker)
            _ = attacker.pump(self, seconds: 1) { !indices.isEmpty }
        }
        if indices.isEmpty { throw AttackError("the victim opens to none of the forged instances") }
    }

    func sendNext(_ attacker: Attacker) {
        guard !indices.isEmpty else { return }
        next = (next + 1) % indices.count
        attacker.send(make(indices[next].index, &attacker.garbage), from: source.address(attacker))
    }

    func receive(_ datagram: Datagram, _ received: AttackSocket.Received, _ attacker: Attacker) {
        guard case .initiation(let initiation) = datagram, received.source.address == attacker.victim.address else {
            return
        }
        let now = monotonicSeconds()
        indices.removeAll { $0.index == initiation.senderIndex || $0.since < now - IndexFlood.indexSeconds }
        indices.append((initiation.senderIndex, now))
    }
}

extension Attacker {
    /// Returns an initiation with a new identity for the open chat. The victim answers such initiations.
    func validInitiation() throws -> Initiation {
        try PendingHandshake(
            chat: chat, identity: KeyPair(using: &random), ephemeral: KeyPair(using: &random), remote: askForKey(),
            senderIndex: garbage.index(), own: RunAndEpoch(run: garbage.next(), epoch: 0)
        ).initiation
    }
}

extension SeededGenerator {
    mutating func index() -> UInt32 { UInt32(truncatingIfNeeded: next()) }

    /// Returns an initiation of random bytes, under a check of a chat or a random one.
    mutating func initiation(of chat: ChatKeys?) -> [UInt8] {
        let (index, noise) = (index(), bytes(Limits.noiseMessage1Size))
        let initiation =
            chat?.initiation(senderIndex: index, noise: noise)
            ?? Initiation(senderIndex: index, check: next(), noise: noise)
        return initiation.encode()
    }

    mutating func response(index: UInt32) -> [UInt8] {
        Response(receiverIndex: index, noise: bytes(Limits.noiseMessage2Size)).encode()
    }

    mutating func retry(index: UInt32) -> [UInt8] {
        Retry(receiverIndex: index, cookie: bytes(Limits.cookieSize)).encode()
    }

    /// Returns a sealed datagram of the largest size. No replay window refuses its counter.
    mutating func sealed(index: UInt32) -> [UInt8] {
        let counter = UInt32.random(in: 1 << 24...1 << 30, using: &self)
        let size = Limits.maximumDatagramSize - SealedDatagram.headerSize
        return SealedDatagram(receiverIndex: index, counter: counter, ciphertext: bytes(size)).encode()
    }
}
