import InklingModel

/// An output that waits until a front end takes it.
package enum QueuedOutput: Sendable {
    case event(TimedEvent)
    /// A message that another front end of the user sent.
    case own(OwnMessage)
    /// The latest state of the user.
    case user(UserState)

    /// When the node learned of it.
    var at: Timestamp {
        switch self {
        case .event(let timed): timed.at
        case .own(let message): message.at
        case .user(let user): user.at
        }
    }

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
}

extension ServiceOutput {
    package init(_ output: QueuedOutput) {
        switch output {
        case .event(let timed): self = .event(timed)
        case .own(let message): self = .own(message)
        case .user(let user): self = .user(user)
        }
    }
}
