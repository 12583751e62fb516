import Glibc
import InklingCore

/// A network interface of this host, as the system described it at one moment.
package struct NetworkInterface: Hashable, Sendable {
    package let name: String
    /// The system's number of the interface, 1 or more. Link-local addresses of the interface have this number as their
    /// scope.
    package let index: UInt32
    /// Whether the interface is switched on, and has a cable or a wireless network.
    package let isUp: Bool
    package let isLoopback: Bool
    package let isPointToPoint: Bool
    package let isMulticast: Bool
    /// The host's addresses on the interface, each with its network, sorted by address.
    package let networks: [LocalNetwork]

    package init(
        name: String, index: UInt32, isUp: Bool = true, isLoopback: Bool = false, isPointToPoint: Bool = false,
        isMulticast: Bool = true, networks: [LocalNetwork] = []
    ) {
        self.name = name
        self.index = index
        self.isUp = isUp
        self.isLoopback = isLoopback
        self.isPointToPoint = isPointToPoint
        self.isMulticast = isMulticast
        self.networks = networks
    }

    /// Whether the interface is up and has an address, so that it can carry a datagram.
    package var isUsable: Bool { isUp && !networks.isEmpty }

    /// Whether the interface looks like a container's or a tunnel's, by its name or because it leads to one host only.
    package var isVirtual: Bool {
        isPointToPoint || Self.virtualNames.contains { name.hasPrefix($0) }
    }

    private static let virtualNames = [
        "br-", "cali", "cilium", "cni", "docker", "flannel", "ipsec", "kube-", "lxc", "lxdbr", "nebula", "podman",
        "ppp", "tailscale", "tap", "tun", "utun", "vboxnet", "veth", "virbr", "vmnet", "vnet", "wg", "zt",
    ]
}

/// The selection of the interfaces that a node uses.
package enum InterfaceSelection: Hashable, Sendable {
    /// The interfaces that are up and have an address, without containers and tunnels. If there are none, the node uses
    /// containers and tunnels; if there are none either, loopback.
    case automatic
    /// Exactly the interfaces with these names, of any kind.
    case named([String])
    /// The interfaces of ``automatic``, without those with these names.
    case except([String])
}

/// The reason why a node does not use an interface.
package enum LeftOutReason: Hashable, Sendable {
    /// The user named other interfaces.
    case notNamed
    /// The user excluded the interface by name.
    case excluded
    /// The interface is down, or has no cable or network.
    case down
    /// The interface has no address.
    case withoutAddress
    /// The interface reaches only this machine.
    case loopback
    /// The interface looks like a container's or a tunnel's.
    case virtual
}

/// The interfaces of this host, and the rules of selection.
package enum Interfaces {
    /// Returns all interfaces of this host, up or not, sorted by index; empty if the system reports none.
    package static func all() -> [NetworkInterface] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [] }
        defer { freeifaddrs(first) }
        var flags: [String: UInt32] = [:]
        var networks: [String: Set<LocalNetwork>] = [:]
        var next = first
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard let bytes = entry.ifa_name, let name = String(validatingCString: bytes) else { continue }
            flags[name] = entry.ifa_flags
            if let network = network(entry) {
                networks[name, default: []].insert(network)
            }
        }
        return flags.compactMap { name, flags in
            // An interface that vanished meanwhile has no index.
            let index = if_nametoindex(name)
            guard index != 0 else { return nil }
            return NetworkInterface(
                name: name, index: index,
                isUp: has(flags, IFF_UP) && has(flags, IFF_RUNNING), isLoopback: has(flags, IFF_LOOPBACK),
                isPointToPoint: has(flags, IFF_POINTOPOINT), isMulticast: has(flags, IFF_MULTICAST),
                networks: (networks[name] ?? []).sorted { $0.address < $1.address })
        }.sorted { $0.index < $1.index }
    }

    /// Returns the interfaces that `selection` chooses. A chosen name that does not exist is an error. An excluded name
    /// may appear later.
    package static func select(
        _ selection: InterfaceSelection, from interfaces: [NetworkInterface]
    ) throws(NodeError) -> [NetworkInterface] {
        if case .named(let names) = selection {
            for name in names where !interfaces.contains(where: { $0.name == name }) {
                throw .interface(name, known: interfaces.map(\.name).sorted())
            }
        }
        return matching(selection, from: interfaces)
    }

    /// Selects like ``select(_:from:)``, but ignores names that do not exist: those interfaces may come back.
    package static func matching(
        _ selection: InterfaceSelection, from interfaces: [NetworkInterface]
    ) -> [NetworkInterface] {
        switch selection {
        case .automatic: automatic(interfaces)
        case .named(let names): interfaces.filter { $0.isUp && names.contains($0.name) }
        case .except(let names): automatic(interfaces.filter { !names.contains($0.name) })
        }
    }

    /// Returns the reason why `selection` does not choose an interface.
    package static func reasonLeftOut(
        _ interface: NetworkInterface, _ selection: InterfaceSelection
    ) -> LeftOutReason {
        switch selection {
        case .named(let names) where !names.contains(interface.name): return .notNamed
        case .except(let names) where names.contains(interface.name): return .excluded
        case .named, .except, .automatic: break
        }
        if !interface.isUp { return .down }
        if interface.networks.isEmpty { return .withoutAddress }
        return interface.isLoopback ? .loopback : .virtual
    }

    /// Returns the default choice. The choice leaves out virtual interfaces only if an ordinary one remains. Loopback
    /// is chosen only if there are no others, or only point-to-point interfaces, which discovery does not use.
    private static func automatic(_ interfaces: [NetworkInterface]) -> [NetworkInterface] {
        let usable = interfaces.filter { $0.isUsable && !$0.isLoopback }
        let ordinary = usable.filter { !$0.isVirtual }
        if !ordinary.isEmpty { return ordinary }
        let shared = usable.filter { !$0.isPointToPoint }
        if !shared.isEmpty { return shared }
        return interfaces.filter { $0.isUsable }
    }

    private static func has(_ flags: UInt32, _ flag: some BinaryInteger) -> Bool {
        flags & UInt32(truncatingIfNeeded: flag) != 0
    }

    /// Returns the address and prefix of an IPv4 or IPv6 entry; nil for other entries.
    private static func network(_ entry: ifaddrs) -> LocalNetwork? {
        guard let pointer = entry.ifa_addr, let address = Address(pointer) else { return nil }
        guard let mask = entry.ifa_netmask.flatMap({ Address($0) }) else {
            return LocalNetwork(address: address, prefixLength: 128)
        }
        if address.ipv4 != nil {
            // An IPv4 mask comes as an IPv4-mapped address, so its last 32 bits count.
            let bits = UInt32(truncatingIfNeeded: mask.low)
            return LocalNetwork(address: address, prefixLength: 96 + (~bits).leadingZeroBitCount)
        }
        let high = (~mask.high).leadingZeroBitCount
        return LocalNetwork(
            address: address, prefixLength: high == 64 ? 64 + (~mask.low).leadingZeroBitCount : high)
    }
}

