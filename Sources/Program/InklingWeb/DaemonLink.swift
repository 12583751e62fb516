import InklingService
import NIOCore
import NIOPosix

/// The events of a ``DaemonLink``.
protocol DaemonLinkOwner: AnyObject {
    /// A connection stands, and the daemon's first line has come.
    func daemonReady(_ line: [UInt8])
    func daemonLine(_ line: [UInt8])
    /// The lines of one read have come.
    func daemonReadCompleted()
    /// No connection stands any more. The link tries again.
    func daemonLost(_ obstacle: DaemonObstacle)
    /// ``DaemonLink/isWritable`` has changed.
    func daemonWritabilityChanged()
}

/// The connection of a page to its user's daemon, made again after each loss.
final class DaemonLink {
    private enum Phase {
        /// The first line has not come.
        case greeting((any Channel)?)
        case ready(any Channel)
        case lost(Scheduled<Void>)
        case closed
    }

    private let access: DaemonAccess
    private let limits: WebLimits
    private let eventLoop: any EventLoop
    private weak var owner: (any DaemonLinkOwner)?
    private var phase = Phase.greeting(nil)
    private var splitter = LineSplitter(longest: WebLimits.line)
    private var isReading = false
    private var greetingTask: Scheduled<Void>?
    /// Whether the node is a prompt's.
    private var isHolder = false
    /// The time at which the link starts a daemon in place of a prompt that has ended; nil for never.
    private var successorDue: NIODeadline?

    /// Whether the link reads lines. While it does not, the daemon's own limits act.
    var takesLines = true {
        didSet { read() }
    }

    init(_ access: DaemonAccess, _ limits: WebLimits, on eventLoop: any EventLoop, owner: any DaemonLinkOwner) {
        self.access = access
        self.limits = limits
        self.eventLoop = eventLoop
        self.owner = owner
    }

    // MARK: Queries

    /// Whether the daemon takes lines, once it is there.
    var isWritable: Bool {
        switch phase {
        case .greeting: false
        case .ready(let channel): channel.isWritable
        case .lost: true
        case .closed: false
        }
    }

    var isReady: Bool { if case .ready = phase { true } else { false } }
    var isLost: Bool { if case .lost = phase { true } else { false } }

    // MARK: Inputs

