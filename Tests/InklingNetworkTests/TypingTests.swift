import Glibc
import Testing

extension NetworkTests {
    @Suite("Typing", .serialized, .sideBySide) struct TypingTests {
        // R7, R10, R16
        @Test("after a cut in mid-typing the status goes within 3.0 s of the last datagram; mended, all resumes")
        func cut() async throws {
            try await Network.with(hosts: 3) { network in
                let nodes = try await startNodes(["Alice", "Bob", "Charlie"], on: network.hosts)
                let (alice, others) = (nodes[0], nodes[1...])
                try await waitUntilAllOnline(nodes)
                let captures = try others.map { try Capture(on: $0.host) }
                let alicePort = try #require(alice.events.first?.port)
                for wait in [0.9, 1.35] {
                    let marks = others.map(\.mark)
                    let aliceMark = alice.mark
                    alice.compose("half a s\(wait)")
                    for (other, mark) in zip(others, marks) { try await other.waitForTyping(of: alice, from: mark) }
                    try await pause(wait)
                    alice.compose("half a sentence\(wait)")
                    try await network.cut(alice.host)
                    for ((other, mark), capture) in zip(zip(others, marks), captures) {
                        let end = try await other.waitForTyping(of: alice, false, from: mark)
                        let offline = try await other.waitForPresence("offline", of: alice, from: mark)
                        let heard = capture.datagrams.last {
                            !$0.isOutgoing && $0.sourcePort == alicePort && $0.at < end.at
                        }
                        let last = try #require(heard).at
                        let (shown, present) = (seconds(end.at - last), seconds(offline.at - last))
                        figure("cut: typing ends \(shown), offline \(present) after the last datagram")
                        #expect(end.at - last <= 3.1)
                        #expect(offline.at - last <= 3.1)
                        #expect(offline.why == "silence")
                    }
                    for other in others {
                        try await alice.waitForPresence("offline", of: other, from: aliceMark)
                    }
                    #expect(alice.ending == nil)
                    let mended = now()
                    try await network.mend(alice.host)
                    for (other, mark) in zip(others, marks) {
                        let back = try await other.wait("Alice online again", from: mark, within: 15) {
                            $0.isPresence("online", of: alice.name) && $0.at > mended
                        }
                        figure("mended: online after \(seconds(back.at - mended))")
                        try await alice.wait("\(other.name) online again", from: aliceMark, within: 15) {
                            $0.isPresence("online", of: other.name) && $0.at > mended
                        }
                    }
                    // The link is back before the typing ends, so the typing shows again.
                    alice.compose("")
                    try await pause(0.6)
                }
            }
        }

        // R2, R15
        @Test("10 s of continuous composing: one start, no gap, no flicker, no more than 2 heartbeats a second a peer")
        func continuous() async throws {
            try await Network.with(hosts: 3) { network in
                let nodes = try await startNodes(["Alice", "Bob", "Charlie"], on: network.hosts)
                let (alice, others) = (nodes[0], nodes[1...])
                try await waitUntilAllOnline(nodes)
                try await pause(1)
                let marks = others.map(\.mark)
                let capture = try Capture(on: alice.host)
                let start = now()
                var text = ""
                while now() < start + 10 {
                    text += "x"
                    alice.compose(text)
                    try await pause(0.09)
                }
                let end = now()
                for (other, mark) in zip(others, marks) {
                    let lists = other.events.dropFirst(mark).filter { $0.typists != nil && $0.at <= end }
                    #expect(lists.map(\.typists) == [[alice.name]], "one start at \(other.name), and nothing else")
                }
                let sent = capture.datagrams(since: start).filter { $0.isOutgoing && $0.at <= end }
                let peers = Dictionary(grouping: sent) { "\($0.destination):\($0.destinationPort)" }
                #expect(peers.count == 2)
                for (peer, datagrams) in peers {
                    let typing = datagrams.count { $0.payload.count == 27 }
                    let heartbeats = datagrams.count { $0.payload.count == 28 }
                    figure("10 s of composing, to \(peer): \(typing) typing datagrams, \(heartbeats) heartbeats")
                    #expect(typing == 3, "the start and its two copies")
                    #expect(heartbeats <= 20)
                }
            }
        }

        // R8
        @Test("on the wire a typing datagram has 27 bytes and a heartbeat 28")
        func sizes() async throws {
            try await Network.with(hosts: 2) { network in
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts)
                try await waitUntilAllOnline(nodes)
                try await pause(1)
                let capture = try Capture(on: network[1])
                try await pause(2.2)
                let quiet = capture.datagrams
                #expect(Set(quiet.map(\.payload.count)) == [28])
                #expect((4...8).contains(quiet.count), "one a second from each, a little early")

                let start = nodes[0].compose("h")
                try await pause(0.3)
                let edge = capture.datagrams(since: start).filter { !$0.isOutgoing && $0.payload.count == 27 }
                #expect(edge.count == 3)
                #expect(capture.datagrams.allSatisfy { $0.kind == 3 && [27, 28].contains($0.payload.count) })
                figure("an edge and its copies after \(edge.map { seconds($0.at - start) }.joined(separator: ", "))")
            }
        }
    }
}

extension NetworkTests {
    @Suite("Typing, in milliseconds", .serialized, .alone) struct TypingDelayTests {
        // R1, R5
        @Test("204 edges: typing and its end show on the others, half of them within 2 ms, 99 of 100 within 50 ms")
        func latency() async throws {
            try await Network.with(hosts: 3) { network in
                let nodes = try await startNodes(["Alice", "Bob", "Charlie"], on: network.hosts)
                try await waitUntilAllOnline(nodes)
                var lastStart = [Double](repeating: 0, count: nodes.count)
                try await expectDelays("edges shown", half: 0.002, most: 0.050) {
                    var starts: [Double] = []
                    var stops: [Double] = []
                    for _ in 0..<34 {
                        for (index, typist) in nodes.enumerated() {
                            let others = nodes.filter { $0 !== typist }
                            // Starts are announced at most every 500 ms.
                            let rest = lastStart[index] + 0.52 - now()
                            if rest > 0 { try await pause(rest) }
                            for isTyping in [true, false] {
                                let marks = others.map(\.mark)
                                let time = typist.compose(isTyping ? "h" : "")
                                if isTyping { lastStart[index] = time }
                                for (other, mark) in zip(others, marks) {
                                    let shown = try await other.waitForTyping(of: typist, isTyping, from: mark)
                                    if isTyping {
                                        starts.append(shown.at - time)
                                    } else {
                                        stops.append(shown.at - time)
                                    }
                                }
                            }
                        }
                    }
                    figure("typing shown: \(summary(starts))")
                    figure("end of typing shown: \(summary(stops))")
                    return starts + stops
                }
            }
        }

        // R3, R10
        @Test("typing ends 2.9 to 3.0 s after the last edit")
        func idle() async throws {
            try await Network.with(hosts: 2) { network in
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts)
                try await waitUntilAllOnline(nodes)
                let mark = nodes[1].mark
                var last = 0.0
                for length in 1...4 {
                    last = nodes[0].compose(String(repeating: "a", count: length))
                    try await pause(0.2)
                }
                let end = try await nodes[1].waitForTyping(of: nodes[0], false, from: mark)
                figure("typing ends \(seconds(end.at - last)) after the last edit")
                #expect(end.at - last >= 2.9)
                #expect(end.at - last <= 3.0)
            }
        }
    }
}
