import InklingModel

/// Outputs that wait until a front end takes them.
extension ServiceOutput {
    /// Whether the output is an outcome of a message of this node.
    var isOutcome: Bool {
        guard case .event(let timed) = self else { return false }
        return switch timed.event {
        case .delivered, .failed, .waiting: true
        case .peer, .typing, .message, .notice, .missed: false
        }
    }

    /// A message that the node received; nil for other outputs.
    package var message: ReceivedMessage? {
        if case .event(let timed) = self, case .message(let message) = timed.event { message } else { nil }
    }

    /// When the node learned of an event; 0 for other outputs.
    var at: Timestamp { if case .event(let timed) = self { timed.at } else { 0 } }
}
