import SeededRandom
import Testing

extension NetworkTests {
    @Suite(
        "Bad LAN: outages", .serialized, .sideBySide,
        .enabled(if: hasTAP, "left out: there is no /dev/net/tun"))
    struct OutageTests {
        // R7, R10, R16, R22
        @Test("cable pulled while typing: it ends 3.0 s after the last datagram and never later; back in, all resumes")
        func cable() async throws {
            try await BadLAN.with(hosts: 3) { lan in
                let nodes = try await startNodes(["Alice", "Bob", "Charlie"], on: lan.hosts)
                let (alice, others) = (nodes[0], nodes[1...])
                try await waitUntilAllOnline(nodes)
                for wait in [0.2, 0.9, 1.35] {
                    let marks = others.map(\.mark)
                    let aliceMark = alice.mark
                    alice.compose("half a s\(wait)")
                    for (other, mark) in zip(others, marks) { try await other.waitForTyping(of: alice, from: mark) }
                    try await pause(wait)
                    let edited = alice.compose("half a sentence\(wait)")
                    let pulled = lan.switch.unplug(alice.host)
                    for (other, mark) in zip(others, marks) {
                        let last = try #require(lan.switch.lastDatagram(from: alice.host, to: other.host))
                        #expect(last < pulled)
                        let end = try await other.waitForTyping(of: alice, false, from: mark)
                        let offline = try await other.waitForPresence("offline", of: alice, from: mark)
                        let (shown, present) = (end.at - last, offline.at - last)
                        figure("cable pulled: typing ends \(seconds(shown)), offline \(seconds(present)) after")
                        #expect(shown <= 3.1)
                        #expect(present <= 3.1)
                        #expect(offline.why == "silence")
                        try await alice.waitForPresence("offline", of: other, from: aliceMark)
                    }
                    // By then Alice has stopped typing, so any typing that is shown after her return is outdated.
                    try await pause(max(edited + 3 - now(), 0))
                    let marksAfter = others.map(\.mark)
                    let plugged = lan.switch.plug(alice.host)
                    for (other, mark) in zip(others, marksAfter) {
                        let back = try await other.waitForPresence("online", of: alice, from: mark, within: 10)
                        try await alice.wait("\(other.name) online again", from: aliceMark, within: 10) {
                            $0.isPresence("online", of: other.name) && $0.at > plugged
                        }
                        figure("cable back in: online after \(seconds(back.at - plugged))")
                        #expect(other.events.dropFirst(mark).allSatisfy { $0.typists ?? [] == [] }, "nothing stale")
                    }
                    for node in nodes { #expect(node.ending == nil && node.errorText == "", "no error is shown") }
                }
            }
        }

        // R16, R22, R25, R26
        @Test("dark for 1.5 s, four times: nobody offline, no flicker, what was sent meanwhile there within 1.5 s")
        func blackholes() async throws {
            try await BadLAN.with(hosts: 3) { lan in
                let nodes = try await startNodes(["Alice", "Bob", "Charlie"], on: lan.hosts)
                try await waitUntilAllOnline(nodes)
                let marks = nodes.map(\.mark)
                var random = SeededGenerator(seed: lan.switch.seed)
                var (delays, beats): ([Double], [Double]) = ([], [])
                lan.switch.set(.none)
                // Alice types all the time. So each outage begins while she types.
                let typing = Task {
                    var text = ""
                    while !Task.isCancelled {
                        text += "x"
                        nodes[0].compose(text)
                        try await pause(0.3)
                    }
                }
                defer { typing.cancel() }
                for round in 0..<4 {
                    try await pause(Double(random.number(in: 1_000...2_000)) / 1_000)
                    lan.switch.darken()
                    let sent = Double(random.number(in: 50...1_400)) / 1_000
                    try await pause(sent)
                    nodes[1].send("sent in the dark \(round)")
                    try await pause(1.5 - sent)
                    let light = lan.switch.lighten()
                    for receiver in [nodes[0], nodes[2]] {
                        let message = try await receiver.wait("the message", from: marks[0], within: 10) {
                            $0.on == "message" && $0.text == "sent in the dark \(round)"
                        }
                        delays.append(message.at - light)
                    }
                    try await pause(max(light + 1.5 - now(), 0))
                    for one in nodes {
                        for other in nodes where other !== one {
                            let first = lan.switch.firstDatagram(from: one.host, to: other.host)
                            beats.append(first.map { $0 - light } ?? .infinity)
                        }
                    }
                }
                for (node, mark) in zip(nodes, marks) {
                    let offline = node.offlineEvents(from: mark)
                    #expect(offline.isEmpty, "at \(node.name): \(offline.map { $0.name ?? "" })")
                    #expect(node.events.dropFirst(mark).allSatisfy { $0.on != "failed" })
                }
                for (watcher, mark) in zip(nodes, marks).dropFirst() {
                    let lists = watcher.events.dropFirst(mark).compactMap(\.typists).map { $0.contains("Alice") }
                    #expect(lists == [true], "Alice's typing shows without a gap at \(watcher.name)")
                    #expect(nodes[0].messages(from: watcher, after: marks[0]).count == (watcher.name == "Bob" ? 4 : 0))
                }
                figure("dark for 1.5 s: \(lan.switch.counts().text)")
                figure("dark for 1.5 s: traffic again \(summary(beats)) after it")
                figure("dark for 1.5 s: what was sent meanwhile is there \(summary(delays)) after it")
                #expect(lan.switch.counts().cutOff > 4 * 6)
                #expect(beats.allSatisfy { $0 <= 1.5 })
                #expect(delays.allSatisfy { $0 <= 1.5 })
            }
        }

        // R16, R22, R26
        @Test("parted for 20 s, both ways or one: offline within 4 s, together again within 5 s")
        func partitions() async throws {
            try await BadLAN.with(hosts: 4) { lan in
                // Three pairs run at the same time, each in its own chat. In the last pair, one node receives datagrams
                // but can't send any.
                let (left, right) = (lan[0], lan[1])
                let (deaf, mute) = (lan[2], lan[3])
                let pairs = try await withThrowingTaskGroup(of: (Int, [NodeProcess]).self) { group in
                    for index in 0..<4 {
                        let hosts = index < 3 ? [left, right] : [deaf, mute]
                        let names = ["Alice \(index)", "Bob \(index)"]
                        group.addTask { (index, try await startNodes(names, on: hosts, chat: "pair \(index)")) }
                    }
                    return try await group.reduce(into: [(Int, [NodeProcess])]()) { $0.append($1) }
                        .sorted { $0.0 < $1.0 }.map(\.1)
                }
                for pair in pairs { try await waitUntilAllOnline(pair, within: 10) }
                // A node forgets a link that was up for less than 10 s when the link goes down, and reports nothing
                // (L-84, L-44).
                try await pause(10)
                let marks = pairs.map { $0.map(\.mark) }
                lan.switch.darken(from: left, to: right)
                lan.switch.darken(from: right, to: left)
                lan.switch.darken(from: mute, to: deaf)
                let parted = now()
                try await pause(20)
                for (pair, marks) in zip(pairs, marks) {
                    for (node, mark, other) in [(pair[0], marks[0], pair[1]), (pair[1], marks[1], pair[0])] {
                        let offline = try await node.waitForPresence("offline", of: other, from: mark)
                        // A node that still hears the other learns that the other does not hear it (L-44).
                        let text = node.host === mute ? "who is heard by nobody shows the other" : "the other is"
                        figure("parted: \(text) offline after \(seconds(offline.at - parted))")
                        #expect(offline.at - parted <= 4)
                        #expect(node.offlineEvents(from: mark).count == 1)
                        #expect(node.events.dropFirst(mark).allSatisfy { $0.presence != "online" })
                    }
                }
                let healed = now()
                lan.switch.lighten()
                for (pair, marks) in zip(pairs, marks) {
                    for (node, mark, other) in [(pair[0], marks[0], pair[1]), (pair[1], marks[1], pair[0])] {
                        let online = try await node.waitForPresence("online", of: other, from: mark, within: 20)
                        figure("healed: \(other.name) online after \(seconds(online.at - healed))")
                        #expect(online.at - healed <= 5)
                    }
                    let mark = pair[1].mark
                    pair[0].send("together again")
                    try await pair[1].wait("the message", from: mark) { $0.text == "together again" }
                }
            }
        }
    }
}
