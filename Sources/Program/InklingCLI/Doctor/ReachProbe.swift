import Glibc

/// Finds out how far something gets that is sent to hosts.
enum ReachProbe {
    /// How often it is looked what the system has learned, in milliseconds: a host on the same link takes much less to
    /// answer.
    private static let step: UInt32 = 500
    /// How many times at most. A host of which the system knows the address from before is asked only after 5 s.
    private static let looks = 16

    private struct Target {
        let socket: Int32
        /// The address as `ip neigh` has it.
        let host: String
        /// What the last look showed.
        var last: Reach?
        var reach: Reach?
    }

    /// Sends empty datagrams, which no node takes for anything, to each address, until it is known how far they get.
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

    /// What the host said to the datagram before comes as the error of the next one.
    private static func knock(_ target: inout Target?) {
        guard let socket = target?.socket else { return }
        guard send(socket, nil, 0, Int32(MSG_DONTWAIT)) < 0 else { return }
        switch errno {
        case ECONNREFUSED: target?.reach = .refused
        case EPERM: target?.reach = .forbidden
        default: break
        }
    }

    /// Silence counts where it lasts from one look to the next. A host that answers may still refuse the port.
    private static func look(_ target: inout Target?, _ table: String) {
        guard let former = target, former.reach == nil else { return }
        let found = Reach.neighbour(former.host, in: table)
        target?.last = found
        if let found, found == former.last { target?.reach = found }
    }

    /// A UDP socket for one address.
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
