import Foundation
import SeededRandom

/// One stretch of typing, from its first character until its message is sent or its text is deleted.
struct Bout: Sendable {
    let interval: Interval
    /// The message at the end; nil if the text was deleted.
    let text: String?
}

extension NodeProcess {
    /// Types with pauses until `end`, and sends or deletes each text. No pause within a bout is long enough to end the
    /// typing.
    func typeAway(until end: Double, seed: UInt64) async throws -> [Bout] {
        var random = SeededGenerator(seed: seed)
        var bouts: [Bout] = []
        while now() < end {
            let length = Double(random.number(in: 800...3_500)) / 1_000
            let thinks = random.number(in: 1...5) == 1
            let isSent = random.number(in: 1...10) <= 7
            let text = "\(name), number \(bouts.count)"
            var typed = "x"
            let start = compose(typed)
            if thinks { try await pause(Double(random.number(in: 1_000...2_400)) / 1_000) }
            while now() < start + length {
                try await pause(Double(random.number(in: 60...250)) / 1_000)
                typed += "x"
                compose(typed)
            }
            let stop = isSent ? send(text) : compose("")
            bouts.append(Bout(interval: Interval(start: start, end: stop), text: isSent ? text : nil))
            try await pause(Double(random.number(in: 600...1_400)) / 1_000)
        }
        return bouts
    }

    /// Lets all nodes type at the same time.
    static func typeAway(_ nodes: [NodeProcess], seconds: Double, seed: UInt64) async throws -> [[Bout]] {
        let end = now() + seconds
        return try await withThrowingTaskGroup(of: (Int, [Bout]).self) { group in
            for (index, node) in nodes.enumerated() {
                group.addTask { (index, try await node.typeAway(until: end, seed: seed &* 31 &+ UInt64(index))) }
            }
            var bouts = [[Bout]](repeating: [], count: nodes.count)
            for try await (index, own) in group { bouts[index] = own }
            return bouts
        }
    }
}

/// How accurately one node's indicator shows another node's typing.
struct Accuracy {
    private(set) var typed = 0.0
    private(set) var shown = 0.0
    private(set) var shared = 0.0
    /// The delays from the first character to the indicator, in seconds.
    private(set) var delays: [Double] = []

    mutating func add(_ bouts: [Bout], shown intervals: [Interval]) {
        let truth = bouts.map(\.interval)
        typed += Interval.total(truth)
        shown += Interval.total(intervals)
        shared += Interval.shared(truth, intervals)
        for bout in truth {
            let first = intervals.first { $0.end > bout.start }
            delays.append(first.map { max($0.start - bout.start, 0) } ?? .infinity)
        }
    }

    /// The share of the typing that the indicator showed.
    var shareShown: Double { typed == 0 ? 0 : shared / typed }
    /// The share of the shown time in which the person typed.
    var shareTrue: Double { shown == 0 ? 0 : shared / shown }

    var text: String {
        String(
            format: "shown %.2f %% of the time typed, true %.2f %% of the time shown (%.0f s)", shareShown * 100,
            shareTrue * 100, typed)
    }
}
