/// Which of the newest counters of a session have been seen: no datagram counts twice (W-22).
///
/// After RFC 6479: a ring of blocks of 64 bits, one block more than the window needs, so that moving on clears whole
/// blocks and shifts nothing. Check with `accepts`, authenticate, and only then `mark` (W-23).
package struct ReplayWindow: Sendable {
    private static let blockCount = Limits.replayWindow / 64 + 1

    /// The highest counter that was marked; nil before the first.
    package private(set) var highest: UInt64?
    private var blocks: [UInt64] = Array(repeating: 0, count: blockCount)

    /// A window that has seen nothing.
    package init() {}

    /// Whether a counter is new: above the highest one, or one of the 1,024 up to it that was not marked.
    package func accepts(_ counter: UInt64) -> Bool {
        guard let highest, counter <= highest else { return true }
        guard highest - counter < UInt64(Limits.replayWindow) else { return false }
        return blocks[ReplayWindow.index(of: counter)] & ReplayWindow.bit(of: counter) == 0
    }

    /// Remembers the counter of an authenticated datagram; one below the window changes nothing.
    package mutating func mark(_ counter: UInt64) {
        if let highest, counter <= highest {
            guard highest - counter < UInt64(Limits.replayWindow) else { return }
        } else {
            // Blocks between the old highest one and the new one hold what left the window a round ago.
            let cleared = min(counter / 64 - (highest ?? 0) / 64, UInt64(ReplayWindow.blockCount))
            for step in 0..<cleared {
                blocks[ReplayWindow.index(of: counter - step * 64)] = 0
            }
            highest = counter
        }
        blocks[ReplayWindow.index(of: counter)] |= ReplayWindow.bit(of: counter)
    }

    private static func index(of counter: UInt64) -> Int { Int(counter / 64 % UInt64(blockCount)) }

    private static func bit(of counter: UInt64) -> UInt64 { 1 << (counter % 64) }
}
