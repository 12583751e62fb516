import Glibc
import InklingCore

/// A test of whether this host lets its own datagrams through.
package enum SocketProbe {
    package struct Echo: Equatable, Sendable {
        package let address: String
        /// The error; nil if the datagram came back.
        package let failure: String?

        /// Whether the system refused to send the datagram, for example because of a firewall's rule.
        package var isRefused: Bool { failure == UDPSocket.errorText(EPERM) }
    }

    package enum Failure: Error, Equatable {
        case portTaken, portNotAllowed
        case other(String)
    }

    /// Binds a port as a node does, and sends a datagram to each own address of some interfaces.
    package static func run(port: UInt16, interfaces: [NetworkInterface]) throws(Failure) -> (port: UInt16, [Echo]) {
        let socket: UDPSocket
        do {
            socket = try UDPSocket(port: port, address: nil)
        } catch {
            switch error {
            case .portTaken: throw .portTaken
            case .portNotAllowed: throw .portNotAllowed
            case .notOwnAddress: throw .other("no address")
            case .system(let reason): throw .other(reason)
            }
        }
        defer { close(socket.descriptor) }
        let echoes = interfaces.flatMap { interface in
            interface.networks.compactMap { network -> Echo? in
                let address = Address(
                    high: network.address.high, low: network.address.low, port: socket.port,
                    scope: interface.index)
                let failure = echo(socket, address)
                // The system still ensures that no other host has the address.
                if failure == UDPSocket.errorText(EADDRNOTAVAIL) { return nil }
                return Echo(address: address.hostText, failure: failure)
            }
        }
        return (socket.port, echoes)
    }

    private static func echo(_ socket: UDPSocket, _ address: Address) -> String? {
        let sent = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        if let error = socket.send(sent, to: address) { return UDPSocket.errorText(error) }
        // The probe ignores datagrams from others.
        for _ in 0..<20 {
            var readable = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&readable, 1, 500) > 0 else { break }
            var buffer = [UInt8](repeating: 0, count: 2_048)
            let count = recv(socket.descriptor, &buffer, buffer.count, 0)
            if count == sent.count, Array(buffer.prefix(count)) == sent { return nil }
        }
        return "it did not arrive"
    }
}

extension Address {
    /// The address without its port.
    package var hostText: String {
        if let ipv4 { return [24, 16, 8, 0].map { String(ipv4 >> $0 & 255) }.joined(separator: ".") }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let isKnown = bytes.withUnsafeBytes { inet_ntop(AF_INET6, $0.baseAddress, &text, socklen_t(text.count)) } != nil
        let host = isKnown ? String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : ""
        var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        guard scope != 0, if_indextoname(scope, &name) != nil else { return host }
        return host + "%" + String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The address with its port, HOST:PORT or [IPV6]:PORT.
    package var peerText: String { ipv4 == nil ? "[\(hostText)]:\(port)" : "\(hostText):\(port)" }
}
