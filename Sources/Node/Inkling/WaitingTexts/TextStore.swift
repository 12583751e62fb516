import InklingCore
import InklingModel
import InklingWire

/// The name of one chat's log of texts, 32 lower-case hexadecimal digits. A chat that moves keeps its log.
package struct TextLogID: Hashable, Sendable {
    package let digits: String

    /// The log of these digits; nil for any other text.
    package init?(digits: String) {
        guard LogName.isID(digits) else { return nil }
        self.digits = digits
    }

    /// The log of a chat that had no other name before. Nobody can compute the digits without the secret.
    package init(_ chat: Chat) { digits = chat.logID(of: "inkling texts") }
}

/// A fault of the disk, for the user to read.
package enum TextFault: Hashable, Sendable {
    /// Texts are lost. The argument says where and what to do: the text of the notice `waiting-damaged`.
    case damaged(String)
    /// Texts can't be kept. The argument is the text of the notice `waiting-not-kept`. No further one comes before
    /// ``writable``.
    case unwritable(String)
    /// The disk is less safe than others. The argument is the text of the notice `store-remote`.
    case remote(String)
    /// A write succeeded after ``unwritable(_:)``.
    case writable
}

/// The texts of a node on disk. The object belongs to one event loop, and no call waits for the disk.
package protocol TextStore: AnyObject {
    /// The logs on disk.
    var logs: Set<TextLogID> { get }

    /// Begins to report faults, also those of the start.
    func begin(_ report: @escaping (TextFault) -> Void)

    /// Records how well the user knows people. Their seen IDs are forgotten last (M-83).
    func setStandings(_ standings: [PublicKey: Standing])

    /// Returns the texts of a chat: the result of all records whose completion had no error.
    func state(of log: TextLogID) -> TextState

    /// Appends records to a log, which begins with its first record.
    ///
    /// Appends go to disk in their order. All that come during a write share the next one.
    ///
    /// - Parameter completion: The argument is nil when the records are on disk, otherwise the reason for the failure.
    ///   After a failure, a restart may still find a part of the records.
    func append(_ records: [TextRecord], to log: TextLogID, completion: @escaping (String?) -> Void)

    /// Removes a log and its key.
    func end(_ log: TextLogID, completion: @escaping (String?) -> Void)

    /// Forgets all waiting texts of the logs, and replaces their keys. Unread texts and seen IDs stay.
    ///
    /// - Parameter completion: The argument is nil, or the reason why nothing changed.
    func rekey(_ logs: [TextLogID], completion: @escaping (String?) -> Void)

    /// Calls back when no append and no other job is left.
    func whenIdle(_ completion: @escaping () -> Void)
}
