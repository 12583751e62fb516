import Glibc
import Testing

extension NetworkTests {
    @Suite("Discovery daemon", .serialized, .sideBySide) struct DiscoveryTests {
        // D-1, D-2, D-3
        @Test("chats are advertised under random names with sealed keys, and neither by their names nor by anybody's")
        func advertisement() async throws {
            try await Network.with(hosts: 2) { network in
                let capture = try Capture(on: network[1])
                let alice = try await NodeProcess("Alice", on: network[0])
                let bob = try await NodeProcess("Bob", on: network[1])
                try await waitUntilAllOnline([alice, bob])
                let secret = ["--secret", "abcdefghijklmnopqrstuvwxya"]
                let carol = try await NodeProcess("Carol", on: network[0], chat: "garden", secret)
                let dave = try await NodeProcess("Dave", on: network[1], chat: "garden", secret)
                try await waitUntilAllOnline([carol, dave])

                let all = capture.advertised
                #expect(all.contains("_inkling") && !all.contains("_sub"))
                #expect(all.contains("txtvers=2"))
                let (names, keys) = (instanceNames(in: all), sealedKeys(in: all))
                #expect(names.count == 4 && keys.count == 4, "\(names) and \(keys)")
                for node in [alice, bob, carol, dave] {
                    #expect(!all.contains(node.name))
                    #expect(!all.contains(try #require(node.events.first?.user)))
                    #expect(!all.contains(try #require(node.events.first?.key)))
                }
                #expect(!all.contains("lobby") && !all.contains("garden"))
            }
        }

        // D-27, R24
        @Test("Avahi killed and started again: present peers stay, and a node started afterwards is found by all")
        func restartedDaemon() async throws {
            try await Network.with(hosts: 3) { network in
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts)
                let (alice, bob) = (nodes[0], nodes[1])
                try await waitUntilAllOnline(nodes)
                let marks = nodes.map(\.mark)
                for node in nodes { try await node.host.killAvahi() }
                for (node, mark) in zip(nodes, marks) {
                    try await node.wait("that discovery is down", from: mark, within: 10) {
                        $0.code == "discovery-down"
                    }
                }
                try await pause(5)
                alice.compose("still here")
                try await bob.waitForTyping(of: alice, from: marks[1])

                for node in nodes { try await node.host.startAvahi() }
                let charlie = try await NodeProcess("Charlie", on: network[2])
                try await waitUntilAllOnline([alice, bob, charlie], within: 20)
                for (node, mark) in zip(nodes, marks) {
                    try await node.wait("that discovery is up", from: mark, within: 10) { $0.code == "discovery-up" }
                    let left = node.events.filter { $0.presence == "offline" }
                    #expect(left.isEmpty, "nobody was ever offline at \(node.name)")
                }
                let found = try await alice.waitForPresence("online", of: charlie).at - charlie.started
                figure("found by a node whose Avahi was restarted: after \(seconds(found))")
            }
        }

        // D-2, D-3
        @Test("after its Avahi came back, a chat is advertised under a new name and with a new sealed key")
        func newName() async throws {
            try await Network.with(hosts: 2) { network in
                let capture = try Capture(on: network[1])
                let carol = try await NodeProcess(
                    "Carol", on: network[0], chat: "garden", ["--secret", "abcdefghijklmnopqrstuvwxya"])
                // The first registration may be listed slowly, and another one may replace it.
                var known = 0
                for round in 1...2 {
                    let mark = carol.mark
                    let end = ContinuousClock.now + .seconds(20)
                    while instanceNames(in: capture.advertised).count <= known, ContinuousClock.now < end {
                        try await pause(0.1)
                    }
                    try await pause(1)
                    let names = instanceNames(in: capture.advertised)
                    #expect(names.count > known)
                    #expect(sealedKeys(in: capture.advertised).count == names.count)
                    known = names.count
                    guard round < 2 else { break }
                    try await network[0].killAvahi()
                    try await carol.wait("that discovery is down", from: mark, within: 10) {
                        $0.code == "discovery-down"
                    }
                    try await network[0].startAvahi()
                    try await carol.wait("that discovery is up", from: mark, within: 10) { $0.code == "discovery-up" }
                }
            }
        }

        // R29: when the daemon dies, the library calls a random address unless its memory is zeroed
        @Test("Avahi killed four times in a row ends none of three nodes")
        func daemonKilledAgainAndAgain() async throws {
            try await Network.with(hosts: 1) { network in
                let nodes = try await startNodes(
                    ["Alice", "Bob", "Charlie"], on: [network[0], network[0], network[0]])
                try await waitUntilAllOnline(nodes)
                for round in 0..<4 {
                    let marks = nodes.map(\.mark)
                    try await network[0].killAvahi()
                    try await pause(0.2 + 0.1 * Double(round))
                    try await network[0].startAvahi()
                    for (node, mark) in zip(nodes, marks) {
                        try await node.wait("that discovery is up", from: mark, within: 10) {
                            $0.code == "discovery-up"
                        }
                    }
                    try await pause(0.3)
                }
                #expect(nodes.allSatisfy { $0.ending == nil })
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
    /// The text of all multicast DNS so far. A dot replaces each octet outside ASCII, so labels and strings stay whole.
    fileprivate var advertised: String {
        discovery.map { datagram in
            String(decoding: datagram.payload.map { (0x20..<0x7f).contains($0) ? $0 : 0x2e }, as: UTF8.self)
        }.joined(separator: "\n")
    }
}
