import Glibc
import Testing

extension NetworkTests {
    @Suite(
        "Bad LAN: other runs", .serialized, .sideBySide, .enabled(if: hasTAP, "left out: there is no /dev/net/tun"))
    struct RestartTests {
        // R7, R22, R24, R25
        @Test("killed and started again under the same identity, four times: usable within 2 s, and shown once")
        func restart() async throws {
            try await BadLAN.with(hosts: 3) { lan in
                let watchers = try await startNodes(["Bob", "Charlie"], on: Array(lan.hosts[1...]))
                var alice = try await NodeProcess("Alice", on: lan[0])
                try await waitUntilAllOnline([alice] + watchers)
                var delays: [Double] = []
                for round in 0..<4 {
                    // In every second round the helper is killed too, so nobody sends a farewell.
                    if !round.isMultiple(of: 2) { try await alice.killHelper() }
                    try alice.signal(SIGKILL)
                    _ = try await alice.waitForEnd()
                    let marks = watchers.map(\.mark)
                    // The helper may still hold the chosen port for a moment.
                    alice = try await NodeProcess("Alice", on: lan[0], round < 2 ? [] : ["--port", "40000"])
                    for watcher in watchers { try await alice.waitForPresence("online", of: watcher) }
                    let text = "round \(round)"
                    alice.compose(text)
                    for (watcher, mark) in zip(watchers, marks) {
                        try await watcher.waitForTyping(of: alice, from: mark)
                    }
                    alice.send(text)
                    for (watcher, mark) in zip(watchers, marks) {
                        let message = try await watcher.wait("the message", from: mark) { $0.text == text }
                        delays.append(message.at - alice.started)
                        watcher.send("to \(text)")
                        try await alice.wait("the answer") { $0.text == "to \(text)" && $0.from?.name == watcher.name }
                    }
                    for watcher in watchers { try await RestartTests.expectOnce(alice, at: watcher) }
                }
                // By now the earlier runs have timed out. They must not affect the new one.
                try await pause(4)
                for watcher in watchers { try await RestartTests.expectOnce(alice, at: watcher) }
                figure("killed and started again: all that was tried had worked \(summary(delays)) after the start")
                #expect(delays.allSatisfy { $0 <= 2 })
            }
        }

        /// Expects that the list has a person once, as online, and that each report of offline is followed by one of
        /// online.
        private static func expectOnce(_ peer: NodeProcess, at watcher: NodeProcess) async throws {
            let mark = watcher.mark
            watcher.tell(["do": "who"])
            let answer = try await watcher.wait("who is there", from: mark) { $0.on == "who" }
            let entries = (answer.peers ?? []).filter { $0.name == peer.name }
            #expect(entries.map(\.presence) == ["online"], "\(peer.name) at \(watcher.name)")
            let told = watcher.events.filter { $0.on == "peer" && $0.name == peer.name }.map { $0.presence ?? "" }
            #expect(zip(told, told.dropFirst()).allSatisfy { $0 != $1 }, "\(told) at \(watcher.name)")
            #expect(told.last == "online")
        }
    }
}
