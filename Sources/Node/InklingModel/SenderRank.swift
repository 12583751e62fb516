/// How well the user knows the sender of a message. Stores with room for few messages keep those of the highest rank.
package enum SenderRank: Int, Comparable, CaseIterable, Sendable {
    /// A person in an open chat whom the user has not met before.
    case stranger
    /// A member of a private chat whom the user has not met before.
    case member
    /// A person who was met on two days.
    case met
    case verified

    package static func < (left: SenderRank, right: SenderRank) -> Bool { left.rawValue < right.rawValue }
}
