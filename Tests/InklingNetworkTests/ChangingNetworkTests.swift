import Foundation
import Glibc
import Testing

extension NetworkTests {
    @Suite("Changing networks", .serialized, .sideBySide) struct ChangingNetworkTests {
        // R7, R16, R29, L-40
        @Test("an interface down for 1 s loses nothing; cable out for 6 s: back within 2 s, unannounced 4 s")
        func cable() async throws {
            try await Network.with(hosts: 3) { network in
                // A node without the system's notices must check its addresses itself.
                let unaware = try await TestClock()
                let alice = try await NodeProcess("Alice", on: network[0])
                let dora = try await NodeProcess(
                    "Dora", on: network[0], ["--log-level", "info"], environment: unaware.withoutNetlink)
                let others = try await startNodes(["Bob", "Charlie"], on: Array(network.hosts[1...]))
                let nodes = [alice, dora] + others
                try await waitUntilAllOnline(nodes)
                let marks = nodes.map(\.mark)

                let talk = Task { try await Talk(nodes).run(for: 4) }
                try await pause(0.5)
                try await network[0].run("ip link set eth0 down")
                try await pause(1)
                try await network[0].run("ip link set eth0 up; ip route add 224.0.0.0/4 dev eth0 || true")
                try await expectAllDelivered(try await talk.value, among: nodes, from: marks)

                let down = now()
                try await network.cut(network[0])
                for other in others {
                    for node in [alice, dora] {
                        for (watcher, gone) in [(other, node), (node, other)] {
                            let offline = try await watcher.waitForPresence("offline", of: gone, from: marks[0])
                            #expect(offline.why == "silence" && offline.at - down <= 3.2)
                        }
                    }
                }
                try await pause(6 - (now() - down))
                let up = now()
                try await network.mend(network[0])
                for (node, limit) in [(alice, 2.0), (dora, 4.0)] {
                    for other in others {
                        var latest = 0.0
                        for (watcher, back) in [(other, node), (node, other)] {
                            let online = try await watcher.wait("\(back.name) again", within: 10) {
                                $0.isPresence("online", of: back.name) && $0.at > up
                            }
                            latest = max(latest, online.at - up)
                        }
                        figure("cable: \(node.name) and \(other.name) back after \(seconds(latest))")
                        #expect(latest <= limit)
                    }
                }
                for (node, mark) in zip(nodes, marks) {
                    #expect(node.events.dropFirst(mark).allSatisfy { $0.on != "notice" && $0.on != "error" })
                    if node !== dora { #expect(node.errorText == "", "no word on standard error") }
                }
                #expect(dora.errorText.contains("does not announce changes"))
            }
        }

        // R16, R24, D-8, L-24
        @Test("an interface taken away and made again, with another number and link-local address: back within 2 s")
        func remade() async throws {
            try await Network.with(Network.Options(hosts: 2, ipv4: false, ipv6: .linkLocal)) { network in
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts)
                let named = try await NodeProcess("Nora", on: network[0], ["--interface", "eth0"])
                try await waitUntilAllOnline(nodes + [named])
                let bob = nodes[1]
                let before = try await network[0].number(of: "eth0")
                try await network[0].run("ip link delete eth0")
                for node in [nodes[0], named] { try await bob.waitForPresence("offline", of: node) }
                try await pause(1)
                try await network.remakeInterface(of: network[0])
                let up = now()
                #expect(try await network[0].number(of: "eth0") != before)
                for node in [nodes[0], named] {
                    for (watcher, back) in [(bob, node), (node, bob)] {
                        let online = try await watcher.wait("\(back.name) again", within: 15) {
                            $0.isPresence("online", of: back.name) && $0.at > up
                        }
                        figure("remade: \(back.name) is back at \(watcher.name) after \(seconds(online.at - up))")
                        #expect(online.at - up <= 2)
                    }
                }
                let mark = bob.mark
                named.send("over eth0 alone")
                try await bob.wait("the message", from: mark) { $0.on == "message" }
            }
        }

