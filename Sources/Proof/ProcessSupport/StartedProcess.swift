import Glibc
import Synchronization

/// A system call that failed.
package struct SystemError: Error, CustomStringConvertible {
    package let description: String

    /// - Parameter code: The error number; nil for that of the last call.
    package init(_ call: String, code: Int32? = nil) {
        description = "\(call): \(String(cString: strerror(code ?? errno)))"
    }
}

/// A started process, with the ends of the pipes that are its standard streams.
package struct StartedProcess: Sendable {
    package enum Ending: Equatable, Sendable {
        case exited(Int32)
        case signalled(Int32)

        /// - Parameter status: The status as `waitpid` gives it.
        package init(status: Int32) {
            let signal = status & 0x7F
            self = signal == 0 ? .exited(status >> 8 & 0xFF) : .signalled(signal)
        }
    }

    package let processID: pid_t
    package let input: Int32
    package let output: Int32
    /// Nil if the process writes its errors where this program does.
    package let errors: Int32?

    /// Starts a program from `PATH`, which blocks and ignores no signal. The program leads its own process group, so that an
    /// interrupt at the terminal ends only the caller.
    ///
    /// - Parameter environment: Variables, with their values behind an equals sign; nil for those of this program.
    package init(_ command: [String], environment: [String]? = nil, readsErrors: Bool = true) throws(SystemError) {
        self = try Self.spawning.withLock { _ throws(SystemError) in
            try Self.spawn(command, environment, readsErrors)
        }
    }

    private init(_ process: pid_t, _ streams: [Int32]) {
        (processID, input, output, errors) = (process, streams[0], streams[1], streams.count > 2 ? streams[2] : nil)
    }

    /// A pipe must not leak into a process that another thread starts between `pipe` and `FD_CLOEXEC`.
    private static let spawning = Mutex(())

    private static func spawn(
        _ command: [String], _ environment: [String]?, _ readsErrors: Bool
    ) throws(SystemError) -> StartedProcess {
        // A write to an ended process is an error, and does not end this program.
        signal(SIGPIPE, SIG_IGN)
        var pipes: [(read: Int32, write: Int32)] = []
        for _ in 0..<(readsErrors ? 3 : 2) { pipes.append(try Self.pipe()) }
        let theirs = [pipes[0].read] + pipes.dropFirst().map(\.write)
        let ours = [pipes[0].write] + pipes.dropFirst().map(\.read)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (stream, end) in theirs.enumerated() { posix_spawn_file_actions_adddup2(&actions, end, Int32(stream)) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        posix_spawnattr_setflags(&attributes, Int16(flags))
        let arguments = command.map { strdup($0) } + [nil]
        let variables = environment.map { $0.map { strdup($0) } + [nil] }
        defer { (arguments + (variables ?? [])).forEach { free($0) } }
        var process: pid_t = 0
        let status =
            if let variables {
                posix_spawnp(&process, command[0], &actions, &attributes, arguments, variables)
            } else {
                posix_spawnp(&process, command[0], &actions, &attributes, arguments, environ)
            }
        for end in theirs { close(end) }
        guard status == 0 else {
            for end in ours { close(end) }
            throw SystemError("can't start \(command[0])", code: status)
        }
        return StartedProcess(process, ours)
    }

    /// Returns the ends of a pipe, which no process inherits.
    package static func pipe() throws(SystemError) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw SystemError("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}
