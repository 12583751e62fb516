import CProcess
import Glibc

/// Programs that this program starts.
enum ChildProcess {
    /// The variables that no child gets: secrets, and variables of the service manager.
    private static let withheld = [
        "INKLING_SECRET", "INKLING_INVITE", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID",
        "LISTEN_FDS", "LISTEN_FDNAMES",
    ]

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
            case .session: POSIX_SPAWN_SETSID
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
