import Glibc
import InklingCLI
import Testing

@Suite("What the service manager is told")
struct ServiceManagerTests {
    /// A datagram socket with an abstract name.
    private final class Receiver {
        let name: String
        private let descriptor: Int32

        init(_ word: String) throws {
            name = "@inkling-test-\(getpid())-\(word)"
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = [0] + Array(name.utf8.dropFirst())
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
            let status = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
            }
            try #require(status == 0)
        }

        deinit { close(descriptor) }

        /// Returns the next datagram, or nil.
        func next() -> String? {
            var buffer = [UInt8](repeating: 0, count: 1_024)
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
        }
    }

    @Test("who asked to hear of it is told when it is ready, reads its settings anew, and ends; nobody else is")
    func states() throws {
        let receiver = try Receiver("states")
        let manager = ServiceManager { $0 == "NOTIFY_SOCKET" ? receiver.name : nil }
        manager.ready()
        #expect(receiver.next() == "READY=1")
        manager.reloading()
        let lines = receiver.next()?.split(separator: "\n").map(String.init) ?? []
        #expect(lines.count == 2 && lines[0] == "RELOADING=1")
        #expect(Int64(lines[1].dropFirst("MONOTONIC_USEC=".count)) ?? 0 > 0)
        manager.status("in 2 chats")
        #expect(receiver.next() == "STATUS=in 2 chats")
        manager.stopping()
        #expect(receiver.next() == "STOPPING=1")
        ServiceManager { _ in nil }.ready()
        ServiceManager { $0 == "NOTIFY_SOCKET" ? "relative" : nil }.ready()
        #expect(receiver.next() == nil)
    }
}
