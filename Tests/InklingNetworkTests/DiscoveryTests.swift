import Glibc
import Testing

extension NetworkTests {
    @Suite("Discovery daemon", .serialized, .sideBySide) struct DiscoveryTests {
        // D-1, D-2, D-3, D-27, R24, R29: when the daemon dies, the library calls a random address unless its memory is
        // zeroed
        @Test(
            """
            Avahi killed and started again, five times: present peers stay, a node started afterwards is found, and \
            chats get new names and sealed keys, but nobody's
            """)
        func restartedDaemon() async throws {
            try await Network.with(hosts: 3) { network in
                let capture = try Capture(on: network[2])
                let secret = ["--secret", "abcdefghijklmnopqrstuvwxya"]
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts, chat: "garden", secret)
                let (alice, bob) = (nodes[0], nodes[1])
                try await waitUntilAllOnline(nodes)
                // The last outage is longer than an instance may be missing.
                for outage in [0.2, 0.3, 0.4, 0.5, 5] {
                    let known = instanceNames(in: capture.advertised)
                    #expect(known.count >= 2)
                    let marks = nodes.map(\.mark)
                    for node in nodes { try await node.host.killAvahi() }
                    if outage == 5 {
                        for (node, mark) in zip(nodes, marks) {
                            try await node.wait("that discovery is down", from: mark, within: 10) {
                                $0.code == "discovery-down"
                            }
                        }
                        alice.compose("still here")
                        try await bob.waitForTyping(of: alice, from: marks[1])
                    }
                    try await pause(outage)
                    for node in nodes { try await node.host.startAvahi() }
                    for (node, mark) in zip(nodes, marks) {
                        try await node.wait("that discovery is up", from: mark, within: 10) {
                            $0.code == "discovery-up"
                        }
                    }
                    // The key of an instance can follow its name in a datagram of its own.
                    let end = now() + 20
                    var (names, keys) = (0, 0)
                    repeat {
                        try await pause(0.1)
                        let advertised = capture.advertised
                        (names, keys) = (instanceNames(in: advertised).count, sealedKeys(in: advertised).count)
                    } while (names < known.count + 2 || keys < names) && now() < end
                    #expect(names >= known.count + 2, "new names")
                }
                let charlie = try await NodeProcess("Charlie", on: network[2], chat: "garden", secret)
                try await waitUntilAllOnline([alice, bob, charlie], within: 20)
                for node in nodes {
                    let left = node.events.filter { $0.presence == "offline" }
                    #expect(left.isEmpty, "nobody was ever offline at \(node.name)")
                }
                let found = try await alice.waitForPresence("online", of: charlie).at - charlie.started
                figure("found by a node whose Avahi was restarted: after \(seconds(found))")

                try await pause(1)
                let all = capture.advertised
                #expect(all.contains("_inkling") && !all.contains("_sub") && !all.contains("garden"))
                #expect(sealedKeys(in: all).count == instanceNames(in: all).count)
                for node in [alice, bob, charlie] {
                    #expect(!all.contains(node.name))
                    #expect(!all.contains(try #require(node.events.first?.user)))
                    #expect(!all.contains(try #require(node.events.first?.key)))
                }
            }
        }

        // L-88, D-2
        @Test("a node withdraws its chat when it is suspended, and registers it under a new name when it returns")
        func suspension() async throws {
            try await Network.with(hosts: 3) { network in
                let capture = try Capture(on: network[2])
                let nodes = try await startNodes(["Alice", "Bob"], on: [network[0], network[1]], chat: "garden")
                try await waitUntilAllOnline(nodes)
                try await pause(3)
                let known = instanceNames(in: capture.advertised)
                #expect(known.count == 2 && capture.goodbyes == 0)
                var mark = nodes[1].mark
                try nodes[0].signal(SIGTSTP)
                try await nodes[1].wait("that Alice is gone", from: mark, within: 3) {
                    $0.isPresence("offline", of: "Alice")
                }
                try await pause(2)
                #expect(instanceNames(in: capture.advertised) == known && capture.goodbyes > 0)
                mark = nodes[1].mark
                try nodes[0].signal(SIGCONT)
                try await nodes[1].wait("that Alice is back", from: mark, within: 5) {
                    $0.isPresence("online", of: "Alice")
                }
                try await pause(3)
                #expect(instanceNames(in: capture.advertised).subtracting(known).count == 1)
            }
        }
    }
}

/// Returns the names of instances in a text of ``Capture/advertised``. Each name is a label of 26 characters after its
/// length, which is not a printable byte.
private func instanceNames(in text: String) -> Set<String> {
    Set(text.matches(of: /\.([a-z2-7]{26})(?![a-z2-7])/).map { String($0.output.1) })
}

/// Returns the sealed keys in a text of ``Capture/advertised``.
private func sealedKeys(in text: String) -> Set<String> {
    Set(text.matches(of: /k=([A-Za-z0-9_-]{64})/).map { String($0.output.1) })
}

extension Capture {
    /// The number of datagrams of multicast DNS with a PTR record whose time to live is 0.
    fileprivate var goodbyes: Int {
        discovery.count { $0.payload.firstRange(of: [0, 12, 0, 1, 0, 0, 0, 0]) != nil }
    }

    /// The text of all multicast DNS so far. A dot replaces each octet outside ASCII, so labels and strings stay whole.
    fileprivate var advertised: String {
        discovery.map { datagram in
            String(decoding: datagram.payload.map { (0x20..<0x7f).contains($0) ? $0 : 0x2e }, as: UTF8.self)
        }.joined(separator: "\n")
    }
}
