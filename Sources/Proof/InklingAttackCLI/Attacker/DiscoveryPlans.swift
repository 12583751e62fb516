import InklingWire

/// Forged service instances that the attacker announces without end.
final class InstanceFlood: AttackPlan {
    private static let count = 2_048
    /// The number of forged instances with the attacker's own address, and of those with the friend's address.
    private static let namedCount = 25
    /// The number of announcements in a second.
    private static let rate = 500

    private let services: ForgedServices
    private let chat: ChatKeys
    private var next = 0

    init(of chat: ChatKeys) throws {
        self.chat = chat
        services = try ForgedServices()
    }

    var maximumRate: Int { InstanceFlood.rate }

    func prepare(_ attacker: Attacker) throws {
        let own = SocketEndpoint(address: Attacker.address, port: attacker.socket.port)
        for number in 0..<InstanceFlood.count {
            let endpoint =
                switch number {
                case 0..<InstanceFlood.namedCount: own
                case InstanceFlood.namedCount..<2 * InstanceFlood.namedCount: attacker.friend
                default:
                    SocketEndpoint(
                        address: attacker.address(of: Attacker.spoofedAddresses),
                        port: UInt16.random(in: 1_024...65_535, using: &attacker.garbage))
                }
            services.add(
                at: endpoint, key: KeyPair(using: &attacker.random).publicKey, for: chat, &attacker.garbage)
        }
    }

    func sendNext(_ attacker: Attacker) {
        services.announce(next, attacker)
        next = (next + 1) % InstanceFlood.count
    }
}

/// Asks and valid initiations over paths that the victim does not use. The plan counts the answers by path.
final class ProbePlan: AttackPlan {
    private enum Way: String, CaseIterable {
        /// The unused interface, with its own address as the destination.
        case leftOut = "left-out"
        /// The unused interface, with the used interface's address as the destination.
        case leftOutToOther = "left-out-to-other"
        /// The used interface, with a source in a network beyond the link.
        case routed
    }

    private static let leftOutAddress = IPv4Address(value: 10 << 24 | 88 << 16 | 2)
    private static let routedAddress = IPv4Address(value: 10 << 24 | 99 << 16 | 3)

    private var sockets: [Way: AttackSocket] = [:]
    private var sent: [Way: Int] = [:]
    private var answers: [Way: Int] = [:]
    private var next = 0
    private var initiations: [Initiation] = []

    init() throws {
        sockets[.leftOut] = try AttackSocket(interface: "eth1")
        sockets[.leftOutToOther] = try AttackSocket(interface: "eth1")
        sockets[.routed] = try AttackSocket()
    }

    /// The rate is a fraction of the asks that a node answers in a second (D-25), and far below a load (L-9).
    var maximumRate: Int { 12 }

    var summary: String? {
        Way.allCases.map { "\($0.rawValue):\(answers[$0, default: 0])/\(sent[$0, default: 0])" }
            .joined(separator: ",")
    }

    func prepare(_ attacker: Attacker) throws {
        // Each initiation goes out only once, because repeating an old answer costs a node nothing.
        for _ in 0..<64 { initiations.append(try attacker.validInitiation()) }
    }

    func sendNext(_ attacker: Attacker) {
        let way = Way.allCases[next % Way.allCases.count]
        let isAsk = next / Way.allCases.count % 2 == 0
        next += 1
        guard let socket = sockets[way] else { return }
        let bytes: [UInt8]
        if isAsk {
            bytes = attacker.chat.ask(token: attacker.garbage.next()).encode()
        } else {
            guard let initiation = initiations.popLast() else { return }
            bytes = initiation.encode()
        }
        let isSent =
            switch way {
            case .leftOut:
                socket.send(
                    bytes, to: SocketEndpoint(address: ProbePlan.leftOutAddress, port: attacker.victim.port))
            case .leftOutToOther: socket.send(bytes, to: attacker.victim)
            case .routed: socket.send(bytes, to: attacker.victim, from: ProbePlan.routedAddress)
            }
        if isSent { sent[way, default: 0] += 1 }
        attacker.count(sent: isSent ? 1 : 0, refused: isSent ? 0 : 1)
    }

    func tick(_ attacker: Attacker) {
        for way in Way.allCases {
            while sockets[way]?.receive() != nil { answers[way, default: 0] += 1 }
        }
    }
}
