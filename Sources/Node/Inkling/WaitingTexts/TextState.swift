import InklingWire

/// The texts of one chat that are on disk: the result of all its records, in their order.
///
/// A record that comes twice has no further effect, so a writer may repeat an append that failed.
package struct TextState: Hashable, Sendable {
    /// The texts that wait, in the order of their records.
    package private(set) var waiting: [WaitingText] = []
    /// The unread texts, in the order in which they came.
    package private(set) var unread: [KeptText] = []
    /// The IDs of the received texts.
    package private(set) var seen: [PublicKey: SeenTexts] = [:]
    /// The highest entry of a text that ever waited; 0 for none.
    package private(set) var highestEntry: UInt64 = 0

    package init() {}

    /// Applies one record.
    package mutating func apply(_ record: TextRecord) {}
}
