import Foundation
import Glibc

/// The resources of a process at one moment.
struct ProcessFigures: Sendable {
    /// Resident memory in KiB.
    let memory: Int
    let descriptors: Int
    /// The names of the process's threads, sorted.
    let threadNames: [String]
    var threads: Int { threadNames.count }

    init(of process: pid_t) throws {
        let pages = try String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8).split(separator: " ")
        guard pages.count > 1, let resident = Int(pages[1]) else { throw HarnessError("no statm of \(process)") }
        memory = resident * Int(getpagesize()) / 1_024
        descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
        // A thread may end during the loop.
        threadNames = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task").compactMap {
            try? String(contentsOfFile: "/proc/\(process)/task/\($0)/comm", encoding: .utf8)
                .trimmingCharacters(in: .newlines)
        }.sorted()
    }
}

/// The resources of several processes over time.
struct Growth {
    private var samples: [[ProcessFigures]] = []

    /// Samples each process once.
    mutating func sample(_ processes: [pid_t]) throws {
        samples.append(try processes.map { try ProcessFigures(of: $0) })
    }

    struct Comparison {
        let before, after: Int
        var growth: Int { after - before }
    }

    /// Compares, for each process, the median of the second quarter of samples with that of the last quarter. The first
    /// quarter is warm-up.
    func compare(_ value: (ProcessFigures) -> Int) -> [Comparison] {
        let quarter = samples.count / 4
        guard quarter > 0, let first = samples.first else { return [] }
        func median(_ part: ArraySlice<[ProcessFigures]>, _ process: Int) -> Int {
            part.map { value($0[process]) }.sorted()[part.count / 2]
        }
        return first.indices.map { process in
            Comparison(
                before: median(samples[quarter..<(quarter * 2)], process),
                after: median(samples.suffix(quarter), process))
        }
    }

    /// The thread names of the process with the most new threads.
    var threadNames: String {
        let all = compare(\.threads)
        guard let most = all.indices.max(by: { all[$0].growth < all[$1].growth }), let last = samples.last else {
            return ""
        }
        return "\(samples[samples.count / 4][most].threadNames) -> \(last[most].threadNames)"
    }

    /// A text such as "memory in KiB 9128 to 34516, grown by 68 at most; descriptors 8 to 51, …".
    var text: String {
        func range(_ name: String, _ value: (ProcessFigures) -> Int) -> String {
            let all = compare(value)
            let (low, high) = (all.map(\.after).min() ?? 0, all.map(\.after).max() ?? 0)
            return "\(name) \(low) to \(high), grown by \(all.map(\.growth).max() ?? 0) at most"
        }
        return [
            range("memory in KiB", \.memory), range("descriptors", \.descriptors), range("threads", \.threads),
        ].joined(separator: "; ")
    }
}
