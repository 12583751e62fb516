import ArgumentParser
import Glibc
import InklingService
import InklingModel
import InklingText
import NIOCore
import NIOPosix

/// Standard output on an event loop. A slow or stopped reader does not block the loop.
///
/// Bytes wait here until the reader takes them. A writer checks ``isFull`` and holds the rest until ``drained`` fires.
/// So at most one write waits, or the answers to one piece of input. ``StandardInput`` describes the treatment of
/// descriptors.
final class StandardOutput {
    private enum Sink {
        case unopened
        /// The output is being opened, and these bytes wait.
        case opening([[UInt8]])
        /// A channel with this descriptor.
        case channel(any Channel, CInt)
        case file
        case thread(NIOThreadPool)
        /// The output is closed or has failed.
        case gone
    }

    /// The number of bytes that may wait while the output is being opened.
    private static let openingRoom = 65_536

    private let loop: any EventLoop
    private var sink = Sink.unopened
    private(set) var waiting = 0
    /// Whether a writer should hold the rest, because the reader has not taken earlier bytes.
    private(set) var isFull = false
    /// The system's code of the failure; nil where it is unknown.
    private(set) var failure: Int32?
    private var whenEmpty: (() -> Void)?

    /// Called on the loop when the last waiting byte has left.
    var drained: () -> Void = {}
    /// Called once on the loop when the output is closed.
    var abandoned: () -> Void = {}

    init(on loop: any EventLoop) {
        self.loop = loop
        open()
    }

    /// Whether the output is closed or has failed.
    var isGone: Bool {
        if case .gone = sink { return true }
        return false
    }

    /// Writes a line.
    func write(line: String) { write(Array((line + "\n").utf8)) }

    /// Writes bytes, or lets them wait.
    func write(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        switch sink {
        case .gone, .unopened: return
        case .file:
            if !Output.standard.write(bytes) { abandon(errno) }
            return
        case .opening(let earlier):
            waiting += bytes.count
            sink = .opening(earlier + [bytes])
            if waiting >= Self.openingRoom { isFull = true }
        case .channel(let channel, let descriptor):
            var rest = bytes[...]
            if waiting == 0 {
                switch DirectWrite.write(rest, to: descriptor) {
                case .wrote(rest.count): return settle()
                case .wrote(let count): rest = rest.dropFirst(count)
                case .failed(let code): return abandon(code)
                }
            }
            let count = rest.count
            waiting += count
            channel.writeAndFlush(ByteBuffer(bytes: rest)).assumeIsolated().whenComplete { self.wrote(count, $0) }
            if waiting > 0 { isFull = true }
        case .thread(let pool):
            waiting += bytes.count
            isFull = true
            let count = bytes.count
            pool.runIfActive(eventLoop: loop) {
                if !Output.standard.write(bytes) { throw IOError(errnoCode: errno, reason: "write") }
            }
            .assumeIsolated().whenComplete { self.wrote(count, $0) }
        }
    }

    /// Calls back when no bytes wait any more, or the output is closed.
    func whenEmpty(_ done: @escaping () -> Void) {
        guard waiting > 0, !isGone else { return done() }
        whenEmpty = done
    }

    private func wrote(_ count: Int, _ result: Result<Void, any Error>) {
        guard !isGone else { return }
        if case .failure(let error) = result { return abandon((error as? IOError)?.errnoCode) }
        waiting -= count
        settle()
    }

    /// Lets the writer continue if no bytes wait.
    private func settle() {
        guard waiting == 0 else { return }
        if isFull {
            isFull = false
            drained()
        }
        if waiting == 0 { reportEmpty() }
    }

    private func abandon(_ code: Int32? = nil) {
        guard !isGone else { return }
        failure = code
        let former = sink
        sink = .gone
        isFull = false
        if case .channel(let channel, _) = former { channel.close(promise: nil) }
        abandoned()
        reportEmpty()
    }

