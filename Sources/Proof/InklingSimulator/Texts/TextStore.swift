import InklingCore
import InklingWire

/// The texts that a daemon keeps: on its disk, and in the memory of its process.
struct TextStore {
    /// An own text for one person.
    struct Own {
        let index: Int
        let text: String
        var id: TextID
        /// The number of the unfinished message; nil while the text waits.
        var message: UInt64?
    }

    /// A received text that is not on the disk yet.
    struct Received {
        let number: UInt64
        let key: PublicKey
        let id: TextID
        let text: String
    }

    // The disk.

    /// The unfinished own texts for each person, in the order of writing.
    var own: [PublicKey: [Own]] = [:]
    /// The IDs of the received texts.
    var seen: [PublicKey: SeenTexts] = [:]

    // The memory.

    private var run: UInt64 = 0
    private var numbers: [PublicKey: UInt64] = [:]
    var received: [Received] = []
    /// The people with a link that does not have their unfinished texts yet.
    var due: Set<PublicKey> = []
    /// The messages that failed within the call that sent them.
    var failedAtOnce: Set<UInt64> = []

    /// Forgets all that is not on the disk.
    mutating func restart(seed: UInt64) {
        var generator = SeededGenerator(seed: seed, purpose: 15)
        run = generator.next()
        numbers = [:]
        received = []
        due = []
        failedAtOnce = []
        for (key, texts) in own {
            own[key] = texts.map { Own(index: $0.index, text: $0.text, id: $0.id, message: nil) }
        }
    }

    mutating func nextID(for key: PublicKey, _ now: Instant) -> TextID {
        numbers[key, default: 0] += 1
        return TextID(run: run, number: numbers[key] ?? 1, written: UInt64(now.nanoseconds / 1_000_000))
    }

    /// The unfinished texts of a person that may go now: those less than 64 above the lowest of their run (M-85).
    func sendable(to key: PublicKey) -> [Own] {
        var lowest: [UInt64: UInt64] = [:]
        return Array(
            (own[key] ?? []).prefix { text in
                let low = lowest[text.id.run] ?? text.id.number
                lowest[text.id.run] = low
                return text.id.number - low < UInt64(Limits.textsSeen)
            })
    }

    mutating func sent(_ index: Int, to key: PublicKey, as message: UInt64) {
        guard let place = own[key]?.firstIndex(where: { $0.index == index }) else { return }
        own[key]?[place].message = failedAtOnce.remove(message) == nil ? message : nil
    }
}

/// All texts of a scenario in which nodes keep texts, and the devices that have shown each.
struct TextLedger {
    struct Text {
        let writer: Int
        let text: String
        /// The people for whom the writer's daemon keeps the text.
        let recipients: [PublicKey]
        /// The hosts that have shown the text.
        var shown: Set<Int> = []
    }

    private(set) var texts: [Text] = []
    private var indices: [String: Int] = [:]
    /// The newest text of each writer that each host has shown.
    private var newest: [[Int]: Int] = [:]
    /// The transmissions of each host beyond the first on each link, at the last check.
    var repeats: [Int: (at: Instant, number: Int)] = [:]

    mutating func add(size: Int, by writer: Int, for recipients: [PublicKey]) -> (index: Int, text: String) {
        let name = "\(writer):\(texts.count):"
        let text = name + String(repeating: "x", count: max(0, size - name.utf8.count))
        indices[text] = texts.count
        texts.append(Text(writer: writer, text: text, recipients: recipients))
        return (texts.count - 1, text)
    }

    /// Records that a device shows a text from its disk.
    mutating func show(_ text: String, on host: SimulatedHost) -> Violation.Rule? {
        guard let index = indices[text], texts[index].recipients.contains(host.key) else { return .alteredMessage }
        guard texts[index].shown.insert(host.index).inserted else { return .doubledMessage }
        let before = newest.updateValue(index, forKey: [host.index, texts[index].writer]) ?? -1
        return before < index ? nil : .reorderedMessage
    }

    func isShown(_ index: Int, to key: PublicKey, _ hosts: [SimulatedHost]) -> Bool {
        texts[index].shown.contains { hosts[$0].key == key }
    }
}
