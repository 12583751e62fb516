import Foundation
import Glibc
import Testing

extension NetworkTests.Alone {
    /// `INKLING_SCALE=2,10,50,100,200` sets the sizes of the chats. The default is one small chat.
    ///
    /// The nodes get each other's addresses as arguments, because so many nodes overload the few discovery daemons of
    /// one machine. In a real network each machine has its own daemon.
    @Suite("Scale", .serialized) struct ScaleTests {
        private static let hostCount = 5

        private static var sizes: [Int] {
            let asked = ProcessInfo.processInfo.environment["INKLING_SCALE"]
            return asked?.split(separator: ",").compactMap { Int($0) } ?? [12]
        }

        // R16, R22, R27, R28
        @Test("what a node costs with so many peers in one chat, and that it still keeps its word", arguments: sizes)
        func cost(_ size: Int) async throws {
            let hosts = min(size, ScaleTests.hostCount)
            try await Network.with(Network.Options(hosts: hosts, ipv6: .none, discovery: false)) { network in
                let begun = now()
                let nodes = try await ScaleTests.start(size, on: network.hosts)
                try await ScaleTests.waitForMesh(nodes)
                let meshed = now() - begun
                // By now, peers no longer use intervals that were announced in a smaller chat.
                try await pause(size > 50 ? 10 : 2)
                let marks = nodes.map(\.mark)
                let idle = try await ScaleTests.measure(nodes, seconds: size > 50 ? 20 : 5) {}
                try await expectDelays("\(size) nodes: a start of typing shows", most: size <= 12 ? 0.1 : 0.5) {
                    try await ScaleTests.typeOnce(nodes)
                }
                let writer = try await ScaleTests.measure([nodes[0]], seconds: 5) {
                    for step in 0..<20 {
                        nodes[0].compose("step \(step)")
                        try await pause(0.25)
                    }
                }
                nodes[0].compose("")
                figure("\(size) nodes on \(hosts) hosts: all see all \(seconds(meshed)) after the first was started")
                figure("\(size) nodes, each, idle: \(idle.text)")
                figure("\(size) nodes, the one whose user types: \(writer.text)")
                for (node, mark) in zip(nodes, marks) {
                    #expect(!node.events.dropFirst(mark).contains { $0.presence == "offline" }, "at \(node.name)")
                }
                // 50 heartbeats a second, and up to a third more because of jitter (T-11).
                #expect(idle.sent <= 70)
                #expect(writer.sent <= 6 * Double(size))
            }
        }

        /// Starts the nodes ten at a time. The test does not measure their starts.
        private static func start(_ size: Int, on hosts: [Host]) async throws -> [NodeProcess] {
            var nodes: [NodeProcess] = []
            while nodes.count < size {
                let numbers = nodes.count..<min(nodes.count + 10, size)
                nodes += try await withThrowingTaskGroup(of: (Int, NodeProcess).self) { group in
                    for number in numbers {
                        let peers = (0..<number).flatMap { ["--peer", ScaleTests.address(of: $0, on: hosts)] }
                        let port = "\(ScaleTests.firstPort + number)"
                        let host = hosts[number % hosts.count]
                        group.addTask {
                            (number, try await NodeProcess("Node \(number)", on: host, ["--port", port] + peers))
                        }
                    }
                    return try await group.reduce(into: [(Int, NodeProcess)]()) { $0.append($1) }
                        .sorted { $0.0 < $1.0 }.map(\.1)
                }
            }
            return nodes
        }

        private static let firstPort = 4_000

        private static func address(of number: Int, on hosts: [Host]) -> String {
            let host = hosts[number % hosts.count].ipv4Address.map(String.init).joined(separator: ".")
            return "\(host):\(firstPort + number)"
        }

        private static func waitForMesh(_ nodes: [NodeProcess]) async throws {
            let deadline = now() + 60 + 2 * Double(nodes.count)
            for node in nodes {
                while true {
                    let links = try await node.stats().links
                    if links == nodes.count - 1 { break }
                    guard now() < deadline else {
                        throw HarnessError("\(node.name) has \(links ?? 0) links of \(nodes.count - 1)")
                    }
                    try await pause(0.25)
                }
            }
        }

        /// The average work of one node in a second.
        private struct Cost {
            var sent = 0.0, received = 0.0, bytes = 0.0, processor = 0.0, memory = 0.0

            var text: String {
                let numbers = [sent, received, bytes].map { String(format: "%.1f", $0) }
                let (processor, memory) = (String(format: "%.2f", processor * 1_000), String(format: "%.1f", memory))
                return "\(numbers[0]) datagrams a second out, \(numbers[1]) in, \(numbers[2]) bytes both ways, "
                    + "\(processor) ms of processor a second, \(memory) MiB"
            }
        }

        private static func measure(
            _ nodes: [NodeProcess], seconds: Double, _ body: () async throws -> Void
        ) async throws -> Cost {
            let start = now()
            let before = try await sample(nodes)
            try await body()
            let left = seconds - (now() - start)
            if left > 0 { try await pause(left) }
            let after = try await sample(nodes)
            let share = 1 / ((now() - start) * Double(nodes.count))
            return Cost(
                sent: (after.sent - before.sent) * share, received: (after.received - before.received) * share,
                bytes: (after.bytes - before.bytes) * share,
                processor: (after.processor - before.processor) * share, memory: after.memory / Double(nodes.count))
        }

        /// Returns the counters, summed over all nodes.
        private static func sample(_ nodes: [NodeProcess]) async throws -> Cost {
            var sum = Cost()
            for node in nodes {
                let stats = try await node.stats()
                sum.sent += Double(stats.datagramsSent?.values.reduce(0, +) ?? 0)
                sum.received += Double(stats.datagramsReceived?.values.reduce(0, +) ?? 0)
                sum.bytes += Double((stats.bytesSent ?? 0) + (stats.bytesReceived ?? 0))
                guard let program = node.program else { throw HarnessError("\(node.name) has ended") }
                sum.processor += try processorTime(of: program)
                sum.memory += Double(try ProcessFigures(of: program).memory) / 1_024
            }
            return sum
        }

        /// Returns the processor time of a process in seconds, in user and system mode.
        private static func processorTime(of process: pid_t) throws -> Double {
            let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            // The name, in parentheses, may contain blanks.
            let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
            guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
                throw HarnessError("no times of \(process)")
            }
            return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
        }

        /// Lets some nodes type in turn. Returns the delays at the other nodes.
        private static func typeOnce(_ nodes: [NodeProcess]) async throws -> [Double] {
            var delays: [Double] = []
            for writer in nodes.prefix(5) {
                let marks = nodes.map(\.mark)
                let typed = writer.compose("x")
                for (reader, mark) in zip(nodes, marks) where reader !== writer {
                    let event = try await reader.waitForTyping(of: writer, from: mark)
                    delays.append(event.at - typed)
                }
                writer.compose("")
                try await pause(0.5)
            }
            return delays
        }
    }
}

extension NodeProcess {
    /// Requests the node's counters.
    fileprivate func stats() async throws -> Event {
        let mark = mark
        tell(["do": "stats"])
        return try await wait("its counters", from: mark, within: 30) { $0.on == "stats" }
    }
}
