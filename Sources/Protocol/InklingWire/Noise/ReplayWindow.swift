/// The marked counters of a state, 1,024 up to the highest (W-22). The window outlives the sessions of the state.
///
/// The window is a ring of blocks of 64 bits, after RFC 6479, with one block more than it needs. Thus an advance
/// clears whole blocks and shifts nothing. A node checks, authenticates and then marks (W-23).
package struct ReplayWindow: Sendable {
    /// The place of a counter in the window.
    package enum Place: Hashable, Sendable {
        /// The counter is above all marked ones: evidence (L-23).
        case newest
        /// The counter is below the highest one, and not marked.
        case older
        /// The counter is marked, which ends the link if the datagram completes a session (L-93).
        case marked
        /// The counter lies 1,024 or more below the highest one.
        case tooOld
        /// The counter is 2^32 − 2, which is dropped, or that of the last will (W-20, W-21).
        case reserved

        /// Whether a datagram with such a counter passes the window.
        package var passes: Bool {
            switch self {
            case .newest, .older: true
            case .marked, .tooOld, .reserved: false
            }
        }
    }

    private static let blockCount = UInt32(Limits.replayWindow / 64 + 1)

    /// The highest marked counter; nil before the first.
    package private(set) var highest: UInt32?
    private var blocks = [UInt64](repeating: 0, count: Int(blockCount))

    /// A window in which nothing is marked.
    package init() {}

    /// Returns the place of a counter. Changes nothing, so the counter need not be authenticated.
    package func place(of counter: UInt32) -> Place {
        guard counter <= Limits.lastCounter else { return .reserved }
        guard let highest, counter <= highest else { return .newest }
        guard highest - counter < UInt32(Limits.replayWindow) else { return .tooOld }
        return blocks[ReplayWindow.index(of: counter)] & ReplayWindow.bit(of: counter) == 0 ? .older : .marked
    }

    /// Marks the counter of an authenticated datagram, and returns the place that it had. A counter that does not pass
    /// changes nothing.
    @discardableResult
    package mutating func mark(_ counter: UInt32) -> Place {
        let place = place(of: counter)
        switch place {
        case .newest:
            // Blocks between the old highest one and the new one hold bits of a round ago.
            let cleared = min(counter / 64 - (highest ?? 0) / 64, ReplayWindow.blockCount)
            for step in 0..<cleared {
                blocks[ReplayWindow.index(of: counter - step * 64)] = 0
            }
            highest = counter
        case .older: break
        case .marked, .tooOld, .reserved: return place
        }
        blocks[ReplayWindow.index(of: counter)] |= ReplayWindow.bit(of: counter)
        return place
    }

    private static func index(of counter: UInt32) -> Int { Int(counter / 64 % blockCount) }

    private static func bit(of counter: UInt32) -> UInt64 { 1 << UInt64(counter % 64) }
}
