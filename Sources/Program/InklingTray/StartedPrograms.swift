import CDesktop

/// The programs that the user started from the icon. Each runs in a session of its own, and outlives this program.
struct StartedPrograms {
    /// The most programs whose end is awaited.
    private static let mostAwaited = 32

    private var running: [(process: pid_t, descriptor: Int32)] = []

    /// Each of these can be read when a program has ended.
    var descriptors: [Int32] { running.map { $0.descriptor } }

    /// Starts a program. Returns the reason for a failure.
    mutating func start(_ program: String, _ arguments: [String]) -> String? {
        let words = arguments.map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var process: pid_t = 0
        let code = desktop_start(program, words, &process)
        guard code == 0 else { return String(cString: strerror(code)) }
        let descriptor = pidfd_open(process, 0)
        if descriptor >= 0, running.count < Self.mostAwaited {
            running.append((process, descriptor))
        } else if descriptor >= 0 {
            close(descriptor)
        }
        return nil
    }

    /// Forgets the programs that have ended. Returns their exit statuses. A signal ends the page's server at the end of
    /// the session, or when the user wants that, and counts as 0.
    mutating func reap() -> [Int32] {
        var statuses: [Int32] = []
        running.removeAll { program in
            let status = desktop_exit_status(program.process)
            guard status >= 0 else { return false }
            close(program.descriptor)
            statuses.append(status)
            return true
        }
        return statuses
    }
}
