import Glibc
import NIOCore

/// The messages to the service manager that started the daemon, by systemd's protocol (`sd_notify`). Without a service
/// manager the daemon sends none.
package struct ServiceManager {
    private let socket: String?
    /// The interval at which the manager wants a sign of life; nil if it wants none.
    private let watchdogInterval: TimeAmount?

    /// Reads the variables of the service manager.
    ///
    /// - Parameters:
    ///   - environment: looks up a variable.
    ///   - process: the ID of this process.
    package init(environment: (String) -> String?, process: Int32 = getpid()) {
        let path = environment("NOTIFY_SOCKET")
        socket = path.flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        let microseconds = environment("WATCHDOG_USEC").flatMap { Int64($0) }
        let isMeant = environment("WATCHDOG_PID").map { $0 == String(process) } ?? true
        // By convention, the sign of life comes after half of the interval.
        watchdogInterval = isMeant ? microseconds.flatMap { $0 > 1 ? .microseconds($0 / 2) : nil } : nil
    }

    /// Whether a service manager started the daemon.
    package var isThere: Bool { socket != nil }

    /// Reports that the daemon serves front ends.
    package func ready() { notify("READY=1") }

    /// Reports that the daemon reads its settings again. ``ready()`` follows.
    package func reloading() {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
        notify("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
    }

    /// Reports that the daemon is about to end.
    package func stopping() { notify("STOPPING=1") }

    /// Reports the daemon's state in one line.
    package func status(_ text: String) { notify("STATUS=\(text)") }

    /// Sends signs of life at the manager's interval, from the loop that does the daemon's work. If the loop hangs,
    /// they stop.
    func watch(on loop: any EventLoop) {
        guard let watchdogInterval, socket != nil else { return }
        loop.assumeIsolated().scheduleTask(in: watchdogInterval) { [self] in
            notify("WATCHDOG=1")
            watch(on: loop)
        }
    }

    private func notify(_ state: String) {
        if let socket { UnixSocket.send(state, to: socket) }
    }
}