    private func reportEmpty() {
        let done = whenEmpty
        whenEmpty = nil
        done?()
    }

    // MARK: Opening

    private func open() {
        switch StreamKind(of: STDOUT_FILENO) {
        case .closed: sink = .gone
        case .file: sink = .file
        case .other: sink = .thread(.alone())
        case .waitable:
            let descriptor = Glibc.open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
            guard descriptor >= 0 else {
                sink = .thread(.alone())
                break
            }
            open(descriptor)
        }
    }

    private func open(_ descriptor: Int32) {
        sink = .opening([])
        let handler = NIOLoopBound(Handler(self), eventLoop: loop)
        NIOPipeBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(handler.value)
                }
            }
            .takingOwnershipOfDescriptor(output: descriptor)
            .assumeIsolated()
            .whenComplete { result in
                guard case .opening(let earlier) = self.sink else { return }
                switch result {
                case .success(let channel): self.sink = .channel(channel, descriptor)
                case .failure:
                    close(descriptor)
                    self.sink = .thread(.alone())
                }
                for bytes in earlier {
                    self.waiting -= bytes.count
                    self.write(bytes)
                }
            }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let output: StandardOutput

        init(_ output: StandardOutput) { self.output = output }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        func channelInactive(context: ChannelHandlerContext) { output.abandon() }
    }
}

/// A file descriptor for text. Each line is written at once with write(2).
struct Output: Sendable {
    static let standard = Output(descriptor: STDOUT_FILENO)
    static let error = Output(descriptor: STDERR_FILENO)

    let descriptor: Int32

    /// Writes all bytes, and waits if the reader is slow. Returns `false` if the output is closed.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress?.advanced(by: written), $0.count - written)
            }
            if count >= 0 {
                written += count
            } else if errno == EAGAIN {
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&wanted, 1, -1)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }

    /// Writes a command's answer, and throws after a failure.
    func answer(_ line: String) throws {
        guard !write(line: line) else { return }
        throw Self.failure(errno)
    }

    /// Returns the error that ends a command with this system code for a failed write.
    static func failure(_ code: Int32) -> any Error {
        // A reader that has enough closes the pipe on purpose, so there is no error text.
        if code == EPIPE { return ExitCode(1) }
        return CommandFailure(text: failureText(code))
    }

    static func failureText(_ code: Int32) -> String {
        "the output can't be written (\(String(cString: strerror(code))))"
    }

    func answer(json members: [(String, JSONValue)]) throws {
        guard !write(Array((JSONValue.object(members).text + "\n").utf8)) else { return }
        throw Self.failure(errno)
    }

    /// Warns about the limits of an open chat (S-4).
    func warn(ofOpen chat: Chat) {
        write(
            line: "inkling: \(SafeText.line(chat.name)) is an open chat: anybody on this network can join and read it")
    }

    /// Writes a line only if the write does not block.
    func offer(line: String) {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&wanted, 1, 0) > 0, wanted.revents & Int16(POLLOUT) != 0 else { return }
        // A writable pipe accepts this many bytes without a wait.
        write(Array((shown(line) + "\n").utf8.prefix(Int(PIPE_BUF))))
    }

    private func shown(_ line: String) -> String {
        isatty(descriptor) == 1 ? WordWrap.text(line, columns: Terminal.size(descriptor).columns) : line
    }

    /// Writes a line with one write(2), unless the system splits the bytes. On a terminal, the line breaks between
    /// words.
    @discardableResult
    func write(line: String) -> Bool {
        write(Array((shown(line) + "\n").utf8))
    }
}

extension Duration {
    /// Milliseconds with one decimal, rounded: "12.3 ms".
    package var millisecondText: String {
        let tenths = Int64((self / .microseconds(100)).rounded())
        let (whole, rest) = tenths.magnitude.quotientAndRemainder(dividingBy: 10)
        return "\(tenths < 0 ? "-" : "")\(whole).\(rest) ms"
    }
}
