import InklingModel
import InklingText

/// The outcome of one of the user's messages for each recipient.
package struct Delivery: Sendable {
    let text: String
    private let recipients: Int
    private let namesOne: Bool
    private var delivered = 0
    private var receiver: Labels.Label?
    private var isShownUnsettled = false
    private var failures: [(label: Labels.Label, why: FailureReason)] = []
    /// The people for whom the message waits.
    private var waiting: [Labels.Label] = []
    /// Whether a line has reported a person who got the message after a wait.
    private var isReported = false

    /// Records a sent message without outcomes.
    ///
    /// - Parameters:
    ///   - text: the message.
    ///   - recipients: the number of recipients.
    ///   - namesOne: whether to name the only person who has the message, if more people are known.
    package init(text: String, recipients: Int, namesOne: Bool = false) {
        self.namesOne = namesOne
        self.text = text
        self.recipients = recipients
    }

    /// Records that a person has the whole message.
    ///
    /// - Returns: The line about a person for whom the message waited; nil for others.
    @discardableResult
    package mutating func succeed(_ label: Labels.Label? = nil) -> Line? {
        delivered += 1
        receiver = label
        guard let place = waiting.firstIndex(where: { $0.user == label?.user }) else { return nil }
        isReported = true
        return ChatLines.notice("Delivered to \(waiting.remove(at: place).isolated): ", excerpt: text)
    }

    /// Records that the message waits for a person.
    package mutating func wait(for label: Labels.Label) {
        if !waiting.contains(where: { $0.user == label.user }) { waiting.append(label) }
    }

    /// Records that a person may not have the message.
    package mutating func fail(_ label: Labels.Label, why: FailureReason) {
        waiting.removeAll { $0.user == label.user }
        failures.append((label, why))
    }

    /// Whether all recipients have an outcome.
    package var isSettled: Bool { delivered + failures.count >= recipients }

    /// Whether each recipient has an outcome, or the message waits for them.
    var isKnown: Bool { delivered + failures.count + waiting.count >= recipients }

    /// Whether the message waits for somebody.
    var isWaiting: Bool { !waiting.isEmpty }

    /// Whether some recipient may not have the message.
    var hasFailed: Bool { !failures.isEmpty }

    /// Whether all recipients have the message. The prompt then says nothing.
    package var reachedAll: Bool { recipients > 0 && delivered >= recipients }

    /// Returns the mark that is shown with the message now. Later outcomes get their own line.
    package mutating func show() -> String {
        isShownUnsettled = !isSettled
        return mark
    }

    /// Whether all recipients have an outcome, and none has the message.
    package var reachedNobody: Bool { isSettled && delivered == 0 }

    /// The mark after a message without outcomes.
    static let onItsWay = "on its way"

    /// The mark after the user's own message: the outcomes that are known so far.
    package var mark: String {
        if !failures.isEmpty {
            return "may not have reached " + missed + (delivered > 0 ? ", to \(delivered) of \(recipients)" : "")
        }
        if !waiting.isEmpty {
            return "waiting for " + awaited + (delivered > 0 ? ", delivered to \(delivered) of \(recipients)" : "")
        }
        guard reachedAll else {
            return recipients == 1 ? Self.onItsWay : "sending: \(delivered) of \(recipients) have it"
        }
        guard recipients == 1 else { return "to all \(recipients)" }
        return namesOne ? receiver.map { "delivered to \($0.marked)" } ?? "delivered" : "delivered"
    }

    private var awaited: String {
        Words.list(
            waiting.prefix(3).map(\.marked) + (waiting.count > 3 ? ["\(waiting.count - 3) more"] : []))
    }

    /// The line about a message that waits, although a line has shown it already.
    var waitingLine: Line? {
        isShownUnsettled && isWaiting ? ChatLines.notice("Waiting for \(awaited): ", excerpt: text) : nil
    }

    private var missed: String {
        let who = failures.prefix(3).map { "\($0.label.marked) (\($0.why.words))" }
        return Words.list(who + (failures.count > 3 ? ["\(failures.count - 3) more"] : []))
    }

    /// The line about a message that did not reach all recipients; nil for others.
    package var line: Line? {
        if recipients == 0 { return ChatLines.reachedNobody(text: text) }
        if failures.isEmpty {
            if isReported { return nil }
            let end = recipients == 1 ? "" : " to all \(recipients)"
            return isShownUnsettled ? ChatLines.notice("Delivered\(end): ", excerpt: text) : nil
        }
        let begin =
            delivered > 0
            ? "Delivered to \(delivered) of \(recipients), may not have reached " : "May not have reached "
        return ChatLines.notice(begin + missed + ": ", excerpt: text)
    }

    /// The line about a message whose missing outcomes the prompt no longer awaits.
    package var abandonedLine: Line {
        guard delivered > 0 || !failures.isEmpty else {
            return ChatLines.notice("Delivery is unknown: ", excerpt: text)
        }
        let known = delivered > 0 ? ["Delivered to \(delivered) of \(recipients)"] : []
        let failed = failures.isEmpty ? [] : [(delivered > 0 ? "may" : "May") + " not have reached " + missed]
        return ChatLines.notice(
            (known + failed).joined(separator: ", ") + "; delivery to "
                + (failures.isEmpty ? "all" : "the rest") + " is unknown: ", excerpt: text)
    }
}
