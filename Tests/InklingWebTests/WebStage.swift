import Glibc
import InklingService
import InklingWeb
import NIOCore
import NIOPosix
import ProcessSupport
import Synchronization
import Testing

/// A daemon's socket that a test serves by hand.
final class FakeDaemon: Sendable {
    static let state = "2049:131075"

    private let folder: TemporaryFolder
    private let listener: Int32
    /// The obstacle to a connection; nil while the daemon listens.
    let obstacle = Mutex<DaemonObstacle?>(nil)
    let starts = Mutex(0)
    /// The connections, which stay open until the end of the test.
    private let streams = Mutex<[RawStream]>([])

    var path: String { folder.path + "/socket" }

    init() throws {
        folder = try TemporaryFolder("inkling-web")
        listener = try ListeningSocket(at: folder.path + "/socket").descriptor
    }

    /// Returns the next connection of the server.
    func accept() throws -> RawStream {
        var readable = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
        try #require(poll(&readable, 1, RawStream.patience) > 0, "the server does not connect to the daemon")
        let stream = RawStream(Glibc.accept(listener, nil, nil))
        streams.withLock { $0.append(stream) }
        return stream
    }

    /// Returns the next connection, after the first line of a daemon.
    func greet(_ line: String = greeting) throws -> RawStream {
        let stream = try accept()
        stream.write(line + "\n")
        return stream
    }

    /// Whether the server has made a connection that waits.
    var isWanted: Bool {
        var readable = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
        return poll(&readable, 1, 0) > 0
    }

    static let greeting =
        #"{"on":"ready","at":1.000000,"user":"mixq6mdsehkhde7y","name":"Alice","port":1,"version":"0.3.0","#
        + #""interface":1,"state":"\#(state)"}"#

    var access: DaemonAccess {
        DaemonAccess(
            connect: { [self] in
                if let obstacle = obstacle.withLock({ $0 }) { return .failure(obstacle) }
                let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
                var name = sockaddr_un()
                name.sun_family = sa_family_t(AF_UNIX)
                withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
                let status = withUnsafePointer(to: name) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                    }
                }
                precondition(status == 0, "the daemon's socket is there")
                _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
                return .success(descriptor)
            },
            start: { [self] in
                starts.withLock { $0 += 1 }
                obstacle.withLock { $0 = nil }
                return nil
            },
            state: { Self.state },
            text: { "\($0)" })
    }

    deinit { Glibc.close(listener) }
}

/// A page's server on its own address, with a daemon that the test serves.
final class WebStage: Sendable {
    let address: WebAddress
    let daemon: FakeDaemon
    private let loop: any EventLoop
    private let server: NIOLoopBoundBox<WebServer?>
    private let log: Log

    /// The lines of the server's log.
    private final class Log: Sendable {
        let lines = Mutex<[String]>([])
        /// The memories that the server stored, and the chats that it examined.
        let memories = Mutex<[PageMemory]>([])
        let examined = Mutex<[String]>([])
    }

    init(_ limits: WebLimits = WebStage.limits, memory: PageMemory = PageMemory()) async throws {
        var random = SystemRandomNumberGenerator()
        let listener = try WebListener(port: 0, using: &random)
        let (daemon, log) = (try FakeDaemon(), Log())
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let server = NIOLoopBoundBox<WebServer?>.makeEmptyBox(eventLoop: loop)
        let listening = loop.makePromise(of: Void.self)
        let (descriptor, address) = (listener.descriptor, listener.address)
        loop.execute {
            let host = PageHost(
                memory: memory, store: { memory in log.memories.withLock { $0.append(memory) } },
                examine: { chat, completion in
                    log.examined.withLock { $0.append(chat) }
                    completion(chat == "nothing" ? nil : #"{"ok":true}"#)
                })
            let made = WebServer(at: address, daemon.access, for: host, limits, on: loop) { line in
                log.lines.withLock { $0.append(line) }
            }
            server.value = made
            listening.completeWith(Result { try made.listen(on: descriptor) })
        }
        try await listening.futureResult.get()
        (self.address, self.daemon, self.loop, self.server, self.log) = (address, daemon, loop, server, log)
    }

    /// Limits under which no time runs out in a test, except for what makes a test wait.
    static var limits: WebLimits {
        var limits = WebLimits()
        limits.patience = .seconds(60)
        limits.ping = .seconds(60)
        limits.silence = .seconds(60)
        limits.retry = .milliseconds(5)
        limits.closing = .milliseconds(50)
        return limits
    }

    var memory: PageMemory? { log.memories.withLock { $0.last } }
    var examined: [String] { log.examined.withLock { $0 } }
    var reports: [String] { log.lines.withLock { $0 } }

    func run<Value: Sendable>(_ body: @escaping @Sendable (WebServer) throws -> Value) async throws -> Value {
        try await loop.submit { [server] in
            guard let server = server.value else { throw ChannelError.ioOnClosedChannel }
            return try body(server)
        }.get()
    }

    /// Returns the key of a fresh ticket.
    func ticket() async throws -> [UInt8] {
        let link = try await run { $0.link() }
        return try #require(link.ticket)
    }

    /// Returns an open page, with its daemon's connection after the first line.
    func page(receiveBuffer: Int32? = nil) async throws -> (page: WebClient, daemon: RawStream, session: [UInt8]) {
        let client = try WebClient(address, receiveBuffer: receiveBuffer)
        let answer = try #require(client.open("ticket", try await ticket()))
        let session = try #require(WebClient.bytes("session", of: answer))
        let stream = try daemon.greet()
        #expect(client.text() == FakeDaemon.greeting)
        return (client, stream, session)
    }

    /// Waits until a condition holds.
    func wait(_ what: String, _ condition: @escaping @Sendable (WebServer) -> Bool) async throws {
        for _ in 0..<2_000 {
            if try await run(condition) { return }
            try await Task.sleep(for: .milliseconds(2))
        }
        Issue.record("it did not come to that: \(what)")
    }

    func end() async throws {
        let closed = loop.makePromise(of: Void.self)
        try await run { $0.close { closed.succeed() } }
        try await closed.futureResult.get()
    }
}
