import InklingCore

/// Every message that was sent, and what became of it for each person that it was meant for.
struct MessageLedger {
    enum Outcome { case open, delivered, failed }

    struct Sent {
        let host: Int
        let incarnation: Int
        let chat: Int
        let number: UInt64
        let text: String
        let at: Instant
        var outcomes: [Int: Outcome]
        /// How many people it goes to; some of them may not be shown, because their links are down (M-36).
        var recipients: Int
        var isExact = true
        /// The identities at one of whose devices it was shown.
        var shownTo: Set<Int> = []
    }

    struct Stream: Hashable {
        let viewer: Int
        let viewerIncarnation: Int
        let sender: Int
        let senderIncarnation: Int
        let chat: Int
    }

    private(set) var sent: [Sent] = []
    /// The hosts that returned to a snapshot. Their reports of messages, and the texts that they show, may repeat.
    private var reverted: Set<Int> = []
    private var indices: [String: Int] = [:]
    private var lastShown: [Stream: Int] = [:]
    /// The messages reported as delivered, each with the time by which its receiver has to show the text. A message
    /// may wait for the list that ends its author's typing (T-22).
    private var delivered: [(index: Int, identity: Int, due: Instant)] = []

    /// The text of the next message: no two are alike.
    func text(size: Int, from host: Int) -> String {
        let name = "\(host):\(sent.count):"
        return name + String(repeating: "x", count: max(0, size - name.utf8.count))
    }

    mutating func send(
        _ text: String, host: SimulatedHost, chat: Int, number: UInt64, to identities: [Int], _ now: Instant
    ) {
        indices[text] = sent.count
        sent.append(
            Sent(
                host: host.index, incarnation: host.incarnation, chat: chat, number: number, text: text, at: now,
                outcomes: Dictionary(uniqueKeysWithValues: identities.map { ($0, .open) }),
                recipients: identities.count))
    }

    /// The node said to how many people, without those of an adversary, the last message goes.
    ///
    /// - Parameter isExact: Whether nobody of an adversary may be among them.
    mutating func went(to recipients: Int, isExact: Bool) {
        sent[sent.count - 1].recipients = recipients
        sent[sent.count - 1].isExact = isExact
    }

    /// A node showed a message.
    ///
    /// - Returns: Which it is, or what is wrong with it.
    mutating func show(
        _ text: String, from identity: Int?, in chat: Int, by viewer: SimulatedHost, hosts: [SimulatedHost]
    ) -> Result<Sent, Fault> {
        guard let index = indices[text], sent[index].chat == chat, hosts[sent[index].host].plan.identity == identity
        else { return .failure(Fault(rule: .alteredMessage, text: "\(text.prefix(40))")) }
        let message = sent[index]
        let stream = Stream(
            viewer: viewer.index, viewerIncarnation: viewer.incarnation, sender: message.host,
            senderIncarnation: message.incarnation, chat: chat)
        guard reverted.isDisjoint(with: [viewer.index, message.host]) else {
            sent[index].shownTo.insert(viewer.plan.identity)
            return .success(message)
        }
        let last = lastShown[stream] ?? -1
        guard index != last else { return .failure(Fault(rule: .doubledMessage, text: "\(text.prefix(40))")) }
        guard index > last else {
            return .failure(Fault(rule: .reorderedMessage, text: "\(text.prefix(40)) after \(last)"))
        }
        lastShown[stream] = index
        sent[index].shownTo.insert(viewer.plan.identity)
        return .success(message)
    }

    /// A host is what it was before.
    mutating func reverted(_ host: SimulatedHost) { reverted.insert(host.index) }

    struct Fault: Error {
        let rule: Violation.Rule
        let text: String
    }

    /// Records a node's report of the outcome of a message of its own.
    ///
    /// - Parameter due: The time by which the receiver has to show a delivered message; nil: the message is shown
    ///   already.
    mutating func report(
        _ number: UInt64, for identity: Int?, is outcome: Outcome, by host: SimulatedHost, due: Instant?
    ) -> Fault? {
        let index = sent.lastIndex {
            $0.host == host.index && $0.incarnation == host.incarnation && $0.number == number
        }
        guard reverted.isEmpty else {
            if let index, let identity { sent[index].outcomes[identity] = outcome }
            return nil
        }
        guard let index, let identity else {
            return Fault(rule: .wrongReport, text: "host \(host.index), message \(number)")
        }
        let isUnshown = sent[index].outcomes[identity] == nil && sent[index].outcomes.count < sent[index].recipients
        guard sent[index].outcomes[identity] == .open || isUnshown else {
            return Fault(rule: .wrongReport, text: "host \(host.index), message \(number)")
        }
        sent[index].outcomes[identity] = outcome
        if outcome == .delivered, !sent[index].shownTo.contains(identity) {
            if let due {
                delivered.append((index, identity, due))
                return nil
            }
            return Fault(rule: .lostMessage, text: "\(sent[index].text.prefix(40)) delivered and not shown")
        }
        return nil
    }

    /// Returns the first message that was reported as delivered and was not shown in time. A node that ended
    /// meanwhile has nothing more to show.
    mutating func firstOverdue(_ now: Instant, _ hosts: [SimulatedHost]) -> Sent? {
        defer { delivered.removeAll { $0.due <= now } }
        let overdue = delivered.first { message in
            message.due <= now && !sent[message.index].shownTo.contains(message.identity)
                && !hosts.contains {
                    $0.plan.identity == message.identity
                        && (!$0.isActive || message.due - $0.startedAt < .milliseconds(500))
                }
        }
        return overdue.map { sent[$0.index] }
    }

    /// The first message of a node that still runs whose outcome for somebody is open.
    func firstOpen(_ hosts: [SimulatedHost]) -> Sent? {
        guard reverted.isEmpty else { return nil }
        return sent.first { message in
            (message.outcomes.values.contains(.open) || message.isExact && message.outcomes.count < message.recipients)
                && hosts[message.host].incarnation == message.incarnation
                && hosts[message.host].node != nil
        }
    }
}
