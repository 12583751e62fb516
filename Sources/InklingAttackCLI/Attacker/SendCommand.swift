import ArgumentParser
import Glibc
import InklingWire

extension SocketEndpoint: ExpressibleByArgument {
    init?(argument: String) { self.init(argument) }
}

extension ChatTag: ExpressibleByArgument {
    package init?(argument: String) { self.init(hex: argument) }
}

/// The attacker's own process, which `bench` starts in the attacker's network.
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
    @Option(help: "The tag of the friends' secret chat.") var secretTag: ChatTag
    @Option(help: "Send so many datagrams a second.") var rate: Int
    @Option(help: "Send for so long.") var seconds: Double

    /// The lowest priority; a higher one is taken where it is needed.
    private static let lowestNiceness = 19

    func run() throws {
        signal(SIGPIPE, SIG_IGN)
        let attacker = try Attacker(
            victim: victim, friend: friend, chat: ChatKeys(openName: BenchNetwork.openChat), secretTag: secretTag)
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

    /// Keeps what the plan has made, such as links, until a line comes.
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
        let (openTag, secretTag) = (attacker.chat.tag, attacker.secretTag)
        return switch attack {
        case .initiations: RandomFlood { $0.initiation(tag: openTag) }
        case .initiationsSecret: RandomFlood { $0.initiation(tag: secretTag) }
        case .initiationsSpoofed: RandomFlood(from: .spoofed) { $0.initiation(tag: openTag) }
        case .initiationsRepeated: RepeatedInitiation()
        case .cookies: CookieFlood(count: 1_024, isSpread: false)
        case .cookiesSpread: CookieFlood(count: 2_048, isSpread: true)
        case .responses: try IndexFlood { $1.response(index: $0) }
        case .responsesSpoofed: try IndexFlood(from: .spoofed) { $1.response(index: $0) }
        case .asks: RandomFlood { $0.ask(tag: openTag) }
        case .retries: try IndexFlood { $1.retry(index: $0) }
        case .sealedKnown: SealedFlood()
        case .sealedRandom: RandomFlood { $0.sealed(index: $0.index()) }
        case .instances: try InstanceFlood()
        case .links: LinkFiller(isSpread: false, speaks: false)
        case .linksSpread: LinkFiller(isSpread: true, speaks: false)
        case .linksKept: LinkFiller(isSpread: false, speaks: true)
        case .messages: MessageFlood(memberCount: 1, textSize: 1)
        case .messagesCrowd: MessageFlood(memberCount: 20, textSize: 1)
        case .messagesLarge: MessageFlood(memberCount: 20, textSize: Limits.maximumRecordTextSize)
        case .probes: try ProbePlan()
        }
    }
}

/// Writes a line to standard output at once.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    var written = 0
    while written < bytes.count {
        let count = bytes[written...].withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
        guard count > 0 else { return }
        written += count
    }
}
