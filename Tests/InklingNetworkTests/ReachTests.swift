import Foundation
import Glibc
import ProcessSupport
import Testing

extension NetworkTests {
    @Suite("From where a node can be reached", .serialized, .sideBySide) struct ReachTests {
        private static let withoutDiscovery = Network.Options(hosts: 3, discovery: false)
        private static let alice: [UInt8] = [10, 77, 0, 1]
        private static let port = "40001"

        /// Returns an ask for the open chat and an initiation to a node's key. Both were recorded from Bob's node.
        private static func recorded(
            on network: Network, to node: NodeProcess
        ) async throws -> (ask: [UInt8], initiation: [UInt8]) {
            let capture = try Capture(on: network[0])
            let bob = try await NodeProcess("Bob", on: network[1], ["--no-discovery", "--peer", "10.77.0.1:" + port])
            try await waitUntilAllOnline([node, bob])
            let datagrams = capture.datagrams.filter { !$0.isOutgoing }
            let ask = try #require(datagrams.first { $0.kind == 5 })
            let initiation = try #require(datagrams.first { $0.kind == 1 })
            return (ask.payload, initiation.payload)
        }

        /// Returns a socket on a host, at one of its addresses.
        private static func probe(on host: Host, at address: [UInt8]) throws -> UDPSocket {
            try host.inNetwork { try UDPSocket(.init(address)) }
        }

        // R38, D-15, L-50, L-56
        @Test(
            """
            over an interface that was left out, neither an ask nor an initiation is answered; other answers leave from \
            where the question went to, with a hop limit of 255
            """)
        func leftOut() async throws {
            try await Network.with(ReachTests.withoutDiscovery) { network in
                let (host, other) = (network[0], network[2])
                try await run([
                    "nsenter", "--target", "\(other.processID)", "--net", "--", "ip", "link", "add", "eth1", "type",
                    "veth", "peer", "name", "eth1", "netns", "\(host.processID)",
                ])
                try await host.run("ip address add 10.88.0.1/24 dev eth1 && ip link set eth1 up")
                try await other.run("ip address add 10.88.0.3/24 dev eth1 && ip link set eth1 up")
                try await host.run(
                    "ip address add 10.77.0.101/24 dev eth0 && ip address add fd77::101/64 dev eth0 nodad")
                let capture = try Capture(on: host)
                let node = try await NodeProcess(
                    "Alice", on: host, ["--no-discovery", "--port", ReachTests.port, "--interface", "eth0"])
                let (ask, initiation) = try await ReachTests.recorded(on: network, to: node)

                // The first datagram goes to the address on that interface. The second goes over that interface to the
                // other interface's address.
                try await other.run("ip route add 10.77.0.1/32 dev eth1 src 10.88.0.3")
                try await host.run("ip neighbour flush all; sysctl -qw net.ipv4.conf.all.rp_filter=0")
                let outside = try ReachTests.probe(on: other, at: [10, 88, 0, 3])
                for address in [[10, 88, 0, 1], ReachTests.alice] {
                    outside.send(ask, to: address)
                    outside.send(initiation, to: address)
                }
                try await node.waitForDrops(4, "interface")
                #expect(try await outside.answers(0).isEmpty)

                try await other.run("ip route del 10.77.0.1/32 dev eth1")
                let second: [UInt8] = [10, 77, 0, 101]
                let secondIPv6: [UInt8] = [0xfd, 0x77] + [UInt8](repeating: 0, count: 12) + [0x01, 0x01]
                let ownIPv6: [UInt8] = [0xfd, 0x77] + [UInt8](repeating: 0, count: 13) + [3]
                for (probe, target) in [
                    (try ReachTests.probe(on: other, at: [10, 77, 0, 3]), second),
                    (try ReachTests.probe(on: other, at: ownIPv6), secondIPv6),
                ] {
                    probe.send(ask, to: target)
                    probe.send(initiation, to: target)
                    let answers = try await probe.answers(2)
                    // A retry, as the initiation's hop limit is below 255 (L-92), and a tell.
                    #expect(Set(answers.map { $0.bytes.first }) == [0x24, 0x26], "\(answers)")
                    #expect(
                        answers.allSatisfy { $0.source.address == target }, "\(answers.map(\.source)) for \(target)")
                }
                try await pause(1)
                let sent = capture.datagrams.filter(\.isOutgoing)
                #expect(sent.contains { $0.kind == 3 } && sent.contains { $0.source.count == 16 })
                #expect(sent.allSatisfy { $0.hopLimit == 255 }, "\(Set(sent.map(\.hopLimit)))")
            }
        }

