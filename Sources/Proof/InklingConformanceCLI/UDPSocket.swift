import Glibc
import InklingConformance

/// A UDP socket that is bound to an address of loopback; it never waits.
struct UDPSocket {
    let descriptor: Int32
    let address: UDPAddress

    init(host: String) throws(StageError) {
        let family = host.contains(":") ? AF_INET6 : AF_INET
        let descriptor = socket(
            family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw StageError("no socket: \(String(cString: strerror(errno)))") }
        var size: Int32 = 4 << 20
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        let bound = UDPSocket.withSocketAddress(UDPAddress(host: host, port: 0)) { bind(descriptor, $0, $1) }
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let named = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard bound == 0, named == 0 else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw StageError("can't bind a socket to \(host): \(reason)")
        }
        self.descriptor = descriptor
        address = UDPAddress(host: host, port: UDPSocket.address(of: storage).port)
        setHopLimit(255)
        // The first question makes the kernel note when datagrams come.
        _ = age()
    }

    /// How long ago the datagram came that was read last, by the kernel.
    private func age() -> Duration {
        var (stamp, now) = (timespec(), timespec())
        // SIOCGSTAMPNS, which Swift does not import.
        guard ioctl(descriptor, 0x8907, &stamp) == 0, clock_gettime(CLOCK_REALTIME, &now) == 0 else { return .zero }
        return .seconds(now.tv_sec - stamp.tv_sec) + .nanoseconds(now.tv_nsec - stamp.tv_nsec)
    }

    /// Sets the hop limit (IPv4: time to live) of what it sends: 255 at first (L-56).
    func setHopLimit(_ limit: Int) {
        var value = Int32(limit)
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(descriptor, Int32(IPPROTO_IP), IP_TTL, &value, size)
        setsockopt(descriptor, Int32(IPPROTO_IPV6), Int32(IPV6_UNICAST_HOPS), &value, size)
    }

    func send(_ bytes: [UInt8], to destination: UDPAddress) {
        _ = UDPSocket.withSocketAddress(destination) { sendto(descriptor, bytes, bytes.count, 0, $0, $1) }
    }

    /// All that has come, and how long ago.
    func receive() -> [(bytes: [UInt8], source: UDPAddress, age: Duration)] {
        var received: [(bytes: [UInt8], source: UDPAddress, age: Duration)] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let count = withUnsafeMutablePointer(to: &storage) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(descriptor, &buffer, buffer.count, 0, $0, &length)
                }
            }
            guard count >= 0 else { return received }
            received.append((Array(buffer[0..<count]), UDPSocket.address(of: storage), age()))
        }
    }

    private static func withSocketAddress(
        _ address: UDPAddress, _ body: (UnsafePointer<sockaddr>, socklen_t) -> some BinaryInteger
    ) -> Int {
        if address.host.contains(":") {
            var value = sockaddr_in6()
            value.sin6_family = sa_family_t(AF_INET6)
            value.sin6_port = in_port_t(address.port).bigEndian
            inet_pton(AF_INET6, address.host, &value.sin6_addr)
            return withUnsafePointer(to: &value) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Int(body($0, socklen_t(MemoryLayout<sockaddr_in6>.size)))
                }
            }
        }
        var value = sockaddr_in()
        value.sin_family = sa_family_t(AF_INET)
        value.sin_port = in_port_t(address.port).bigEndian
        inet_pton(AF_INET, address.host, &value.sin_addr)
        return withUnsafePointer(to: &value) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Int(body($0, socklen_t(MemoryLayout<sockaddr_in>.size)))
            }
        }
    }

    private static func address(of storage: sockaddr_storage) -> UDPAddress {
        var storage = storage
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let isIPv6 = Int32(storage.ss_family) == AF_INET6
        let port = withUnsafeMutablePointer(to: &storage) { pointer in
            if isIPv6 {
                pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    inet_ntop(AF_INET6, &$0.pointee.sin6_addr, &text, socklen_t(text.count))
                    return $0.pointee.sin6_port
                }
            } else {
                pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    inet_ntop(AF_INET, &$0.pointee.sin_addr, &text, socklen_t(text.count))
                    return $0.pointee.sin_port
                }
            }
        }
        let host = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return UDPAddress(host: host, port: Int(in_port_t(bigEndian: port)))
    }
}
