import Glibc
import InklingText

/// How far a datagram to a host on the same network gets.
package enum Reach: Equatable, Sendable {
    /// The system refuses to send the datagram, because the firewall of this machine drops it.
    case forbidden
    /// The host reports that no program has the port.
    case refused
    /// The host answers address requests on the link, but not the datagram.
    case heard
    /// No host answers address requests on the link. Either no host has the address, or the network separates the two
    /// hosts.
    case unheard
    /// The result is unknown, for example because the host is beyond a router.
    case unknown

    /// Returns the most informative result among those for the addresses of one host.
    package static func best(_ reaches: [Reach]) -> Reach {
        for reach in [Reach.refused, .forbidden, .heard, .unheard] where reaches.contains(reach) { return reach }
        return .unknown
    }

    /// Returns the state of a host in the system's table of neighbours; nil if there is none yet. If the host's own
    /// request caused an entry, it does not count.
    ///
    /// - Parameters:
    ///   - address: in the form of `ip neigh`, without an interface.
    ///   - table: the output of `ip neigh`.
    package static func neighbour(_ address: String, in table: String) -> Reach? {
        let states = table.split(whereSeparator: \.isNewline).compactMap { line -> Substring? in
            let words = line.split(separator: " ")
            return words.first == address[...] ? words.last : nil
        }
        if states.contains(where: { ["REACHABLE", "PERMANENT"].contains($0) }) { return .heard }
        return states.contains { ["FAILED", "INCOMPLETE", "PROBE"].contains($0) } ? .unheard : nil
    }
}

/// A node that is announced in the chat but does not answer.
package struct SilentPeer: Equatable, Sendable {
    /// The label of the person.
    package var label: String
    /// The addresses as HOST:PORT.
    package var addresses: [String]
    package var reach: Reach
    /// Whether a wireless network leads to the node.
    package var isWireless: Bool

    package init(label: String, addresses: [String], reach: Reach, isWireless: Bool) {
        self.label = label
        self.addresses = addresses
        self.reach = reach
        self.isWireless = isWireless
    }

    /// The known circumstances of a silent node.
    package struct Circumstances: Sendable {
        /// Whether a known rule of this machine's firewall drops the chat, and so explains the silence.
        package var isWalled = false
        /// The reason why the rules of this machine's firewall are not known; nil if they are.
        package var unread: Finding.Unread?
        /// Whether the doctor's node has the user's own key. The silent person may have blocked that key.
        package var isOneself = false
        /// The chat as shell arguments for a further command, with a blank before them.
        package var arguments = ""

        package init(
            isWalled: Bool = false, unread: Finding.Unread? = nil, isOneself: Bool = false, arguments: String = ""
        ) {
            self.isWalled = isWalled
            self.unread = unread
            self.isOneself = isOneself
            self.arguments = arguments
        }
    }

    private static let check = "peers"

    /// Returns the doctor's finding about the silent node.
    package func finding(_ known: Circumstances) -> Finding {
        let announced = "\(label) is announced at \(addresses.joined(separator: ", ")), but does not answer"
        guard !known.isWalled else { return .note(Self.check, "\(announced); fix the firewall first") }
        switch reach {
        case .forbidden:
            return .problem(
                Self.check, "\(announced): the firewall of this machine does not let out what is sent there",
                look: known.unread?.look
                    ?? "sudo nft list ruleset    (look for what drops UDP in a chain of the output)",
                spoken:
                    "The firewall of my computer does not let out what Inkling sends to yours: I have to look at its "
                    + "rules as root.")
        case .refused:
            return .problem(
                Self.check,
                "\(announced): its computer does, and says that no program has the port. It left without saying goodbye, "
                    + "and its announcement goes by itself in some minutes",
                fix: "inkling chat\(known.arguments)    (there, to come back)",
                spoken: "Your computer says that Inkling does not run on it any more: please open the chat again.")
        case .heard:
            return dropped(
                "\(announced). Its computer can be reached", because: [], known,
                spoken: "My computer reaches yours, but Inkling there does not answer: ")
        case .unheard:
            return .problem(
                Self.check,
                "\(announced), and nor does its computer at all. \(isWireless ? "The wireless" : "Most likely the") "
                    + "network isolates its devices: what is for everybody passes, and what is for one of them does not. "
                    + "Or it has just gone",
                fix: "turn off \"client isolation\", \"AP isolation\" or \"guest network\" in the access point or "
                    + "switch, or use another network on both sides",
                spoken: "Our computers are on the same network, which lets them find but not talk to each other: "
                    + "please turn off the isolation of devices in the \(isWireless ? "Wi-Fi" : "router"), or let us both use "
                    + "another network.")
        case .unknown:
            return dropped(
                announced, because: ["the wireless network isolates its devices", "they left without saying goodbye"],
                known,
                spoken: "My computer finds yours, but gets no answer: ")
        }
    }

    /// Returns the finding for a lost datagram. A firewall is the first suspect: this machine's, if its rules are
    /// unknown.
    private func dropped(
        _ start: String, because others: [String], _ known: Circumstances, spoken: String
    ) -> Finding {
        let others = others + (known.isOneself ? ["they have blocked you"] : [])
        let rest = others.isEmpty ? "" : ". Otherwise " + others.joined(separator: ", or ")
        if let unread = known.unread {
            return .problem(
                Self.check,
                "\(start). The first suspect is the firewall of this machine (\(unread.reason)), the next is the one "
                    + "there\(rest)", look: unread.look,
                spoken: spoken
                    + "I have to look at the firewall of mine as root, and please run the doctor as root on yours.")
        }
        return .problem(
            Self.check, "\(start). The firewall of this machine lets it pass, so one there drops UDP\(rest)",
            look: "inkling doctor\(known.arguments)    (there, as root: it names the rule, and the line that opens it)",
            spoken: spoken + "please run the doctor there as root, which says how to open your firewall.")
    }
}

