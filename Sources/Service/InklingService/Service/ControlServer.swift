import Glibc
import InklingModel
import NIOCore
import NIOPosix

/// The Unix socket of a daemon. Each connection is a front end that exchanges lines of JSON.
///
/// All work happens on the node's event loop, and nothing blocks there. The service holds and bounds the output that a
/// front end does not read.
package final class ControlServer {
    private let service: Service
    private let state: String
    private let texts: JSONTexts
    private let cache = EventLineCache()
    private let eventLoop: any EventLoop
    private let report: (String) -> Void
    private let steady: () -> Int64
    private var channel: (any Channel)?
    private var socket: ListeningSocket?
    private var connections: [ObjectIdentifier: ControlConnection] = [:]
    private var timer: (at: Int64, task: Scheduled<Void>)?
    private var closing: [() -> Void] = []
    private var isClosing = false
    /// The connections with lines that were not sent yet.
    private var unsent: [ControlConnection] = []
    private var isInTurn = false
    /// The time of the last lines sent, in milliseconds.
    private var sentAt: Int64 = 0
    private var isSendScheduled = false

    /// Makes a server that does not listen yet.
    ///
    /// - Parameters:
    ///   - state: The device and inode of the state directory, in the form of `ready` (A-15).
    ///   - steady: The clock of the service, in milliseconds.
    ///   - report: Called with each line for the log.
    package init(
        _ service: Service, state: String, texts: JSONTexts, on eventLoop: any EventLoop, steady: @escaping () -> Int64,
        report: @escaping (String) -> Void
    ) {
        self.service = service
        self.state = state
        self.texts = texts
        self.eventLoop = eventLoop
        self.steady = steady
        self.report = report
        service.deadlineChanged = { [weak self] in self?.schedule() }
        service.turn = { [weak self] body in if let self { turn(body) } else { body() } }
    }

    // MARK: Listening

    /// Starts to accept connections.
    ///
    /// - Parameter completion: Called on the event loop with the error, or nil.
    package func listen(on socket: ListeningSocket, completion: @escaping ((any Error)?) -> Void) {
        self.socket = socket
        let server = NIOLoopBound(self, eventLoop: eventLoop)
        ServerBootstrap(group: eventLoop)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    // SwiftNIO accepts connections without SOCK_CLOEXEC.
                    try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
                        _ = fcntl($0, F_SETFD, FD_CLOEXEC)
                    }
                    try channel.pipeline.syncOperations.addHandler(ControlConnection(server.value))
                }
            }
            .withBoundSocket(socket.descriptor)
            .assumeIsolated().whenComplete { result in
                switch result {
                case .success(let channel):
                    self.channel = channel
                    completion(nil)
                case .failure(let error): completion(error)
                }
            }
    }

    /// Accepts no further connections, and removes the socket's name. Existing connections stay.
    package func stopListening() {
        socket?.remove()
        socket = nil
        channel?.close(promise: nil)
        channel = nil
    }

    /// Calls back when all connections are closed. Each has one second in which its front end may read the rest of the
    /// output.
    package func close(_ completion: @escaping () -> Void) {
        stopListening()
        timer?.task.cancel()
        timer = nil
        guard !connections.isEmpty else { return completion() }
        closing.append(completion)
        guard !isClosing else { return }
        isClosing = true
        eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) {
            for connection in self.connections.values { connection.abort() }
        }
    }

    // MARK: Connections

    /// Returns the front end of a new connection, or the reason for refusing it.
    fileprivate func accept(_ connection: ControlConnection, user: uid_t?) -> Result<FrontEnd, NodeError> {
        connections[ObjectIdentifier(connection)] = connection
        cache.isShared = connections.count > 1
        guard user == geteuid() else {
            report("a front end of another user was turned away (\(user.map { "user ID \($0)" } ?? "unknown"))")
            return .failure(.other(code: "other-user", text: "This daemon is another user's."))
        }
        guard !isClosing, let frontEnd = service.attach() else {
            report("a front end was turned away: there are \(service.frontEndCount)")
            return .failure(
                .other(code: "too-many-front-ends", text: "This daemon has \(DaemonLimits.frontEnds) front ends."))
        }
        return .success(frontEnd)
    }

    fileprivate func interface(
        _ frontEnd: FrontEnd, write: @escaping ([UInt8]) -> Void, ended: @escaping (JSONInterface.End) -> Void
    ) -> JSONInterface {
        JSONInterface(
            frontEnd, .connection(state: state, isHolder: service.level == .holder), texts: texts, cache: cache,
            write: write, ended: ended)
    }

    fileprivate func cutOff() { report("a front end that did not read was cut off") }

    fileprivate func closed(_ connection: ControlConnection) {
        connections[ObjectIdentifier(connection)] = nil
        cache.isShared = connections.count > 1
        guard connections.isEmpty else { return }
        for completion in closing { completion() }
        closing = []
    }

    // MARK: Output

    /// Processes one input, and then sends the lines that it caused. While one input follows the other, all lines of
    /// one turn of the event loop to a connection share one write.
    fileprivate func turn(_ body: () -> Void) {
        guard !isInTurn else { return body() }
        isInTurn = true
        body()
        isInTurn = false
        guard !unsent.isEmpty else { return }
        // The job of the event loop takes 3,000 instructions.
        if steady() == sentAt { scheduleSend() } else { send() }
    }

    /// Sends the lines of a connection after this input, or at the end of this turn of the event loop.
    fileprivate func sendLater(_ connection: ControlConnection) {
        unsent.append(connection)
        if !isInTurn { scheduleSend() }
    }

    private func scheduleSend() {
        guard !isSendScheduled else { return }
        isSendScheduled = true
        eventLoop.assumeIsolated().execute {
            self.isSendScheduled = false
            self.send()
        }
    }

    private func send() {
        guard !unsent.isEmpty else { return }
        sentAt = steady()
        let connections = unsent
        unsent = []
        for connection in connections { connection.send() }
    }

    // MARK: Time

    private func schedule() {
        let deadline = isClosing ? nil : service.nextDeadline
        guard timer?.at != deadline else { return }
        timer?.task.cancel()
        timer = nil
        guard let deadline else { return }
        let delay = TimeAmount.milliseconds(max(deadline - steady(), 0))
        let task = eventLoop.assumeIsolated().scheduleTask(in: delay) { [weak self] in
            guard let self else { return }
            timer = nil
            service.tick()
            schedule()
        }
        timer = (deadline, task)
    }
}

