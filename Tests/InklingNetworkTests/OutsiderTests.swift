import Testing

extension NetworkTests {
    @Suite("Outsiders", .serialized, .sideBySide) struct OutsiderTests {
        private static let secret = "abcdefghijklmnopqrstuvwxya"
        private static let otherSecret = "zyxwvutsrqponmlkjihgfedcba"

        // R8, R12
        @Test("a node of another chat, and one with another secret for the same name, see nothing and show nowhere")
        func otherChats() async throws {
            try await Network.with(hosts: 4) { network in
                let inside = ["--secret", OutsiderTests.secret]
                let members = try await startNodes(["Alice", "Bob"], on: network.hosts, chat: "garden", inside)
                let outsiders = [
                    try await NodeProcess(
                        "Mallory", on: network[2], chat: "garden", ["--secret", OutsiderTests.otherSecret]),
                    try await NodeProcess("Oscar", on: network[3], chat: "kitchen"),
                    try await NodeProcess("Peggy", on: network[3], chat: "garden"),
                ]
                try await waitUntilAllOnline(members)
                let mark = members[1].mark
                members[0].compose("between us")
                outsiders.forEach { $0.compose("let me in") }
                try await members[1].waitForTyping(of: members[0], from: mark)
                members[0].send("between us")
                outsiders.forEach { $0.send("let me in") }
                try await members[1].wait("the message", from: mark) { $0.on == "message" }
                try await pause(3)
                for outsider in outsiders {
                    #expect(outsider.shown(from: 0).isEmpty, "\(outsider.name) sees \(outsider.shown(from: 0))")
                    #expect(outsider.ending == nil)
                }
                for member in members {
                    let names = member.events.flatMap { [$0.name, $0.from?.name] + ($0.typists ?? []) }
                    #expect(Set(names.compactMap(\.self)).isSubset(of: ["Alice", "Bob"]))
                }
            }
        }

        // R12, R15
        @Test("garbage, replays and truncations, in one's own and in others' names, change nothing and get no answer")
        func garbage() async throws {
            try await Network.with(Network.Options(hosts: 3, ipv6: .none)) { network in
                let (atAlice, atBob) = (try Capture(on: network[0]), try Capture(on: network[1]))
                let nodes = try await startNodes(["Alice", "Bob"], on: network.hosts)
                let (alice, bob) = (nodes[0], nodes[1])
                try await waitUntilAllOnline(nodes)
                let mark = bob.mark
                alice.compose("a secret")
                try await bob.waitForTyping(of: alice, from: mark)
                alice.send("a secret")
                try await bob.wait("the message", from: mark) { $0.on == "message" }
                try await pause(1.2)

                let recorded = (atAlice.datagrams + atBob.datagrams).filter { !$0.isOutgoing && $0.kind != nil }
                #expect(Set(recorded.compactMap(\.kind)).isSuperset(of: [1, 2, 3]), "a handshake and what followed")
                let marks = nodes.map(\.mark)
                let begin = now()
                let stranger = try Stranger(on: network[2])
                let own = network[2].ipv4Address
                for datagram in recorded {
                    // The stranger sends it once from its own address, and once from the original sender's. The payload
                    // is an unchanged copy.
                    stranger.send(datagram.payload, like: datagram, from: own)
                    stranger.send(datagram.payload, like: datagram)
                    try await pause(0.002)
                }
                let replayed = now()
                for datagram in recorded.prefix(40) {
                    for length in stride(from: 0, to: datagram.payload.count, by: 7) {
                        stranger.send(Array(datagram.payload[..<length]), like: datagram, from: own)
                        stranger.send(Array(datagram.payload[..<length]), like: datagram)
                    }
                    for bit in stride(from: 0, to: datagram.payload.count * 8, by: 61) {
                        var payload = datagram.payload
                        payload[bit / 8] ^= 1 << UInt8(bit % 8)
                        if datagram.kind == 3 { stranger.send(payload, like: datagram) }
                    }
                    try await pause(0.002)
                }
                let cut = now()
                var state: UInt32 = 1
                for number in 0..<2_000 {
                    let payload = (0..<(number % 1_250)).map { index -> UInt8 in
                        state = state &* 1_664_525 &+ 1_013_904_223
                        // Half of the random payloads begin with a valid first byte.
                        let isFirstByte = index == 0 && number.isMultiple(of: 2)
                        return isFirstByte ? 0x20 | UInt8(number / 2 % 7) : UInt8(state >> 24)
                    }
                    stranger.send(payload, like: recorded[number % recorded.count], from: number % 3 == 0 ? nil : own)
                    if number.isMultiple(of: 50) { try await pause(0.002) }
                }
                try await pause(2)

                for (node, mark) in zip(nodes, marks) {
                    #expect(node.shown(from: mark).isEmpty, "\(node.name) shows \(node.shown(from: mark))")
                    #expect(node.ending == nil, "\(node.name) ended: \(node.errorText)")
                }
                // A stranger may get a response to a replayed initiation. The response must not be longer than the
                // initiation.
                let initiations = recorded.count { $0.kind == 1 }
                let answers = (atAlice.datagrams(since: begin) + atBob.datagrams(since: begin))
                    .filter { $0.isOutgoing && $0.destination == own }
                // A stranger may also get a retry, because its datagrams have a hop limit below 255 (L-92).
                let sizes = answers.map { [Int($0.kind ?? 0), $0.payload.count] }
                #expect(
                    Set(sizes).isSubset(of: [[2, 69], [4, 21]]) && answers.allSatisfy { $0.at <= replayed + 0.1 })
                #expect(answers.count <= initiations)
                #expect(answers.allSatisfy { $0.at < cut }, "nothing in answer to garbage")
                figure("\(recorded.count) replays, \(initiations) of initiations: \(answers.count) answers")

                let last = bob.mark
                alice.compose("still well")
                try await bob.waitForTyping(of: alice, from: last)
            }
        }
    }
}
