import Glibc
import NIOCore
import NIOPosix

// What the handlers of signals use: made before they are installed, and never undone.
nonisolated(unsafe) private var signalWriter: Int32 = -1
/// How many signals that end the program came since the loop last looked.
nonisolated(unsafe) private var unheardEnds: sig_atomic_t = 0

private func noteSignal(_ number: Int32) {
    let before = errno
    if SignalPipe.ending.contains(number) {
        unheardEnds += 1
        if unheardEnds >= SignalPipe.patience {
            // The loop stands still.
            Terminal.abandon()
            _exit(1)
        }
    }
    var byte = UInt8(truncatingIfNeeded: number)
    _ = write(signalWriter, &byte, 1)
    errno = before
}

/// Turns signals into calls on the event loop, through a pipe: nothing is masked, which programs that are started from
/// here would inherit.
final class SignalPipe {
    static let ending: [Int32] = [SIGINT, SIGTERM, SIGHUP]
    private static let others = [SIGTSTP, SIGCONT, SIGWINCH]
    /// So many signals to end that the loop has not heard of end the program at once.
    fileprivate static let patience: sig_atomic_t = 3

    private let take: (Int32) -> Void

    /// - Parameter take: called on the loop with each signal; of several that are the same perhaps once.
    init(on loop: any EventLoop, take: @escaping (Int32) -> Void) {
        self.take = take
        var descriptors: [Int32] = [-1, -1]
        guard pipe(&descriptors) == 0 else { return }
        for descriptor in descriptors {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        }
        signalWriter = descriptors[1]
        let handler = NIOLoopBound(Handler(self), eventLoop: loop)
        NIOPipeBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(handler.value)
                }
            }
            .takingOwnershipOfDescriptor(input: descriptors[0])
            .whenFailure { _ in }
        for number in Self.ending + Self.others { Self.install(noteSignal, for: number) }
    }

    private static func install(_ handler: @escaping @convention(c) (Int32) -> Void, for number: Int32) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = handler
        action.sa_flags = Int32(SA_RESTART)
        sigaction(number, &action, nil)
    }

    /// Ends the process by a signal, as if nobody had asked to hear of it.
    static func die(of number: Int32) {
        signal(number, SIG_DFL)
        raise(number)
    }

    /// Stops the process as if nobody had asked to hear of it, and comes back when it is continued.
    static func stop() {
        var action = sigaction()
        sigaction(SIGTSTP, nil, &action)
        signal(SIGTSTP, SIG_DFL)
        raise(SIGTSTP)
        sigaction(SIGTSTP, &action, nil)
    }

    /// Stops the processes that were started together with this one, which takes no notice of it.
    static func stopOthers() {
        var action = sigaction()
        sigaction(SIGTSTP, nil, &action)
        signal(SIGTSTP, SIG_IGN)
        kill(0, SIGTSTP)
        sigaction(SIGTSTP, &action, nil)
    }

    /// Whether a signal has asked for the end since the loop last looked.
    static var isEndWanted: Bool { unheardEnds > 0 }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let signals: SignalPipe

        init(_ signals: SignalPipe) { self.signals = signals }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            unheardEnds = 0
            var last: Int32?
            for byte in unwrapInboundIn(data).readableBytesView where Int32(byte) != last {
                last = Int32(byte)
                signals.take(Int32(byte))
            }
        }
    }
}
