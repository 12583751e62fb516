import Glibc

/// The owners of TCP connections within this host, as the kernel reports them.
package struct ConnectionOwner: ~Copyable {
    /// One end of a connection over IPv4.
    package struct End: Equatable, Sendable {
        /// The address, with the first byte in the highest bits.
        package var address: UInt32
        package var port: UInt16

        package init(address: UInt32, port: UInt16) {
            self.address = address
            self.port = port
        }
    }

    // SOCK_DIAG_BY_FAMILY, TCP_ESTABLISHED, and the size of struct inet_diag_msg.
    private static let (byFamily, established, size): (UInt16, UInt8, Int) = (20, 1, 72)
    /// The size of a message with such an entry, and some attributes, which have no use here.
    private static let longestAnswer = 1_024

    private let descriptor: CInt

    package init() { descriptor = Netlink.open(.socketDiagnosis) }

    deinit { close(descriptor) }

    /// Returns the user ID of the socket at one end of an established connection.
    ///
    /// - Parameters:
    ///   - local: The end whose owner the caller asks for.
    ///   - remote: The other end.
    /// - Returns: Nil if this host has no such socket, if no program has it open any more, or if the connection does
    ///   not stand.
    package func user(of local: End, to remote: End) -> uid_t? {
        // The kernel falls back to a listening socket at `local`. Its state differs.
        let entry = Netlink.entry(
            from: descriptor, type: Self.byFamily, Self.request(local, remote), size: Self.longestAnswer)
        guard let entry, entry.count >= Self.size, entry[0] == UInt8(truncatingIfNeeded: AF_INET),
            entry[1] == Self.established
        else { return nil }
        return entry.withUnsafeBytes { bytes in
            // After a close, an entry has user 0 and inode 0.
            guard Netlink.load(bytes[...], 68, as: UInt32.self) != 0,
                Netlink.load(bytes[...], 4, as: UInt16.self) == local.port.bigEndian,
                Netlink.load(bytes[...], 6, as: UInt16.self) == remote.port.bigEndian,
                Netlink.load(bytes[...], 8, as: UInt32.self) == local.address.bigEndian,
                Netlink.load(bytes[...], 24, as: UInt32.self) == remote.address.bigEndian
            else { return nil }
            return Netlink.load(bytes[...], 64, as: uid_t.self)
        }
    }

    /// Returns a `struct inet_diag_req_v2` for exactly one connection.
    private static func request(_ local: End, _ remote: End) -> [UInt8] {
        var request = [UInt8(truncatingIfNeeded: AF_INET), UInt8(truncatingIfNeeded: IPPROTO_TCP), 0, 0]
        Netlink.append(UInt32.max, to: &request)  // In every state.
        Netlink.append(local.port.bigEndian, to: &request)
        Netlink.append(remote.port.bigEndian, to: &request)
        for end in [local, remote] {
            Netlink.append(end.address.bigEndian, to: &request)
            request += [UInt8](repeating: 0, count: 12)
        }
        Netlink.append(UInt32(0), to: &request)  // On any interface.
        Netlink.append(UInt64.max, to: &request)  // INET_DIAG_NOCOOKIE, twice.
        return request
    }
}
