import Glibc

/// A UDP socket that never waits.
package final class UDPSocket: Sendable {
    /// The address and port of one end. The address has 4 or 16 bytes.
    package struct End: Hashable, Sendable {
        package let address: [UInt8]
        package let port: UInt16

        package init(_ address: [UInt8], port: UInt16 = 0) {
            self.address = address
            self.port = port
        }

        package static func loopback(isIPv4: Bool, port: UInt16 = 0) -> End {
            End(isIPv4 ? [127, 0, 0, 1] : [UInt8](repeating: 0, count: 15) + [1], port: port)
        }

        /// The bytes of a `sockaddr_in` or `sockaddr_in6`.
        fileprivate var name: [UInt8] {
            let isIPv4 = address.count == 4
            let family = withUnsafeBytes(of: sa_family_t(isIPv4 ? AF_INET : AF_INET6), Array.init)
            let start = family + [UInt8(port >> 8), UInt8(port & 0xFF)]
            return start
                + (isIPv4 ? address + [UInt8](repeating: 0, count: 8) : [0, 0, 0, 0] + address + [0, 0, 0, 0])
        }

        fileprivate init(name: [UInt8], isIPv4: Bool) {
            self.init(Array(isIPv4 ? name[4..<8] : name[8..<24]), port: UInt16(name[2]) << 8 | UInt16(name[3]))
        }
    }

    package let descriptor: Int32
    /// The end to which the socket is bound.
    package let end: End

    /// - Parameter end: The end to bind; port 0 for any free one.
    package init(_ end: End) throws(SystemError) {
        let isIPv4 = end.address.count == 4
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        descriptor = socket(isIPv4 ? AF_INET : AF_INET6, kind, 0)
        guard descriptor >= 0 else { throw SystemError("no socket") }
        var name = end.name
        var length = socklen_t(name.count)
        let descriptor = descriptor
        let isBound = name.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                bind(descriptor, $0.baseAddress, length) == 0 && getsockname(descriptor, $0.baseAddress, &length) == 0
            }
        }
        guard isBound else {
            let error = SystemError("can't bind a socket")
            close(descriptor)
            throw error
        }
        self.end = End(name: name, isIPv4: isIPv4)
    }

    deinit { close(descriptor) }

    /// Sets the hop limit (IPv4: time to live) of later datagrams.
    package func setHopLimit(_ limit: Int) {
        let isIPv4 = end.address.count == 4
        set(Int32(isIPv4 ? IPPROTO_IP : IPPROTO_IPV6), isIPv4 ? IP_TTL : Int32(IPV6_UNICAST_HOPS), Int32(limit))
    }

    package func setReceiveBuffer(_ bytes: Int) { set(SOL_SOCKET, SO_RCVBUF, Int32(bytes)) }

    private func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Sends a datagram; false if the system refuses.
    @discardableResult
    package func send(_ bytes: [UInt8], to end: End) -> Bool {
        let name = end.name
        return name.withUnsafeBytes { nameBytes in
            nameBytes.withMemoryRebound(to: sockaddr.self) {
                sendto(descriptor, bytes, bytes.count, 0, $0.baseAddress, socklen_t(name.count)) == bytes.count
            }
        }
    }

    /// Returns the next datagram; nil if none waits.
    package func receive() -> (bytes: [UInt8], source: End)? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var name = [UInt8](repeating: 0, count: MemoryLayout<sockaddr_in6>.size)
        var length = socklen_t(name.count)
        let count = name.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                recvfrom(descriptor, &buffer, buffer.count, 0, $0.baseAddress, &length)
            }
        }
        guard count >= 0 else { return nil }
        return (Array(buffer[..<count]), End(name: name, isIPv4: end.address.count == 4))
    }

    /// Returns all datagrams that wait.
    package func receiveAll() -> [(bytes: [UInt8], source: End)] {
        Array(sequence(state: ()) { _ in self.receive() })
    }
}
