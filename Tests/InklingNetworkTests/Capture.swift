import Foundation
import Glibc
import Synchronization

/// A UDP datagram at a host's interface.
struct CapturedDatagram: Sendable {
    let at: Double
    /// Whether the host sent the datagram.
    let isOutgoing: Bool
    /// The addresses, with 4 or 16 bytes.
    let source, destination: [UInt8]
    let sourcePort, destinationPort: UInt16
    let payload: [UInt8]
    /// The whole Ethernet frame.
    let frame: [UInt8]

    /// The protocol's kind of datagram; nil for another protocol or version.
    var kind: UInt8? { payload.first.flatMap { $0 >> 4 == 2 ? $0 & 0x0f : nil } }

    fileprivate init?(frame: [UInt8], at: Double, isOutgoing: Bool) {
        guard frame.count > 14 else { return nil }
        let transport: Int
        switch (frame[12], frame[13]) {
        case (0x08, 0x00) where frame.count >= 34 && frame[23] == 17:
            transport = 14 + Int(frame[14] & 0x0f) * 4
            (source, destination) = (Array(frame[26..<30]), Array(frame[30..<34]))
        case (0x86, 0xdd) where frame.count >= 54 && frame[20] == 17:
            transport = 54
            (source, destination) = (Array(frame[22..<38]), Array(frame[38..<54]))
        default:
            return nil
        }
        guard frame.count >= transport + 8 else { return nil }
        func number(_ offset: Int) -> UInt16 {
            UInt16(frame[transport + offset]) << 8 | UInt16(frame[transport + offset + 1])
        }
        let length = Int(number(4))
        guard length >= 8, frame.count >= transport + length else { return nil }
        (sourcePort, destinationPort) = (number(0), number(2))
        payload = Array(frame[(transport + 8)..<(transport + length)])
        self.at = at
        self.isOutgoing = isOutgoing
        self.frame = frame
    }
}

/// All UDP datagrams at `eth0` of a host since the start of the capture.
final class Capture: Sendable {
    private let descriptor: Int32
    private let seen = Mutex<[CapturedDatagram]>([])
    private let seenOfDiscovery = Mutex<[CapturedDatagram]>([])

    init(on host: Host) throws {
        descriptor = try LinkSocket.open(on: host)
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, LinkSocket.timestampNanoseconds, &on, socklen_t(MemoryLayout<Int32>.size))
        var size: Int32 = 8 << 20
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        Thread.detachNewThread { [weak self, descriptor] in
            while let datagram = Capture.receive(descriptor) {
                guard let self else { break }
                guard let datagram = datagram.value else { continue }
                let isDiscovery = datagram.sourcePort == 5353 || datagram.destinationPort == 5353
                if isDiscovery {
                    seenOfDiscovery.withLock { $0.append(datagram) }
                } else {
                    seen.withLock { $0.append(datagram) }
                }
            }
            close(descriptor)
        }
    }

    /// The datagrams without multicast DNS.
    var datagrams: [CapturedDatagram] { seen.withLock { $0 } }
    /// The datagrams of multicast DNS.
    var discovery: [CapturedDatagram] { seenOfDiscovery.withLock { $0 } }

    func datagrams(since time: Double) -> [CapturedDatagram] { datagrams.filter { $0.at >= time } }

    private struct Received { let value: CapturedDatagram? }

    /// Receives a datagram. Returns nil if the interface is gone for good.
    private static func receive(_ descriptor: Int32) -> Received? {
        var frame = [UInt8](repeating: 0, count: 2_048)
        var address = [UInt8](repeating: 0, count: 20)
        var control = [UInt8](repeating: 0, count: 64)
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, 1_000) > 0 else { return Received(value: nil) }
        let count = frame.withUnsafeMutableBytes { frame in
            address.withUnsafeMutableBytes { address in
                control.withUnsafeMutableBytes { control in
                    var vector = iovec(iov_base: frame.baseAddress, iov_len: frame.count)
                    return withUnsafeMutablePointer(to: &vector) { vector in
                        var message = msghdr()
                        message.msg_name = address.baseAddress
                        message.msg_namelen = socklen_t(address.count)
                        message.msg_iov = vector
                        message.msg_iovlen = 1
                        message.msg_control = control.baseAddress
                        message.msg_controllen = control.count
                        return recvmsg(descriptor, &message, 0)
                    }
                }
            }
        }
        // The interface may go down and come up again. A socket that outlives its namespace reads no more.
        guard count > 0 else { return errno == EBADF ? nil : Received(value: nil) }
        // There is a single control message: a header of 16 bytes, then seconds and nanoseconds.
        let (seconds, nanoseconds) = control.withUnsafeBytes {
            ($0.load(fromByteOffset: 16, as: Int64.self), $0.load(fromByteOffset: 24, as: Int64.self))
        }
        let at = Double(seconds) + Double(nanoseconds) / 1e9
        let isOutgoing = address[10] == 4  // PACKET_OUTGOING
        return Received(value: CapturedDatagram(frame: Array(frame[..<count]), at: at, isOutgoing: isOutgoing))
    }
}

/// A socket for whole Ethernet frames, on a host's `eth0`.
enum LinkSocket {
    static let timestampNanoseconds: Int32 = 35

    static func open(on host: Host) throws -> Int32 {
        let family = Int32(17)  // AF_PACKET
        return try host.inNetwork {
            let everything = UInt16(0x0003).bigEndian
            let kind = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue)
            let descriptor = socket(family, kind, Int32(everything))
            guard descriptor >= 0 else { throw HarnessError("no packet socket: \(String(cString: strerror(errno)))") }
            var address = [UInt8](repeating: 0, count: 20)
            address.withUnsafeMutableBytes {
                $0.storeBytes(of: UInt16(family), toByteOffset: 0, as: UInt16.self)
                $0.storeBytes(of: everything, toByteOffset: 2, as: UInt16.self)
                $0.storeBytes(of: UInt32(if_nametoindex("eth0")), toByteOffset: 4, as: UInt32.self)
            }
            let bound = address.withUnsafeBytes { bytes in
                bytes.withMemoryRebound(to: sockaddr.self) { bind(descriptor, $0.baseAddress, 20) }
            }
            guard bound == 0 else { throw HarnessError("cannot bind: \(String(cString: strerror(errno)))") }
            return descriptor
        }
    }
}
