import Glibc
import Testing

extension NetworkTests.Alone {
    @Suite("Arrivals, typing, messages and ends, in milliseconds", .serialized) struct DelayTests {
        // R1, R4, R5, R22, R24, R25
        @Test(
            """
            three nodes, started at once, see each other within 2 s; half of 102 edges of typing show within 2 ms, 99 of \
            100 within 50 ms; typing is over before a message shows
            """)
        func talk() async throws {
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
                var lastStart = [Double](repeating: 0, count: nodes.count)
                /// Lets a node begin to type, and returns the delays at the others.
                func begin(_ index: Int, _ text: String, at others: [NodeProcess]) async throws -> [Double] {
                    // Starts are announced at most every 500 ms.
                    let rest = lastStart[index] + 0.52 - now()
                    if rest > 0 { try await pause(rest) }
                    let marks = others.map(\.mark)
                    let time = nodes[index].compose(text)
                    lastStart[index] = time
                    var delays: [Double] = []
                    for (other, mark) in zip(others, marks) {
                        delays.append(try await other.waitForTyping(of: nodes[index], from: mark).at - time)
                    }
                    return delays
                }
                try await expectDelays("edges shown", half: 0.002, most: 0.050) {
                    var starts: [Double] = []
                    var stops: [Double] = []
                    for _ in 0..<17 {
                        for (index, typist) in nodes.enumerated() {
                            let others = nodes.filter { $0 !== typist }
                            starts += try await begin(index, "h", at: others)
                            let marks = others.map(\.mark)
                            let time = typist.compose("")
                            for (other, mark) in zip(others, marks) {
                                stops.append(try await other.waitForTyping(of: typist, false, from: mark).at - time)
                            }
                        }
                    }
                    figure("typing shown: \(summary(starts))")
                    figure("end of typing shown: \(summary(stops))")
                    return starts + stops
                }
                var rounds = 0
                try await expectDelays("message shown", most: 0.1) {
                    var delays: [Double] = []
                    for _ in 0..<17 {
                        rounds += 1
                        let text = "message \(rounds)"
                        for (index, author) in nodes.enumerated() {
                            let others = nodes.filter { $0 !== author }
                            _ = try await begin(index, text, at: others)
                            let marks = others.map(\.mark)
                            let time = author.send(text)
                            for (other, mark) in zip(others, marks) {
                                let message = try await other.wait("the message", from: mark) { $0.on == "message" }
                                #expect(message.text == text)
                                #expect(message.from?.name == author.name)
                                delays.append(message.at - time)
                            }
                        }
                    }
                    return delays
                }
                try await pause(0.3)
                for node in nodes {
                    var typing: [String] = []
                    for event in node.events {
                        if let typists = event.typists { typing = typists }
                        guard event.on == "message", let author = event.from?.name else { continue }
                        #expect(!typing.contains(author), "\(author) shows as typing with \(event.text ?? "")")
                    }
                    #expect(node.events.filter { $0.on == "message" }.count == 2 * rounds)
                    #expect(typing.isEmpty)
                }
            }
        }

        // R6, R7, R14, R22, L-33
        @Test(
            """
            in mid-typing, quit, interrupt, termination, hang-up and end of input show as offline within 100 ms, and \
            kill -9 within 50 ms
            """)
        func ends() async throws {
            try await Network.with(hosts: 3) { network in
                let watchers = try await startNodes(["Alice", "Bob"], on: network.hosts)
                var names = 0
                /// Ends a node while its user types, and returns the delays until the watchers show neither.
                func delays(
                    why: String, _ ending: (name: String, end: (NodeProcess) throws -> Double)
                ) async throws -> [Double] {
                    names += 1
                    let marks = watchers.map(\.mark)
                    let leaver = try await NodeProcess("Charlie \(names)", on: network[2])
                    for (watcher, mark) in zip(watchers, marks) {
                        try await leaver.waitForPresence("online", of: watcher)
                        try await watcher.waitForPresence("online", of: leaver, from: mark)
                    }
                    leaver.compose("I was about to s")
                    for (watcher, mark) in zip(watchers, marks) {
                        try await watcher.waitForTyping(of: leaver, from: mark)
                    }
                    let time = try ending.end(leaver)
                    var delays: [Double] = []
                    for (watcher, mark) in zip(watchers, marks) {
                        let offline = try await watcher.waitForPresence("offline", of: leaver, from: mark)
                        #expect(offline.why == why, "after \(ending.name)")
                        let end = try await watcher.waitForTyping(of: leaver, false, from: mark)
                        #expect(end.typists == [] && end.text == "")
                        delays.append(max(offline.at, end.at) - time)
                        figure("offline after \(ending.name): \(milliseconds(delays.last ?? 0)) ms")
                    }
                    let status = try await leaver.waitForEnd()
                    #expect(status == (why == "will" ? .signalled(SIGKILL) : .exited(0)), "after \(ending.name)")
                    return delays
                }
                try await expectDelays("offline after an end that was told", most: 0.1) {
                    try await delays(why: "bye", ("quit", { $0.quit() }))
                        + delays(why: "bye", ("end of input", { $0.endInput() }))
                        + delays(why: "bye", ("SIGINT", { try $0.signal(SIGINT) }))
                        + delays(why: "bye", ("SIGTERM", { try $0.signal(SIGTERM) }))
                        + delays(why: "bye", ("SIGHUP", { try $0.signal(SIGHUP) }))
                }
                try await expectDelays("killed: cleared on the others", most: 0.050) {
                    var all: [Double] = []
                    for _ in 0..<5 { all += try await delays(why: "will", ("kill -9", { try $0.signal(SIGKILL) })) }
                    return all
                }
            }
        }
    }
}
