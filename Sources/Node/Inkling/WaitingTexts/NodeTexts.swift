import InklingModel
import InklingWire
import NIOCore

/// The texts of a node in all its chats, beside those of ``ChatTexts``.
struct NodeTexts {
    /// Nil for a node that keeps no texts (M-87).
    var store: NIOLoopBound<any TextStore>?
    /// The notice that texts are not kept; nil if the last write succeeded.
    var fault: Notice?
    /// The switches that differ from the usual ones, by chat.
    var holds: [String: Bool] = [:]
    var queues = TextQueues()
    /// The users who are blocked now.
    var blocked: Set<UserID> = []
    /// The timer for texts that are to be given up.
    var look: Scheduled<Void>?
    /// The timer for texts that failed although the person is there.
    var retry: Scheduled<Void>?
    /// The logs that are about to be removed.
    var ending: Set<TextLogID> = []
    /// Whether received texts that are on disk are about to be shown.
    var isReleasing = false

    /// Returns whether texts wait in a chat.
    func holds(in chat: Chat) -> Bool { store != nil && (holds[chat.name] ?? !chat.isOpen) }

    mutating func cancelTimers() {
        look?.cancel()
        retry?.cancel()
        (look, retry) = (nil, nil)
    }
}

/// The texts of one chat that a node keeps on disk.
struct ChatTexts {
    /// A received text that the node has not shown yet.
    struct Arrival {
        /// Its number among the messages that the protocol handed out.
        let number: UInt64
        let text: KeptText
        let isDelayed: Bool
        /// Whether another arrival has the same text, because the chat moved in between.
        let isRepeated: Bool
        var isKept = false
    }

    var log: TextLogID
    /// The members who left the chat.
    var left = PeopleByStanding<Void>()
    /// The received texts that are not shown yet, in the order in which they came.
    var arrivals: [Arrival] = []
    /// The texts that the user has not read.
    var unread: [MessageID: KeptText] = [:]
    /// The unread texts of an earlier run that no front end has got yet.
    var restored: [MessageID] = []
}
