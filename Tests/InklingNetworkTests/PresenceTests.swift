import Glibc
import Testing

extension NetworkTests {
    @Suite("Presence", .serialized, .sideBySide) struct PresenceTests {
        // R24, R11
        @Test(
            "two nodes on one host see each other, of two users and of one",
            .standalone("a daemon holds its state directory for itself alone (A-14)"))
        func oneHost() async throws {
            try await Network.with(hosts: 1) { network in
                let alice = try await NodeProcess("Alice", on: network[0])
                let bob = try await NodeProcess("Bob", on: network[0])
                try await waitUntilAllOnline([alice, bob])

                let second = try await NodeProcess("Alice again", on: network[0], state: "Alice")
                try await second.wait("that its identity is temporary") {
                    $0.on == "notice" && $0.code == "identity-temporary"
                }
                try await waitUntilAllOnline([alice, bob, second])
                let mark = alice.mark
                second.compose("me")
                try await alice.waitForTyping(of: second, from: mark)
                second.send("me too")
                try await alice.wait("the message") { $0.on == "message" && $0.text == "me too" }
            }
        }

        // R11, R24, D-7
        @Test("two devices of one identity are one person to others, and nobody to each other")
        func devices() async throws {
            try await Network.with(hosts: 3) { network in
                let first = try await NodeProcess("Alice", on: network[0])
                try await network.copyState("Alice", from: network[0], to: network[1])
                let second = try await NodeProcess("Alice", on: network[1])
                let bob = try await NodeProcess("Bob", on: network[2])
                #expect(first.events.first?.user == second.events.first?.user)
                for device in [first, second] {
                    try await device.waitForPresence("online", of: bob)
                    let mark = bob.mark
                    device.compose("h")
                    let typing = try await bob.waitForTyping(of: device, from: mark)
                    #expect(typing.typists == ["Alice"])
                    device.compose("")
                    try await bob.waitForTyping(of: device, false, from: mark)
                }
                let marks = (first.mark, bob.mark)
                second.quit()
                _ = try await second.waitForEnd()
                try await pause(1)
                first.send("still here")
                try await bob.wait("the message", from: marks.1) { $0.on == "message" }
                #expect(bob.events.count { $0.on == "peer" && $0.name == "Alice" } == 1, "online, once and for all")
                for device in [first, second] {
                    #expect(device.shown(from: 0).allSatisfy { $0.name == "Bob" }, "nothing of oneself")
                }
            }
        }
    }
}

extension NetworkTests.Alone {
    @Suite("Arrivals and farewells, in milliseconds", .serialized) struct PresenceDelayTests {
        // R22, R24
        @Test("three nodes, started at once, each list the other two as online within 2 s")
        func mutualDiscovery() async throws {
            try await Network.with(hosts: 3) { network in
                // A new daemon first claims the name of its host, which takes a second.
                try await pause(3)
                let nodes = try await startNodes(["Alice", "Bob", "Charlie"], on: network.hosts)
                try await waitUntilAllOnline(nodes)
                for node in nodes {
                    for peer in nodes where peer !== node {
                        let online = node.events.filter { $0.isPresence("online", of: peer.name) }
                        #expect(online.count == 1, "\(peer.name) comes online once at \(node.name)")
                        let delay = (online.first?.at ?? .infinity) - max(node.started, peer.started)
                        #expect(delay <= 2.0)
                        figure("online: \(peer.name) at \(node.name) after \(Int(delay * 1_000)) ms")
                    }
                }
            }
        }

        // R6, R14, R22: each ending also happens while the user is typing
        @Test("quit, interrupt, termination, hang-up and end of input show as offline within 100 ms")
        func farewells() async throws {
            try await Network.with(hosts: 3) { network in
                let watchers = try await startNodes(["Alice", "Bob"], on: network.hosts)
                let endings: [(name: String, end: (NodeProcess) throws -> Double)] = [
                    ("quit", { $0.quit() }),
                    ("end of input", { $0.endInput() }),
                    ("SIGINT", { try $0.signal(SIGINT) }),
                    ("SIGTERM", { try $0.signal(SIGTERM) }),
                    ("SIGHUP", { try $0.signal(SIGHUP) }),
                ]
                try await expectDelays("offline after an end that was told", most: 0.1) {
                    var delays: [Double] = []
                    for ending in endings {
                        let marks = watchers.map(\.mark)
                        let leaver = try await NodeProcess("Charlie", on: network[2])
                        for (watcher, mark) in zip(watchers, marks) {
                            try await leaver.waitForPresence("online", of: watcher)
                            try await watcher.waitForPresence("online", of: leaver, from: mark)
                        }
                        leaver.compose("I was about to s")
                        for (watcher, mark) in zip(watchers, marks) {
                            try await watcher.waitForTyping(of: leaver, from: mark)
                        }
                        let time = try ending.end(leaver)
                        for (watcher, mark) in zip(watchers, marks) {
                            let offline = try await watcher.waitForPresence("offline", of: leaver, from: mark)
                            #expect(offline.why == "bye", "after \(ending.name)")
                            let typing = watcher.events.dropFirst(mark).filter { $0.typists != nil }
                            #expect(typing.last?.typists == [])
                            let cleared = try #require(typing.last, "after \(ending.name)").at
                            delays.append(max(offline.at, cleared) - time)
                            figure("offline after \(ending.name): \(milliseconds(delays.last ?? 0)) ms")
                        }
                        #expect(
                            try await leaver.waitForEnd() == .exited(0), "after \(ending.name): \(leaver.errorText)")
                    }
                    return delays
                }
            }
        }
    }
}
