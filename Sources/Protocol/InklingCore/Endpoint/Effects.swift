import InklingWire

/// The effects of an input: outputs in their order, counters, and the random numbers that the input consumes.
struct Effects: Sendable {
    /// The messages of a chat that wait for the list that ends their authors' typing (T-27).
    private struct Gate {
        /// The people in the last list of typists who have stopped typing.
        var typists: Set<PublicKey> = []
        var messages: [(author: PublicKey, output: Output)] = []
    }

    private var outputs: [Output] = []
    private var head = 0
    private var gates: [ChatID: Gate] = [:]
    private var random: any RandomNumberGenerator & Sendable
    private var orders: UInt64 = 0
    /// Counters since the start.
    var counters = Counters()

    init(random: any RandomNumberGenerator & Sendable) { self.random = random }

    // MARK: Outputs

    /// The next output, in order; nil when all was taken.
    mutating func next() -> Output? {
        guard head < outputs.count else {
            outputs.removeAll(keepingCapacity: true)
            head = 0
            return nil
        }
        defer { head += 1 }
        return outputs[head]
    }

    mutating func tell(_ output: Output) {
        if case .message(let chat, let person, _, _) = output, let gate = gates[chat],
            gate.typists.contains(person.key) || !gate.messages.isEmpty
        {
            gates[chat]?.messages.append((person.key, output))
        } else {
            outputs.append(output)
        }
    }

    /// Whether messages of somebody wait from now on: a list that ends their typing is due.
    mutating func holdMessages(of key: PublicKey, in chat: ChatID, _ isHeld: Bool) {
        if isHeld {
            gates[chat, default: Gate()].typists.insert(key)
        } else {
            gates[chat]?.typists.remove(key)
        }
    }

    /// Whether a message of somebody waits.
    func holdsMessage(of key: PublicKey, in chat: ChatID) -> Bool {
        gates[chat]?.messages.contains { $0.author == key } ?? false
    }

    /// The messages of a chat that waited go out, in their order.
    mutating func releaseMessages(in chat: ChatID) {
        guard let gate = gates.removeValue(forKey: chat) else { return }
        for message in gate.messages { outputs.append(message.output) }
    }

    mutating func send(_ bytes: [UInt8], to address: Address, _ kind: DatagramKind) {
        counters.sent[kind, default: 0] += 1
        counters.bytesSent += bytes.count
        outputs.append(.send(bytes, to: address, kind))
    }

    mutating func drop(_ reason: DropReason) { counters.drops[reason, default: 0] += 1 }

    // MARK: Numbers

    mutating func number() -> UInt64 { random.next() }

    mutating func index() -> UInt32 { UInt32(truncatingIfNeeded: random.next()) }

    mutating func keyPair() -> KeyPair { KeyPair(using: &random) }

    mutating func cookieKey() -> CookieKey { CookieKey(using: &random) }

    /// The frames of a datagram of a node under test, which adds one of a reserved type now and then.
    mutating func greased(_ frames: [Frame]) -> [Frame] { Greasing.grease(frames, using: &random) }

    /// An instant at a duration from `start` that is varied at random within `percent`.
    mutating func instant(after start: Instant, _ duration: Duration, percent: ClosedRange<Int>) -> Instant {
        start + duration * (percent.lowerBound + Int(random.next() % UInt64(percent.count))) / 100
    }

    /// Returns the body of a greasing record if the node sends one before a message.
    mutating func greasingRecord() -> [UInt8]? { Greasing.record(number: 0, using: &random)?.body }

    /// The place of a session that is completed now: after all others (L-70).
    mutating func nextOrder() -> UInt64 {
        orders += 1
        return orders
    }
}
