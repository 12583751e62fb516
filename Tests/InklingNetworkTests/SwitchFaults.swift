import Foundation
import InklingTestSupport

/// What a direction of a wire does to the frames that pass it. Shares are whole percents.
struct Faults: Sendable, Equatable {
    enum Scope: Sendable {
        /// UDP that is not multicast DNS: what Inkling sends itself.
        case datagrams
        /// Every frame, address resolution and multicast DNS included.
        case everything
    }

    var lost = 0
    var doubled = 0
    var delayed = 0
    /// How long a delayed frame waits, both ends included; whatever passes meanwhile overtakes it.
    var delay = 1...200
    var scope = Scope.datagrams

    static let none = Faults()
}

/// What becomes of one frame: so many milliseconds until each of its copies leaves the switch; none if it is lost.
struct Fate: Sendable, Equatable {
    let copies: [Int]
    var isLost: Bool { copies.isEmpty }
}

/// The fates of the frames from one host to another, in their order. The fate of the n-th frame depends on the seed,
/// the two hosts, n and the faults that hold at that moment, and on nothing else: not on what other frames met, nor on
/// what the faults were before.
struct FaultSequence: Sendable {
    private var generator: SeededGenerator

    init(seed: UInt64, from source: Int, to target: Int) {
        var start = SeededGenerator(seed: seed)
        generator = SeededGenerator(seed: start.next() ^ UInt64(source) << 32 ^ UInt64(target))
    }

    mutating func next(_ faults: Faults) -> Fate {
        // As many draws for each frame, whatever comes of them.
        let draws = (0..<4).map { _ in generator.number(in: 0...99) }
        let delays = (0..<2).map { _ in generator.number(in: faults.delay) }
        guard draws[0] >= faults.lost else { return Fate(copies: []) }
        var copies = [draws[1] < faults.delayed ? delays[0] : 0]
        if draws[2] < faults.doubled { copies.append(draws[3] < faults.delayed ? delays[1] : 0) }
        return Fate(copies: copies)
    }
}

/// What a direction of a wire has done so far, in frames that its faults applied to, and in frames that were cut off.
struct FaultCounts: Sendable {
    var seen = 0
    var lost = 0
    var doubled = 0
    var delayed = 0
    /// Neither faults nor chance: the direction was dark, or a cable out.
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

    /// "3,012 frames: 10.1 % lost, 0.0 % doubled, 24.8 % delayed, 17 cut off"
    var text: String {
        func share(_ count: Int) -> String {
            String(format: "%.1f %%", seen == 0 ? 0 : Double(count) * 100 / Double(seen))
        }
        return "\(seen) frames: \(share(lost)) lost, \(share(doubled)) doubled, \(share(delayed)) delayed, "
            + "\(cutOff) cut off"
    }
}
