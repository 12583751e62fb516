import InklingModel

/// The events of a node or of one of its chats, for one reader: see ``Node/events()`` and ``ChatHandle/events``.
///
/// A reader that is slower than what comes gets what counts, and bounded:
/// - Of who types in a chat and of a person's presence in a chat, the latest waits, and replaces what waited before. Of
///   notices the latest on each subject does, 32 at most.
/// - Messages wait whole, 8 MiB of text at most in all readers of the node; beyond that the peers wait, who send the
///   most first (M-20). Each sender's messages come in their order, and senders take turns, so that the messages of one
///   who floods don't hold up those of others. What a person did in a chat, as typing and coming and going, keeps its
///   order with their messages.
/// - Outcomes of own messages wait one by one, 131,072 at most.
///
/// A reader that takes nothing for 10 s while something waits for it holds up nobody any longer. Messages that waited
/// for it, and those that come until it takes again, are given up. ``Event/missed(chat:messages:outcomes:)`` tells it
/// first how many they were, and then what waits goes on.
///
/// The sequence has one reader: events go to whoever asks next. The events of a chat end when the node leaves it. Each
/// sequence ends when the node is stopped, by ``Node/stopObserving()``, and when a task that waits for the next event is
/// cancelled.
public struct NodeEvents: AsyncSequence, Sendable {
    /// An event, and when the node learned of it.
    public typealias Element = TimedEvent
    /// Taking an event never fails.
    public typealias Failure = Never

    /// Takes one event after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: EventReader

        /// The next event, which counts as read by that.
        public mutating func next() async -> TimedEvent? { await reader.mailbox.next(isolation: nil) }

        /// The next event, which counts as read by that.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> TimedEvent? {
            await reader.mailbox.next(isolation: actor)
        }
    }

    private let reader: EventReader

    init(_ reader: EventReader) {
        self.reader = reader
    }

    /// One that has ended.
    static var ended: NodeEvents {
        let mailbox = EventMailbox()
        mailbox.finish()
        return NodeEvents(EventReader(mailbox) {})
    }

    /// What takes the events.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }
}

/// Tells a node when the reader of a mailbox is gone.
final class EventReader: Sendable {
    let mailbox: EventMailbox
    private let leave: @Sendable () -> Void

    init(_ mailbox: EventMailbox, leave: @escaping @Sendable () -> Void) {
        self.mailbox = mailbox
        self.leave = leave
    }

    deinit { leave() }
}
