import Foundation
import Glibc
import Testing

extension NetworkTests {
    @Suite("Pauses", .serialized, .sideBySide) struct PauseTests {
        // R10, R22, T-18, L-38, L-42
        @Test("8 hours asleep, and a time of day that jumps by 10 years: nothing old, nobody taken for gone")
        func clocks() async throws {
            try await Network.with(hosts: 3) { network in
                let clock = try await TestClock()
                let alice = try await NodeProcess("Alice", on: network[0], environment: clock.environment)
                let others = try await startNodes(["Bob", "Charlie"], on: Array(network.hosts[1...]))
                let nodes = [alice] + others
                try await waitUntilAllOnline(nodes)
                // Links of over 10 s outlive their sessions (L-84).
                try await pause(11)
                try await PauseTests.sleep(clock, network, alice, others)
                try await PauseTests.shiftTimeOfDay(clock, alice, others[0])
            }
        }

        /// Sets the time of day ten years ahead, ten back, and right again, each while people type.
        private static func shiftTimeOfDay(_ clock: TestClock, _ alice: NodeProcess, _ bob: NodeProcess) async throws {
            let nodes = [alice, bob]
            let marks = nodes.map(\.mark)
            let years = Int64(10 * 365 * 86_400)
            for shift in [years, -years, 0] {
                for node in nodes { node.compose("for \(shift)") }
                let typing = nodes.map(\.mark)
                let before = now()
                try clock.shiftTimeOfDay(by: shift)
                for node in nodes { node.compose("for \(shift) s") }
                try await pause(2.5)
                #expect(alice.newestTypists == ["Bob"] && bob.newestTypists == ["Alice"], "not too soon")
                for (node, mark) in zip(nodes, typing) {
                    let other = node === alice ? bob : alice
                    try await node.waitForTyping(of: other, false, from: mark)
                    #expect(now() - before <= 3.2, "not too long")
                }
                let later = alice.events.last?.at ?? 0
                #expect(abs(later - now() - Double(shift)) < 5, "it is the time of day that jumped")
            }
            for (node, mark) in zip(nodes, marks) {
                #expect(node.events.dropFirst(mark).allSatisfy { $0.on == "typing" }, "and nobody went")
            }
        }

        /// Moves the clock that counts suspend 8 hours ahead, so that the peers have timed the node out.
        private static func sleep(
            _ clock: TestClock, _ network: Network, _ alice: NodeProcess, _ others: [NodeProcess]
        ) async throws {
            let mark = alice.mark
            for node in [alice] + others { node.compose("hello") }
            for other in others { try await alice.waitForTyping(of: other, from: mark) }
            try alice.signal(SIGSTOP)
            try await network.cut(network[0])
            for other in others { try await other.waitForPresence("offline", of: alice) }
            try await pause(1)
            try clock.sleepMachine(for: 8 * 3_600)
            try await network.mend(network[0])
            let woken = now()
            let last = others.map(\.mark)
            try alice.signal(SIGCONT)
            for (other, mark) in zip(others, last) {
                let online = try await other.waitForPresence("online", of: alice, from: mark)
                figure("asleep for 8 h: back at \(other.name) after \(seconds(online.at - woken))")
                #expect(online.at - woken <= 3)
            }
            try await pause(3)
            let shown = alice.events.dropFirst(mark)
            #expect(shown.allSatisfy { $0.on != "peer" }, "nobody is gone for what Alice did not hear")
            let typing = shown.filter { $0.typists != nil && $0.at >= woken }
            #expect(typing.last?.typists == [])
            #expect(typing.allSatisfy { $0.at <= woken + 0.5 }, "what was old went at once")
            for (other, mark) in zip(others, last) { #expect(other.shown(from: mark).count == 1) }
            alice.compose("")
            try await expectConversation([alice] + others)
        }

        @Test("stopped and continued from outside, and in front again: it goes on in another user's terminal too")
        func continuedFromOutside() async throws {
            try await Network.with(.init(hosts: 1, discovery: false)) { network in
                let host = network[0]
                let terminal = try await RealTerminal(on: host, home: "roots", asRoot: true)
                try await host.run("mkdir -m 777 /run/other")
                // As after `su`, the program can't open the terminal again, so a thread reads it.
                try await terminal.type(
                    "setpriv --reuid=65534 --regid=65534 --clear-groups \(try NodeProcess.program()) chat kitchen "
                        + "--name Alice --no-discovery --state-dir /run/other/state")
                try await terminal.press("Enter")
                try await terminal.wait("the chat", within: 10) { $0.has("Looking for others") }
                try await host.run("kill -STOP $(pgrep -x inkling)")
                try await terminal.wait("the shell") { $0.has("Stopped") }
                try await host.run("kill -CONT $(pgrep -x inkling)")
                try await pause(0.5)
                try await terminal.type("fg")
                // This shell leaves the terminal in the chat's modes, in which Enter does not end a line.
                try await terminal.press("C-j")
                try await pause(1)
                try await terminal.type("hello")
                try await terminal.press("Enter")
                try await terminal.wait("the chat again") { $0.has("You: hello") }
            }
        }
    }
}

/// Expects that all nodes see each other type, and receive each other's messages.
private func expectConversation(_ nodes: [NodeProcess]) async throws {
    for author in nodes {
        let others = nodes.filter { $0 !== author }
        let marks = others.map(\.mark)
        try await pause(0.5)
        author.compose("\(author.name) is here")
        for (other, mark) in zip(others, marks) { try await other.waitForTyping(of: author, from: mark) }
        author.send("\(author.name) is here")
        for (other, mark) in zip(others, marks) {
            try await other.wait("the message of \(author.name)", from: mark) {
                $0.on == "message" && $0.text == "\(author.name) is here"
            }
        }
    }
}

extension NodeProcess {
    /// The people in the newest list of typists.
    fileprivate var newestTypists: [String] { events.last { $0.typists != nil }?.typists ?? [] }
}
