import Glibc
import InklingConsole
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

// The state of the handler for fatal signals, made before the handler and never freed. The handler calls only
// async-signal-safe functions.
nonisolated(unsafe) private let savedModes = UnsafeMutablePointer<termios>.allocate(capacity: 1)
nonisolated(unsafe) private let earlierActions = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)
nonisolated(unsafe) private let resetBytes = copiedReset()
nonisolated(unsafe) private var isRaw: Int32 = 0

private func copiedReset() -> UnsafeMutableBufferPointer<UInt8> {
    let bytes = Array((Screen.reset + "\r\n").utf8)
    let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
    _ = buffer.initialize(from: bytes)
    return buffer
}

private func restoreAndDie(_ number: Int32) {
    if isRaw != 0 {
        tcsetattr(STDIN_FILENO, TCSANOW, savedModes)
        _ = write(STDOUT_FILENO, resetBytes.baseAddress, resetBytes.count)
    }
    sigaction(number, earlierActions + Int(number), nil)
    raise(number)
}

/// The terminal on standard input and output. The prompt takes the terminal over, and restores its modes.
enum Terminal {
    private static let fatal = [SIGSEGV, SIGABRT, SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGQUIT]

    /// Whether the environment's locale has UTF-8.
    static var knowsUTF8: Bool {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"]
        let locale = names.lazy.compactMap { ChatSettings.environment($0) }.first ?? ""
        return locale.lowercased().contains("utf-8") || locale.lowercased().contains("utf8")
    }

    /// Records the terminal's modes, and makes a crash restore them.
    static func prepare() {
        guard tcgetattr(STDIN_FILENO, savedModes) == 0, !resetBytes.isEmpty else { return }
        for number in fatal {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = restoreAndDie
            action.sa_flags = SA_NODEFER
            sigaction(number, &action, earlierActions + Int(number))
        }
    }

    /// Makes keys arrive one by one, without echo and without signals. The function does not wait for written output,
    /// because a blocked terminal would block the program.
    static func enterRawMode() {
        var raw = savedModes.pointee
        raw.c_iflag &= ~tcflag_t(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON)
        raw.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON | IEXTEN | ISIG)
        withUnsafeMutableBytes(of: &raw.c_cc) { characters in
            characters[Int(VMIN)] = 1
            characters[Int(VTIME)] = 0
        }
        isRaw = 1
        tcsetattr(STDIN_FILENO, TCSANOW, &raw)
    }

    /// Restores the terminal's recorded modes.
    static func restoreModes() {
        guard isRaw != 0 else { return }
        tcsetattr(STDIN_FILENO, TCSANOW, savedModes)
        isRaw = 0
    }

    /// Restores as much as possible without waiting for a blocked terminal.
    static func abandon() {
        guard isRaw != 0 else { return }
        tcsetattr(STDIN_FILENO, TCSANOW, savedModes)
        let flags = fcntl(STDOUT_FILENO, F_GETFL)
        if flags >= 0 { _ = fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK) }
        _ = write(STDOUT_FILENO, resetBytes.baseAddress, resetBytes.count)
        if flags >= 0 { _ = fcntl(STDOUT_FILENO, F_SETFL, flags) }
        isRaw = 0
    }

    /// Whether another job has the terminal.
    static var isOthers: Bool {
        let owner = tcgetpgrp(STDIN_FILENO)
        return owner >= 0 && owner != getpgrp()
    }

    /// Returns the size of the terminal, or 80 by 24 where the size is unknown.
    static func size(_ descriptor: Int32 = STDOUT_FILENO) -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}
