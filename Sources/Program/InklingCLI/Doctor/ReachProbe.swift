import Glibc

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
