import Glibc
import InklingCore
import InklingWire

/// One UDP socket for IPv6 and IPv4, non-blocking. Errors of sending are values, and none of them closes the socket.
struct UDPSocket {
    enum Failure: Error {
        case portTaken, portNotAllowed, notOwnAddress
        case system(String)
    }

    let descriptor: CInt
    /// The port of the socket.
    let port: UInt16
    /// Whether the socket is for IPv4 only, because the host lacks IPv6 or the address is an IPv4 one.
    private let isIPv4Only: Bool

    /// Binds a socket.
    ///
    /// - Parameter address: The host's address to use, a link-local one with its scope; nil for all addresses.
    init(port: UInt16, address: Address?) throws(Failure) {
        let wantsIPv4 = address?.ipv4 != nil
        let wantsIPv6 = address != nil && !wantsIPv4
        if let address, address.isIPv6LinkLocal, address.scope == 0 { throw .notOwnAddress }
        var descriptor = wantsIPv4 ? -1 : socket(AF_INET6, UDPSocket.kind, 0)
        let isIPv4Only = descriptor < 0
        // The host has no IPv6, so the IPv6 address cannot be its own.
        if isIPv4Only, wantsIPv6, errno == EAFNOSUPPORT { throw .notOwnAddress }
        if isIPv4Only, !wantsIPv6 { descriptor = socket(AF_INET, UDPSocket.kind, 0) }
        guard descriptor >= 0 else { throw .system(UDPSocket.errorText(errno)) }
        do {
            self.port = try UDPSocket.bind(descriptor, port: port, address: address, isIPv4Only: isIPv4Only)
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        self.isIPv4Only = isIPv4Only
    }

    private static let kind = CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)