/// Measures how far datagrams to hosts get.
enum ReachProbe {
    /// The interval between two checks of the system's table of neighbours, in milliseconds. A host on the same link
    /// answers much faster.
    private static let step: UInt32 = 500
    /// The most checks. The system asks a host with a known address again only after 5 s.
    private static let looks = 16

    private struct Target {
        let socket: Int32
        /// The address in the form of `ip neigh`.
        let host: String
        /// The result of the last check.
        var last: Reach?
        var reach: Reach?
    }

    /// Sends empty datagrams to each address until the reach is known. Nodes ignore empty datagrams.
    ///
    /// - Parameter addresses: as HOST:PORT.
    static func run(_ addresses: [String]) -> [String: Reach] {
        var targets: [String: Target] = [:]
        for address in addresses where targets[address] == nil { targets[address] = connected(address) }
        defer { for target in targets.values { close(target.socket) } }
        for _ in 0..<looks {
            let open = targets.filter { $0.value.reach == nil }.keys
            guard !open.isEmpty else { break }
            for address in open { knock(&targets[address]) }
            usleep(step * 1_000)
            let table = HostTools.output(of: ["ip", "neigh"]) ?? ""
            for address in open { look(&targets[address], table) }
        }
        return targets.mapValues { $0.reach ?? .unknown }
    }

    /// Sends a datagram. The call returns the host's error for the previous datagram.
    private static func knock(_ target: inout Target?) {
        guard let socket = target?.socket else { return }
        guard send(socket, nil, 0, Int32(MSG_DONTWAIT)) < 0 else { return }
        switch errno {
        case ECONNREFUSED: target?.reach = .refused
        case EPERM: target?.reach = .forbidden
        default: break
        }
    }

    /// Records the reach. Two checks must agree, because a host that answers may still refuse the port.
    private static func look(_ target: inout Target?, _ table: String) {
        guard let former = target, former.reach == nil else { return }
        let found = Reach.neighbour(former.host, in: table)
        target?.last = found
        if let found, found == former.last { target?.reach = found }
    }

    /// Returns a UDP socket that is connected to one address.
    private static func connected(_ address: String) -> Target? {
        guard let colon = address.lastIndex(of: ":") else { return nil }
        let host = address[..<colon].filter { !"[]".contains($0) }
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(String(host), String(address[address.index(after: colon)...]), &hints, &list) == 0 else {
            return nil
        }
        defer { freeaddrinfo(list) }
        guard let found = list?.pointee else { return nil }
        let socket = Glibc.socket(found.ai_family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return nil }
        guard connect(socket, found.ai_addr, found.ai_addrlen) == 0 else {
            close(socket)
            return nil
        }
        return Target(socket: socket, host: String(host.prefix { $0 != "%" }))
    }
}
