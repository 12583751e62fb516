import Glibc
import Testing

extension NetworkTests {
    @Suite("Messages", .serialized, .sideBySide) struct MessageTests {
        // R25, R26
        @Test("200 messages of 1 to 10,000 characters, one datagram in ten lost: all there, once, in order")
        func loss() async throws {
            try await Network.with(hosts: 2) { network in
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts)
                let (alice, bob) = (nodes[0], nodes[1])
                try await waitUntilAllOnline(nodes)
                for host in network.hosts { try await host.dropOneInTen() }
                let texts = MessageTests.texts(200)
                let start = now()
                // They stay below the limit of a peer's queue.
                for text in texts { alice.send(text) }
                while bob.messageCount < texts.count && now() < start + 100 { try await pause(0.05) }
                figure("200 messages at 10 % loss: \(bob.messageCount) in \(seconds(now() - start))")
                let received = bob.events.filter { $0.on == "message" }.compactMap(\.text)
                #expect(received.count == texts.count)
                #expect(received == texts)
                for node in nodes {
                    let offline = node.events.filter { $0.presence == "offline" || $0.on == "failed" }
                    #expect(offline.isEmpty, "\(node.name) shows \(offline)")
                }
                while alice.deliveredCount < texts.count && now() < start + 105 { try await pause(0.05) }
                #expect(alice.deliveredCount == texts.count)
            }
        }

        /// Returns texts with characters of up to four bytes, the same in each run.
        private static func texts(_ count: Int) -> [String] {
            var state: UInt64 = 0x1f3d_5b79
            func next(_ bound: UInt64) -> UInt64 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return (state >> 33) % bound
            }
            return (0..<count).map { index in
                let length = index == 0 ? 1 : index == 1 ? 10_000 : Int(next(10_000)) + 1
                let characters: [Character] = index.isMultiple(of: 10) ? ["ä", "語", "🖋", "b"] : ["a", "b", " ", "c"]
                return String((0..<length).map { _ in characters[Int(next(4))] })
            }
        }
    }
}

extension NetworkTests.Alone {
    @Suite("Messages, in milliseconds", .serialized) struct MessageDelayTests {
        // R4, R25
        @Test("in each of 51 sends typing is over before the message shows")
        func typingEndsFirst() async throws {
            try await Network.with(hosts: 3) { network in
                let nodes = try await startNodes(["Alice", "Bob", "Charlie"], on: network.hosts)
                try await waitUntilAllOnline(nodes)
                var rounds = 0
                var lastStart = [Double](repeating: 0, count: nodes.count)
                try await expectDelays("message shown", most: 0.1) {
                    var delays: [Double] = []
                    for _ in 0..<17 {
                        rounds += 1
                        let text = "message \(rounds)"
                        for (index, author) in nodes.enumerated() {
                            let others = nodes.filter { $0 !== author }
                            let rest = lastStart[index] + 0.52 - now()
                            if rest > 0 { try await pause(rest) }
                            let marks = others.map(\.mark)
                            lastStart[index] = author.compose(text)
                            for (other, mark) in zip(others, marks) {
                                try await other.waitForTyping(of: author, from: mark)
                            }
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
    }
}

extension NodeProcess {
    fileprivate var messageCount: Int { count(of: "message") }
    fileprivate var deliveredCount: Int { count(of: "delivered") }
}