    private static func bind(
        _ descriptor: CInt, port: UInt16, address: Address?, isIPv4Only: Bool
    ) throws(Failure) -> UInt16 {
        var off: CInt = 0
        var buffer: CInt = 1 << 20
        let size = socklen_t(MemoryLayout<CInt>.size)
        if !isIPv4Only { setsockopt(descriptor, CInt(IPPROTO_IPV6), IPV6_V6ONLY, &off, size) }
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &buffer, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &buffer, size)
        // A socket for both families has a separate option for each family (L-56).
        var hops = CInt(Limits.hopLimit)
        setsockopt(descriptor, CInt(IPPROTO_IP), IP_TTL, &hops, size)
        if !isIPv4Only { setsockopt(descriptor, CInt(IPPROTO_IPV6), IPV6_UNICAST_HOPS, &hops, size) }
        // Set before `bind`, because even the first datagram must report its interface (D-15).
        var on: CInt = 1
        if isIPv4Only {
            setsockopt(descriptor, CInt(IPPROTO_IP), IP_PKTINFO, &on, size)
        } else {
            setsockopt(descriptor, CInt(IPPROTO_IPV6), IPV6_RECVPKTINFO, &on, size)
            setsockopt(descriptor, CInt(IPPROTO_IPV6), IPV6_RECVHOPLIMIT, &on, size)
        }
        // Makes the system report the hop limits of received datagrams. Each family has its own option (L-92).
        setsockopt(descriptor, CInt(IPPROTO_IP), IP_RECVTTL, &on, size)
        let own = Address(
            high: address?.high ?? 0, low: address?.low ?? 0, port: port, scope: address?.scope ?? 0)
        let status = withSocketAddress(own, isIPv4Only: isIPv4Only) { Glibc.bind(descriptor, $0, $1) }
        guard status == 0 else {
            switch errno {
            case EADDRINUSE: throw .portTaken
            case EACCES: throw .portNotAllowed
            case EADDRNOTAVAIL, ENODEV: throw .notOwnAddress
            default: throw .system(errorText(errno))
            }
        }
        var name = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let known = withUnsafeMutableBytes(of: &name) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { Glibc.getsockname(descriptor, $0.baseAddress, &length) }
        }
        guard known == 0 else { throw .system(errorText(errno)) }
        // The port has the same offset in both families.
        return UInt16(bigEndian: name.sin6_port)
    }

    /// Sends one datagram.
    ///
    /// - Parameter source: The address of this host to send from; nil to let the system choose.
    /// - Returns: The system's error number; nil on success.
    func send(_ bytes: [UInt8], to address: Address, from source: Address? = nil) -> CInt? {
        if isIPv4Only && address.ipv4 == nil { return EAFNOSUPPORT }
        var control = source.map { packetInfo(source: $0) } ?? []
        let sent = bytes.withUnsafeBytes { payload in
            control.withUnsafeMutableBytes { control in
                UDPSocket.withSocketAddress(address, isIPv4Only: isIPv4Only) { name, length in
                    let start = UnsafeMutableRawPointer(mutating: payload.baseAddress)
                    var piece = iovec(iov_base: start, iov_len: payload.count)
                    return withUnsafeMutablePointer(to: &piece) { piece in
                        var message = msghdr()
                        message.msg_name = UnsafeMutableRawPointer(mutating: name)
                        message.msg_namelen = length
                        message.msg_iov = piece
                        message.msg_iovlen = 1
                        message.msg_control = control.baseAddress
                        message.msg_controllen = control.count
                        return sendmsg(descriptor, &message, 0)
                    }
                }
            }
        }
        return sent < 0 ? errno : nil
    }

    /// Returns the control message with the address of this host to send from: `struct in_pktinfo` or, on a socket for
    /// both families, `struct in6_pktinfo`. The module map of the C library lacks the latter.
    private func packetInfo(source: Address) -> [UInt8] {
        var info: [UInt8] = []
        if isIPv4Only {
            let address = Array(source.bytes.suffix(4))
            info = [0, 0, 0, 0] + address + address
        } else {
            info = source.bytes
            withUnsafeBytes(of: source.scope) { info.append(contentsOf: $0) }
        }
        let header = MemoryLayout<cmsghdr>.size
        var head = cmsghdr()
        head.cmsg_len = header + info.count
        head.cmsg_level = CInt(isIPv4Only ? IPPROTO_IP : IPPROTO_IPV6)
        head.cmsg_type = CInt(isIPv4Only ? IP_PKTINFO : IPV6_PKTINFO)
        // Each control message has a size of whole words.
        let word = MemoryLayout<Int>.size
        info += [UInt8](repeating: 0, count: (word - info.count % word) % word)
        return withUnsafeBytes(of: head) { Array($0) } + info
    }

    /// Returns the socket address that `sendto` takes for an address, as bytes.
    func name(of address: Address) -> [UInt8] {
        UDPSocket.withSocketAddress(address, isIPv4Only: isIPv4Only) { name, length in
            Array(UnsafeRawBufferPointer(start: name, count: Int(length)))
        }
    }

    /// The hop limit of the next datagram to read; nil if the kernel does not report hop limits. If no datagram waits, 0:
    /// the next one is then not known to come from this link.
    var nextHopLimit: Int? {
        withUnsafeTemporaryAllocation(byteCount: 128, alignment: MemoryLayout<cmsghdr>.alignment) { control in
            var message = msghdr()
            message.msg_control = control.baseAddress
            message.msg_controllen = control.count
            guard recvmsg(descriptor, &message, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) >= 0 else { return 0 }
            return UDPSocket.hopLimit(UnsafeRawBufferPointer(rebasing: control.prefix(Int(message.msg_controllen))))
        }
    }

    /// Returns the hop limit among the control messages of a datagram.
    private static func hopLimit(_ control: UnsafeRawBufferPointer) -> Int? {
        let header = MemoryLayout<cmsghdr>.size
        let word = MemoryLayout<Int>.size
        var rest = control[...]
        while rest.count >= header {
            let message = UnsafeRawBufferPointer(rebasing: rest)
            let head = message.loadUnaligned(as: cmsghdr.self)
            let length = Int(head.cmsg_len)
            guard length >= header, length <= rest.count else { return nil }
            switch (head.cmsg_level, head.cmsg_type) {
            case (CInt(IPPROTO_IP), CInt(IP_TTL)), (CInt(IPPROTO_IPV6), CInt(IPV6_HOPLIMIT)):
                guard length >= header + MemoryLayout<CInt>.size else { return nil }
                return Int(message.loadUnaligned(fromByteOffset: header, as: CInt.self))
            default: rest = rest.dropFirst((length + word - 1) / word * word)
            }
        }
        return nil
    }

    /// Whether no datagram waits.
    var isEmpty: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT))
        return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)
    }

    /// Returns the system's text for an error number.
    static func errorText(_ number: CInt) -> String { String(cString: strerror(number)) }

    private static func withSocketAddress<Result>(
        _ address: Address, isIPv4Only: Bool, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        if isIPv4Only {
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = address.port.bigEndian
            name.sin_addr.s_addr = (address.ipv4 ?? 0).bigEndian
            return withUnsafePointer(to: name) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        var name = sockaddr_in6()
        name.sin6_family = sa_family_t(AF_INET6)
        name.sin6_port = address.port.bigEndian
        name.sin6_scope_id = address.scope
        withUnsafeMutableBytes(of: &name.sin6_addr) { bytes in
            bytes.storeBytes(of: address.high.bigEndian, as: UInt64.self)
            bytes.storeBytes(of: address.low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return withUnsafePointer(to: name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
            }
        }
    }
}
