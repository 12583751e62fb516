import Glibc
import InklingWire

/// An IPv4 address, as a number in the host's byte order.
struct IPv4Address: Hashable, CustomStringConvertible {
    let value: UInt32

    init(value: UInt32) { self.value = value }

    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        guard parts.count == 4 else { return nil }
        var value: UInt32 = 0
        for part in parts {
            guard let part else { return nil }
            value = value << 8 | UInt32(part)
        }
        self.value = value
    }

    var bytes: [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
    var description: String { bytes.map(String.init).joined(separator: ".") }
}

/// An IPv4 address and a UDP port, `ADDRESS:PORT` in text.
struct SocketEndpoint: Hashable, CustomStringConvertible {
    var address: IPv4Address
    var port: UInt16

    var description: String { "\(address):\(port)" }
}

extension SocketEndpoint {
    init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = IPv4Address(parts[0]), let port = UInt16(parts[1]) else { return nil }
        self.init(address: address, port: port)
    }
}

/// A failed system call, or an answer that did not come.
struct AttackError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    /// Returns the error of the failed system call `call`.
    static func system(_ call: String) -> AttackError { AttackError("\(call): \(String(cString: strerror(errno)))") }
}

/// A UDP socket for IPv4 that never blocks, and sends from any source address.
final class AttackSocket {
    /// The control message that names the local address of a datagram: `cmsghdr` with `in_pktinfo`, as ip(7) has them.
    private struct PacketInformation {
        static let contentSize = 28

        var length = PacketInformation.contentSize
        var level = Int32(IPPROTO_IP)
        var type = Int32(IP_PKTINFO)
        var interface: Int32 = 0
        var local: UInt32 = 0
        var destination: UInt32 = 0
        var padding: UInt32 = 0
    }

    /// A received datagram.
    struct Received {
        let bytes: [UInt8]
        let source: SocketEndpoint
        /// The address of this host in the datagram.
        let destination: IPv4Address
    }

    let descriptor: Int32
    let port: UInt16
    private var buffer = [UInt8](repeating: 0, count: 2_048)

    /// Makes a socket.
    ///
    /// - Parameters:
    ///   - port: the port; 0 for any free one.
    ///   - isShared: whether other sockets may use the port too.
    ///   - interface: the name of the only interface for all datagrams; nil for any.
    init(port: UInt16 = 0, isShared: Bool = false, interface: String? = nil) throws {
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_INET, type, 0)
        self.descriptor = descriptor
        guard descriptor >= 0 else { throw AttackError.system("socket") }
        // Only root may send from addresses of other hosts.
        for option in [IP_TRANSPARENT, IP_PKTINFO] { try AttackSocket.set(descriptor, Int32(IPPROTO_IP), option, 1) }
        // A host on the link reaches the victim with this hop limit (L-92).
        for option in [IP_TTL, IP_MULTICAST_TTL] {
            try AttackSocket.set(descriptor, Int32(IPPROTO_IP), option, Int32(Limits.hopLimit))
        }
        try AttackSocket.set(descriptor, SOL_SOCKET, SO_SNDBUF, 4 << 20)
        try AttackSocket.set(descriptor, SOL_SOCKET, SO_RCVBUF, 4 << 20)
        if isShared {
            try AttackSocket.set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
            try AttackSocket.set(descriptor, SOL_SOCKET, SO_REUSEPORT, 1)
        }
        if let interface {
            let status = interface.withCString {
                setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, $0, socklen_t(interface.utf8.count))
            }
            guard status == 0 else { throw AttackError.system("SO_BINDTODEVICE") }
        }
        var name = AttackSocket.socketAddress(SocketEndpoint(address: IPv4Address(value: 0), port: port))
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
            }
        }
        guard status == 0 else { throw AttackError.system("bind") }
        self.port = UInt16(bigEndian: name.sin_port)
    }

    deinit { close(descriptor) }

    /// Sets a socket option whose value is a number.
    static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) throws {
        var value = value
        guard setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw AttackError.system("setsockopt \(option)")
        }
    }

    /// Sends a datagram. Returns false if the system refused to send it.
    ///
    /// - Parameter source: any address; nil for the system's choice.
    func send(_ bytes: [UInt8], to destination: SocketEndpoint, from source: IPv4Address? = nil) -> Bool {
        var name = AttackSocket.socketAddress(destination)
        var information = PacketInformation()
        information.local = (source?.value ?? 0).bigEndian
        let size = MemoryLayout<PacketInformation>.size
        return bytes.withUnsafeBytes { bytes in
            withUnsafeMutablePointer(to: &name) { name in
                withUnsafeMutablePointer(to: &information) { information in
                    var vector = iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
                    return withUnsafeMutablePointer(to: &vector) { vector in
                        var message = msghdr()
                        message.msg_name = UnsafeMutableRawPointer(name)
                        message.msg_namelen = socklen_t(MemoryLayout<sockaddr_in>.size)
                        message.msg_iov = vector
                        message.msg_iovlen = 1
                        if source != nil {
                            message.msg_control = UnsafeMutableRawPointer(information)
                            message.msg_controllen = size
                        }
                        return sendmsg(descriptor, &message, 0) == bytes.count
                    }
                }
            }
        }
    }

    /// Returns the next received datagram, or nil if none waits.
    func receive() -> Received? {
        var name = sockaddr_in()
        var information = PacketInformation()
        let size = MemoryLayout<PacketInformation>.size
        var controlSize = 0
        let count = buffer.withUnsafeMutableBytes { buffer in
            withUnsafeMutablePointer(to: &name) { name in
                withUnsafeMutablePointer(to: &information) { information in
                    var vector = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
                    return withUnsafeMutablePointer(to: &vector) { vector in
                        var message = msghdr()
                        message.msg_name = UnsafeMutableRawPointer(name)
                        message.msg_namelen = socklen_t(MemoryLayout<sockaddr_in>.size)
                        message.msg_iov = vector
                        message.msg_iovlen = 1
                        message.msg_control = UnsafeMutableRawPointer(information)
                        message.msg_controllen = size
                        let count = recvmsg(descriptor, &message, 0)
                        controlSize = message.msg_controllen
                        return count
                    }
                }
            }
        }
        guard count >= 0 else { return nil }
        let isNamed = controlSize >= PacketInformation.contentSize && information.type == Int32(IP_PKTINFO)
        return Received(
            bytes: Array(buffer[0..<count]),
            source: SocketEndpoint(
                address: IPv4Address(value: UInt32(bigEndian: name.sin_addr.s_addr)),
                port: UInt16(bigEndian: name.sin_port)),
            destination: IPv4Address(value: isNamed ? UInt32(bigEndian: information.destination) : 0))
    }

    private static func socketAddress(_ endpoint: SocketEndpoint) -> sockaddr_in {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = endpoint.port.bigEndian
        name.sin_addr.s_addr = endpoint.address.value.bigEndian
        return name
    }
}
