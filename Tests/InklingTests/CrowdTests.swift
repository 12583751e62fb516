import Foundation
import Glibc
import Inkling
import Testing

/// Many nodes of this process on the loopback interface, in one chat.
///
/// `INKLING_CROWD=2,10,50,100,200` sets the sizes of the chats. The default is one small chat.
@Suite("A crowd in one process", .serialized, .timeLimit(.minutes(10)))
struct CrowdTests {
    private static var sizes: [Int] {
        let asked = ProcessInfo.processInfo.environment["INKLING_CROWD"]
        return asked?.split(separator: ",").compactMap { Int($0) } ?? [12]
    }

    // R22, R24, R27, R28
    @Test("all see all, each typist shows everywhere, and a node costs what its heartbeats cost", arguments: sizes)
    func crowd(_ size: Int) async throws {
        let start = ContinuousClock.now
        let before = Usage()
        var nodes: [Node] = []
        // The test gives the newcomer the addresses of all earlier nodes.
        for number in 0..<size { nodes.append(try await NodeTests.node("Node \(number)", peers: nodes)) }
        for node in nodes {
            _ = await NodeTests.first(of: node.presence(in: "lobby")) { peers in
                peers.count == size - 1 && peers.allSatisfy { $0.presence == .online }
            }
        }
        print("figure: \(size) nodes in one process: all see all after \(ContinuousClock.now - start)")
        // By now, peers no longer use intervals that were announced in a smaller chat.
        try await Task.sleep(for: .seconds(size > 50 ? 10 : 2))
        // While many nodes join at once, the machine may be too slow for their heartbeats.
        let lost = await Self.linksLost(nodes)
        print("figure: \(size) nodes: \(lost) links were lost to silence while they came")
        let idle = try await Self.measure(nodes, seconds: size > 50 ? 20 : 5)
        let memory = Double(Usage().memory - before.memory) / Double(size) / 1_024
        print("figure: \(size) nodes, each: \(idle), \(String(format: "%.0f", memory)) KiB")
        try await Self.type(nodes)
        for node in nodes {
            let peers = await node.peers(in: "lobby")
            #expect(peers.count == size - 1 && peers.allSatisfy { $0.presence == .online })
            #expect(await node.statistics().staleClears == 0)
        }
        #expect(await Self.linksLost(nodes) == lost)
        for node in nodes { await node.stop() }
    }

    /// Lets five people type in turn, and waits each time until all others show it.
    private static func type(_ nodes: [Node]) async throws {
        var delays: [Duration] = []
        for writer in nodes.prefix(5) {
            let start = ContinuousClock.now
            await writer.compose("x", in: "lobby")
            for reader in nodes where reader !== writer {
                _ = await NodeTests.first(of: reader.typing(in: "lobby")) { $0.map(\.user) == [writer.user] }
            }
            delays.append(.now - start)
            await writer.stopTyping(in: "lobby")
            for reader in nodes where reader !== writer {
                _ = await NodeTests.first(of: reader.typing(in: "lobby")) { $0.isEmpty }
            }
        }
        let last = delays.max() ?? .zero
        print("figure: \(nodes.count) nodes: a start shows on the last of them within \(last)")
    }

    private static func measure(_ nodes: [Node], seconds: Int) async throws -> String {
        let (start, before) = (ContinuousClock.now, Usage())
        let first = await sum(nodes)
        try await Task.sleep(for: .seconds(seconds))
        let last = await sum(nodes)
        let (time, after) = (ContinuousClock.now - start, Usage())
        let length = Double(time.components.seconds) + 1e-18 * Double(time.components.attoseconds)
        let share = 1 / length / Double(nodes.count)
        let numbers = [
            Double(last.sent - first.sent), Double(last.received - first.received), Double(last.bytes - first.bytes),
            (after.processor - before.processor) * 1_000,
        ].map { String(format: "%.1f", $0 * share) }
        // 50 heartbeats a second, and up to a third more, because jitter shortens the intervals (T-11).
        #expect(Double(last.sent - first.sent) * share <= 70)
        return "\(numbers[0]) datagrams a second out, \(numbers[1]) in, \(numbers[2]) bytes both ways, "
            + "\(numbers[3]) ms of processor a second"
    }

    private static func linksLost(_ nodes: [Node]) async -> Int {
        var lost = 0
        for node in nodes { lost += await node.statistics().linksLostToSilence }
        return lost
    }

    private static func sum(_ nodes: [Node]) async -> (sent: Int, received: Int, bytes: Int) {
        var sum = (sent: 0, received: 0, bytes: 0)
        for node in nodes {
            let statistics = await node.statistics()
            sum.sent += statistics.datagramsSent.values.reduce(0, +)
            sum.received += statistics.datagramsReceived.values.reduce(0, +)
            sum.bytes += statistics.bytesSent + statistics.bytesReceived
        }
        return sum
    }

    /// The resources that this process has used so far.
    private struct Usage {
        /// Processor time in seconds.
        let processor: Double
        /// Resident memory in bytes.
        let memory: Int

        init() {
            var usage = rusage()
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
            processor = seconds(usage.ru_utime) + seconds(usage.ru_stime)
            let pages = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
            memory = (pages.flatMap { $0.count > 1 ? Int($0[1]) : nil } ?? 0) * Int(getpagesize())
        }
    }
}
