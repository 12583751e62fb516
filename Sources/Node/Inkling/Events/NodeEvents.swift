import InklingModel

/// The events of a node or of one of its chats, for one reader: see ``Node/events()`` and ``ChatHandle/events``.
///
/// A slow reader gets a bounded number of events:
/// - Only the latest list of typists of a chat waits, and the latest presence of a person in a chat. Of several notices
///   on one subject, only the latest waits, 32 at most.
/// - Messages wait whole, 8 MiB of text at most in all readers of the node. Beyond that, peers must wait before they
///   can send more. Those who send the most wait first (M-20). Messages keep their order, so those of others wait
///   behind a flood. After eight messages, all that has changed comes first, so typing and presence are true within
///   eight messages. A person's typing, coming and going keep their order with their messages.
/// - Outcomes of this node's messages wait one by one, 131,072 at most.
///
/// A reader that takes nothing for 10 s, while events wait for it, delays nobody any longer. The node drops messages
/// that waited for the reader, and those that arrive until it takes again. ``Event/missed(_:)`` then reports their
/// number before the next event.
///
/// The sequence has one reader: each event goes to one caller. The events of a chat end when the node leaves it. A
/// sequence ends when the node is stopped, and by ``Node/stopObserving()``. Cancelling a task that waits for the next
/// event ends the sequence too.
public struct NodeEvents: AsyncSequence, Sendable {
    /// An event, and the time when the node learned of it.
    public typealias Element = TimedEvent
    /// Taking an event never fails.
    public typealias Failure = Never

    /// An iterator that takes one event after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: EventReader

        /// Takes the next event, which then counts as read.
        public mutating func next() async -> TimedEvent? { await reader.mailbox.next(isolation: nil) }

        /// Takes the next event, which then counts as read.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> TimedEvent? {
            await reader.mailbox.next(isolation: actor)
        }
    }

    private let reader: EventReader

    init(_ reader: EventReader) {
        self.reader = reader
    }

    /// A sequence that has ended.
    static var ended: NodeEvents {
        let mailbox = SharedMailbox()
        mailbox.finish()
        return NodeEvents(EventReader(mailbox) {})
    }

    /// Returns the iterator that takes the events.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }
}

/// Reports to a node that the reader of a mailbox is gone.
final class EventReader: Sendable {
    let mailbox: SharedMailbox
    private let leave: @Sendable () -> Void

    init(_ mailbox: SharedMailbox, leave: @escaping @Sendable () -> Void) {
        self.mailbox = mailbox
        self.leave = leave
    }

    deinit { leave() }
}
