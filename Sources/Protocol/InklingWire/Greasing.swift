/// Reserved frames and records that a node under test adds at random. They reveal a peer that fails on
/// unknown types.
package enum Greasing {
    /// The frame types that will never be assigned.
    package static let frameTypes: [UInt8] = [0x5A, 0x9A, 0xDA]
    /// The record type that will never be assigned.
    package static let recordType = RecordType.unknown(14)

    /// Returns the frames of a datagram. In 1 of 100 cases the first one is an added frame of a reserved type.
    ///
    /// A datagram with a bye, or without room for the added frame, stays unchanged.
    package static func grease(_ frames: [Frame], using generator: inout some RandomNumberGenerator) -> [Frame] {
        let hasBye = frames.contains { if case .bye = $0 { true } else { false } }
        guard !hasBye, generator.next(upperBound: Limits.greasingRarity) == 0 else { return frames }
        let type = frameTypes[Int(generator.next(upperBound: UInt64(frameTypes.count)))]
        let greased = [.unknown(type: type, body: body(using: &generator))] + frames
        return SealedDatagram.size(of: greased) <= Limits.maximumDatagramSize ? greased : frames
    }

    /// Returns, in 1 of 100 cases, a reserved record for the node to send before a message.
    package static func record(number: UInt32, using generator: inout some RandomNumberGenerator) -> Record? {
        guard generator.next(upperBound: Limits.greasingRarity) == 0 else { return nil }
        return Record(number: number, type: recordType, body: body(using: &generator))
    }

    private static func body(using generator: inout some RandomNumberGenerator) -> [UInt8] {
        randomBytes(Int.random(in: Limits.greasingSizes, using: &generator), using: &generator)
    }
}
