import Testing

extension NetworkTests.Alone {
    @Suite("Typing, in milliseconds", .serialized) struct TypingDelayTests {
        // R1, R5
        @Test("102 edges: typing and its end show on the others, half of them within 2 ms, 99 of 100 within 50 ms")
        func latency() async throws {
            try await Network.with(hosts: 3) { network in
                let nodes = try await startNodes(["Alice", "Bob", "Charlie"], on: network.hosts)
                try await waitUntilAllOnline(nodes)
                var lastStart = [Double](repeating: 0, count: nodes.count)
                try await expectDelays("edges shown", half: 0.002, most: 0.050) {
                    var starts: [Double] = []
                    var stops: [Double] = []
                    for _ in 0..<17 {
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
    }
}
