import InklingCore

/// All sent messages, and the outcome of each for each recipient.
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
        /// The number of recipients. Some may not be shown as present, because their links are down (M-36).
        var recipients: Int
        var isExact = true
        /// The identities that saw the message on one of their devices.
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
    /// The hosts that returned to a snapshot, with the time. Their reports of messages, and the texts that they show, may
    /// repeat.
    private var reverted: [Int: Instant] = [:]
    private var indices: [String: Int] = [:]
    private var lastShown: [Stream: Int] = [:]
    /// The messages reported as delivered, each with the time by which its receiver has to show the text. A message
    /// may wait for the list that ends its author's typing (T-22).
    private var delivered: [(index: Int, identity: Int, due: Instant)] = []

    /// Returns a new text for a message. No two texts are equal.
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

    /// Records the number of recipients that the node reported for the last message, without the adversary's.
    ///
    /// - Parameter isExact: Whether the adversary cannot be among the recipients.
    mutating func went(to recipients: Int, isExact: Bool) {
        sent[sent.count - 1].recipients = recipients
        sent[sent.count - 1].isExact = isExact
    }

    /// Records that a node showed a message.
    ///
    /// - Returns: The message, or the error.
    mutating func show(
        _ text: String, from identity: Int?, in chat: Int, by viewer: SimulatedHost, hosts: [SimulatedHost]
    ) -> Result<Sent, Fault> {
        guard let index = indices[text], sent[index].chat == chat, hosts[sent[index].host].plan.identity == identity
        else { return .failure(Fault(rule: .alteredMessage, text: "\(text.prefix(40))")) }
        let message = sent[index]
        let stream = Stream(
            viewer: viewer.index, viewerIncarnation: viewer.incarnation, sender: message.host,
            senderIncarnation: message.incarnation, chat: chat)
        guard reverted[viewer.index] == nil, reverted[message.host] == nil else {
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

    /// Records that a host returned to a snapshot.
    mutating func reverted(_ host: SimulatedHost, _ now: Instant) { reverted[host.index] = now }

    struct Fault: Error {
        let rule: Violation.Rule
        let text: String
    }

    /// Records a node's report of the outcome of its own message.
    ///
    /// - Parameter due: The time by which the receiver must show a delivered message; nil if it is shown already.
    mutating func report(
        _ number: UInt64, for identity: Int?, is outcome: Outcome, by host: SimulatedHost, due: Instant?
    ) -> Fault? {
        let index = sent.lastIndex {
            $0.host == host.index && $0.incarnation == host.incarnation && $0.number == number
        }
        guard reverted.isEmpty else {
            guard let index, let identity else { return nil }
            sent[index].outcomes[identity] = outcome
            // The text of a node that returned to a snapshot is not taken for an earlier one (L-105).
            guard outcome == .delivered, due == nil, let since = reverted[host.index], sent[index].at > since,
                !sent[index].shownTo.contains(identity)
            else { return nil }
            return Fault(rule: .lostMessage, text: "\(sent[index].text.prefix(40)) delivered and not shown")
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

    /// Returns the first message that was reported as delivered but not shown in time. A receiver that ended meanwhile
    /// need not show it.
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

    /// Returns the first message of a running node that has a recipient without an outcome. A node that returned to a
    /// snapshot numbers its messages again, so its reports do not say which text they mean.
    func firstOpen(_ hosts: [SimulatedHost]) -> Sent? {
        sent.first { message in
            (message.outcomes.values.contains(.open) || message.isExact && message.outcomes.count < message.recipients)
                && reverted[message.host] == nil && hosts[message.host].incarnation == message.incarnation
                && hosts[message.host].node != nil
        }
    }
}
