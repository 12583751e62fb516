import Inkling
import InklingModel
import NIOCore
import NIOPosix

/// A daemon's node, which a front end uses over a connection on its own event loop.
///
/// Callers create, use and release the object on that event loop. While ``takesEvents`` is false, answers wait too.
package final class AttachedNode: ChatService {
    /// The reason why a connection does not lead to the node.
    package enum Failure: Error, Equatable {
        /// The daemon has this other state directory.
        case otherState(String)
        /// The daemon's interface is later than this program knows. The values are the interface's version and the
        /// version of the daemon's program.
        case newerInterface(Int, version: String)
        /// The daemon refused the connection, or wrote a line that the program can't read.
        case refused(NodeError)
        /// The connection ended.
        case ended
    }

    private enum Phase {
        /// The daemon has not reported the node's identity yet.
        case beginning((Result<AttachedNode, Failure>) -> Void)
        case running
        case ended
    }

    private struct Pending {
        let id: RequestID
        let request: ServiceRequest
        let asked: NIODeadline
        /// The answer to a request that the program does not send to the daemon; nil for requests that it sends.
        var answer: ServiceAnswer?
    }

    private let eventLoop: any EventLoop
    /// The device and inode of the state directory that the daemon must have; nil for any directory.
    private let state: String?
    private var phase: Phase
    /// The node's identity; nil until the daemon reports it.
    private var known: NodeIdentity?
    /// The version of the daemon's program, from `ready`.
    package private(set) var version = ""
    /// Whether the node is a prompt's, from `ready`.
    package private(set) var isHolder = false
    private var channel: (any Channel)?
    private var sink: ((ServiceOutput) -> Void)?
    /// Called in place of the sink with the line and line feed of an event that a JSON interface would write unchanged.
    /// Nil unless the front end is such an interface, with the version and the texts of the daemon.
    var passEvent: (([UInt8]) -> Void)?
    /// Outputs that arrived before the front end set its sink.
    private var early = CircularBuffer<ServiceOutput>()
    private var splitter = LineSplitter(longest: AttachedNode.longestLine)
    private var pending = CircularBuffer<Pending>()
    package private(set) var nextRequestID = RequestID()
    private let descriptor: CInt
    /// The bytes in the channel, which wait until the daemon has room.
    private var waiting = 0
    private var isFlushing = false
    private var isStopping = false
    /// Whether ``suspend(_:)`` closed the connection. ``resume()`` reports the loss.
    private var isSuspended = false
    private var isReading = false
    private var stopped: [() -> Void] = []
    private var answerTask: Scheduled<Void>?

    /// The time in which the daemon must answer a request. Otherwise the connection ends. Nil for no limit.
    package var longestAnswer: TimeAmount? {
        didSet { followAnswers() }
    }

    /// The longest time that ``stop(_:)`` waits for answers.
    private static let patience = TimeAmount.seconds(1)
    /// The time in which a daemon must report its node's identity.
    private static let beginning = TimeAmount.seconds(3)
    /// The longest line, in bytes. A list of all people whom a node knows is shorter, and so is a message of escapes
    /// only.
    private static let longestLine = 64 << 20

    /// Attaches to a daemon; called on the event loop.
    ///
    /// - Parameters:
    ///   - descriptor: A connected socket that does not block. The node closes it in any case.
    ///   - state: The device and inode of the state directory that the daemon must have, in the form of `ready`.
    ///   - completion: Called on the event loop, once.
    package static func attach(
        _ descriptor: Int32, state: String?, on eventLoop: any EventLoop,
        completion: @escaping (Result<AttachedNode, Failure>) -> Void
    ) {
        let node = AttachedNode(descriptor, state: state, on: eventLoop, completion)
        let box = NIOLoopBound(node, eventLoop: eventLoop)
        ClientBootstrap(group: eventLoop)
            .channelOption(.autoRead, value: false)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AttachedHandler(box.value))
                }
            }
            .withConnectedSocket(descriptor)
            .assumeIsolated().whenFailure { _ in node.finish(.lost) }
        eventLoop.assumeIsolated().scheduleTask(in: beginning) {
            guard case .beginning = node.phase else { return }
            node.fail(.refused(.other(code: "no-answer", text: "The daemon does not answer.")))
        }
    }

    private init(
        _ descriptor: CInt, state: String?, on eventLoop: any EventLoop,
        _ completion: @escaping (Result<AttachedNode, Failure>) -> Void
    ) {
        self.descriptor = descriptor
        self.state = state
        self.eventLoop = eventLoop
        phase = .beginning(completion)
    }

    // MARK: The interface of front ends

    package var identity: NodeIdentity {
        guard let known else { preconditionFailure("nobody has the node before it is known who it is") }
        return known
    }

    package func attach(_ sink: @escaping (ServiceOutput) -> Void) {
        self.sink = sink
        while let output = early.popFirst() { sink(output) }
    }

    @discardableResult
    package func ask(_ request: ServiceRequest) -> RequestID {
        let id = nextRequestID.advance()
        guard case .running = phase, !isStopping else { return id }
        guard let line = request.line else {
            let error = NodeError.other(code: "unsupported", text: "A daemon is not asked for this.")
            pending.append(Pending(id: id, request: request, asked: .now(), answer: .failed(error)))
            eventLoop.assumeIsolated().execute { self.answerOwn() }
            return id
        }
        pending.append(Pending(id: id, request: request, asked: .now()))
        write(line, id: id.number)
        followAnswers()
        return id
    }

    /// Sends an edit, which has no answer.
    package func report(_ request: ServiceRequest) -> Bool {
        guard request.isEdit, let line = request.line else {
            ask(request)
            return false
        }
        if case .running = phase, !isStopping { write(line) }
        return true
    }

    /// Sends the line of an edit unchanged; see ``RelayedLine/isEdit(_:)``.
    func pass(edit line: [UInt8]) {
        if case .running = phase, !isStopping { write(line + [UInt8(ascii: "\n")]) }
    }

    package var takesEvents = true {
        didSet { read() }
    }

    /// Closes the connection. ``resume()`` reports the loss.
    package func suspend(_ completion: @escaping () -> Void) {
        close(completion)
    }

    package func resume() { finish(.lost) }

    /// Detaches from the daemon after it answered all requests, or after a second. The daemon's node stays.
    package func stop(_ completion: @escaping () -> Void) {
        if case .ended = phase { return completion() }
        stopped.append(completion)
        guard !isStopping else { return }
        isStopping = true
        takesEvents = true
        write(ServiceRequest.quit.line, id: nextRequestID.advance().number)
        read()
        eventLoop.assumeIsolated().scheduleTask(in: Self.patience) { self.finish(.stopped) }
    }

    // MARK: The connection

    fileprivate func opened(_ channel: any Channel) {
        self.channel = channel
        read()
    }

    fileprivate func received(_ bytes: [UInt8]) {
        for piece in splitter.feed(bytes) {
            guard case .line(let line, _) = piece, receive(line) else {
                return fail(.refused(.other(code: "bad-line", text: "The daemon can't be understood.")))
            }
        }
    }

    fileprivate func readCompleted() {
        isReading = false
        read()
    }

    fileprivate func closed() {
        channel = nil
        guard !isSuspended else { return }
        finish(isStopping ? .stopped : .lost)
    }

    private func close(_ completion: @escaping () -> Void) {
        isSuspended = true
        guard let channel else { return completion() }
        channel.close().assumeIsolated().whenComplete { _ in completion() }
    }

    private func read() {
        guard takesEvents, !isReading, let channel else { return }
        isReading = true
        channel.read()
    }

    private func write(_ line: JSONLine?, id: UInt64? = nil) {
        guard var line else { return }
        if let id { line.add("id", .unsigned(id)) }
        write(line.bytes())
    }

    private func write(_ line: [UInt8]) {
        guard let channel else { return }
        var line = line[...]
        if waiting == 0 {
            switch DirectWrite.write(line, to: descriptor) {
            case .wrote(line.count): return
            case .wrote(let count): line = line.dropFirst(count)
            // The end of the connection must not come within the sink.
            case .failed: return eventLoop.assumeIsolated().execute { self.channel?.close(promise: nil) }
            }
        }
        let count = line.count
        waiting += count
        channel.write(ByteBuffer(bytes: line)).assumeIsolated().whenComplete { _ in self.waiting -= count }
        guard !isFlushing else { return }
        isFlushing = true
        eventLoop.assumeIsolated().execute {
            self.isFlushing = false
            self.channel?.flush()
        }
    }

    // MARK: Lines

    /// Receives a line.
    ///
    /// - Returns: Whether the line could be understood.
    private func receive(_ line: [UInt8]) -> Bool {
        if let passEvent, case .running = phase, RelayedLine.isUnchangedEvent(line) {
            passEvent(line + [UInt8(ascii: "\n")])
            return true
        }
        guard let members = try? JSONMembers(line) else { return false }
        receive(members)
        return true
    }

    private func receive(_ line: JSONMembers) {
        switch phase {
        case .beginning: begin(line)
        case .running:
            if let id = line["id"]?.unsigned {
                answer(line, id)
            } else if let why = AttachedEvents.endReason(line) {
                finish(isStopping ? .stopped : why)
            } else if let output = AttachedEvents.output(line) {
                deliver(output)
            }
        case .ended: break
        }
    }

    /// Reads the daemon's greeting, then the node's identity.
    private func begin(_ line: JSONMembers) {
        if line["on"]?.string == "identity" {
            guard case .identity(let identity) = ServiceAnswer(line, to: .identity),
                case .beginning(let completion) = phase
            else { return }
            known = identity
            phase = .running
            completion(.success(self))
        } else if let greeting = DaemonGreeting(line) {
            receive(greeting)
        } else if let output = AttachedEvents.output(line) {
            early.append(output)
        }
    }

    private func receive(_ greeting: DaemonGreeting) {
        switch greeting {
        case .ready(let ready):
            if let obstacle = ready.obstacle(state: state) { return fail(obstacle) }
            version = ready.version
            isHolder = ready.isHolder
            write(ServiceRequest.identity.line, id: 0)
        case .refusal(let error): fail(.refused(error))
        }
    }

    private func answer(_ line: JSONMembers, _ id: UInt64) {
        guard let next = pending.first, next.id.number == id else { return }
        pending.removeFirst()
        let answer = ServiceAnswer(line, to: next.request)
        if case .rename(let name) = next.request, answer == .done {
            known?.name = (try? NormalForm.displayName(name)) ?? name
        }
        deliver(.answer(answer, to: next.id))
        answerOwn()
    }

    private func answerOwn() {
        while let next = pending.first, let answer = next.answer {
            pending.removeFirst()
            deliver(.answer(answer, to: next.id))
        }
    }

    /// Starts the timer that ends the connection if the daemon does not answer in time.
    private func followAnswers() {
        guard case .running = phase, answerTask == nil, let longestAnswer, let first = pending.first else { return }
        answerTask = eventLoop.assumeIsolated().scheduleTask(deadline: first.asked + longestAnswer) {
            self.answerTask = nil
            if let first = self.pending.first, first.asked + longestAnswer <= .now() { self.finish(.silent) }
            self.followAnswers()
        }
    }

    private func deliver(_ output: ServiceOutput) {
        if case .user(let user) = output { known?.name = user.name }
        if let sink { sink(output) } else { early.append(output) }
    }

    private func fail(_ failure: Failure) {
        if case .beginning(let completion) = phase {
            phase = .ended
            channel?.close(promise: nil)
            completion(.failure(failure))
        } else {
            finish(.lost)
        }
    }

    private func finish(_ why: ServiceEnd) {
        switch phase {
        case .ended: return
        case .beginning: return fail(.ended)
        case .running: phase = .ended
        }
        channel?.close(promise: nil)
        channel = nil
        pending.removeAll()
        answerTask?.cancel()
        answerTask = nil
        deliver(.ended(why))
        for completion in stopped { completion() }
        stopped = []
    }
}

/// The connection of an ``AttachedNode``.
private final class AttachedHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let node: AttachedNode

    init(_ node: AttachedNode) {
        self.node = node
    }

    func channelActive(context: ChannelHandlerContext) { node.opened(context.channel) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        node.received(Array(buffer: unwrapInboundIn(data)))
    }

    func channelReadComplete(context: ChannelHandlerContext) { node.readCompleted() }

    func channelInactive(context: ChannelHandlerContext) { node.closed() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
