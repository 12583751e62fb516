import ArgumentParser
import Glibc
import InklingWire

extension SocketEndpoint: ExpressibleByArgument {
    init?(argument: String) { self.init(argument) }
}

/// The attacker's process, which `bench` starts in the attacker's network.
struct SendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Attack a node of the benchmark's network.",
        discussion: """
            Prints "ready" when it is, begins when a line comes on standard input, and prints its figures at the end. \
            It ends early when standard input does.
            """,
        shouldDisplay: false)

    @Argument(help: "The attack.") var attack: Attack
    @Option(help: "The node under attack.") var victim: SocketEndpoint
    @Option(help: "The victim's friend.") var friend: SocketEndpoint
    @Option(help: "Send so many datagrams a second.") var rate: Int
    @Option(help: "Send for so long.") var seconds: Double

    /// The lowest scheduling priority. The attacker raises its priority when it falls behind.
    private static let lowestNiceness = 19

    func run() throws {
        signal(SIGPIPE, SIG_IGN)
        let attacker = try Attacker(
            victim: victim, friend: friend, chat: ChatKeys(openName: ChatName(BenchNetwork.openChat)))
        let plan = try makePlan(attacker)
        try plan.prepare(attacker)
        say("ready")
        try waitForStart(plan, attacker)
        var niceness = SendCommand.lowestNiceness
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Int32(niceness))
        let figures = attacker.run(plan, rate: rate, seconds: seconds, niceness: &niceness)
        let received = figures.received.sorted { $0.key.rawValue < $1.key.rawValue }
            .map { "\($0.key):\($0.value)" }.joined(separator: ",")
        say(
            "done sent=\(figures.sent) refused=\(figures.refused) seconds=\(figures.seconds) "
                + "processor=\(figures.processor) niceness=\(figures.niceness) "
                + "received=\(plan.summary ?? received)")
    }

    /// Keeps the plan's links and other state alive until a line arrives on standard input.
    private func waitForStart(_ plan: any AttackPlan, _ attacker: Attacker) throws {
        while true {
            var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            if poll(&input, 1, 5) > 0 {
                var byte: UInt8 = 0
                guard read(STDIN_FILENO, &byte, 1) == 1 else { throw ExitCode.failure }
                if byte == 0x0A { return }
            } else {
                attacker.drain(plan)
            }
        }
    }

    private func makePlan(_ attacker: Attacker) throws -> any AttackPlan {
        let chat = attacker.chat
        return switch attack {
        case .initiations: RandomFlood { $0.initiation(of: chat) }
        case .initiationsUnchecked: RandomFlood { $0.initiation(of: nil) }
        case .initiationsSpoofed: RandomFlood(from: .spoofed) { $0.initiation(of: chat) }
        case .initiationsRepeated: RepeatedInitiation()
        case .cookies: CookieFlood(count: 1_024, isSpread: false)
        case .cookiesSpread: CookieFlood(count: 2_048, isSpread: true)
        case .responses: try IndexFlood { $1.response(index: $0) }
        case .responsesSpoofed: try IndexFlood(from: .spoofed) { $1.response(index: $0) }
        case .asks: RandomFlood { chat.ask(token: $0.next()).encode() }
        case .retries: try IndexFlood { $1.retry(index: $0) }
        case .sealedKnown:
            MemberFlood(maximumRate: .max) { member, attacker in
                if let index = member.remoteIndex { attacker.send(attacker.garbage.sealed(index: index)) }
            }
        case .sealedRandom: RandomFlood { $0.sealed(index: $0.index()) }
        case .pings: MemberFlood(maximumRate: .max) { $0.ping($1) }
        case .moves: MemberFlood { $0.move(to: $1.address(of: Attacker.spoofedAddresses), $1) }
        case .names: try InstanceFlood(of: ChatKeys(secret: ChatSecret(using: &attacker.random)))
        case .instances: try InstanceFlood(of: chat)
        case .links: LinkFiller(isSpread: false)
        case .linksSpread: LinkFiller(isSpread: true)
        case .messages: MemberFlood { $0.sendText("x", endsMessage: true, $1) }
        case .messagesCrowd:
            MemberFlood(count: 20, isSpread: true) { [text = longestText] in $0.sendText(text, endsMessage: true, $1) }
        case .messagesBegun:
            // Each further part keeps its unfinished message alive (M-43).
            MemberFlood(count: 200, isSpread: true, maximumRate: 2) { $0.sendText("x", endsMessage: false, $1) }
        case .probes: try ProbePlan()
        }
    }

    private var longestText: String { String(repeating: "x", count: Limits.maximumRecordTextSize) }
}

/// Writes a line to standard output without a delay.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    var written = 0
    while written < bytes.count {
        let count = bytes[written...].withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
        guard count > 0 else { return }
        written += count
    }
}
