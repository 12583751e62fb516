import CProcess
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
        var filter = cprocess_content_filter()
        setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &filter, socklen_t(MemoryLayout<sock_fprog>.size))
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

    /// The facts about a received datagram beside its bytes.
    struct Header {
        var source: Address
        /// Nil if unknown.
        var arrival: Arrival?
        /// Nil if unknown.
        var hopLimit: Int?
    }

    /// The header of the next datagram to read; nil if no datagram waits. Removes datagrams without bytes, which can't be
    /// told from an end.
    func nextHeader() -> Header? {
        var name = sockaddr_in6()
        return withUnsafeMutablePointer(to: &name) { name in
            withUnsafeTemporaryAllocation(byteCount: 256, alignment: MemoryLayout<cmsghdr>.alignment) { control in
                var message = msghdr()
                repeat {
                    message.msg_name = UnsafeMutableRawPointer(name)
                    message.msg_namelen = socklen_t(MemoryLayout<sockaddr_in6>.size)
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    let length = recvmsg(descriptor, &message, CInt(MSG_PEEK | MSG_TRUNC))
                    guard length == 0 else { return length > 0 ? header(name, control, message.msg_controllen) : nil }
                } while recv(descriptor, nil, 0, 0) >= 0
                return nil
            }
        }
    }

    private func header(
        _ name: UnsafeMutablePointer<sockaddr_in6>, _ control: UnsafeMutableRawBufferPointer, _ length: Int
    ) -> Header? {
        let source = UnsafeRawPointer(name).withMemoryRebound(to: sockaddr.self, capacity: 1) { Address($0, port: nil) }
        guard let source else { return nil }
        var header = Header(source: source)
        var rest = UnsafeRawBufferPointer(rebasing: control.prefix(length))[...]
        let (start, word) = (MemoryLayout<cmsghdr>.size, MemoryLayout<Int>.size)
        while rest.count >= start {
            let message = UnsafeRawBufferPointer(rebasing: rest)
            let head = message.loadUnaligned(as: cmsghdr.self)
            guard head.cmsg_len >= start, head.cmsg_len <= rest.count else { break }
            let content = UnsafeRawBufferPointer(rebasing: message[start..<Int(head.cmsg_len)])
            header.take(head.cmsg_level, head.cmsg_type, content)
            rest = rest.dropFirst((Int(head.cmsg_len) + word - 1) / word * word)
        }
        return header
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

extension UDPSocket.Header {
    /// Takes what one control message says.
    fileprivate mutating func take(_ level: CInt, _ type: CInt, _ content: UnsafeRawBufferPointer) {
        switch (level, type) {
        case (CInt(IPPROTO_IP), CInt(IP_TTL)), (CInt(IPPROTO_IPV6), CInt(IPV6_HOPLIMIT)):
            guard content.count >= 4 else { return }
            hopLimit = Int(content.loadUnaligned(as: CInt.self))
        case (CInt(IPPROTO_IP), CInt(IP_PKTINFO)):
            // struct in_pktinfo
            guard content.count >= 12 else { return }
            let address = UInt32(bigEndian: content.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
            arrival = Arrival(
                address: Address(ipv4: address, port: 0), interface: content.loadUnaligned(as: UInt32.self))
        case (CInt(IPPROTO_IPV6), CInt(IPV6_PKTINFO)):
            // struct in6_pktinfo, which has IPv4 addresses in IPv6 form
            guard content.count >= 20 else { return }
            let high = UInt64(bigEndian: content.loadUnaligned(as: UInt64.self))
            let low = UInt64(bigEndian: content.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            arrival = Arrival(
                address: Address(high: high, low: low, port: 0),
                interface: content.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
        default: break
        }
    }
}