/// One connection of a daemon's socket.
private final class ControlConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let server: ControlServer
    private var channel: (any Channel)?
    private var frontEnd: FrontEnd?
    private var interface: JSONInterface?
    private var isReading = false
    private var isClosing = false
    private var descriptor: CInt = -1
    /// The lines not sent yet.
    private var unsent: [UInt8] = []
    private var isSendDue = false
    /// The bytes in the channel, which wait until the front end has room.
    private var waiting = 0
    /// The bytes of lines that may wait beside the channel.
    private static let unsentRoom = 65_536

    init(_ server: ControlServer) {
        self.server = server
    }

    func channelActive(context: ChannelHandlerContext) {
        channel = context.channel
        try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
            descriptor = $0
        }
        switch server.accept(self, user: Self.user(of: context.channel)) {
        case .failure(let error):
            write(
                ErrorLine(code: error.code, text: error.description).outputLine.bytes())
            close(atOnce: false)
        case .success(let frontEnd):
            self.frontEnd = frontEnd
            let interface = server.interface(
                frontEnd, write: { [weak self] in self?.write($0) }, ended: { [weak self] in self?.ended($0) })
            self.interface = interface
            interface.begin()
            frontEnd.attach { [weak self] output in
                self?.interface?.receive(output)
                self?.read()
            }
            read()
        }
    }

    /// Returns the user at the other end, as the system reports it.
    private static func user(of channel: any Channel) -> uid_t? {
        guard let provider = channel as? any SocketOptionProvider else { return nil }
        var user: uid_t?
        // The fields of struct ucred: a process, a user and a group.
        let credentials: EventLoopFuture<(pid_t, uid_t, gid_t)> = provider.unsafeGetSocketOption(
            level: .socket, name: .init(rawValue: SO_PEERCRED))
        credentials.assumeIsolated().whenSuccess { user = $0.1 }
        return user
    }

    // MARK: Input

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        server.turn { interface?.receive(Array(buffer: unwrapInboundIn(data))) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        read()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed = event as? ChannelEvent { interface?.endOfInput() }
    }

    /// Reads more input, unless output waits to be written or a request waits for its answer.
    private func read() {
        guard !isReading, !isClosing, let channel, channel.isWritable, interface?.wantsInput == true else { return }
        isReading = true
        channel.read()
    }

    // MARK: Output

    private func write(_ line: [UInt8]) {
        guard channel != nil, !isClosing else { return }
        if unsent.isEmpty { unsent = line } else { unsent += line }
        // The channel counts the bytes of a slow front end, which then takes no more.
        if waiting > 0 || unsent.count > Self.unsentRoom { enqueue() }
        guard !isSendDue else { return }
        isSendDue = true
        server.sendLater(self)
    }

    /// Sends all lines.
    func send() {
        isSendDue = false
        guard let channel else { return }
        if waiting == 0, !unsent.isEmpty {
            switch DirectWrite.write(unsent[...], to: descriptor) {
            case .wrote(let count): if count < unsent.count { unsent.removeFirst(count) } else { unsent = [] }
            case .failed: return channel.close(promise: nil)
            }
        }
        if !unsent.isEmpty { enqueue() }
        if waiting > 0 { channel.flush() }
    }

    /// Passes the lines to the channel in parts, each of which shows that the front end reads.
    private func enqueue() {
        guard let channel else { return }
        var rest = unsent[...]
        unsent = []
        waiting += rest.count
        while !rest.isEmpty {
            let part = rest.prefix(Self.unsentRoom)
            rest = rest.dropFirst(part.count)
            let count = part.count
            channel.write(ByteBuffer(bytes: part)).assumeIsolated().whenComplete { _ in
                self.waiting -= count
                self.frontEnd?.tookBytes()
            }
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        interface?.isHeld = !context.channel.isWritable
        // Answers that the node held back may have filled the channel again.
        frontEnd?.takesEvents = context.channel.isWritable
        read()
    }

    // MARK: The end

    private func ended(_ end: JSONInterface.End) {
        if end == .node(.tooSlow) { server.cutOff() }
        frontEnd?.stop {}
        frontEnd = nil
        close(atOnce: end == .node(.tooSlow))
    }

    /// Closes the connection.
    ///
    /// - Parameter atOnce: Whether to discard output that can't be written now.
    private func close(atOnce: Bool) {
        guard !isClosing, let channel else { return }
        isClosing = true
        send()
        guard !atOnce else { return abort() }
        channel.writeAndFlush(ByteBuffer()).assumeIsolated().whenComplete { _ in self.channel?.close(promise: nil) }
        channel.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(DaemonLimits.readerPatience)) {
            self.abort()
        }
    }

    func abort() { channel?.close(promise: nil) }

    func channelInactive(context: ChannelHandlerContext) {
        channel = nil
        unsent = []
        isClosing = true
        frontEnd?.stop {}
        frontEnd = nil
        interface = nil
        server.closed(self)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
