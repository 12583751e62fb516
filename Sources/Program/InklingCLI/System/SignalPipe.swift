import Glibc
import NIOCore
import NIOPosix

// The state of the signal handlers, made before the handlers and never freed.
nonisolated(unsafe) private var signalWriter: Int32 = -1
/// The number of signals to end since the loop last checked.
nonisolated(unsafe) private var unheardEnds: sig_atomic_t = 0

private func forwardSignal(_ number: Int32) {
    let before = errno
    if SignalPipe.ending.contains(number) {
        unheardEnds += 1
        if unheardEnds >= SignalPipe.patience {
            // The loop does not react, and must be blocked.
            Terminal.abandon()
            _exit(1)
        }
    }
    var byte = UInt8(truncatingIfNeeded: number)
    _ = write(signalWriter, &byte, 1)
    errno = before
}

/// Turns signals into calls on the event loop, through a pipe. The program masks no signal, because child programs
/// would inherit the mask.
final class SignalPipe {
    static let ending: [Int32] = [SIGINT, SIGTERM, SIGHUP]
    private static let others = [SIGTSTP, SIGCONT, SIGWINCH]
    /// The number of signals to end without a reaction of the loop at which the handler ends the program.
    fileprivate static let patience: sig_atomic_t = 3

    private let receive: (Int32) -> Void

    /// Installs the handlers.
    ///
    /// - Parameter receive: called on the loop with each signal. Several equal signals may cause one call.
    init(on loop: any EventLoop, receive: @escaping (Int32) -> Void) {
        self.receive = receive
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
        for number in Self.ending + Self.others { Self.install(forwardSignal, for: number) }
    }

    private static func install(_ handler: @escaping @convention(c) (Int32) -> Void, for number: Int32) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = handler
        action.sa_flags = Int32(SA_RESTART)
        sigaction(number, &action, nil)
    }

    /// Ends the process by a signal, with the system's default action.
    static func die(of number: Int32) {
        signal(number, SIG_DFL)
        raise(number)
    }

    /// Stops the process with the system's default action, and returns after the process continues.
    static func stop() {
        var action = sigaction()
        sigaction(SIGTSTP, nil, &action)
        signal(SIGTSTP, SIG_DFL)
        raise(SIGTSTP)
        sigaction(SIGTSTP, &action, nil)
    }

    /// Stops the other processes of the process group.
    static func stopOthers() {
        var action = sigaction()
        sigaction(SIGTSTP, nil, &action)
        signal(SIGTSTP, SIG_IGN)
        kill(0, SIGTSTP)
        sigaction(SIGTSTP, &action, nil)
    }

    /// Whether a signal to end came since the loop last checked.
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
                signals.receive(Int32(byte))
            }
        }
    }
}
