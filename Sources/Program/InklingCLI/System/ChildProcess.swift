import CProcess
import Glibc
import NIOCore
import NIOPosix

/// Programs that this program starts.
enum ChildProcess {
    /// The variables that no child gets: secrets, and variables of the service manager.
    private static let withheld = [
        "INKLING_SECRET", "INKLING_INVITE", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID",
        "LISTEN_FDS", "LISTEN_FDNAMES",
    ]

    /// `POSIX_SPAWN_SETSID`, which <spawn.h> hides from Swift.
    private static let newSession: Int32 = 0x80

    /// The reason why a program can't start.
    struct Failure: Error {
        /// The system's code.
        let code: Int32

        var text: String { String(cString: strerror(code)) }
    }

    /// The place of a child beside this program.
    enum Place {
        /// A process group of its own, which a terminal does not end, with this program's standard error as its output.
        case group
        /// A session of its own, without a terminal and without output.
        case session
    }

    /// Returns this program's environment without the withheld variables, and with other ones.
    static func environment(with values: [String: String] = [:]) -> [String] {
        var inherited: [String] = []
        var next = environ
        while let entry = next.pointee {
            let text = String(cString: entry)
            let name = String(text.prefix { $0 != "=" })
            if values[name] == nil, !withheld.contains(name) { inherited.append(text) }
            next += 1
        }
        return inherited + values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    }

    /// Starts a program with an empty input. The last action closes all other descriptors of this program, from 3 on.
    ///
    /// - Returns: The ID of the process.
    static func start(
        _ program: String, _ arguments: [String], environment: [String], in place: Place = .group
    ) throws(Failure) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        switch place {
        case .group: posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        case .session:
            for output in [STDOUT_FILENO, STDERR_FILENO] {
                posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0)
            }
        }
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The program inherits no ignored or blocked signals.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for number in [SIGPIPE, SIGTTIN, SIGTTOU] { sigaddset(&signals, number) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        let group =
            switch place {
            case .group: POSIX_SPAWN_SETPGROUP
            case .session: newSession
            }
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK) | Int16(group))
        let words = arguments.map { strdup($0) } + [nil]
        let variables = environment.map { strdup($0) } + [nil]
        defer { (words + variables).forEach { free($0) } }
        var child: pid_t = 0
        let code = posix_spawnp(&child, program, &actions, &attributes, words, variables)
        guard code == 0 else { throw Failure(code: code) }
        return child
    }

    /// Returns the exit status of a child that has ended, 1 after a signal; nil while the child runs.
    static func exitStatus(of child: pid_t) -> Int32? {
        var status: Int32 = 0
        guard waitpid(child, &status, WNOHANG) != 0 else { return nil }
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 1
    }
}

/// The memory of the program, which holds the private key and the keys of sessions.
package enum ProcessMemory {
    /// Keeps debuggers and core dumps away from the memory, unless `INKLING_DUMPABLE=1` permits them. Otherwise any
    /// other program of the user could read the keys there.
    package static func protect() {
        if let value = getenv("INKLING_DUMPABLE"), String(cString: value) == "1" { return }
        _ = cprocess_forbid_dumps()
    }
}

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
