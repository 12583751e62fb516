import InklingModel
import InklingText

/// The outcome of an own message for each recipient.
package struct Delivery: Sendable {
    let text: String
    private let recipients: Int
    private let namesOne: Bool
    private var delivered = 0
    private var receiver: Labels.Label?
    private var isShownUnsettled = false
    private var failures: [(label: Labels.Label, why: FailureReason)] = []

    /// - Parameters:
    ///   - text: the message.
    ///   - recipients: how many people it was sent to.
    ///   - namesOne: whether to name the only one who has it, where more people are known.
    package init(text: String, recipients: Int, namesOne: Bool = false) {
        self.namesOne = namesOne
        self.text = text
        self.recipients = recipients
    }

    /// Records that a person has the whole message.
    package mutating func succeed(_ label: Labels.Label? = nil) {
        delivered += 1
        receiver = label
    }

    /// Records that a person may not have the message.
    package mutating func fail(_ label: Labels.Label, why: FailureReason) { failures.append((label, why)) }

    /// Whether everybody has answered for it.
    package var isSettled: Bool { delivered + failures.count >= recipients }

    /// Whether somebody is not known to have it.
    var hasFailed: Bool { !failures.isEmpty }

    /// Whether everybody has it, which needs no word.
    package var reachedAll: Bool { recipients > 0 && delivered >= recipients }

    /// Shows the delivery so far with the message. Later answers get a line of their own.
    package mutating func show() -> String {
        isShownUnsettled = !isSettled
        return mark
    }

    /// Whether everybody has answered, and nobody has it.
    package var reachedNobody: Bool { isSettled && delivered == 0 }

    /// The mark after the user's own message: its delivery, as far as is known.
    package var mark: String {
        if !failures.isEmpty {
            return "may not have reached " + missed + (delivered > 0 ? ", to \(delivered) of \(recipients)" : "")
        }
        guard reachedAll else {
            return recipients == 1 ? "on its way" : "sending: \(delivered) of \(recipients) have it"
        }
        guard recipients == 1 else { return "to all \(recipients)" }
        return namesOne ? receiver.map { "delivered to \($0.marked)" } ?? "delivered" : "delivered"
    }

    private var missed: String {
        let who = failures.prefix(3).map { "\($0.label.marked) (\(ChatLines.reason($0.why)))" }
        return Words.list(who + (failures.count > 3 ? ["\(failures.count - 3) more"] : []))
    }

    /// The line that says so when the message has not reached everybody.
    package var line: Line? {
        if recipients == 0 { return ChatLines.reachedNobody(text: text) }
        if failures.isEmpty {
            let end = recipients == 1 ? "" : " to all \(recipients)"
            return isShownUnsettled ? ChatLines.notice("Delivered\(end): ", excerpt: text) : nil
        }
        let begin =
            delivered > 0
            ? "Delivered to \(delivered) of \(recipients), may not have reached " : "May not have reached "
        return ChatLines.notice(begin + missed + ": ", excerpt: text)
    }

    /// The line that says so when nobody waits for the rest of the answers any more.
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
