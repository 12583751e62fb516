import Glibc
import InklingConformance
import ProcessSupport

/// A UDP socket that is bound to an address of loopback.
struct StageSocket {
    private let socket: UDPSocket
    let address: UDPAddress
    var descriptor: Int32 { socket.descriptor }

    init(host: String) throws(StageError) {
        do {
            socket = try UDPSocket(UDPAddress(host: host, port: 0).end)
        } catch {
            throw StageError("\(host): \(error)")
        }
        socket.setReceiveBuffer(4 << 20)
        address = UDPAddress(host: host, port: Int(socket.end.port))
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
    func setHopLimit(_ limit: Int) { socket.setHopLimit(limit) }

    func send(_ bytes: [UInt8], to destination: UDPAddress) { socket.send(bytes, to: destination.end) }

    /// All that has come, and how long ago.
    func receive() -> [(bytes: [UInt8], source: UDPAddress, age: Duration)] {
        var received: [(bytes: [UInt8], source: UDPAddress, age: Duration)] = []
        while let (bytes, source) = socket.receive() { received.append((bytes, UDPAddress(source), age())) }
        return received
    }
}

extension UDPAddress {
    fileprivate var end: UDPSocket.End {
        let isIPv6 = host.contains(":")
        var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
        inet_pton(isIPv6 ? AF_INET6 : AF_INET, host, &bytes)
        return UDPSocket.End(bytes, port: UInt16(port))
    }

    fileprivate init(_ end: UDPSocket.End) {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        inet_ntop(end.address.count == 16 ? AF_INET6 : AF_INET, end.address, &text, socklen_t(text.count))
        let host = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.init(host: host, port: Int(end.port))
    }
}
