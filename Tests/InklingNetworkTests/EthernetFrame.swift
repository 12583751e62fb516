/// An Ethernet frame and the position of its UDP header, as a switch needs them.
struct EthernetFrame: Sendable {
    private(set) var bytes: [UInt8]
    /// The offset of the UDP header; nil for a frame without one.
    private let transport: Int?

    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 14 else { return nil }
        self.bytes = bytes
        transport = EthernetFrame.transport(of: bytes)
    }

    private static func transport(of bytes: [UInt8]) -> Int? {
        let start: Int
        switch (bytes[12], bytes[13]) {
        case (0x08, 0x00) where bytes.count >= 34 && bytes[23] == 17: start = 14 + Int(bytes[14] & 0x0f) * 4
        case (0x86, 0xdd) where bytes.count >= 54 && bytes[20] == 17: start = 54
        default: return nil
        }
        return bytes.count >= start + 8 ? start : nil
    }

    var destination: UInt64 { address(at: 0) }
    var source: UInt64 { address(at: 6) }
    /// Whether the frame has several receivers. Broadcast counts as multicast to all.
    var isMulticast: Bool { bytes[0] & 1 == 1 }

    private func address(at offset: Int) -> UInt64 {
        bytes[offset..<(offset + 6)].reduce(0) { $0 << 8 | UInt64($1) }
    }

    var sourcePort: UInt16? { transport.map { number(at: $0) } }
    var destinationPort: UInt16? { transport.map { number(at: $0 + 2) } }

    /// Whether the frame has a UDP datagram that is not multicast DNS.
    var isDatagram: Bool {
        guard let sourcePort, let destinationPort else { return false }
        return sourcePort != 5353 && destinationPort != 5353
    }

    mutating func setSourcePort(_ port: UInt16) {
        if let transport { setPort(port, at: transport, checksum: transport + 6) }
    }

    mutating func setDestinationPort(_ port: UInt16) {
        if let transport { setPort(port, at: transport + 2, checksum: transport + 6) }
    }

    private func number(at offset: Int) -> UInt16 { UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1]) }

    /// Changes a port and updates the checksum by RFC 1624. The value 0 means that there is no checksum.
    private mutating func setPort(_ port: UInt16, at offset: Int, checksum: Int) {
        let before = number(at: checksum)
        if before != 0 {
            var sum = UInt32(~before) + UInt32(~number(at: offset)) + UInt32(port)
            while sum > 0xffff { sum = (sum & 0xffff) + (sum >> 16) }
            let after = ~UInt16(sum)
            put(after == 0 ? 0xffff : after, at: checksum)
        }
        put(port, at: offset)
    }

    private mutating func put(_ number: UInt16, at offset: Int) {
        bytes[offset] = UInt8(number >> 8)
        bytes[offset + 1] = UInt8(number & 0xff)
    }
}
