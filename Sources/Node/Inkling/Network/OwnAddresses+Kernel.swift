import Glibc
import InklingCore

extension OwnAddresses {
    /// Returns the current addresses of this host: those with a local route in any routing table. ``InterfaceMonitor``
    /// reports when to read them again.
    package static func current() -> OwnAddresses {
        // If the table changed during the dump, the next try reads it again.
        for _ in 0..<3 {
            if let addresses = read() { return addresses }
        }
        return OwnAddresses(Interfaces.all().networks.map { LocalNetwork(address: $0.address, prefixLength: 128) })
    }

    private static func read() -> OwnAddresses? {
        let (getRoute, local): (UInt16, UInt8) = (26, 2)  // RTM_GETROUTE, RTN_LOCAL
        var own = OwnAddresses([])
        for family in [AF_INET, AF_INET6] {
            // The fields of struct rtmsg: family, lengths of destination and source, TOS, table, protocol, scope, type,
            // flags.
            let request = [UInt8(truncatingIfNeeded: family), 0, 0, 0, 0, 0, 0, local, 0, 0, 0, 0]
            let isWhole = Netlink.dump(.route, type: getRoute, request) { body in
                guard Netlink.load(body, 7, as: UInt8.self) == local,
                    let length = Netlink.load(body, 1, as: UInt8.self)
                else { return }
                Netlink.attributes(body.dropFirst(request.count)) { type, value in
                    guard type == 1, let address = Address(netlink: value) else { return }  // RTA_DST
                    let mapped = family == AF_INET ? 96 : 0
                    own.insert(LocalNetwork(address: address, prefixLength: mapped + Int(length)))
                }
            }
            // A host without IPv6 refuses the request for IPv6.
            guard isWhole || family == AF_INET6 && !hasIPv6 else { return nil }
        }
        return own
    }

    private static var hasIPv6: Bool {
        let probe = socket(AF_INET6, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        if probe >= 0 { close(probe) }
        return probe >= 0
    }
}

extension Address {
    /// The address of 4 or 16 bytes in network order. Its port is 0.
    init?(netlink bytes: Netlink.Body) {
        switch bytes.count {
        case 4:
            guard let ipv4 = Netlink.load(bytes, 0, as: UInt32.self) else { return nil }
            self.init(ipv4: UInt32(bigEndian: ipv4), port: 0)
        case 16:
            guard let high = Netlink.load(bytes, 0, as: UInt64.self), let low = Netlink.load(bytes, 8, as: UInt64.self)
            else { return nil }
            self.init(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low), port: 0)
        default: return nil
        }
    }
}
