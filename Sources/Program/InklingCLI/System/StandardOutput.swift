import Glibc
import NIOCore
import NIOPosix

/// Standard output on an event loop: nobody who reads slowly, or not at all, holds the loop up.
///
/// What can't be written yet waits here. Who writes looks at ``isFull`` and holds back the rest until ``drained`` is
/// called: then what waits is bounded by what one write, or the answers to one piece of input, take. Descriptors are
/// treated as those of ``StandardInput``.
final class StandardOutput {
    private enum Sink {
        case unopened
        /// What was written meanwhile.
        case opening([[UInt8]])
        case channel(any Channel)
        case file
        case thread(NIOThreadPool)
        /// Nobody reads any more, or nothing more can be written.
        case gone
    }

    /// How many bytes may wait while standard output is being opened, before whoever writes has to hold back.
    private static let openingRoom = 65_536

    private let loop: any EventLoop
    private var sink = Sink.unopened
    private(set) var waiting = 0
    /// Whether to hold back: the reader has not taken yet what was written before, and what is written now would come
    /// late, after it.
    private(set) var isFull = false
    /// Why nothing more can be written, by the system's code, if it is known.
    private(set) var failure: Int32?
    private var whenEmpty: (() -> Void)?

    /// Called on the loop when ``isFull`` has ended: everything is out.
    var drained: () -> Void = {}
    /// Called on the loop, once, when nobody reads any more.
    var abandoned: () -> Void = {}

    init(on loop: any EventLoop) {
        self.loop = loop
        open()
    }

    /// Whether nothing more can be written.
    var isGone: Bool {
        if case .gone = sink { return true }
        return false
    }

    /// Writes a line.
    func write(line: String) { write(Array((line + "\n").utf8)) }

    /// Writes, or has it wait.
    func write(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        switch sink {
        case .gone, .unopened: return
        case .file:
            if !Output.standard.write(bytes) { end(errno) }
            return
        case .opening(let earlier):
            waiting += bytes.count
            sink = .opening(earlier + [bytes])
            if waiting >= Self.openingRoom { isFull = true }
        case .channel(let channel):
            waiting += bytes.count
            let count = bytes.count
            channel.writeAndFlush(ByteBuffer(bytes: bytes)).assumeIsolated().whenComplete { self.wrote(count, $0) }
            // A reader who keeps up has taken it by now.
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

    /// Calls back when everything is out, or can't get out any more.
    func whenEmpty(_ done: @escaping () -> Void) {
        guard waiting > 0, !isGone else { return done() }
        whenEmpty = done
    }

    private func wrote(_ count: Int, _ result: Result<Void, any Error>) {
        guard !isGone else { return }
        if case .failure(let error) = result { return end((error as? IOError)?.errnoCode) }
        waiting -= count
        if waiting == 0, isFull {
            isFull = false
            drained()
        }
        if waiting == 0 { tellEmpty() }
    }

    private func end(_ code: Int32? = nil) {
        guard !isGone else { return }
        failure = code
        sink = .gone
        isFull = false
        abandoned()
        tellEmpty()
    }

    private func tellEmpty() {
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
                case .success(let channel): self.sink = .channel(channel)
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

        func channelInactive(context: ChannelHandlerContext) { output.end() }
    }
}
