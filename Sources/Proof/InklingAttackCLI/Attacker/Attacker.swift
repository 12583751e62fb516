import Glibc
import InklingWire

/// What an attack does; ``Attacker`` runs it.
protocol AttackPlan: AnyObject {
    /// The most datagrams a second that it makes sense with.
    var maximumRate: Int { get }

    /// Does what has to be done before the time runs: keys, instances, links.
    func prepare(_ attacker: Attacker) throws

    /// Sends the next datagram.
    func sendNext(_ attacker: Attacker)

    /// Takes a datagram that came, from the victim or from others.
    func receive(_ datagram: Datagram, _ received: AttackSocket.Received, _ attacker: Attacker)

    /// Is called at least once every 10 ms or so.
    func tick(_ attacker: Attacker)

    /// What came of it, without blanks, where counts by kind don't say enough.
    var summary: String? { get }
}

extension AttackPlan {
    var maximumRate: Int { .max }

    func prepare(_ attacker: Attacker) throws {}

    func receive(_ datagram: Datagram, _ received: AttackSocket.Received, _ attacker: Attacker) {}

    func tick(_ attacker: Attacker) {}

    var summary: String? { nil }
}

/// The attacking host: its socket, what it knows of the victim, and the pace at which it sends.
final class Attacker {
    /// The addresses of the link that the attacker owns besides its first one: it receives what comes to them.
    static let ownedAddresses = (first: UInt32(10 << 24 | 77 << 16 | 128 << 8), count: UInt32(16_384))
    /// Addresses of the link that no host has.
    static let spoofedAddresses = (first: UInt32(10 << 24 | 77 << 16 | 64 << 8), count: UInt32(16_384))
    /// The attacker's first address on the link.
    static let address = IPv4Address(value: 10 << 24 | 77 << 16 | 3)
    /// How much of what was not sent in time is sent later, in seconds; the rest never is.
    private static let patience = 0.1

    let socket: AttackSocket
    let victim: SocketEndpoint
    let friend: SocketEndpoint
    /// The open chat that both friends are in.
    let chat: ChatKeys
    var garbage = GarbageGenerator()
    var random = SystemRandomNumberGenerator()

    private(set) var sentCount = 0
    /// What the system did not take.
    private(set) var refusedCount = 0
    /// What came from the victim, by kind.
    private(set) var receivedCounts: [Datagram.Kind: Int] = [:]
    private var victimKey: PublicKey?

    init(victim: SocketEndpoint, friend: SocketEndpoint, chat: ChatKeys) throws {
        socket = try AttackSocket()
        self.victim = victim
        self.friend = friend
        self.chat = chat
    }

    /// Sends a datagram to the victim, and counts it.
    func send(_ bytes: [UInt8], from source: IPv4Address? = nil) {
        if socket.send(bytes, to: victim, from: source) { sentCount += 1 } else { refusedCount += 1 }
    }

    /// Counts datagrams that a plan has sent through a socket of its own.
    func count(sent: Int, refused: Int) {
        sentCount += sent
        refusedCount += refused
    }

    /// A random one of those addresses.
    func address(of range: (first: UInt32, count: UInt32)) -> IPv4Address {
        IPv4Address(value: range.first + garbage.index() % range.count)
    }

    /// The victim's static key, for which it is asked.
    func askForKey() throws -> PublicKey {
        if let victimKey { return victimKey }
        let deadline = monotonicSeconds() + 5
        while monotonicSeconds() < deadline {
            let token = garbage.next()
            _ = socket.send(chat.ask(token: token).encode(), to: victim)
            let pause = monotonicSeconds() + 0.3
            while monotonicSeconds() < pause {
                if let received = socket.receive(), received.source == victim,
                    case .tell(let tell) = try? Datagram.parse(received.bytes), tell.token == token,
                    let key = try? chat.open(tell)
                {
                    victimKey = key
                    return key
                }
                rest(0.002)
            }
        }
        throw AttackError("the victim tells no key")
    }

    /// Hands what has come to the plan, at most `limit` datagrams.
    func drain(_ plan: some AttackPlan, limit: Int = 512) {
        for _ in 0..<limit {
            guard let received = socket.receive() else { break }
            guard let datagram = try? Datagram.parse(received.bytes) else { continue }
            if received.source.address == victim.address { receivedCounts[datagram.kind, default: 0] += 1 }
            plan.receive(datagram, received, self)
        }
        plan.tick(self)
    }

    /// Lets the plan take what comes until `isDone`, or the time is over.
    func pump(_ plan: some AttackPlan, seconds: Double, until isDone: () -> Bool) -> Bool {
        let deadline = monotonicSeconds() + seconds
        while !isDone() {
            guard monotonicSeconds() < deadline else { return false }
            drain(plan)
            rest(0.002)
        }
        return true
    }

    /// What a run of a plan came to.
    struct Figures {
        var sent = 0
        var refused = 0
        var seconds = 0.0
        /// The processor time that it took, in seconds.
        var processor = 0.0
        /// The niceness at the end, 0 to 19.
        var niceness = 0
        var received: [Datagram.Kind: Int] = [:]
    }

    /// Sends at `rate` datagrams a second for `seconds`, or until standard input ends.
    ///
    /// It begins with the lowest priority, and takes a higher one when it falls behind its rate.
    func run(_ plan: some AttackPlan, rate: Int, seconds: Double, niceness: inout Int) -> Figures {
        let rate = Double(min(rate, plan.maximumRate))
        (sentCount, refusedCount, receivedCounts) = (0, 0, [:])
        let begin = monotonicSeconds()
        let processorAtBegin = Attacker.processorSeconds()
        var now = begin
        // What should have been sent by now, less what is given up.
        var allowance = 0.0
        var last = begin
        var givenUp = 0.0
        while now < begin + seconds, !Attacker.inputHasEnded() {
            allowance += (now - last) * rate
            last = now
            if allowance > rate * Attacker.patience {
                givenUp += allowance - rate * Attacker.patience
                allowance = rate * Attacker.patience
            }
            // Behind by more than 2 % of what was due.
            if givenUp > max(0.02 * rate * (now - begin), rate * 0.1), niceness > 0 {
                niceness = max(0, niceness - 10)
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Int32(niceness))
                givenUp = 0
            }
            var burst = min(Int(allowance), 128)
            allowance -= Double(burst)
            while burst > 0 {
                plan.sendNext(self)
                burst -= 1
            }
            drain(plan, limit: 256)
            if allowance < 1 { rest(max(0.001, min(0.005, 1 / rate))) }
            now = monotonicSeconds()
        }
        return Figures(
            sent: sentCount, refused: refusedCount, seconds: now - begin,
            processor: Attacker.processorSeconds() - processorAtBegin, niceness: niceness, received: receivedCounts)
    }

    /// Whether whoever started this program has closed its input: then nothing more is sent.
    static func inputHasEnded() -> Bool {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&input, 1, 0) > 0 && input.revents & Int16(POLLHUP) != 0
    }

    private static func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
