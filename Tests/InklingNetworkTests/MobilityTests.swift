import Glibc
import Testing

extension NetworkTests {
    @Suite(
        "Bad LAN: other addresses, other runs", .serialized, .sideBySide,
        .enabled(if: hasTAP, "left out: there is no /dev/net/tun"))
    struct MobilityTests {
        // R16, R24, R25, R26
        @Test(
            "the address that a node is reached at goes, another comes, twice: no message lost, re-homed within 2 s",
            arguments: ["IPv4", "IPv6"])
        func address(_ family: String) async throws {
            let options = Network.Options(hosts: 3, ipv4: family == "IPv4", ipv6: family == "IPv6" ? .global : .none)
            try await BadLAN.with(options) { lan in
                let nodes = try await startNodes(["Alice", "Bob", "Charlie"], on: lan.hosts)
                try await waitUntilAllOnline(nodes)
                let capture = try Capture(on: lan[0])
                let flow = MessageFlow(nodes)
                try await flow.run { round in
                    guard round < 2 else { return false }
                    try await pause(3)
                    let old = try #require(capture.datagrams.last { !$0.isOutgoing }).destination
                    let new = MobilityTests.replacement(of: old, round)
                    let changed = now()
                    try await lan[0].replaceAddress(old, by: new)
                    try await pause(3)
                    for other in nodes[1...] {
                        let port = try #require(other.events.first?.port)
                        let first = capture.datagrams(since: changed).first {
                            !$0.isOutgoing && $0.sourcePort == port && $0.destination != old
                        }
                        let delay = try #require(first, "\(other.name) sends nothing to another address").at - changed
                        figure("\(family) address changed: \(other.name) sends to another after \(seconds(delay))")
                        #expect(delay <= 2)
                    }
                    return true
                }
                let delays = flow.delays(nodes)
                figure("\(family) address changed: \(flow.sent) messages to each of two, \(summary(delays))")
                flow.expectAllArrived(nodes)
            }
        }

        /// Returns another address of the same family.
        private static func replacement(of address: [UInt8], _ round: Int) -> [UInt8] {
            address.dropLast() + [UInt8(101 + round)]
        }

        // R16, R24, R25, R26
        @Test("the port that others see a node at changes, six times: no message lost, re-homed within 2 s")
        func port() async throws {
            try await BadLAN.with(hosts: 3) { lan in
                let nodes = try await startNodes(["Alice", "Bob", "Charlie"], on: lan.hosts)
                try await waitUntilAllOnline(nodes)
                let capture = try Capture(on: lan[0])
                let inside = try #require(nodes[0].events.first?.port)
                func change(_ outside: UInt16, _ what: String) async throws {
                    lan.switch.translate(inside, of: lan[0], as: outside)
                    let changed = now()
                    try await pause(2.2)
                    for other in nodes[1...] {
                        let port = try #require(other.events.first?.port)
                        let first = capture.datagrams(since: changed).first { !$0.isOutgoing && $0.sourcePort == port }
                        let delay = try #require(first, "\(other.name) doesn't find the new port").at - changed
                        figure("port changed, \(what): \(other.name) sends to the new one after \(seconds(delay))")
                        #expect(delay <= 2)
                    }
                }
                // For the first changes, heartbeats are the only traffic.
                for round in 0..<3 { try await change(UInt16(50_000 + round), "all quiet") }
                let flow = MessageFlow(nodes)
                try await flow.run { round in
                    try await change(UInt16(50_100 + round), "messages flowing")
                    return round < 2
                }
                figure("port changed: \(flow.sent) messages to each of two, \(summary(flow.delays(nodes)))")
                flow.expectAllArrived(nodes)
            }
        }

        // R7, R22, R24, R25
        @Test("killed and started again under the same identity, ten times: usable within 2 s, and shown once")
        func restart() async throws {
            try await BadLAN.with(hosts: 3) { lan in
                let watchers = try await startNodes(["Bob", "Charlie"], on: Array(lan.hosts[1...]))
                var alice = try await NodeProcess("Alice", on: lan[0])
                try await waitUntilAllOnline([alice] + watchers)
                var delays: [Double] = []
                for round in 0..<10 {
                    // In every second round the helper is killed too, so nobody sends a farewell.
                    if !round.isMultiple(of: 2) { try await alice.killHelper() }
                    try alice.signal(SIGKILL)
                    _ = try await alice.waitForEnd()
                    let marks = watchers.map(\.mark)
                    // The helper may still hold the chosen port for a moment.
                    alice = try await NodeProcess("Alice", on: lan[0], round < 5 ? [] : ["--port", "40000"])
                    for watcher in watchers { try await alice.waitForPresence("online", of: watcher) }
                    let text = "round \(round)"
                    alice.compose(text)
                    for (watcher, mark) in zip(watchers, marks) {
                        try await watcher.waitForTyping(of: alice, from: mark)
                    }
                    alice.send(text)
                    for (watcher, mark) in zip(watchers, marks) {
                        let message = try await watcher.wait("the message", from: mark) { $0.text == text }
                        delays.append(message.at - alice.started)
                        watcher.send("to \(text)")
                        try await alice.wait("the answer") { $0.text == "to \(text)" && $0.from?.name == watcher.name }
                    }
                    for watcher in watchers { try await MobilityTests.expectOnce(alice, at: watcher) }
                }
                // By now the earlier runs have timed out. They must not affect the new one.
                try await pause(4)
                for watcher in watchers { try await MobilityTests.expectOnce(alice, at: watcher) }
                figure("killed and started again: all that was tried had worked \(summary(delays)) after the start")
                #expect(delays.allSatisfy { $0 <= 2 })
            }
        }

