import InklingCore
import Testing

import Inkling

@Suite("Network interfaces")
struct InterfacesTests {
    private static func interface(
        _ name: String, _ index: UInt32, up: Bool = true, loopback: Bool = false, pointToPoint: Bool = false,
        address: Bool = true
    ) -> NetworkInterface {
        let network = LocalNetwork(address: Address(ipv4: 0x0A00_0001 + index << 8, port: 0), prefixLength: 120)
        return NetworkInterface(
            name: name, index: index, isUp: up, isLoopback: loopback, isPointToPoint: pointToPoint,
            networks: address ? [network] : [])
    }

    private static let loopback = interface("lo", 1, loopback: true)

    @Test(
        "the default leaves out loopback, containers and tunnels, down interfaces and those without address (R30)",
        arguments: [
            "docker0", "br-12ab", "veth1", "virbr0", "tun0", "tap3", "wg0", "tailscale0", "ztabc", "cni0",
            "flannel.1", "lxcbr0", "podman1", "ppp0",
        ])
    func automatic(virtual: String) throws {
        let interfaces = [
            Self.loopback, Self.interface(virtual, 2), Self.interface("eth0", 3),
            Self.interface("eth1", 4, up: false), Self.interface("eth2", 5, address: false),
            Self.interface("vpn", 6, pointToPoint: true), Self.interface("wlan0", 7),
        ]
        let chosen = try Interfaces.select(.automatic, from: interfaces)
        #expect(chosen.map(\.name) == ["eth0", "wlan0"])
    }

    @Test("a virtual interface is used where it is all there is besides loopback")
    func onlyVirtual() throws {
        let interfaces = [Self.loopback, Self.interface("veth0", 2), Self.interface("eth0", 3, up: false)]
        #expect(try Interfaces.select(.automatic, from: interfaces).map(\.name) == ["veth0"])
    }

    @Test("loopback is used where it is all there is, and beside tunnels alone")
    func onlyLoopback() throws {
        #expect(try Interfaces.select(.automatic, from: [Self.loopback]).map(\.name) == ["lo"])
        let tunnel = Self.interface("tun0", 2, pointToPoint: true)
        #expect(try Interfaces.select(.automatic, from: [Self.loopback, tunnel]).map(\.name) == ["lo", "tun0"])
        #expect(try Interfaces.select(.automatic, from: []).isEmpty)
    }

    @Test("interfaces can be chosen by name, whatever they are, and left out by name (R30)")
    func names() throws {
        let interfaces = [
            Self.loopback, Self.interface("docker0", 2), Self.interface("eth0", 3), Self.interface("eth1", 4),
            Self.interface("eth2", 5, up: false),
        ]
        let named = try Interfaces.select(.named(["docker0", "lo", "eth2"]), from: interfaces)
        #expect(named.map(\.name) == ["lo", "docker0"])
        #expect(try Interfaces.select(.except(["eth0"]), from: interfaces).map(\.name) == ["eth1"])
        #expect(try Interfaces.select(.except(["eth0", "eth1"]), from: interfaces).map(\.name) == ["docker0"])
    }

    @Test("an unknown name to use is an error that lists the known ones, and is safe to show (R29)")
    func unknown() throws {
        let interfaces = [Self.interface("eth0", 3), Self.loopback]
        let error = #expect(throws: NodeError.self) {
            try Interfaces.select(.named(["eth0", "e\u{1B}th9"]), from: interfaces)
        }
        #expect(error == .interface("e\u{1B}th9", known: ["eth0", "lo"]))
        #expect(error?.description == "There is no network interface \"eth9\". Choose among: eth0, lo.")
        #expect(try Interfaces.select(.except(["eth9"]), from: interfaces).map(\.name) == ["eth0"])
        #expect(Interfaces.matching(.named(["eth0", "eth9"]), from: interfaces).map(\.name) == ["eth0"])
    }

    @Test("the system's loopback interface is read with its address and prefix")
    func system() throws {
        let loopback = try #require(Interfaces.all().first { $0.isLoopback })
        #expect(loopback.index > 0)
        guard loopback.isUp else { return }
        let network = LocalNetwork(address: Address(ipv4: 0x7F00_0001, port: 0), prefixLength: 96 + 8)
        #expect(loopback.networks.contains(network))
    }
}
