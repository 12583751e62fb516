import InklingCore
import InklingWire

/// The daemons of nodes that keep texts, and the checks of these texts (M-80 to M-86).
extension Simulation {
    // MARK: The writer

    /// Keeps a text for all other people, and sends it to those for whom no older text waits.
    func sendKept(_ host: SimulatedHost, _ chat: Int, _ size: Int) {
        guard let node = host.node, case .running = host.state else { return }
        let people = Set(hosts.map(\.key)).subtracting([host.key]).sorted()
        guard let (index, text) = texts?.add(size: size, by: host.index, for: people) else { return }
        host.writing[chat].end()
        host.typing[chat].end(now, byMessage: true)
        let reachable = node.endpoint.recipients(in: chats[chat].id)
        var (ids, waiting): ([PublicKey: TextID], Set<PublicKey>) = ([:], [])
        for key in people {
            let id = host.store.nextID(for: key, now)
            let isFirst =
                !host.store.due.contains(key) && !(host.store.own[key] ?? []).contains { $0.message == nil }
            host.store.own[key, default: []].append(.init(index: index, text: text, id: id, message: nil))
            if reachable.contains(key), isFirst, host.store.sendable(to: key).last?.index == index {
                ids[key] = id
            } else {
                waiting.insert(key)
            }
        }
        trace { "host \(host.index) writes \(text.prefix(24)), for \(ids.count) at once" }
        var message: UInt64?
        input(host) {
            message = try? $0.send(text, to: self.chats[chat].id, ids: ids, without: waiting, now: $1).message
        }
        for key in ids.keys.sorted() {
            if let message { host.store.sent(index, to: key, as: message) }
        }
    }

    /// Sends the unfinished texts of a person soon, after the daemon has read them from its disk.
    func becomeReachable(_ key: PublicKey, for host: SimulatedHost) {
        host.store.due.insert(key)
        let pause = Duration.milliseconds(host.lateness.pick([0, 1, 20, 300]))
        events.add(.flush(host: host.index, incarnation: host.incarnation, key), at: now + pause)
    }

    /// Sends the unfinished texts of a person, the oldest first.
    func flush(_ host: SimulatedHost, _ incarnation: Int, _ key: PublicKey) {
        guard host.incarnation == incarnation, let node = host.node else { return }
        guard case .running = host.state, !node.isSuspended else {
            return events.add(.flush(host: host.index, incarnation: incarnation, key), at: now + .milliseconds(500))
        }
        host.store.due.remove(key)
        for own in host.store.sendable(to: key) {
            var message: UInt64?
            input(host) { message = try? $0.resend(own.text, own.id, to: key, in: self.chats[0].id, now: $1) }
            guard let message else { return }
            trace { "host \(host.index) sends \(own.text.prefix(24)) again, as \(message)" }
            host.store.sent(own.index, to: key, as: message)
        }
    }

    /// Records the outcome of a message. After a failure, the text waits.
    func finish(_ message: UInt64, for key: PublicKey, isDelivered: Bool, _ host: SimulatedHost) {
        guard let place = host.store.own[key]?.firstIndex(where: { $0.message == message }) else {
            guard !isDelivered else { return }
            host.store.failedAtOnce.insert(message)
            return events.add(
                .flush(host: host.index, incarnation: host.incarnation, key), at: now + .seconds(1))
        }
        if isDelivered {
            let own = host.store.own[key]?.remove(at: place)
            if let own, texts?.isShown(own.index, to: key, hosts) == false {
                checker.report(.lostMessage, "\(own.text.prefix(24)) delivered and not kept", now)
            }
        } else {
            host.store.own[key]?[place].message = nil
        }
        guard host.store.own[key]?.contains(where: { $0.message == nil }) ?? false else { return }
        let pause = isDelivered ? Duration.zero : .seconds(1)
        events.add(.flush(host: host.index, incarnation: host.incarnation, key), at: now + pause)
    }

    // MARK: The recipient

    func receiveKept(_ text: String, _ id: TextID, _ number: UInt64, from key: PublicKey, _ host: SimulatedHost) {
        trace { "host \(host.index) receives text \(text.prefix(24))" }
        host.store.received.append(.init(number: number, key: key, id: id, text: text))
        guard host.store.received.count == 1 else { return }
        let pause = Duration.milliseconds(host.lateness.pick([0, 1, 5, 20, 100, 700]))
        events.add(.commit(host: host.index, incarnation: host.incarnation), at: now + pause)
    }

    /// Writes all received texts and their IDs to the disk at once. From then on the user sees them.
    func commit(_ host: SimulatedHost, _ incarnation: Int) {
        guard host.incarnation == incarnation, host.node != nil else { return }
        guard case .running = host.state else {
            return events.add(.commit(host: host.index, incarnation: incarnation), at: now + .milliseconds(100))
        }
        let received = host.store.received
        host.store.received = []
        for item in received {
            host.store.seen[item.key, default: SeenTexts()].insert(item.id)
            trace { "host \(host.index) keeps text \(item.text.prefix(24))" }
            guard let rule = texts?.show(item.text, on: host) else { continue }
            checker.report(rule, "host \(host.index): \(item.text.prefix(24))", now)
        }
        input(host) { $0.textsKept(received.map(\.number), now: $1) }
    }