        /// Expects that the list has a person once, as online, and that each report of offline is followed by one of
        /// online.
        private static func expectOnce(_ peer: NodeProcess, at watcher: NodeProcess) async throws {
            let mark = watcher.mark
            watcher.tell(["do": "who"])
            let answer = try await watcher.wait("who is there", from: mark) { $0.on == "who" }
            let entries = (answer.peers ?? []).filter { $0.name == peer.name }
            #expect(entries.map(\.presence) == ["online"], "\(peer.name) at \(watcher.name)")
            let told = watcher.events.filter { $0.on == "peer" && $0.name == peer.name }.map { $0.presence ?? "" }
            #expect(zip(told, told.dropFirst()).allSatisfy { $0 != $1 }, "\(told) at \(watcher.name)")
            #expect(told.last == "online")
        }
    }
}

/// Messages from each node to all others, ten a second, with their arrival times.
private final class MessageFlow {
    private let marks: [Int]
    private let nodes: [NodeProcess]
    /// The send times of each node's messages.
    private var times: [[Double]]

    init(_ nodes: [NodeProcess]) {
        self.nodes = nodes
        marks = nodes.map(\.mark)
        times = nodes.map { _ in [] }
    }

    var sent: Int { times.map(\.count).min() ?? 0 }

    /// Sends messages in rounds until `body` returns false.
    func run(_ body: (Int) async throws -> Bool) async throws {
        let nodes = nodes
        let sender = Task {
            var times = nodes.map { _ in [Double]() }
            while !Task.isCancelled {
                for (index, node) in nodes.enumerated() {
                    times[index].append(node.send("\(node.name) \(times[index].count)"))
                }
                try? await pause(0.1)
            }
            return times
        }
        defer { sender.cancel() }
        var round = 0
        while try await body(round) { round += 1 }
        sender.cancel()
        times = await sender.value
        try await pause(3)
    }

    /// Returns the delay of each message, from its sending until another node shows it.
    func delays(_ nodes: [NodeProcess]) -> [Double] {
        nodes.indices.flatMap { source in
            nodes.indices.filter { $0 != source }.flatMap { target in
                zip(nodes[target].messages(from: nodes[source], after: marks[target]), times[source]).map { $0.at - $1 }
            }
        }
    }

    /// Expects that all messages arrived once and in order, and that no presence changed.
    func expectAllArrived(_ nodes: [NodeProcess]) {
        for (source, author) in nodes.enumerated() {
            let texts = times[source].indices.map { "\(author.name) \($0)" }
            for (target, reader) in nodes.enumerated() where target != source {
                let received = reader.messages(from: author, after: marks[target]).compactMap(\.text)
                #expect(received == texts, "of \(author.name) at \(reader.name)")
            }
            let trouble = author.events.dropFirst(marks[source]).filter {
                $0.on == "failed" || $0.presence == "offline"
            }
            #expect(trouble.isEmpty, "at \(author.name): \(trouble.map { "\($0.on) \($0.name ?? "")" })")
        }
    }
}

extension Host {
    /// Replaces an address of `eth0` by another one.
    fileprivate func replaceAddress(_ old: [UInt8], by new: [UInt8]) async throws {
        func text(_ address: [UInt8]) -> String {
            if address.count == 4 { return address.map(String.init).joined(separator: ".") + "/24" }
            let groups = stride(from: 0, to: 16, by: 2).map { UInt16(address[$0]) << 8 | UInt16(address[$0 + 1]) }
            return groups.map { String($0, radix: 16) }.joined(separator: ":") + "/64"
        }
        // By default, the kernel drops all addresses of a network together with the first one.
        try await run(
            """
            echo 1 >/proc/sys/net/ipv4/conf/eth0/promote_secondaries
            ip address add \(text(new)) dev eth0 \(new.count == 16 ? "nodad" : "")
            ip address del \(text(old)) dev eth0
            """)
    }
}