        // R30
        @Test("containers and tunnels that appear carry nothing; named, they and nothing else are used")
        func virtualInterfaces() async throws {
            try await Network.with(hosts: 2) { network in
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts)
                try await waitUntilAllOnline(nodes)
                for name in ["docker0", "wg0"] { try await network.join(network[0], network[1], by: name) }
                for host in network.hosts {
                    // The daemon uses all interfaces, so the program must choose.
                    try await host.run(
                        """
                        nft add table inet watch
                        nft add counter inet watch virtual
                        nft add chain inet watch out '{ type filter hook output priority 0; }'
                        nft add rule inet watch out oifname != { eth0, lo } udp dport != 5353 counter name virtual
                        sed -i '/allow-interfaces/d' /run/avahi.conf
                        """)
                    try await host.killAvahi()
                    try await host.run("avahi-daemon -f /run/avahi.conf -D --no-rlimits")
                }
                for node in nodes {
                    try await node.wait("that discovery is up", within: 10) { $0.code == "discovery-up" }
                }
                let late = try await NodeProcess("Charlie", on: network[1])
                try await waitUntilAllOnline(nodes + [late], within: 10)
                try await pause(2)
                for host in network.hosts { #expect(try await host.virtualPackets() == 0) }

                let marks = nodes.map(\.mark)
                for name in ["docker0", "wg0"] {
                    let pair = try await startNodes(
                        ["Dora \(name)", "Emil \(name)"], on: network.hosts, chat: name, ["--interface", name])
                    let before = try await network[0].virtualPackets()
                    let eth0 = try Capture(on: network[0])
                    let ports = pair.compactMap(\.events.first?.port)
                    try await waitUntilAllOnline(pair, within: 10)
                    #expect(try await network[0].virtualPackets() > before)
                    #expect(eth0.datagrams.allSatisfy { !ports.contains($0.sourcePort) })
                    pair.forEach { $0.quit() }
                }
                let leaver = try await NodeProcess(
                    "Finn", on: network[0], chat: "left", ["--without-interface", "docker0"])
                let elsewhere = try await NodeProcess("Gina", on: network[1], chat: "left")
                let there = try await NodeProcess("Hans", on: network[1], chat: "left", ["--interface", "docker0"])
                try await waitUntilAllOnline([leaver, elsewhere], within: 10)
                try await pause(2)
                var found: [[String]] = []
                for node in [leaver, elsewhere, there] {
                    node.tell(["do": "sightings"])
                    let sightings = try await node.wait("what it found") { $0.on == "sightings" }
                    found.append((sightings.found ?? []).map(\.instance))
                    if node === leaver { found[0] = [try #require(sightings.instance)] }
                }
                #expect(found[1].contains(found[0][0]) && !found[2].contains(found[0][0]), "docker0 is left out")
                for (node, mark) in zip(nodes, marks) { #expect(node.shown(from: mark).isEmpty) }
            }
        }

        // R29
        @Test("neither bus nor daemon for 10 s: said once, and found within 8 s of their start")
        func lateDaemon() async throws {
            try await Network.with(Network.Options(hosts: 2, discovery: false)) { network in
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts)
                for node in nodes { try await node.wait("that discovery is down") { $0.code == "discovery-down" } }
                try await pause(10)
                let start = now()
                for host in network.hosts {
                    try await host.run("mkdir -p /run/dbus && dbus-daemon --system --fork")
                    try await host.startAvahi()
                }
                try await waitUntilAllOnline(nodes, within: 15)
                for (node, other) in [(nodes[0], nodes[1]), (nodes[1], nodes[0])] {
                    let delay = try await node.waitForPresence("online", of: other).at - start
                    figure("late daemon: \(other.name) found after \(seconds(delay))")
                    #expect(delay <= 8)
                    let notices = node.events.filter { $0.on == "notice" && $0.code != "open-chat" }
                    #expect(notices.map(\.code) == ["discovery-down", "discovery-up"])
                }
            }
        }
    }
}

extension NetworkTests.Alone {
    /// All peers change at once, so only discovery leads them together again. Load beside the suite would delay the
    /// daemons until a peer is offline.
    @Suite("Renumbered networks", .serialized) struct RenumberedNetworkTests {
        // R16, R24, L-40, L-41
        @Test(
            "a whole network gets other addresses, at once or one by one: nobody goes; a bound address goes and comes")
        func renumbered() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for pauseBetween in [0, 0.7] {
                    group.addTask { try await RenumberedNetworkTests.renumber(pauseBetween: pauseBetween) }
                }
                group.addTask { try await RenumberedNetworkTests.bind() }
                try await group.waitForAll()
            }
        }

        /// Checks that a socket bound to one address works again after the address is back.
        private static func bind() async throws {
            try await Network.with(hosts: 2) { network in
                let alice = try await NodeProcess("Alice", on: network[0], ["--bind", "10.77.0.1"])
                let bob = try await NodeProcess("Bob", on: network[1])
                let nodes = [alice, bob]
                try await waitUntilAllOnline(nodes)
                let marks = nodes.map(\.mark)
                let talk = Task { try await Talk(nodes).run(for: 3) }
                try await pause(0.5)
                let (take, give) = ("ip address del 10.77.0.1/24 dev eth0", "ip address add 10.77.0.1/24 dev eth0")
                try await network[0].run("\(take); sleep 1; \(give)")
                try await expectAllDelivered(try await talk.value, among: nodes, from: marks)

                try await network[0].run(take)
                try await bob.waitForPresence("offline", of: alice)
                try await alice.waitForPresence("offline", of: bob)
                try await pause(1)
                let back = now()
                try await network[0].run(give)
                for (watcher, other) in [(alice, bob), (bob, alice)] {
                    let online = try await watcher.wait("\(other.name) again", within: 10) {
                        $0.isPresence("online", of: other.name) && $0.at > back
                    }
                    figure("bound: \(other.name) is back at \(watcher.name) after \(seconds(online.at - back))")
                    #expect(online.at - back <= 2)
                }
                #expect(alice.errorText == "")
            }
        }

