import Glibc
import InklingCore
import InklingModel

/// Addresses in the form that people write.
package enum Resolution {
    /// Throws for a text that is not `HOST:PORT` or `[IPV6]:PORT`, without resolving the host.
    package static func checkPeer(_ text: String) throws(NodeError) {
        guard split(text) != nil else { throw .peerAddress(text, .port) }
    }

    /// Returns whether a peer needs no name server. A text that is no peer needs none either.
    static func isNumeric(_ text: String) -> Bool { split(text).map { own($0.host) != nil } ?? true }

    /// Resolves `HOST:PORT` or `[IPV6]:PORT`, where IPV6 may have its scope after `%`.
    ///
    /// Returns the addresses in the order in which the system prefers them; none if no name server answers.
    ///
    /// The call may ask a name server and block until the answer.
    static func peer(_ text: String) throws(NodeError) -> [Address] {
        guard let (host, port) = split(text) else {
            throw .peerAddress(text, .port)
        }
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_DGRAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, nil, &hints, &first)
        guard status != EAI_AGAIN else { return [] }
        guard status == 0 else {
            throw .peerAddress(text, .unknownHost(reason: String(cString: gai_strerror(status))))
        }
        defer { freeaddrinfo(first) }
        var addresses: [Address] = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ai_next
            guard let name = entry.ai_addr, let address = Address(name, port: port) else { continue }
            if address.isUnicast, !addresses.contains(address) { addresses.append(address) }
        }
        guard !addresses.isEmpty else { throw .peerAddress(text, .notUnicast) }
        return addresses
    }

    /// Reads an address of this host.
    static func own(_ text: String) -> Address? {
        var hints = addrinfo()
        hints.ai_flags = CInt(AI_NUMERICHOST)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(text, nil, &hints, &first) == 0 else { return nil }
        defer { freeaddrinfo(first) }
        return first?.pointee.ai_addr.flatMap { Address($0, port: 0) }
    }

    /// Reads one address with its port, without a name server.
    static func address(_ text: String) -> Address? {
        guard let (host, port) = split(text), let own = own(host) else { return nil }
        return Address(high: own.high, low: own.low, port: port, scope: own.scope)
    }

    /// Returns the reason why a node can't bind to an address that the user named.
    static func bindFault(_ text: String) -> NodeError {
        let needsInterface = own(text).map { $0.isIPv6LinkLocal && $0.scope == 0 } ?? false
        return needsInterface ? .bindAddressWithoutInterface(text) : .bindAddress(text)
    }

    private static func split(_ text: String) -> (host: String, port: UInt16)? {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port != 0
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        return host.isEmpty ? nil : (String(host), port)
    }
}

extension Address {
    /// The address in a socket name, with another port.
    init?(_ name: UnsafePointer<sockaddr>, port: UInt16?) {
        let raw = UnsafeRawPointer(name)
        switch CInt(name.pointee.sa_family) {
        case AF_INET:
            let name = raw.loadUnaligned(as: sockaddr_in.self)
            self.init(
                ipv4: UInt32(bigEndian: name.sin_addr.s_addr), port: port ?? UInt16(bigEndian: name.sin_port))
        case AF_INET6:
            let name = raw.loadUnaligned(as: sockaddr_in6.self)
            let (high, low) = withUnsafeBytes(of: name.sin6_addr) {
                (
                    UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                    UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                )
            }
            self.init(
                high: high, low: low, port: port ?? UInt16(bigEndian: name.sin6_port), scope: name.sin6_scope_id)
        default:
            return nil
        }
    }
}
