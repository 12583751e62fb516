import Foundation
import SeededRandom

/// The faults of one direction of a wire. Shares are whole percentages.
struct Faults: Sendable, Equatable {
    enum Scope: Sendable {
        /// UDP datagrams except multicast DNS: Inkling's own.
        case datagrams
        /// All frames, including address resolution and multicast DNS.
        case everything
    }

    var lost = 0
    var doubled = 0
    var delayed = 0
    /// The range of delays of a delayed frame, in milliseconds. Later frames overtake it.
    var delay = 1...200
    var scope = Scope.datagrams

    static let none = Faults()
}

/// The fate of one frame: the milliseconds until each of its copies leaves the switch. A lost frame has no copy.
struct Fate: Sendable, Equatable {
    let copies: [Int]
    var isLost: Bool { copies.isEmpty }
}

/// The fates of the frames from one host to another, in order. The fate of frame n depends only on the seed, the two
/// hosts, n, and the current faults. The fates of other frames and earlier faults have no effect.
struct FaultSequence: Sendable {
    private var generator: SeededGenerator

    init(seed: UInt64, from source: Int, to target: Int) {
        var start = SeededGenerator(seed: seed)
        generator = SeededGenerator(seed: start.next() ^ UInt64(source) << 32 ^ UInt64(target))
    }

    mutating func next(_ faults: Faults) -> Fate {
        // Each frame uses the same number of random numbers.
        let draws = (0..<4).map { _ in generator.number(in: 0...99) }
        let delays = (0..<2).map { _ in generator.number(in: faults.delay) }
        guard draws[0] >= faults.lost else { return Fate(copies: []) }
        var copies = [draws[1] < faults.delayed ? delays[0] : 0]
        if draws[2] < faults.doubled { copies.append(draws[3] < faults.delayed ? delays[1] : 0) }
        return Fate(copies: copies)
    }
}

/// The counts for one direction of a wire: frames with faults, and frames that were cut off.
struct FaultCounts: Sendable {
    var seen = 0
    var lost = 0
    var doubled = 0
    var delayed = 0
    /// Frames lost because the direction was dark or the cable was out, not because of a fault.
    var cutOff = 0

    mutating func note(_ fate: Fate) {
        seen += 1
        if fate.isLost { lost += 1 }
        if fate.copies.count > 1 { doubled += 1 }
        delayed += fate.copies.count { $0 > 0 }
    }

    static func + (left: FaultCounts, right: FaultCounts) -> FaultCounts {
        FaultCounts(
            seen: left.seen + right.seen, lost: left.lost + right.lost, doubled: left.doubled + right.doubled,
            delayed: left.delayed + right.delayed, cutOff: left.cutOff + right.cutOff)
    }

    /// A text such as "3,012 frames: 10.1 % lost, 0.0 % doubled, 24.8 % delayed, 17 cut off".
    var text: String {
        func share(_ count: Int) -> String {
            String(format: "%.1f %%", seen == 0 ? 0 : Double(count) * 100 / Double(seen))
        }
        return "\(seen) frames: \(share(lost)) lost, \(share(doubled)) doubled, \(share(delayed)) delayed, "
            + "\(cutOff) cut off"
    }
}
