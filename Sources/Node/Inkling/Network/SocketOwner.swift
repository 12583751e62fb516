import Glibc
import InklingCore
import Synchronization

/// The owners of UDP sockets of this host, as the kernel reports them.
package enum SocketOwner {
    /// Returns a function that checks whether a socket of this program's own user has an address of this host (L-78).
    ///
    /// An answer is valid for a second. The function asks the kernel at most 200 times a second. Beyond that the answer
    /// is no, and the socket's owner needs another attempt.
    package static func check() -> @Sendable (Address) -> Bool {
        let memory = Mutex(Memory())
        return { address in memory.withLock { $0.isOwnUsers(address, .now) } }
    }

    private struct Memory {
        private static let period = Duration.seconds(1)
        private static let questions = 200

        private var answers: [Address: Bool] = [:]
        private var begun: ContinuousClock.Instant?

        mutating func isOwnUsers(_ address: Address, _ now: ContinuousClock.Instant) -> Bool {
            if begun.map({ now - $0 >= Memory.period }) ?? true { (begun, answers) = (now, [:]) }
            if let answer = answers[address] { return answer }
            guard answers.count < Memory.questions else { return false }
            let answer = user(of: address) == geteuid()
            answers[address] = answer
            return answer
        }
    }

    /// Returns the user ID of the socket that sends from an address of this host.
    ///
    /// A socket can send from any address of the host, even from one that it is not bound to. So all sockets with the
    /// port have to belong to one user. One of them has to be bound to the address or to all addresses.
    ///
    /// - Parameter address: An address of this host, IPv4 or IPv6, with the port.
    /// - Returns: Nil if there is no such socket, if sockets of several users have the port, or if the kernel does not
    ///   answer.
    package static func user(of address: Address) -> uid_t? {
        guard address.port != 0 else { return nil }
        var users: Set<uid_t> = []
        var isBound = false
        for family in [AF_INET, AF_INET6] {
            let isWhole = Netlink.dump(.socketDiagnosis, type: 20, request(family, address.port)) { body in
                // The port in struct inet_diag_msg. The kernel leaves out sockets with other ports.
                guard Netlink.load(body, 4, as: UInt16.self) == address.port.bigEndian,
                    let user = Netlink.load(body, 64, as: uid_t.self),
                    let bound = Address(netlink: body.dropFirst(8).prefix(family == AF_INET ? 4 : 16))
                else { return }
                users.insert(user)
                isBound =
                    isBound || bound.isUnspecified(family)
                    || (bound.high == address.high && bound.low == address.low)
            }
            // A host without IPv6 refuses the second request.
            guard isWhole || family == AF_INET6 else { return nil }
        }
        return isBound && users.count == 1 ? users.first : nil
    }

    /// Returns a request of type SOCK_DIAG_BY_FAMILY for all UDP sockets with a local port, a `struct
    /// inet_diag_req_v2`.
    private static func request(_ family: CInt, _ port: UInt16) -> [UInt8] {
        var request = [UInt8(truncatingIfNeeded: family), UInt8(truncatingIfNeeded: IPPROTO_UDP), 0, 0]
        Netlink.append(UInt32.max, to: &request)  // In every state.
        Netlink.append(port.bigEndian, to: &request)
        // Zeros in the rest of struct inet_diag_sockid match any socket.
        return request + [UInt8](repeating: 0, count: 46)
    }
}

extension Address {
    fileprivate func isUnspecified(_ family: CInt) -> Bool { family == AF_INET ? ipv4 == 0 : high == 0 && low == 0 }
}
