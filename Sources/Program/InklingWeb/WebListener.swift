import Glibc
import Inkling

/// The listening socket of the page's server.
package struct WebListener {
    /// The reason why the server can't listen.
    package enum Failure: Error, Equatable {
        case portInUse(UInt16)
        case system(Int32)

        package var text: String {
            switch self {
            case .portInUse(let port): "port \(port) is in use; choose another one with --port, or none"
            case .system(let code): "the page can't be served: \(String(cString: strerror(code)))"
            }
        }
    }

    /// The descriptor, which the caller closes.
    package let descriptor: Int32
    package let address: WebAddress

    /// Listens at a random address of this host.
    ///
    /// - Parameter port: 0 for any free one.
    package init(port: UInt16, using random: inout some RandomNumberGenerator) throws(Failure) {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = WebAddress.random(using: &random).bigEndian
        let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let socket = Glibc.socket(AF_INET, Int32(kind), 0)
        guard socket >= 0 else { throw .system(errno) }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && Glibc.listen(socket, SOMAXCONN) == 0
                    && getsockname(socket, $0, &length) == 0
            }
        }
        guard status else {
            let code = errno
            close(socket)
            throw code == EADDRINUSE ? .portInUse(port) : .system(code)
        }
        descriptor = socket
        address = WebAddress(ConnectionOwner.End(name))
    }
}
