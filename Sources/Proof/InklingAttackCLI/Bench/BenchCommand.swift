import ArgumentParser
import Foundation
import Glibc
import InklingWire

/// Measures the friends without an attack, then under each attack, and prints one table.
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Attack real nodes, and print what it does to them.",
        discussion: """
            Two friends, Alice and Bob, run in a secret chat and in an open one; Bob is attacked. Alice starts and \
            stops typing in the secret chat, and what Bob shows is timed. Needs the network that \
            `Scripts/benchmark attack` makes.

            The table has, for Bob: datagrams that his socket had no room for; the part of a core that he used, and \
            that he was ready to use while something else had it; his memory. "Friend again" is the time that Alice \
            needs to be online when she starts once more during the attack. For the attacker: the part of a core that \
            it used, and the niceness that it needed for its rate.
            """)

    @Option(help: ArgumentHelp("Choose an attack; may be repeated (default: all).", valueName: "attack"))
    var only: [Attack] = []
    @Option(help: "Attack for so long.") var seconds = 20.0
    @Option(help: "Send so many datagrams a second.") var rate = 10_000
    @Option(help: "Measure for so long before the first attack.") var quietSeconds = 60.0
    @Option(help: .hidden) var hosts: String
    @Option(help: .hidden) var program: String

    /// The longest restart of a friend, in seconds.
    private static let longestStart = 30.0
    /// The number of lines that a slow reader reads in a second.
    private static let slowLinesPerSecond = 20
    /// The longest time to fill the victim's links, in seconds.
    private static let longestFilling = 60.0

    func validate() throws {
        guard [seconds, quietSeconds].allSatisfy((1...600).contains) else {
            throw ValidationError("--seconds and --quiet-seconds: 1 to 600.")
        }
        guard (1...100_000).contains(rate) else { throw ValidationError("--rate: 1 to 100,000.") }
    }

    func run() throws {
        signal(SIGPIPE, SIG_IGN)
        guard let network = BenchNetwork(holders: hosts.split(separator: ",").compactMap { pid_t($0) }) else {
            throw ValidationError("--hosts: the processes of three hosts.")
        }
        var random = SystemRandomNumberGenerator()
        let secret = ChatSecret(using: &random)
        let loadBefore = BenchCommand.loadAverage
        tell("a quiet period of \(Int(quietSeconds)) s")
        let quiet = try measureQuiet(network, secret)
        var rows = [quiet.row]
        var isWhole = true
        for attack in only.isEmpty ? Attack.allCases : only {
            tell("\(attack.rawValue): \(attack.abstract)")
            do {
                rows.append(try measure(attack, network, secret, quiet: quiet.edges))
            } catch let error as AttackError {
                tell("\(error); once more")
                do {
                    rows.append(try measure(attack, network, secret, quiet: quiet.edges))
                } catch let error as AttackError {
                    rows.append(BenchRow(name: attack.rawValue, note: "not measured: \(error)"))
                    tell(error.description)
                    isWhole = false
                }
            }
        }
        say(BenchTable.text(rows))
        // The friends, the attacker and this program share the processors with all other programs.
        let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        say("\(processors) processors; load average \(loadBefore) before, \(BenchCommand.loadAverage) after")
        if !isWhole { throw ExitCode.failure }
    }

    private static var loadAverage: String {
        let text = (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8)) ?? ""
        return text.split(separator: " ").first.map(String.init) ?? "unknown"
    }

    private func measureQuiet(_ network: BenchNetwork, _ secret: ChatSecret) throws -> (row: BenchRow, edges: String) {
        let friends = try Friends(on: network, program: program, secret: secret)
        defer { friends.end() }
        let meter = UsageMeter(of: friends.bob.processID)
        let edges = TypingEdges(from: friends.alice, to: friends.bob, seconds: quietSeconds)
        var row = BenchRow(name: "quiet", edges: BenchCommand.text(edges))
        meter.finish(&row)
        row.online = friends.losses(since: meter.begin) == 0 && friends.isAlive ? "yes" : "no"
        row.again = BenchCommand.text(try friends.startAliceAgain(within: BenchCommand.longestStart))
        return (row, BenchCommand.text(edges))
    }

    private func measure(
        _ attack: Attack, _ network: BenchNetwork, _ secret: ChatSecret, quiet: String
    ) throws -> BenchRow {
        let friends = try Friends(on: network, program: program, secret: secret)
        defer { friends.end() }
        let attacker = try AttackerProcess(
            attack, on: network.attacker, program: CommandLine.arguments[0], victim: friends.victim,
            friend: friends.friend, rate: rate,
            seconds: seconds + BenchCommand.longestFilling + BenchCommand.longestStart + 30)
        defer { attacker.end() }
        guard attacker.wait(for: "ready", seconds: 60) != nil else { throw AttackError("the attacker is not ready") }

        let meter = UsageMeter(of: friends.bob.processID)
        attacker.begin()
        if attack.hasSlowReader { friends.bob.readOutput(linesPerSecond: BenchCommand.slowLinesPerSecond) }
        // A slow reader shows everything late. So the benchmark reads Alice's output in this case.
        let (typist, reader) = attack.hasSlowReader ? (friends.bob, friends.alice) : (friends.alice, friends.bob)
        let edges = TypingEdges(from: typist, to: reader, seconds: seconds)
        var row = BenchRow(name: attack.rawValue, quiet: quiet, edges: BenchCommand.text(edges))
        if attack.fillsLinks { _ = attacker.wait(for: "filled", seconds: BenchCommand.longestFilling) }
        meter.finish(&row)
        row.online = online(friends, since: meter.begin)
        friends.bob.readOutput(linesPerSecond: nil)
        row.again = BenchCommand.text(try friends.startAliceAgain(within: BenchCommand.longestStart))
        attacker.stop()
        if let report = attacker.report(within: 5) {
            row.sent = "\(report.sent)"
            row.rate = "\(Int(Double(report.sent) / max(report.seconds, 0.001)))"
            let part = report.processor / max(report.seconds, 0.001)
            row.attacker = String(format: "%.2f, nice %d", part, report.niceness)
            row.note = report.received
        }
        return row
    }

    /// Returns whether both friends still run, and neither has shown the other as offline.
    private func online(_ friends: Friends, since begin: Double) -> String {
        if let status = friends.bob.status { return "no: Bob ended with \(status)" }
        if let status = friends.alice.status { return "no: Alice ended with \(status)" }
        let losses = friends.losses(since: begin)
        return losses == 0 ? "yes" : "no: \(losses) times offline"
    }

    private static func text(_ edges: TypingEdges) -> String {
        func time(_ part: Double) -> String {
            edges.percentile(part).map { String(format: "%.1f", $0 * 1_000) } ?? "lost"
        }
        let counts = "of \(edges.count)" + (edges.lostCount == 0 ? "" : ", \(edges.lostCount) lost")
        return "\(time(0.5)) / \(time(0.99)) (\(counts))"
    }

    private static func text(_ seconds: Double?) -> String {
        seconds.map { String(format: "%.1f s", $0) } ?? "not in \(Int(longestStart)) s"
    }

    private func tell(_ text: String) { FileHandle.standardError.write(Data("attack: \(text)\n".utf8)) }
}

/// Measures the resources that a process uses between two moments.
struct UsageMeter {
    let begin = monotonicSeconds()
    private let process: pid_t
    private let before: ProcessUsage?
    private let overflowBefore: Int

    init(of process: pid_t) {
        self.process = process
        overflowBefore = ProcessUsage.overflow(of: process)
        ProcessUsage.resetPeak(of: process)
        before = ProcessUsage(of: process)
    }

    /// Adds the share of a core, the memory, and the overflow of the socket to a row.
    func finish(_ row: inout BenchRow) {
        guard let before, let after = ProcessUsage(of: process) else {
            row.memory = "ended"
            return
        }
        let seconds = monotonicSeconds() - begin
        row.processor = String(
            format: "%.2f / %.2f", (after.processor - before.processor) / seconds,
            (after.waiting - before.waiting) / seconds)
        let sizes = [before.resident, after.resident, after.peak].map { String(format: "%.1f", Double($0) / 1_024) }
        row.memory = sizes.joined(separator: " / ")
        row.overflow = "\(ProcessUsage.overflow(of: process) - overflowBefore)"
    }
}
