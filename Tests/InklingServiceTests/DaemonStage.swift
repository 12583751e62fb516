import Glibc
import InklingService
import InklingModel
import NIOCore
import NIOPosix
import ProcessSupport
import Testing

/// A daemon over a node that the tests control, on a real socket in its own folder.
final class DaemonStage: Sendable {
    static let state = "2049:131075"

    /// The objects that live on the event loop.
    final class World {
        let served: any ServiceNode
        let service: Service
        private let log = Log()
        /// Milliseconds by which the clock of the service is ahead.
        var ahead: Int64 {
            get { log.ahead }
            set { log.ahead = newValue }
        }
        /// The lines of the log.
        var reports: [String] { log.lines }
        let server: ControlServer

        /// The node that the tests control.
        var node: FakeNode {
            guard let node = served as? FakeNode else { fatalError("the node is a real one") }
            return node
        }

        init(
            _ loop: any EventLoop, _ served: any ServiceNode, _ texts: UnreadTexts
        ) {
            self.served = served
            service = Service(
                served, kept: [], announcesAbsence: false, counts: { !$0.isEmpty },
                Service.Surroundings(
                    steady: World.steady, awake: { [log] in World.steady() + log.ahead }, wall: { 5.5 },
                    keep: { $2(nil) },
                    rank: { _, _ in .met },
                    chat: { _, _ throws(NodeError) in throw .unknownInvitation(1) },
                    shutDown: {}, history: FakeHistory(), texts: texts))
            server = ControlServer(
                service, state: DaemonStage.state, texts: DaemonStage.texts, on: loop, steady: World.steady,
                report: { [log] in log.lines.append($0) })
            service.begin()
        }

        private final class Log {
            var lines: [String] = []
            var ahead: Int64 = 0
        }

