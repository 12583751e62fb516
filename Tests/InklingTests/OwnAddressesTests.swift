import Foundation
import Glibc
import Inkling
import InklingCore
import ProcessSupport
import Synchronization
import Testing

@Suite("The host's own addresses and the owners of its sockets", .timeLimit(.minutes(1)))
struct OwnAddressesTests {
    private static let other: uid_t = 65_534

    private static func ipv4(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32, port: UInt16 = 1) -> Address {
        Address(ipv4: a << 24 | b << 16 | c << 8 | d, port: port)
    }

    private static func documentation(_ low: UInt64) -> Address {
        Address(high: 0x2001_0DB8_0000_0000, low: low, port: 1)
    }

    // R36
    @Test("all of 127.0.0.0/8, ::1 and the addresses of every interface are the host's own, and no others")
    func own() {
        let own = OwnAddresses.current()
        #expect(own.contains(Self.ipv4(127, 0, 0, 1)) && own.contains(Self.ipv4(127, 200, 3, 4)))
        #expect(own.contains(Address(high: 0, low: 1, port: 9)))
        for network in Interfaces.all().filter(\.isUp).networks {
            #expect(own.contains(network.address), "\(network)")
        }
        #expect(!own.contains(Self.ipv4(192, 0, 2, 1)) && !own.contains(Self.documentation(1)))
        #expect(!own.contains(Self.ipv4(0, 0, 0, 0)) && !own.contains(Self.ipv4(224, 0, 0, 251)))
    }

    @Test("a range is covered to its last bit, on both sides of the 64th")
    func ranges() {
        for (length, inside, outside) in [
            (125, 7, 8), (127, 1, 2), (66, 0x3FFF_FFFF_FFFF_FFFF, 0x4000_0000_0000_0000),
        ] as [(Int, UInt64, UInt64)] {
            let own = OwnAddresses([LocalNetwork(address: Self.documentation(0), prefixLength: length)])
            #expect(own.contains(Self.documentation(inside)) && !own.contains(Self.documentation(outside)))
        }
        let wide = OwnAddresses([LocalNetwork(address: Self.documentation(0), prefixLength: 32)])
        #expect(wide.contains(Address(high: 0x2001_0DB8_FFFF_0000, low: ~0, port: 1)))
        #expect(!wide.contains(Address(high: 0x2001_0DB9_0000_0000, low: 0, port: 1)))
        let all = OwnAddresses([LocalNetwork(address: Self.documentation(0), prefixLength: 0)])
        #expect(all.contains(Self.ipv4(192, 0, 2, 1)))
    }

