import Synchronization

/// The process of the attack, `inkling-attack send`, on the attacker's host.
final class AttackerProcess {
    /// The contents of the last line of the process.
    struct Report {
        var sent = 0
        var seconds = 0.0
        var processor = 0.0
        var niceness = 0
        /// The numbers of datagrams from the victim, by kind.
        var received = ""
    }

    private final class Lines: Sendable {
        let mutex = Mutex<[String]>([])
    }

    private let child: Child
    private let lines: Lines

    init(
        _ attack: Attack, on host: BenchNetwork.Host, program: String, victim: SocketEndpoint, friend: SocketEndpoint,
        rate: Int, seconds: Double
    ) throws {
        let lines = Lines()
        self.lines = lines
        child = try Child(
            host.command([
                program, "send", attack.rawValue, "--victim", victim.description, "--friend", friend.description,
                "--rate", "\(rate)", "--seconds", "\(seconds)",
            ])
        ) { text, _ in
            lines.mutex.withLock { $0.append(String(decoding: text, as: UTF8.self)) }
        }
    }

    /// Waits for a line that begins with `word`, and returns the rest of the line.
    func wait(for word: String, seconds: Double) -> String? {
        let deadline = monotonicSeconds() + seconds
        while true {
            let isOver = child.status != nil || monotonicSeconds() > deadline
            // The last output of an ended process may not have arrived yet.
            if isOver { rest(0.05) }
            let line = lines.mutex.withLock { lines in
                lines.first { $0 == word || $0.hasPrefix(word + " ") }
            }
            if let line { return String(line.dropFirst(word.count + 1)) }
            if isOver { return nil }
            rest(0.002)
        }
    }

    func begin() { child.write("go") }

    /// Ends the attack early.
    func stop() { child.closeInput() }

    func end() {
        child.closeInput()
        if child.waitForEnd(seconds: 2) == nil { child.end() }
    }

    /// Waits for the end of the process, and returns its report.
    func report(within seconds: Double) -> Report? {
        guard let line = wait(for: "done", seconds: seconds) else { return nil }
        var report = Report()
        for word in line.split(separator: " ") {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { continue }
            switch parts[0] {
            case "sent": report.sent = Int(parts[1]) ?? 0
            case "seconds": report.seconds = Double(parts[1]) ?? 0
            case "processor": report.processor = Double(parts[1]) ?? 0
            case "niceness": report.niceness = Int(parts[1]) ?? 0
            case "received": report.received = parts[1]
            default: break
            }
        }
        return report
    }
}
