import Glibc
import NIOCore

/// What the service manager that started the daemon is told: systemd's protocol (`sd_notify`), or nothing where nobody
/// asked for it.
package struct ServiceManager {
    private let socket: String?
    /// How often it wants to hear that all is well; nil if it does not.
    private let watchdogInterval: TimeAmount?

    /// - Parameters:
    ///   - environment: looks up a variable.
    ///   - process: the ID of this process.
    package init(environment: (String) -> String?, process: Int32 = getpid()) {
        let path = environment("NOTIFY_SOCKET")
        socket = path.flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        let microseconds = environment("WATCHDOG_USEC").flatMap { Int64($0) }
        let isMeant = environment("WATCHDOG_PID").map { $0 == String(process) } ?? true
        // Half of it, as the convention recommends.
        watchdogInterval = isMeant ? microseconds.flatMap { $0 > 1 ? .microseconds($0 / 2) : nil } : nil
    }

    /// Whether there is one.
    package var isThere: Bool { socket != nil }

    /// Front ends are served from now on.
    package func ready() { tell("READY=1") }

    /// The settings are being read anew; ``ready()`` is to follow.
    package func reloading() {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
        tell("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
    }

    /// The daemon is about to end.
    package func stopping() { tell("STOPPING=1") }

    /// Says in one line how it goes.
    package func status(_ text: String) { tell("STATUS=\(text)") }

    /// Says that all is well, as often as that is wanted, from the loop that does the work.
    func watch(on loop: any EventLoop) {
        guard let watchdogInterval, socket != nil else { return }
        loop.assumeIsolated().scheduleTask(in: watchdogInterval) { [self] in
            tell("WATCHDOG=1")
            watch(on: loop)
        }
    }

    private func tell(_ state: String) {
        if let socket { UnixSocket.send(state, to: socket) }
    }
}