    // MARK: Checks

    /// Returns the texts that no device of their recipient has shown. All of them are on the writers' disks.
    func unshownTexts() -> [String] {
        guard let texts else { return [] }
        return texts.texts.indices.flatMap { index in
            texts.texts[index].recipients.filter { !texts.isShown(index, to: $0, hosts) }.map { key in
                let identity = hosts.first { $0.key == key }?.plan.identity ?? -1
                return "\(texts.texts[index].text.prefix(24)) is not shown to identity \(identity)"
            }
        }
    }

    /// Checks how often nodes repeat texts. The timer of a link runs out at most five times a second (M-11). Then one
    /// text goes, and others as the window grows again.
    func checkTexts() {
        guard texts != nil else { return }
        for host in hosts {
            guard let number = host.node?.ask({ $0.counters.textsRetransmitted }) else { continue }
            let before = texts?.repeats[host.index] ?? (at: now, number: 0)
            guard now - before.at >= .seconds(1) || number < before.number || before.at == now else { continue }
            texts?.repeats[host.index] = (now, number)
            let seconds = Int((now - before.at).nanoseconds / 1_000_000_000) + 1
            guard number - before.number > 5 * seconds * 4 * hosts.count else { continue }
            checker.report(.traffic, "host \(host.index) repeats \(number - before.number) texts", now)
        }
    }
}

extension Scenario {
    /// Draws the scenario of a seed in which nodes keep texts for people who are away.
    ///
    /// The faults are those of other scenarios, with more kills and cuts around texts. All nodes are in one chat, and
    /// some people have two devices.
    package init(textsOf seed: UInt64) {
        var generator = SeededGenerator(seed: seed, purpose: 14)
        let count = generator.pick([2, 2, 3, 3, 4])
        self.init(seed: seed, hosts: count)
        adversary = nil
        keepsTexts = true
        network.isByHand = false
        network.reorderingDelay = min(network.reorderingDelay, 200)
        let hasTwoDevices = count > 2 && generator.oneIn(2)
        hosts = hosts.enumerated().map { index, plan in
            HostPlan(plan, identity: hasTwoDevices && index == count - 1 ? count - 2 : index, chats: [0])
        }
        steps = steps.compactMap(\.withoutSnapshots).filter(\.isInFirstChat)
        let end = drawTexts(&generator)
        faultsEnd = max(min(faultsEnd, 200_000), end)
        steps = steps.sorted { ($0.at, $0.number) < ($1.at, $1.number) }.filter { $0.at <= faultsEnd }
    }

    /// - Returns: The end of the last step, in milliseconds from the start.
    private mutating func drawTexts(_ generator: inout SeededGenerator) -> Int {
        var drawn: [(at: Int, host: Int, action: Action)] = []
        var at = generator.number(in: 500...5_000)
        for _ in 0..<generator.pick([3, 10, 10, 30]) {
            let (writer, other) = (generator.number(in: 0...hosts.count - 1), generator.number(in: 0...hosts.count - 1))
            for _ in 0..<generator.pick([1, 1, 2, 5, 5, 70]) {
                drawn.append((at, writer, .send(chat: 0, size: generator.pick([20, 20, 200, 1_140, 1_141, 4_000]))))
                at += generator.pick([0, 0, 1, 20])
            }
            disturb(writer, other, around: at, &drawn, &generator)
            at += generator.pick([1, 20, 200, 1_000, 3_000, 10_000])
        }
        for (at, host, action) in drawn {
            steps.append(Step(number: steps.count, at: at, host: host, action: action))
        }
        return max(at, drawn.map(\.at).max() ?? 0) + generator.pick([0, 1_000, 5_000])
    }

    /// Adds a kill, a stop or a cut shortly before or after a text.
    private func disturb(
        _ writer: Int, _ other: Int, around at: Int, _ drawn: inout [(at: Int, host: Int, action: Action)],
        _ generator: inout SeededGenerator
    ) {
        let time = max(0, at + generator.pick([-3_000, -500, -5, 0, 1, 3, 10, 40, 300]))
        let length = generator.pick([1, 500, 2_000, 5_000, 20_000])
        let host = generator.pick([writer, other])
        switch generator.number(in: 0...6) {
        case 0, 1: drawn += [(time, host, .crash(will: generator.oneIn(2))), (time + length, host, .start)]
        case 2: drawn += [(time, host, .quit), (time + length, host, .start)]
        case 3:
            guard writer != other else { return }
            drawn.append((time, writer, .partition(to: other, length)))
            if generator.oneIn(2) { drawn.append((time, other, .partition(to: writer, length))) }
        case 4:
            guard writer != other else { return }
            // Acks are lost, and then one end is killed.
            drawn += [(time, other, .partition(to: writer, length)), (time + length / 2, host, .crash(will: false))]
            drawn.append((time + length, host, .start))
        case 5: drawn += [(time, host, .suspend), (time + length, host, .resume)]
        default: return
        }
    }
}

extension Scenario.Step {
    fileprivate var isInFirstChat: Bool {
        switch action {
        case .join, .leave: false
        case .edit(let chat), .empty(let chat), .open(let chat), .send(let chat, _): chat == 0
        default: true
        }
    }
}

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