    func connect() {
        phase = .greeting(nil)
        splitter = LineSplitter(longest: WebLimits.line)
        isReading = false
        let descriptor: Int32
        switch access.connect() {
        case .failure(let obstacle): return lose(successor(of: obstacle))
        case .success(let connected): descriptor = connected
        }
        let handler = NIOLoopBound(DaemonHandler(self), eventLoop: eventLoop)
        ClientBootstrap(group: eventLoop)
            .channelOption(.autoRead, value: false)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(handler.value)
                }
            }
            .withConnectedSocket(descriptor)
            .assumeIsolated().whenFailure { _ in self.lose(Self.ended) }
        greetingTask = eventLoop.assumeIsolated().scheduleTask(in: limits.greeting) { [weak self] in
            self?.lose(DaemonObstacle(text: "Inkling does not answer.", starts: false))
        }
    }

    /// Starts a daemon in place of a prompt that ended some time ago.
    ///
    /// - Returns: The present obstacle to a connection.
    private func successor(of obstacle: DaemonObstacle) -> DaemonObstacle {
        guard obstacle.starts, let successorDue else { return obstacle }
        guard successorDue <= .now() else { return Self.promptEnded }
        self.successorDue = nil
        return access.start() ?? Self.promptEnded
    }

    /// Writes a line without its line feed. The caller checks ``isReady``.
    func write(_ line: [UInt8]) {
        guard case .ready(let channel) = phase else { return }
        var bytes = channel.allocator.buffer(capacity: line.count + 1)
        bytes.writeBytes(line)
        bytes.writeInteger(UInt8(ascii: "\n"))
        channel.writeAndFlush(bytes, promise: nil)
    }

    func close() {
        let before = phase
        phase = .closed
        greetingTask?.cancel()
        switch before {
        case .greeting(let channel): channel?.close(promise: nil)
        case .ready(let channel): channel.close(promise: nil)
        case .lost(let task): task.cancel()
        case .closed: break
        }
    }

    // MARK: The connection

    fileprivate func opened(_ channel: any Channel) {
        guard case .greeting = phase else { return channel.close(promise: nil) }
        phase = .greeting(channel)
        read()
    }

    fileprivate func received(_ bytes: [UInt8], on channel: any Channel) {
        guard isCurrent(channel) else { return }
        for piece in splitter.feed(bytes) {
            guard case .line(let line, _) = piece else {
                return lose(DaemonObstacle(text: "Inkling can't be understood.", starts: false))
            }
            switch phase {
            case .greeting: greet(line, channel)
            case .ready: owner?.daemonLine(line)
            case .lost, .closed: return
            }
        }
    }

    fileprivate func readCompleted(on channel: any Channel) {
        guard isCurrent(channel) else { return }
        isReading = false
        owner?.daemonReadCompleted()
        read()
    }

    fileprivate func closed(_ channel: any Channel) {
        guard isCurrent(channel) else { return }
        if isHolder, case .ready = phase { successorDue = .now() + limits.successor }
        lose(isHolder ? Self.promptEnded : Self.ended)
    }

    fileprivate func writabilityChanged(_ channel: any Channel) {
        if isCurrent(channel) { owner?.daemonWritabilityChanged() }
    }

    private static let ended = DaemonObstacle(text: "Inkling is not running.", starts: true)
    private static let promptEnded = DaemonObstacle(
        text: "The prompt that ran Inkling has ended. It starts again by itself.", starts: false)

    private func isCurrent(_ channel: any Channel) -> Bool {
        switch phase {
        case .greeting(let current?), .ready(let current): current === channel
        case .greeting(nil), .lost, .closed: false
        }
    }

    private func read() {
        guard !isReading else { return }
        switch phase {
        case .greeting(let channel?):
            isReading = true
            channel.read()
        case .ready(let channel):
            guard takesLines else { return }
            isReading = true
            channel.read()
        case .greeting(nil), .lost, .closed: return
        }
    }

    /// Reads the daemon's first line.
    private func greet(_ line: [UInt8], _ channel: any Channel) {
        switch DaemonGreeting(line: line) {
        case .ready(let ready):
            if let obstacle = ready.obstacle(state: access.state() ?? "") {
                return lose(DaemonObstacle(text: access.text(obstacle), starts: false))
            }
            greetingTask?.cancel()
            (isHolder, successorDue) = (ready.isHolder, nil)
            phase = .ready(channel)
            owner?.daemonReady(line)
        case .refusal(let error): lose(DaemonObstacle(text: access.text(.refused(error)), starts: false))
        case nil: lose(DaemonObstacle(text: "Another program answers in the place of Inkling.", starts: false))
        }
    }

    private func lose(_ obstacle: DaemonObstacle) {
        let channel: (any Channel)?
        switch phase {
        case .greeting(let current): channel = current
        case .ready(let current): channel = current
        case .lost, .closed: return
        }
        greetingTask?.cancel()
        let task = eventLoop.assumeIsolated().scheduleTask(in: limits.retry) { [weak self] in
            guard let self, case .lost = phase else { return }
            connect()
        }
        phase = .lost(task)
        // The end of the channel calls this link again, which must know the loss by then.
        channel?.close(promise: nil)
        owner?.daemonLost(obstacle)
    }
}

/// The channel of a ``DaemonLink``.
private final class DaemonHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private weak var link: DaemonLink?

    init(_ link: DaemonLink) {
        self.link = link
    }

    func channelActive(context: ChannelHandlerContext) {
        guard let link else { return context.close(promise: nil) }
        link.opened(context.channel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        link?.received(Array(buffer: unwrapInboundIn(data)), on: context.channel)
    }

    func channelReadComplete(context: ChannelHandlerContext) { link?.readCompleted(on: context.channel) }

    func channelWritabilityChanged(context: ChannelHandlerContext) { link?.writabilityChanged(context.channel) }

    func channelInactive(context: ChannelHandlerContext) { link?.closed(context.channel) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