        // R38, D-16
        @Test("from beyond a router only hosts that were named are answered, or with --routed all")
        func routed() async throws {
            try await Network.with(ReachTests.withoutDiscovery) { network in
                let (host, other) = (network[0], network[2])
                try await other.run("ip address add 192.0.2.3/32 dev lo")
                try await host.run("ip route add 192.0.2.3/32 via 10.77.0.3")
                let node = try await NodeProcess("Alice", on: host, ["--no-discovery", "--port", ReachTests.port])
                let (ask, initiation) = try await ReachTests.recorded(on: network, to: node)
                try await node.wait("the notice") { $0.on == "notice" && $0.code == "reachable-on-link" }

                let far = try ReachTests.probe(on: other, at: [192, 0, 2, 3])
                far.send(ask, to: ReachTests.alice)
                far.send(initiation, to: ReachTests.alice)
                try await node.waitForDrops(2, "offLink")
                #expect(try await far.answers(0).isEmpty)

                let open = try await NodeProcess(
                    "Open", on: host, ["--no-discovery", "--port", "40002", "--routed"])
                try await open.wait("the notice") { $0.on == "notice" && $0.code == "reachable-from-anywhere" }
                far.send(ask, to: ReachTests.alice, port: 40_002)
                #expect(try await far.answers(1).map { $0.bytes.first } == [0x26])

                // The node also sends that host asks. So the answers are the node's asks and its tell.
                _ = try await NodeProcess(
                    "Friend", on: host, ["--no-discovery", "--port", "40003", "--peer", "192.0.2.3:9"])
                far.send(ask, to: ReachTests.alice, port: 40_003)
                #expect(try await far.answers(1).map { $0.bytes.first } == [0x26])
            }
        }
    }
}

extension CapturedDatagram {
    /// The hop limit of an IPv6 datagram, or the time to live of an IPv4 one.
    fileprivate var hopLimit: UInt8 { source.count == 4 ? frame[22] : frame[21] }
}

extension NodeProcess {
    /// Waits until the node has dropped `count` datagrams for that reason.
    fileprivate func waitForDrops(_ count: Int, _ reason: String) async throws {
        let deadline = now() + 10
        while true {
            let mark = mark
            tell(["do": "stats"])
            let line = try await wait("the counters", from: mark) { $0.on == "stats" }
            let drops = line.drops?[reason] ?? 0
            if drops >= count { return }
            guard now() < deadline else { throw HarnessError("\(drops) of \(count) were dropped as \(reason)") }
            try await pause(0.1)
        }
    }
}

extension UDPSocket {
    fileprivate func send(_ bytes: [UInt8], to address: [UInt8], port: UInt16 = 40_001) {
        send(bytes, to: End(address, port: port))
    }

    /// Returns received datagrams with their sources. The function waits at most 5 s for `count` of them, and then
    /// 0.5 s for more.
    fileprivate func answers(_ count: Int) async throws -> [(bytes: [UInt8], source: End)] {
        var answers = receiveAll()
        let deadline = now() + 5
        while answers.count < count, now() < deadline {
            try await pause(0.05)
            answers += receiveAll()
        }
        try await pause(0.5)
        return answers + receiveAll()
    }
}
