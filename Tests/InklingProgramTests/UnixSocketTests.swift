import Glibc
import InklingCLI
import InklingService
import ProcessSupport
import Testing

@Suite("The first line of a connection")
struct UnixSocketTests {
    /// Two ends of a connection.
    private static func pair() throws -> (near: Int32, far: Int32) {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    private static func line(of descriptor: Int32, within time: Int32 = 5_000) -> String? {
        let line = UnixSocket.firstLine(of: descriptor, within: time, maximumBytes: 100)
        return line.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("it is seen as soon as it is whole, and is there to be read all the same")
    func seen() async throws {
        let (near, far) = try Self.pair()
        write(far, "read", 4)
        Task.detached {
            try await Task.sleep(for: .milliseconds(20))
            write(far, "y\nmore", 6)
        }
        #expect(Self.line(of: near) == "ready" && Self.line(of: near) == "ready")
        var bytes = [UInt8](repeating: 0, count: 100)
        #expect(read(near, &bytes, 100) == 10)
        close(near)
        close(far)
    }

    @Test("one that does not come, or does not end, is not waited for")
    func none() throws {
        let (near, far) = try Self.pair()
        #expect(Self.line(of: near, within: 20) == nil)
        write(far, "half", 4)
        #expect(Self.line(of: near, within: 20) == nil)
        write(far, String(repeating: "x", count: 200), 200)
        #expect(Self.line(of: near) == nil, "it is too long")
        close(far)
        let (other, end) = try Self.pair()
        close(end)
        #expect(Self.line(of: other) == nil, "nobody is there any more")
        close(near)
        close(other)
    }
}

@Suite("Whether somebody listens at a path")
struct ListeningTests {
    @Test("the system's list tells, of a path with blanks too, and not when nobody listens any more")
    func listening() throws {
        let folder = try TemporaryFolder("inkling socket")
        let path = folder.path + "/a socket"
        func isListening() throws -> Bool {
            UnixSocket.isListening(at: path, in: try SmallFile.text("/proc/net/unix", maximumBytes: 16 << 20))
        }
        #expect(try !isListening())
        let socket = try ListeningSocket(at: path)
        #expect(try isListening())
        socket.remove()
        close(socket.descriptor)
        #expect(try !isListening())
    }

    @Test("who answers at a path counts by their user ID, and a path where nobody listens any more does not count")
    func answered() throws {
        let folder = try TemporaryFolder("inkling-socket")
        let path = folder.path + "/socket"
        let socket = try ListeningSocket(at: path)
        #expect(UnixSocket.isAnswered(at: path, by: [geteuid()]))
        #expect(!UnixSocket.isAnswered(at: path, by: [geteuid() + 1]))
        close(socket.descriptor)
        #expect(!UnixSocket.isAnswered(at: path, by: [geteuid()]))
        socket.remove()
    }

    @Test("a connection is no listener, nor is a path that begins the same")
    func others() {
        let table = """
            Num       RefCount Protocol Flags    Type St Inode Path
            0000000000000000: 00000002 00000000 00010000 0001 01 71234 /run/user/5/inkling/socket
            0000000000000000: 00000003 00000000 00000000 0001 03 71235 /run/user/6/inkling/socket
            0000000000000000: 00000002 00000000 00010000 0001 01 71236
            """
        #expect(UnixSocket.isListening(at: "/run/user/5/inkling/socket", in: table))
        #expect(!UnixSocket.isListening(at: "/run/user/6/inkling/socket", in: table))
        #expect(!UnixSocket.isListening(at: "/run/user/5/inkling", in: table))
    }
}
