import InklingModel
import NIOCore

/// The things that wait in a mailbox.
extension Mailbox {
    /// A person in a chat.
    struct Member: Hashable {
        let chat: String
        let user: UserID
    }

    /// A state of which the latest value waits.
    enum State: Hashable, Sendable {
        case user
        case typing(String)
        case presence(Member)
        case notice(NoticeSubject)
    }

    /// An output that may not be lost.
    struct Item {
        let arrival: Int
        let chat: String
        /// The author of a message from somebody else.
        let author: UserID?
        let output: ServiceOutput

        var member: Member? { author.map { Member(chat: chat, user: $0) } }
    }

    /// The events of a person in a chat that wait, in this order: `before`, the messages, `after`.
    struct Standing {
        /// Whether the reader knows that the person is present.
        var isThere = false
        var before: TimedEvent?
        /// For each waiting message, whether its author was typing when it came.
        var messages = CircularBuffer<Bool>(initialCapacity: 0)
        var after: TimedEvent?

        var isSettled: Bool { !isThere && before == nil && messages.isEmpty && after == nil }
    }
}

extension TimedEvent {
    /// Whether a change of presence says that the person is there.
    var isThere: Bool {
        if case .peer(let change) = event { change.peer.presence != .offline } else { false }
    }
}