    @Test(
        "an address with a local route alone, in whatever table, is the host's own until the route goes",
        .enabled(if: geteuid() == 0, "only root can make a namespace"))
    func localRoutesAsRoot() throws {
        let seen = try inNamespace { run in
            let without = OwnAddresses.current()
            // On the loopback interface, the host owns all addresses of the network.
            try run("ip link set lo up")
            try run("ip address add 198.51.100.7/24 dev lo && ip -6 address add 2001:db8::7/64 dev lo")
            try run("ip route add local 203.0.113.0/24 dev lo && ip route add local 192.0.2.9 dev lo table 77")
            try run("ip -6 route add local 2001:db8:1::/64 dev lo")
            // The kernel adds the route of an IPv6 address some time after the address.
            try run("timeout 10 sh -c 'until ip -6 route show table local | grep -q 2001:db8::7; do sleep 0.01; done'")
            let with = OwnAddresses.current()
            try run("ip route flush table 77 && ip address del 198.51.100.7/24 dev lo")
            return [without, with, OwnAddresses.current()]
        }
        let addresses = [
            Self.ipv4(198, 51, 100, 7), Self.documentation(7), Self.ipv4(203, 0, 113, 200), Self.ipv4(192, 0, 2, 9),
            Address(high: 0x2001_0DB8_0001_0000, low: 99, port: 1), Self.ipv4(198, 51, 100, 8), Self.documentation(8),
        ]
        #expect(
            seen.map { own in addresses.map { own.contains($0) } } == [
                [false, false, false, false, false, false, false], [true, true, true, true, true, true, false],
                [false, true, true, false, true, false, false],
            ])
    }

    /// Runs a closure on a thread with its own network namespace. The closure can run shell commands there.
    private func inNamespace<Value: Sendable>(
        _ body: @escaping @Sendable ((String) throws -> Void) throws -> Value
    ) throws -> Value {
        // Swift does not import unshare(2).
        let symbol = try #require(dlsym(nil, "unshare"))
        let unshare = unsafeBitCast(symbol, to: (@convention(c) (CInt) -> CInt).self)
        let network: CInt = 0x4000_0000  // CLONE_NEWNET
        let box = Mutex<Result<Value, any Error>?>(nil)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let result = Result<Value, any Error> {
                try #require(unshare(network) == 0)
                return try body { command in
                    let status = system("PATH=$PATH:/usr/sbin:/sbin; \(command)")
                    try #require(status == 0, "\(command)")
                }
            }
            box.withLock { $0 = result }
            done.signal()
        }
        done.wait()
        return try #require(box.withLock { $0 }).get()
    }

    // MARK: Owners

    private static func socket(_ address: Address?, port: UInt16 = 0, isIPv4: Bool = false) throws -> UDPSocket {
        let bytes = address?.bytes ?? [UInt8](repeating: 0, count: 16)
        return try UDPSocket(.init(isIPv4 ? bytes.suffix(4) : bytes, port: port))
    }

    // R36
    @Test("the owner of a socket is told at the address that it is bound to, in both families and mapped")
    func owners() throws { try Self.checkOwner(geteuid()) }

    @Test(
        "so is the owner to whom root gave the socket", .enabled(if: geteuid() == 0, "only root can give a socket away")
    )
    func newOwnersAsRoot() throws { try Self.checkOwner(Self.other) }

    private static func checkOwner(_ owner: uid_t) throws {
        let loopback = Address(high: 0, low: 1, port: 0)
        for (bound, isIPv4, told, untold) in [
            (Self.ipv4(127, 0, 0, 1), true, [Self.ipv4(127, 0, 0, 1)], [Self.ipv4(127, 0, 0, 2), loopback]),
            (Self.ipv4(127, 0, 0, 1), false, [Self.ipv4(127, 0, 0, 1)], [Self.ipv4(127, 0, 0, 2), loopback]),
            (nil, true, [Self.ipv4(127, 0, 0, 1), Self.ipv4(127, 3, 0, 2)], []),
            (nil, false, [Self.ipv4(127, 0, 0, 1), Self.ipv4(127, 3, 0, 2), loopback], []),
            (loopback, false, [loopback], [Self.ipv4(127, 0, 0, 1)]),
        ] as [(Address?, Bool, [Address], [Address])] {
            let socket = try Self.socket(bound, isIPv4: isIPv4)
            defer { withExtendedLifetime(socket) {} }
            func user(_ address: Address) -> uid_t? {
                SocketOwner.user(of: Address(high: address.high, low: address.low, port: socket.end.port))
            }
            if owner != geteuid() { try #require(fchown(socket.descriptor, owner, gid_t.max) == 0) }
            for address in told { #expect(user(address) == owner, "\(address)") }
            for address in untold { #expect(user(address) == nil, "\(address)") }
        }
    }

    @Test("nobody owns a port without a socket")
    func none() throws {
        let port = try Self.socket(nil).end.port
        #expect(SocketOwner.user(of: Self.ipv4(127, 0, 0, 1, port: port)) == nil)
        #expect(SocketOwner.user(of: Self.ipv4(127, 0, 0, 1, port: 0)) == nil)
    }

    @Test(
        "where sockets of two users have the port neither is the owner: a socket can send from any own address",
        .enabled(if: geteuid() == 0, "only root can give a socket away"))
    func ambiguousAsRoot() throws {
        let mine = try Self.socket(Self.ipv4(127, 0, 0, 1), isIPv4: true)
        defer { withExtendedLifetime(mine) {} }
        let port = mine.end.port
        var others: UDPSocket? = try Self.socket(Self.ipv4(127, 0, 0, 2), port: port, isIPv4: true)
        #expect(SocketOwner.user(of: Self.ipv4(127, 0, 0, 1, port: port)) == 0)
        try #require(fchown(others?.descriptor ?? -1, Self.other, gid_t.max) == 0)
        #expect(SocketOwner.user(of: Self.ipv4(127, 0, 0, 1, port: port)) == nil)
        #expect(SocketOwner.user(of: Self.ipv4(127, 0, 0, 2, port: port)) == nil)
        others = nil
        #expect(SocketOwner.user(of: Self.ipv4(127, 0, 0, 1, port: port)) == 0)
    }
}