/// The place where a datagram arrived: an address and an interface.
struct Arrival: Hashable, Sendable {
    /// The host's address to which the datagram was sent, with the port of the socket.
    let address: Address
    /// The system's number of the interface.
    let interface: UInt32
}

/// The interfaces that a node uses to advertise, send and receive (D-15).
struct UsedInterfaces: Equatable, Sendable {
    private let chosen: [NetworkInterface]
    private let loopback: [NetworkInterface]
    private let areNamed: Bool

    /// Chooses the interfaces that `selection` selects from `all`, and loopback.
    ///
    /// - Parameter isStrict: Whether a missing named interface is an error. Otherwise the interface may come back.
    init(_ selection: InterfaceSelection, from all: [NetworkInterface], isStrict: Bool) throws(NodeError) {
        chosen =
            isStrict ? try Interfaces.select(selection, from: all) : Interfaces.matching(selection, from: all)
        loopback = all.filter { $0.isLoopback && $0.isUp }
        if case .named = selection { areNamed = true } else { areNamed = false }
    }

    /// The networks of the host that the node uses.
    var networks: [LocalNetwork] { (chosen + loopback).networks }

    /// Returns whether a datagram arrived over a used interface. A datagram over loopback counts as arriving over the
    /// interface of its destination address.
    func take(_ arrival: Arrival) -> Bool {
        if chosen.contains(where: { $0.index == arrival.interface }) { return true }
        guard loopback.contains(where: { $0.index == arrival.interface }) else { return false }
        return arrival.address.isLoopback
            || networks.contains { $0.address.high == arrival.address.high && $0.address.low == arrival.address.low }
    }

    /// Returns whether a datagram arrived over a tunnel that the user named. By naming it, the user meant the host at
    /// its other end (D-16).
    func isNamedTunnel(_ arrival: Arrival) -> Bool {
        areNamed && chosen.contains { $0.index == arrival.interface && $0.isPointToPoint }
    }
}

extension Sequence<NetworkInterface> {
    /// The networks of all of these interfaces, in the order of the interfaces.
    package var networks: [LocalNetwork] { flatMap(\.networks) }
}

extension Address {
    /// The address in `pointer`, with port 0; nil if its family is neither IPv4 nor IPv6.
    fileprivate init?(_ pointer: UnsafeMutablePointer<sockaddr>) {
        switch Int32(pointer.pointee.sa_family) {
        case AF_INET:
            let address = UnsafeRawPointer(pointer).loadUnaligned(as: sockaddr_in.self)
            self.init(ipv4: UInt32(bigEndian: address.sin_addr.s_addr), port: 0)
        case AF_INET6:
            let address = UnsafeRawPointer(pointer).loadUnaligned(as: sockaddr_in6.self)
            let (high, low) = withUnsafeBytes(of: address.sin6_addr) {
                (
                    UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                    UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                )
            }
            self.init(high: high, low: low, port: 0, scope: address.sin6_scope_id)
        default:
            return nil
        }
    }
}