        private static func renumber(pauseBetween: Double) async throws {
            try await Network.with(Network.Options(hosts: 3, ipv6: .none)) { network in
                let nodes = try await startNodes(["Alice", "Bob", "Charlie"], on: network.hosts)
                try await waitUntilAllOnline(nodes)
                // A new daemon still claims the name of its host.
                try await pause(2)
                let marks = nodes.map(\.mark)
                let talk = Task { try await Talk(nodes).run(for: 4.5) }
                try await pause(0.5)
                for host in network.hosts {
                    try await host.run(
                        """
                        ip address add 10.78.0.\(host.number)/24 dev eth0
                        ip address del 10.77.0.\(host.number)/24 dev eth0
                        ip route add 224.0.0.0/4 dev eth0 || true
                        """)
                    try await pause(pauseBetween)
                }
                try await expectAllDelivered(try await talk.value, among: nodes, from: marks)
            }
        }
    }
}

extension Network {
    /// Gives a host without `eth0` a new one, with another number and hardware address.
    fileprivate func remakeInterface(of host: Host) async throws {
        try await enter(
            bridge,
            "ip link add port\(host.number) type veth peer name eth0 index 77 netns \(host.processID)"
                + " && ip link set port\(host.number) master bridge up")
        try await host.run("echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad; ip link set eth0 up")
        try await host.run("ip route add 224.0.0.0/4 dev eth0")
    }

    /// Joins two hosts by another network beside the switch. Each host gets an interface with this name.
    fileprivate func join(_ left: Host, _ right: Host, by name: String) async throws {
        try await enter(left, "ip link add \(name) type veth peer name \(name) netns \(right.processID)")
        for host in [left, right] {
            let network = name == "docker0" ? 17 : 18
            try await host.run("ip link set \(name) up; ip address add 172.\(network).0.\(host.number)/24 dev \(name)")
        }
    }

    private func enter(_ host: Host, _ script: String) async throws {
        // The command enters only the network namespace, because the script uses process IDs of this machine.
        try await run(["nsenter", "--target", "\(host.processID)", "--net", "--", "sh", "-c", script])
    }
}

extension Host {
    /// The system's number of an interface.
    fileprivate func number(of interface: String) async throws -> String {
        let line = try await run("ip -oneline link show \(interface)")
        return String(line.prefix { $0 != ":" })
    }

    /// Returns the number of datagrams on other interfaces than `eth0`, without multicast DNS.
    fileprivate func virtualPackets() async throws -> Int {
        let text = try await run("nft list counter inet watch virtual")
        return text.firstMatch(of: /packets ([0-9]+)/).flatMap { Int($0.output.1) } ?? -1
    }
}

/// Numbered messages from each node to all others, ten a second.
private struct Talk {
    let nodes: [NodeProcess]

    init(_ nodes: [NodeProcess]) { self.nodes = nodes }

    /// Sends the messages.
    ///
    /// - Returns: The messages of each node.
    func run(for duration: Double) async throws -> [[String]] {
        let end = now() + duration
        var sent = nodes.map { _ in [String]() }
        while now() < end {
            for (index, node) in nodes.enumerated() {
                let text = "\(node.name) \(sent[index].count)"
                node.send(text)
                sent[index].append(text)
            }
            try await pause(0.1)
        }
        return sent
    }
}

/// Expects that each node has all messages once and in order, and that no presence changed.
private func expectAllDelivered(_ sent: [[String]], among nodes: [NodeProcess], from marks: [Int]) async throws {
    for (receiver, mark) in zip(nodes, marks) {
        for (author, texts) in zip(nodes, sent) where author !== receiver {
            let last = try #require(texts.last)
            try await receiver.wait("the last message of \(author.name)", from: mark, within: 8) {
                $0.on == "message" && $0.text == last
            }
            let received = receiver.events.dropFirst(mark).filter { $0.on == "message" && $0.from?.name == author.name }
            #expect(received.compactMap(\.text) == texts, "from \(author.name) to \(receiver.name)")
        }
        let unwanted = receiver.events.dropFirst(mark).filter { ["peer", "failed", "notice", "error"].contains($0.on) }
        #expect(unwanted.isEmpty, "\(receiver.name) shows \(unwanted.map { "\($0)" })")
    }
}
