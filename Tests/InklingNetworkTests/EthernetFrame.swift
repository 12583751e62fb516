/// An Ethernet frame and the position of its UDP header, as a switch needs them.
struct EthernetFrame: Sendable {
    let bytes: [UInt8]
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

    private func number(at offset: Int) -> UInt16 { UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1]) }
}
