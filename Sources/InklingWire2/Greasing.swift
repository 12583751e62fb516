/// Frames and records of reserved types, which a node under test adds at random. A peer that fails on unknown
/// types thus shows early.
package enum Greasing {
    /// The frame types that are never assigned.
    package static let frameTypes: [UInt8] = [0x5A, 0x9A, 0xDA]
    /// The record type that is never assigned.
    package static let recordType = RecordType.unknown(14)

    /// One in so many datagrams or messages is greased.
    private static let rarity: UInt64 = 100
    private static let bodySizes: ClosedRange<UInt64> = 0...16

    /// Returns the frames of a datagram, in 1 of 100 cases with a greasing frame first.
    ///
    /// A bye gets none, and a datagram without room for the frame gets none (W-13).
    package static func grease(_ frames: [Frame], using generator: inout some RandomNumberGenerator) -> [Frame] {
        let hasBye = frames.contains { if case .bye = $0 { true } else { false } }
        guard !hasBye, generator.next(upperBound: rarity) == 0 else { return frames }
        let type = frameTypes[Int(generator.next(upperBound: UInt64(frameTypes.count)))]
        let greased = [.unknown(type: type, body: body(using: &generator))] + frames
        return SealedDatagram.size(of: greased) <= Limits.maximumDatagramSize ? greased : frames
    }

    /// Returns in 1 of 100 cases the record that a node sends before a message.
    package static func record(number: UInt32, using generator: inout some RandomNumberGenerator) -> Record? {
        guard generator.next(upperBound: rarity) == 0 else { return nil }
        return Record(number: number, type: recordType, body: body(using: &generator))
    }

    private static func body(using generator: inout some RandomNumberGenerator) -> [UInt8] {
        let count = UInt64.random(in: bodySizes, using: &generator)
        return randomBytes(Int(count), using: &generator)
    }
}
