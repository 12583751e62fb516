import Glibc
import NIOCore
import NIOPosix

/// Standard input on an event loop, read in pieces on demand.
///
/// Other programs share the flags of the descriptor, so the program changes none. The loop opens a terminal or pipe
/// once more, with other flags, and waits for input. The loop can't wait for a file, and reads one piece a turn. A
/// thread reads sockets, and inputs that can't be opened again, as under `sudo` and `su`.
final class StandardInput {
    enum Piece {
        case bytes([UInt8])
        /// The end of the input, or a lost terminal.
        case end
    }

    private enum Source {
        /// The input is not open yet. The first demand opens it.
        case unopened
        case opening
        case channel(any Channel)
        case file
        case thread(NIOThreadPool)
        case ended
    }

    private static let pieceSize = 65_536
    /// The wait before the next piece of a file, during which the loop does other work.
    private static let fileStep = TimeAmount.microseconds(500)
    /// The interval at which a background process checks the terminal's owner.
    private static let backgroundStep = TimeAmount.milliseconds(250)

    private let loop: any EventLoop
    private let isTerminal = isatty(STDIN_FILENO) == 1
    private var source = Source.unopened
    private var failures = ReadFailures()
    private var isAwaited = false
    /// Whether the end of the input was reported.
    private var hasEnded = false
    private let receive: (Piece) -> Void

    /// Makes the input without opening it.
    ///
    /// - Parameter receive: called on the loop, once for each ``demand()``, and never from within it.
    init(on loop: any EventLoop, receive: @escaping (Piece) -> Void) {
        self.loop = loop
        self.receive = receive
        // By default, the system would stop a background process that reads, and peers would lose the node. With this,
        // the read fails.
        if isTerminal { signal(SIGTTIN, SIG_IGN) }
    }

    /// Asks for one more piece. After the end no piece comes.
    func demand() {
        guard !isAwaited, !hasEnded else { return }
        isAwaited = true
        wait()
    }

    private func wait() {
        if isTerminal, Terminal.isOthers {
            loop.assumeIsolated().scheduleTask(in: Self.backgroundStep) { self.wait() }
            return
        }
        switch source {
        case .unopened: open()
        case .opening: break
        case .channel(let channel): channel.read()
        case .file:
            // The loop reads datagrams before the next piece of the file.
            loop.assumeIsolated().scheduleTask(in: Self.fileStep) { self.read(Self.read(STDIN_FILENO)) }
        case .thread(let pool):
            pool.runIfActive(eventLoop: loop) { Self.read(STDIN_FILENO) }.assumeIsolated().whenComplete { result in
                self.read((try? result.get()) ?? .end(nil))
            }
        case .ended: loop.assumeIsolated().execute { self.arrived(.end) }
        }
    }

    private func read(_ reading: Reading) {
        switch reading {
        case .bytes(let bytes): arrived(.bytes(bytes))
        case .end(let code): if isEnd(code) { arrived(.end) } else { wait() }
        }
    }

    private func isEnd(_ code: Int32?) -> Bool { !isTerminal || failures.isEnd(code, isOthers: Terminal.isOthers) }

    private func arrived(_ piece: Piece) {
        if case .end = piece { source = .ended } else { failures = ReadFailures() }
        guard isAwaited else { return }
        isAwaited = false
        if case .end = piece { hasEnded = true }
        receive(piece)
    }

    // MARK: Opening

    private func open() {
        switch StreamKind(of: STDIN_FILENO) {
        case .closed: source = .ended
        case .file: source = .file
        case .other: source = .thread(.alone())
        case .waitable:
            // Without O_NOCTTY the terminal could become this process's controlling one.
            let descriptor = Glibc.open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
            guard descriptor >= 0 else {
                source = .thread(.alone())
                break
            }
            return open(descriptor)
        }
        wait()
    }

    private func open(_ descriptor: Int32) {
        source = .opening
        let handler = NIOLoopBound(Handler(self), eventLoop: loop)
        NIOPipeBootstrap(group: loop)
            .channelOption(.autoRead, value: false)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.pieceSize)
            )
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(handler.value)
                }
            }
            .takingOwnershipOfDescriptor(input: descriptor)
            .assumeIsolated()
            .whenComplete { result in
                switch result {
                case .success(let channel):
                    guard case .opening = self.source else { return }
                    self.source = .channel(channel)
                case .failure:
                    close(descriptor)
                    self.source = .thread(.alone())
                }
                if self.isAwaited { self.wait() }
            }
    }

    /// Handles the end of the channel.
    private func ended(by error: (any Error)?) {
        if case .ended = source { return }
        guard isEnd((error as? IOError)?.errnoCode) else {
            source = .unopened
            if isAwaited { wait() }
            return
        }
        source = .ended
        arrived(.end)
    }

    private enum Reading: Sendable {
        case bytes([UInt8])
        /// The end of the input, with the system's code if an error caused it.
        case end(Int32?)
    }

    /// Blocks until the next bytes.
    private static func read(_ descriptor: Int32) -> Reading {
        while true {
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: pieceSize) { buffer, initialized in
                count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                initialized = max(count, 0)
            }
            if count > 0 { return .bytes(bytes) }
            guard count < 0 else { return .end(nil) }
            guard errno == EAGAIN || errno == EINTR else { return .end(errno) }
            if errno == EAGAIN {
                var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                poll(&wanted, 1, -1)
            }
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let input: StandardInput
        private var error: (any Error)?

        init(_ input: StandardInput) { self.input = input }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            input.arrived(.bytes(Array(buffer: unwrapInboundIn(data))))
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            self.error = error
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { input.ended(by: error) }
    }
}

/// Counts failed reads of a terminal, because some of them do not mean its end.
package struct ReadFailures {
    private var hasFailedInFront = false

    package init() {}

    /// Whether the input has ended.
    ///
    /// A read in the background fails. If the process is stopped in between, it may notice the failure only when it is
    /// in front again. A second failure in front is the end.
    ///
    /// - Parameters:
    ///   - code: The system's code of the error; nil at the end of the input.
    ///   - isOthers: Whether the terminal belongs to another job now.
    package mutating func isEnd(_ code: Int32?, isOthers: Bool) -> Bool {
        guard code == EIO else { return true }
        guard !isOthers else { return false }
        defer { hasFailedInFront = true }
        return hasFailedInFront
    }
}

/// The ways in which an event loop can use an inherited descriptor.
enum StreamKind {
    case closed
    /// A terminal or a pipe, which the loop can open again and wait for.
    case waitable
    /// A file, which never blocks.
    case file
    /// A socket, or an unknown kind.
    case other

    init(of descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            self = .closed
            return
        }
        self =
            switch status.st_mode & S_IFMT {
            case S_IFIFO: .waitable
            case S_IFCHR: isatty(descriptor) == 1 ? .waitable : .file
            case S_IFREG, S_IFBLK, S_IFDIR: .file
            default: .other
            }
    }
}

extension NIOThreadPool {
    /// Returns a pool of one thread, for a descriptor that the loop can't wait for.
    static func alone() -> NIOThreadPool {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        return pool
    }
}
