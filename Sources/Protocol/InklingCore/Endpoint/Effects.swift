import InklingWire

/// The effects of an input: outputs in order, changed counters, and random numbers.
struct Effects: Sendable {
    /// The messages of a chat that wait for a list of typists. The list must first show that the authors stopped typing
    /// (T-27).
    private struct Gate {
        /// The people in the last reported list who have stopped typing since.
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

    /// Returns the next output, in order; nil when all outputs were drained.
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
        if case .message(let chat, let person, _, _, _) = output, let gate = gates[chat],
            gate.typists.contains(person.key) || !gate.messages.isEmpty
        {
            gates[chat]?.messages.append((person.key, output))
        } else {
            outputs.append(output)
        }
    }

    /// Begins or ends holding back the messages of a person. The node holds them while a list that ends the person's
    /// typing is due.
    mutating func holdMessages(of key: PublicKey, in chat: ChatID, _ isHeld: Bool) {
        if isHeld {
            gates[chat, default: Gate()].typists.insert(key)
        } else {
            gates[chat]?.typists.remove(key)
        }
    }

    /// Returns whether a message of a person waits.
    func holdsMessage(of key: PublicKey, in chat: ChatID) -> Bool {
        gates[chat]?.messages.contains { $0.author == key } ?? false
    }

    /// Releases the waiting messages of a chat, in their order.
    mutating func releaseMessages(in chat: ChatID) {
        guard let gate = gates.removeValue(forKey: chat) else { return }
        for message in gate.messages { outputs.append(message.output) }
    }

    mutating func send(_ bytes: [UInt8], to address: Address, _ kind: DatagramKind) {
        counters.sent.count(kind)
        counters.bytesSent += bytes.count
        outputs.append(.send(bytes, to: address, kind))
    }

    mutating func drop(_ reason: DropReason) { counters.drops[reason, default: 0] += 1 }

    // MARK: Numbers

    mutating func number() -> UInt64 { random.next() }

    mutating func index() -> UInt32 { UInt32(truncatingIfNeeded: random.next()) }

    mutating func keyPair() -> KeyPair { KeyPair(using: &random) }

    mutating func cookieKey() -> CookieKey { CookieKey(using: &random) }

    /// Returns the frames of a datagram. A node under test sometimes adds a frame of a reserved type.
    mutating func greased(_ frames: [Frame]) -> [Frame] { Greasing.grease(frames, using: &random) }

    /// Returns the instant after a duration from `start`. The duration varies at random within `percent`.
    mutating func instant(after start: Instant, _ duration: Duration, percent: ClosedRange<Int>) -> Instant {
        start + duration * (percent.lowerBound + Int(random.next() % UInt64(percent.count))) / 100
    }

    /// Returns the body of a greasing record if the node sends one before a message.
    mutating func greasingRecord() -> [UInt8]? { Greasing.record(number: 0, using: &random)?.body }

    /// Returns a number for a session that is completed now, above all earlier numbers (L-70).
    mutating func nextOrder() -> UInt64 {
        orders += 1
        return orders
    }
}
