import Foundation
import Glibc
import Testing

extension NetworkTests {
    @Suite("Last will") struct LastWillTests {
        // R7, L-33
        @Test("kill -9 in mid-typing clears typing and presence on the others at once, 20 times in a row")
        func killed() async throws {
            try await Network.with(hosts: 3) { network in
                let watchers = try await startNodes(["Bob", "Charlie"], on: Array(network.hosts[1...]))
                var delays: [Double] = []
                for round in 0..<20 {
                    let name = "Alice \(round)"
                    let alice = try await NodeProcess(name, on: network[0])
                    let marks = watchers.map(\.mark)
                    for watcher in watchers { try await watcher.waitForPresence("online", of: alice) }
                    for watcher in watchers { try await alice.waitForPresence("online", of: watcher) }
                    alice.compose("half a sent")
                    for (watcher, mark) in zip(watchers, marks) {
                        try await watcher.waitForTyping(of: alice, from: mark)
                    }
                    let time = try alice.signal(SIGKILL)
                    for (watcher, mark) in zip(watchers, marks) {
                        let end = try await watcher.waitForTyping(of: alice, false, from: mark)
                        let offline = try await watcher.waitForPresence("offline", of: alice, from: mark)
                        #expect(offline.why == "will")
                        delays.append(max(end.at, offline.at) - time)
                    }
                }
                figure("killed: cleared on the others: \(summary(delays))")
                #expect(percentile(99, of: delays) < 0.050)
            }
        }

        // R7, R10
        @Test("helper and node killed together: silence does the rest within 3.0 s of the last datagram")
        func bothKilled() async throws {
            try await Network.with(hosts: 2) { network in
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts)
                try await waitUntilAllOnline(nodes)
                let (alice, bob) = (nodes[0], nodes[1])
                let capture = try Capture(on: bob.host)
                let port = try #require(alice.events.first?.port)
                let mark = bob.mark
                alice.compose("half a sent")
                try await bob.waitForTyping(of: alice, from: mark)
                try alice.killHelper()
                try alice.signal(SIGKILL)
                let end = try await bob.waitForTyping(of: alice, false, from: mark)
                let offline = try await bob.waitForPresence("offline", of: alice, from: mark)
                let last = try #require(capture.datagrams.last { !$0.isOutgoing && $0.sourcePort == port }).at
                figure("killed with its helper: typing ends \(seconds(end.at - last)) after the last datagram")
                #expect(end.at - last <= 3.1)
                #expect(offline.why == "silence")
            }
        }

        // L-33
        @Test("the helper outlives its node by less than a second, and a farewell leaves none behind")
        func helperEnds() async throws {
            try await Network.with(hosts: 2) { network in
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts)
                try await waitUntilAllOnline(nodes)
                let helpers = try nodes.map { try $0.helper() }
                try nodes[0].signal(SIGKILL)
                nodes[1].quit()
                #expect(try await nodes[1].waitForEnd() == .exited(0))
                #expect(!NodeProcess.isRunning(helpers[1]))
                try await pause(1)
                #expect(!NodeProcess.isRunning(helpers[0]))
            }
        }

        // L-33: what ends or stops a whole terminal job reaches the helper too
        @Test("a helper that goes is told of once, and the node goes on")
        func helperGoes() async throws {
            try await Network.with(hosts: 2) { network in
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts)
                try await waitUntilAllOnline(nodes)
                try nodes[0].killHelper()
                nodes[1].quit()
                try await nodes[0].wait("the notice") { $0.on == "notice" && $0.code == "last-will-off" }
                let bob = try await NodeProcess("Bob 2", on: network[1])
                try await nodes[0].waitForPresence("online", of: bob)
                #expect(nodes[0].events.count { $0.code == "last-will-off" } == 1)
            }
        }
    }
}

extension NodeProcess {
    /// The process ID of the helper, as this process sees it.
    func helper() throws -> pid_t {
        guard let program, let helper = Child.children(of: program).first else {
            throw HarnessError("\(name) has no helper")
        }
        return helper
    }

    func killHelper() throws {
        let helper = try helper()
        kill(helper, SIGKILL)
        while NodeProcess.isRunning(helper) { usleep(1_000) }
    }

    /// Whether it runs; a process that has ended and was not waited for does not.
    static func isRunning(_ process: pid_t) -> Bool {
        let status = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        guard let end = status.lastIndex(of: ")") else { return false }
        return !status[end...].contains(" Z ")
    }
}
