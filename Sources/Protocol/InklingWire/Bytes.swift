/// A reader of big-endian numbers and byte arrays (W-1). A read beyond the end returns nil and consumes nothing.
package struct ByteReader: Sendable {
    /// All bytes, read or not.
    let bytes: [UInt8]
    /// The number of bytes read so far.
    package private(set) var offset = 0

    /// A reader at the start of `bytes`.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The number of bytes left.
    package var remaining: Int { bytes.count - offset }

    /// Reads the next byte.
    package mutating func uint8() -> UInt8? {
        guard remaining >= 1 else { return nil }
        defer { offset += 1 }
        return bytes[offset]
    }

    /// Reads the next 2 bytes as a big-endian number.
    package mutating func uint16() -> UInt16? { integer() }

    /// Reads the next 4 bytes as a big-endian number.
    package mutating func uint32() -> UInt32? { integer() }

    /// Reads the next 8 bytes as a big-endian number.
    package mutating func uint64() -> UInt64? { integer() }

    /// Reads the next `count` bytes.
    package mutating func take(_ count: Int) -> [UInt8]? {
        guard count >= 0, remaining >= count else { return nil }
        defer { offset += count }
        return Array(bytes[offset..<offset + count])
    }

    /// Reads the next `count` bytes as UTF-8.
    package mutating func text(_ count: Int) -> String? {
        guard count >= 0, remaining >= count else { return nil }
        defer { offset += count }
        return String(decoding: bytes[offset..<offset + count], as: UTF8.self)
    }

    /// Reads all remaining bytes.
    package mutating func rest() -> [UInt8] {
        defer { offset = bytes.count }
        return Array(bytes[offset...])
    }

    private mutating func integer<Value: FixedWidthInteger & UnsignedInteger>() -> Value? {
        let size = Value.bitWidth / 8
        guard remaining >= size else { return nil }
        defer { offset += size }
        return Value(bigEndian: bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Value.self) })
    }
}

/// A writer of big-endian numbers and byte arrays (W-1).
package struct ByteWriter: Sendable {
    /// The bytes written so far.
    package private(set) var bytes: [UInt8] = []

    /// An empty writer that has room for `capacity` bytes.
    package init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    /// Appends a number, the most significant byte first.
    package mutating func append<Value: FixedWidthInteger & UnsignedInteger>(_ value: Value) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Returns all bytes, of which no copy is left in the writer.
    consuming func finish() -> [UInt8] { bytes }

    /// Appends bytes unchanged.
    package mutating func append(_ more: some Sequence<UInt8>) {
        bytes.append(contentsOf: more)
    }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// The number's bytes, the most significant first.
    package var bigEndianBytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.bitWidth / 8)
        writer.append(self)
        return writer.bytes
    }

    /// The number with these big-endian bytes; nil for a wrong count of bytes.
    package init?(bigEndianBytes bytes: [UInt8]) {
        guard bytes.count == Self.bitWidth / 8 else { return nil }
        self = bytes.reduce(0) { $0 << 8 | Self($1) }
    }
}

/// Compares two byte arrays in constant time: the time depends only on their lengths (W-37).
func equalInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
}

/// Returns `count` random bytes from the caller's generator.
func randomBytes(_ count: Int, using generator: inout some RandomNumberGenerator) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
}
