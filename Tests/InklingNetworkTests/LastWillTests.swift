import Foundation
import Glibc
import Testing

extension NetworkTests {
    @Suite("Last will", .serialized, .sideBySide) struct LastWillTests {
        // L-33
        @Test("a helper that goes is told of once, and the node goes on")
        func helperGoes() async throws {
            try await Network.with(hosts: 2) { network in
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts)
                try await waitUntilAllOnline(nodes)
                kill(try nodes[0].helper(), SIGKILL)
                nodes[1].quit()
                try await nodes[0].wait("the notice") { $0.on == "notice" && $0.code == "last-will-off" }
                let bob = try await NodeProcess("Bob 2", on: network[1])
                try await nodes[0].waitForPresence("online", of: bob)
                #expect(nodes[0].events.count { $0.code == "last-will-off" } == 1)
            }
        }

        // L-33: signals to a whole terminal job, which end or stop it, reach the helper too
        @Test("a helper outlives a terminal's signals, says goodbye for its node, and ends; a farewell leaves none")
        func helperIsSignalled() async throws {
            try await Network.with(hosts: 2) { network in
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts)
                try await waitUntilAllOnline(nodes)
                let helpers = try nodes.map { try $0.helper() }
                for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN, SIGPIPE] { kill(helpers[0], number) }
                try await pause(0.2)
                let time = try nodes[0].signal(SIGKILL)
                let offline = try await nodes[1].waitForPresence("offline", of: nodes[0])
                #expect(offline.why == "will" && offline.at - time < 1)
                try await pause(1)
                #expect(!NodeProcess.isRunning(helpers[0]))
                nodes[1].quit()
                #expect(try await nodes[1].waitForEnd() == .exited(0))
                #expect(!NodeProcess.isRunning(helpers[1]))
            }
        }

        // L-33
        @Test("a helper that stands still for a while, with more to keep than it has room for, is not taken for gone")
        func helperStandsStill() async throws {
            try await Network.with(Network.Options(hosts: 1, discovery: false)) { network in
                let alice = try await NodeProcess("Alice", on: network[0], ["--no-discovery", "--port", "40001"])
                var others: [NodeProcess] = []
                for name in ["Bob", "Charlie", "Dora", "Emil"] {
                    let options = ["--no-discovery", "--peer", "127.0.0.1:40001"]
                    others.append(try await NodeProcess(name, on: network[0], options))
                }
                for other in others { try await other.waitForPresence("online", of: alice) }
                let chats = (1...31).map { "side \($0)" }
                for chat in chats { for other in others { other.tell(["do": "join", "chat": chat]) } }
                let helper = try alice.helper()
                kill(helper, SIGSTOP)
                let marks = others.map(\.mark)
                // In each round, 124 sessions are opened and closed.
                for _ in 0..<2 {
                    let (mark, last) = (alice.mark, others.map(\.mark))
                    for chat in chats { alice.tell(["do": "join", "chat": chat]) }
                    for chat in chats {
                        for other in others {
                            try await alice.wait("\(other.name) in \(chat)", from: mark, within: 20) {
                                $0.isPresence("online", of: other.name) && $0.chat == chat
                            }
                        }
                    }
                    for chat in chats { alice.tell(["do": "leave", "chat": chat]) }
                    for (other, mark) in zip(others, last) {
                        try await other.wait("that Alice has left", from: mark) {
                            $0.isPresence("offline", of: "Alice") && $0.chat == chats.last
                        }
                    }
                }
                kill(helper, SIGCONT)
                try await pause(1)
                #expect(alice.events.allSatisfy { $0.code != "last-will-off" })
                for (other, mark) in zip(others, marks) {
                    #expect(other.events.dropFirst(mark).allSatisfy { $0.why != "will" })
                }
                let time = try alice.signal(SIGKILL)
                for (other, mark) in zip(others, marks) {
                    let offline = try await other.wait("Alice's end", from: mark) {
                        $0.isPresence("offline", of: "Alice") && $0.chat == "lobby"
                    }
                    #expect(offline.why == "will" && offline.at - time < 1)
                }
            }
        }
    }
}

extension NodeProcess {
    /// Returns the process ID of the helper, in the test's process namespace.
    func helper() throws -> pid_t {
        guard let program, let helper = Child.children(of: program).first else {
            throw HarnessError("\(name) has no helper")
        }
        return helper
    }

    /// Returns whether a process runs. A zombie does not count as running.
    static func isRunning(_ process: pid_t) -> Bool {
        let status = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        guard let end = status.lastIndex(of: ")") else { return false }
        return !status[end...].contains(" Z ")
    }
}
