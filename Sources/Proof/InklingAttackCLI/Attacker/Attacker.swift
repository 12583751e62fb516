import Glibc
import InklingWire
import SeededRandom

/// The actions of one attack, which ``Attacker`` calls.
protocol AttackPlan: AnyObject {
    /// The highest useful rate, in datagrams a second.
    var maximumRate: Int { get }

    /// Prepares keys, instances and links before the measured time.
    func prepare(_ attacker: Attacker) throws

    /// Sends the next datagram.
    func sendNext(_ attacker: Attacker)

    /// Receives a datagram from the victim or another host.
    func receive(_ datagram: Datagram, _ received: AttackSocket.Received, _ attacker: Attacker)

    /// Performs regular work. The attacker calls this at least every 10 ms or so.
    func tick(_ attacker: Attacker)

    /// A summary of the result, without blanks, if the counts by kind are not enough; else nil.
    var summary: String? { get }
}

extension AttackPlan {
    var maximumRate: Int { .max }

    func prepare(_ attacker: Attacker) throws {}

    func receive(_ datagram: Datagram, _ received: AttackSocket.Received, _ attacker: Attacker) {}

    func tick(_ attacker: Attacker) {}

    var summary: String? { nil }
}

/// The attacking host: its socket, its knowledge of the victim, and its rate.
final class Attacker {
    /// The attacker's own addresses on the link, without the first one. The attacker receives datagrams to them.
    static let ownedAddresses = (first: UInt32(10 << 24 | 77 << 16 | 128 << 8), count: UInt32(16_384))
    /// Addresses of the link that no host has.
    static let spoofedAddresses = (first: UInt32(10 << 24 | 77 << 16 | 64 << 8), count: UInt32(16_384))
    /// The attacker's first address on the link.
    static let address = IPv4Address(value: 10 << 24 | 77 << 16 | 3)
    /// The age up to which the attacker still sends late datagrams, in seconds. The attacker drops later ones.
    private static let patience = 0.1

    let socket: AttackSocket
    let victim: SocketEndpoint
    let friend: SocketEndpoint
    /// The open chat of both friends.
    let chat: ChatKeys
    var garbage = SeededGenerator(seed: .random(in: 0 ... .max))
    var random = SystemRandomNumberGenerator()

    private(set) var sentCount = 0
    /// The number of datagrams that the system refused.
    private(set) var refusedCount = 0
    /// The number of datagrams from the victim, by kind.
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

    /// Counts datagrams that a plan sent through another socket.
    func count(sent: Int, refused: Int) {
        sentCount += sent
        refusedCount += refused
    }

    /// Returns a random address of a range.
    func address(of range: (first: UInt32, count: UInt32)) -> IPv4Address {
        IPv4Address(value: range.first + garbage.index() % range.count)
    }

    /// Asks the victim for its static key.
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

    /// Passes at most `limit` received datagrams to the plan.
    func drain(_ plan: some AttackPlan, limit: Int = 512) {
        for _ in 0..<limit {
            guard let received = socket.receive() else { break }
            guard let datagram = try? Datagram.parse(received.bytes) else { continue }
            if received.source.address == victim.address { receivedCounts[datagram.kind, default: 0] += 1 }
            plan.receive(datagram, received, self)
        }
        plan.tick(self)
    }

    /// Passes received datagrams to the plan until `isDone` is true, or the time is over.
    func pump(_ plan: some AttackPlan, seconds: Double, until isDone: () -> Bool) -> Bool {
        let deadline = monotonicSeconds() + seconds
        while !isDone() {
            guard monotonicSeconds() < deadline else { return false }
            drain(plan)
            rest(0.002)
        }
        return true
    }

    /// The figures of one run of a plan.
    struct Figures {
        var sent = 0
        var refused = 0
        var seconds = 0.0
        /// The processor time of the run, in seconds.
        var processor = 0.0
        /// The attacker's scheduling priority at the end of the run, from 0 (normal) to 19 (lowest).
        var niceness = 0
        var received: [Datagram.Kind: Int] = [:]
    }

    /// Sends `rate` datagrams a second for `seconds`, or until standard input ends.
    ///
    /// The run begins with the lowest scheduling priority, and raises it when the rate falls behind.
    func run(_ plan: some AttackPlan, rate: Int, seconds: Double, niceness: inout Int) -> Figures {
        let rate = Double(min(rate, plan.maximumRate))
        (sentCount, refusedCount, receivedCounts) = (0, 0, [:])
        let begin = monotonicSeconds()
        let processorAtBegin = Attacker.processorSeconds()
        var now = begin
        // The number of datagrams due by now, without the dropped ones.
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
            // The attacker has dropped more than 2 % of the due datagrams.
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

    /// Returns whether the parent process has closed this program's input. The attacker then stops.
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
