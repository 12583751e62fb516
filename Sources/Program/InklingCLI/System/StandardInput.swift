import Glibc
import NIOCore
import NIOPosix

/// Standard input on an event loop, read piece by piece as it is asked for.
///
/// The flags of the descriptor are left alone, as other programs share them. A terminal or a pipe is opened once more,
/// with flags of its own, and waited for by the loop. Files, which can't be waited for, are read a piece a turn. Where
/// opening again fails, as it may under `sudo` and `su`, and for sockets, a thread reads.
final class StandardInput {
    enum Piece {
        case bytes([UInt8])
        /// Nothing more comes. A terminal that is gone is such an end too.
        case end
    }

    private enum Source {
        /// It is opened when something is asked for.
        case unopened
        case opening
        case channel(any Channel)
        case file
        case thread(NIOThreadPool)
        case ended
    }

    private static let pieceSize = 65_536
    /// How long the next piece of a file waits for what else there is to do.
    private static let fileStep = TimeAmount.microseconds(500)
    /// How often a process in the background looks whether the terminal is its own again.
    private static let backgroundStep = TimeAmount.milliseconds(250)

    private let loop: any EventLoop
    private let isTerminal = isatty(STDIN_FILENO) == 1
    private var source = Source.unopened
    private var failures = ReadFailures()
    private var isAwaited = false
    /// Whether the end was told.
    private var hasEnded = false
    private let take: (Piece) -> Void

    /// - Parameter take: called on the loop, once for each ``demand()``, and never from within it.
    init(on loop: any EventLoop, take: @escaping (Piece) -> Void) {
        self.loop = loop
        self.take = take
        // Whoever reads in the background would be stopped, and be gone for others: reading fails instead.
        if isTerminal { signal(SIGTTIN, SIG_IGN) }
    }

    /// One more piece is wanted. After the end nothing comes.
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
            // Not at once: datagrams come first.
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
        take(piece)
    }

    // MARK: Opening

    private func open() {
        switch StreamKind(of: STDIN_FILENO) {
        case .closed: source = .ended
        case .file: source = .file
        case .other: source = .thread(.alone())
        case .waitable:
            // Without O_NOCTTY it could become the terminal of this process.
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

    /// The channel has ended.
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
        /// With the system's code, if it is an error.
        case end(Int32?)
    }

    /// Waits for the next bytes.
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
            input.arrived(.bytes(Array(unwrapInboundIn(data).readableBytesView)))
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            self.error = error
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { input.ended(by: error) }
    }
}

/// Failures to read a terminal, of which not all are its end.
package struct ReadFailures {
    private var hasFailedInFront = false

    package init() {}

    /// Whether nothing more can be read.
    ///
    /// What is read in the background fails. That may show only when the program is in front again, as it can be stopped
    /// in between; a second failure there is the end.
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

/// How a descriptor that a program was given can be used by an event loop.
enum StreamKind {
    case closed
    /// A terminal or a pipe: it can be opened again, and waited for.
    case waitable
    /// It never has to be waited for.
    case file
    /// A socket, or what is not known.
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
    /// One thread, for what can't be waited for otherwise.
    static func alone() -> NIOThreadPool {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        return pool
    }
}
