import Foundation
import Glibc
import Testing

extension NetworkTests {
    @Suite("Pauses", .serialized, .sideBySide) struct PauseTests {
        // R10, R22, T-18, L-38, L-42
        @Test(
            "a machine that slept for 8 hours, and a time of day that jumps by 10 years: nothing old, nobody taken for gone"
        )
        func clocks() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await PauseTests.sleep() }
                group.addTask { try await PauseTests.shiftTimeOfDay() }
                try await group.waitForAll()
            }
        }

        /// Moves the clock that counts suspend 8 hours ahead, so that the peers have timed the node out.
        private static func sleep() async throws {
            try await Network.with(hosts: 3) { network in
                let clock = try await TestClock()
                let alice = try await NodeProcess("Alice", on: network[0], environment: clock.environment)
                let others = try await startNodes(["Bob", "Charlie"], on: Array(network.hosts[1...]))
                let nodes = [alice] + others
                try await waitUntilAllOnline(nodes)
                let mark = alice.mark
                for node in nodes { node.compose("hello") }
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
                try await expectConversation(nodes)
            }
        }

        /// Sets the time of day ten years ahead, ten back, and right again, each while people type.
        private static func shiftTimeOfDay() async throws {
            try await Network.with(hosts: 2) { network in
                let clock = try await TestClock()
                let alice = try await NodeProcess("Alice", on: network[0], environment: clock.environment)
                let bob = try await NodeProcess("Bob", on: network[1])
                let nodes = [alice, bob]
                try await waitUntilAllOnline(nodes)
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
                try await expectConversation(nodes)
            }
        }
    }
}

extension NetworkTests {
    @Suite(
        "Suspension", .serialized, .sideBySide,
        .standalone("a front end that is suspended leaves its daemon, whose node goes on"))
    struct SuspensionTests {
        // R6, R10, R22, L-30, L-42
        @Test("suspended by a signal: gone at once on both sides, and back at once")
        func suspensions() async throws {
            try await Network.with(hosts: 3) { network in
                // SIGTSTP lets a program say goodbye before it stops.
                let nodes = try await startNodes(["Anna", "Ben", "Cleo"], on: network.hosts, chat: "suspend")
                let (alice, others) = (nodes[0], Array(nodes[1...]))
                try await waitUntilAllOnline(nodes, within: 15)
                // Each program is stopped several times, and the node reports each stop.
                try await expectDelays("suspended: gone at the others", most: 0.1) {
                    var delays: [Double] = []
                    for _ in 0..<2 {
                        let marks = nodes.map(\.mark)
                        alice.compose("hello")
                        others[0].compose("hello")
                        for (other, mark) in zip(others, marks[1...]) {
                            try await other.waitForTyping(of: alice, from: mark)
                        }
                        let suspended = try alice.signal(SIGTSTP)
                        for (other, mark) in zip(others, marks[1...]) {
                            let offline = try await other.waitForPresence("offline", of: alice, from: mark)
                            let cleared = try await other.waitForTyping(of: alice, false, from: mark)
                            #expect(offline.why == "bye")
                            delays.append(max(offline.at, cleared.at) - suspended)
                        }
                        try await pause(4)
                        #expect(alice.isStopped)
                        let last = nodes.map(\.mark)
                        let resumed = now()
                        try alice.signal(SIGCONT)
                        for (other, mark) in zip(others, last[1...]) {
                            let online = try await other.waitForPresence("online", of: alice, from: mark)
                            try await alice.waitForPresence("online", of: other, from: last[0])
                            figure("suspended: back at \(other.name) after \(seconds(online.at - resumed))")
                            #expect(online.at - resumed <= 3)
                        }
                        try await pause(0.5)
                        for (node, mark) in zip(nodes, last) {
                            #expect(
                                node.events.dropFirst(mark).allSatisfy { $0.typists ?? [] == [] },
                                "nothing old comes up")
                            // The program showed nobody while it was suspended, and had reported all people as offline
                            // before.
                            let gone = node.events.dropFirst(mark).filter { $0.presence == "offline" }
                            #expect(gone.allSatisfy { node === alice && $0.why == "bye" && $0.at < resumed })
                        }
                        alice.compose("")
                    }
                    return delays
                }
                try await expectConversation(nodes)
            }
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

    /// Whether the node's program is stopped.
    fileprivate var isStopped: Bool {
        guard let program, let status = try? String(contentsOfFile: "/proc/\(program)/stat", encoding: .utf8),
            let end = status.lastIndex(of: ")")
        else { return false }
        return status[end...].hasPrefix(") T")
    }
}