        @Sendable static func steady() -> Int64 {
            Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000)
        }
    }

    static let texts = JSONTexts(
        version: "1.2.3", indicator: { "\($0.count) typing" }, notice: \.description, error: \.description)

    let loop: any EventLoop
    let folder: String
    var path: String { folder + "/run/socket" }
    private let world: NIOLoopBoundBox<World?>

    /// Starts a daemon.
    ///
    /// - Parameters:
    ///   - texts: Returns the unread texts that the node keeps, on the event loop.
    ///   - makeService: Makes the node, on the event loop.
    init(
        on loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next(),
        texts: @escaping @Sendable () -> UnreadTexts = { UnreadTexts() },
        _ makeService: @escaping @Sendable () -> any ServiceNode = { FakeNode() }
    ) async throws {
        folder = "/tmp/inkling-control-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        try #require(mkdir(folder, 0o700) == 0)
        self.loop = loop
        let world = NIOLoopBoundBox<World?>.makeEmptyBox(eventLoop: loop)
        self.world = world
        let socket = try ListeningSocket(at: folder + "/run/socket")
        let listening = loop.makePromise(of: Void.self)
        loop.execute {
            let made = World(loop, makeService(), texts())
            world.value = made
            made.server.listen(on: socket) { error in
                if let error { listening.fail(error) } else { listening.succeed() }
            }
        }
        try await listening.futureResult.get()
    }

    func run<Value: Sendable>(_ body: @escaping @Sendable (World) throws -> Value) async throws -> Value {
        try await loop.submit { [world] in try body(world.value.unsafelyUnwrapped) }.get()
    }

    /// Waits until a condition holds.
    func wait(_ what: String = "", _ condition: @escaping @Sendable (World) -> Bool) async throws {
        for _ in 0..<2_000 {
            if try await run(condition) { return }
            try await Task.sleep(for: .milliseconds(2))
        }
        Issue.record("it did not come to that: \(what)")
    }

    /// Attaches a front end on the event loop of the daemon.
    func attach(state: String? = DaemonStage.state) async throws -> AttachedStage {
        let descriptor = try connect()
        let attached = loop.makePromise(of: NIOLoopBound<StageFrontEnd>.self)
        let loop = loop
        loop.execute {
            AttachedNode.attach(descriptor, state: state, on: loop) { result in
                switch result {
                case .success(let node): attached.succeed(NIOLoopBound(StageFrontEnd(node), eventLoop: loop))
                case .failure(let failure): attached.fail(failure)
                }
            }
        }
        return AttachedStage(loop: loop, frontEnd: try await attached.futureResult.get())
    }

    /// Returns a connected socket that does not block.
    func connect() throws -> Int32 {
        let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let descriptor = socket(AF_UNIX, Int32(kind), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let status = withUnsafePointer(to: name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(status == 0)
        return descriptor
    }

    func end() async throws {
        let closed = loop.makePromise(of: Void.self)
        try await run { world in
            world.served.stop { world.server.close { closed.succeed() } }
        }
        try await closed.futureResult.get()
        rmdir(folder + "/run")
        rmdir(folder)
    }
}

/// A front end that is attached to a daemon.
struct AttachedStage: Sendable {
    let loop: any EventLoop
    let frontEnd: NIOLoopBound<StageFrontEnd>

    @discardableResult
    func run<Value: Sendable>(_ body: @escaping @Sendable (StageFrontEnd) throws -> Value) async throws -> Value {
        try await loop.submit { try body(frontEnd.value) }.get()
    }

    func ask(_ request: ServiceRequest) async throws -> ServiceAnswer? {
        let count = try await run { $0.answers.count }
        try await run { _ = $0.ask(request) }
        try await wait("an answer to \(request)") { $0.answers.count > count }
        return try await run { $0.answers.last }
    }

    func wait(_ what: String = "", _ condition: @escaping @Sendable (StageFrontEnd) -> Bool) async throws {
        for _ in 0..<2_000 {
            if try await run(condition) { return }
            try await Task.sleep(for: .milliseconds(2))
        }
        Issue.record("it did not come: \(what), but \(try await run { $0.outputs.suffix(5) })")
    }
}

/// A program that exchanges lines with a daemon, and reads only when a test calls for it.
final class RawFrontEnd {
    let descriptor: Int32
    private var held: [UInt8] = []

    init(_ stage: DaemonStage) throws {
        descriptor = try stage.connect()
        _ = fcntl(descriptor, F_SETFL, 0)
    }

    /// Uses the end of a socket, which then blocks.
    init(descriptor: Int32) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFL, 0)
    }

    /// Connects to the daemon as another user, which only root can do.
    init(_ stage: DaemonStage, of user: uid_t) throws {
        descriptor = try asOtherUser(user) { try stage.connect() }
        _ = fcntl(descriptor, F_SETFL, 0)
    }

    func write(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }

    func endInput() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Returns the next line; nil at the end, or if no line arrives in 5 s.
    func line() -> String? {
        while true {
            if let end = held.firstIndex(of: 0x0A) {
                defer { held.removeFirst(end + 1) }
                return String(decoding: held[..<end], as: UTF8.self)
            }
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard Glibc.poll(&poll, 1, 5_000) > 0 else { return nil }
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = read(descriptor, &bytes, bytes.count)
            guard count > 0 else { return nil }
            held += bytes.prefix(count)
        }
    }

    /// Reads a number of bytes, and drops them.
    func skip(_ count: Int) {
        var (rest, bytes) = (count, [UInt8](repeating: 0, count: 65_536))
        while rest > 0 {
            let read = read(descriptor, &bytes, min(rest, bytes.count))
            guard read > 0 else { return }
            rest -= read
        }
    }

    /// Returns the lines up to the line that contains a text.
    func lines(until text: String) -> [String] {
        var lines: [String] = []
        while let line = line() {
            lines.append(line)
            if line.contains(text) { break }
        }
        return lines
    }

    func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    deinit { Glibc.close(descriptor) }
}
