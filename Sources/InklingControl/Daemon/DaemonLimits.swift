/// The limits of a daemon, as `Protocol/limits.md` has them.
package enum DaemonLimits {
    /// Front ends at the same time.
    package static let frontEnds = 64
    /// Chats that are kept: as many as a node can be in (L-39).
    static let keptChats = 32
    /// Messages of a chat that wait for a reader.
    static let waitingMessages = 500
    /// Those of one person among them.
    static let waitingMessagesPerPerson = 125
    /// Bytes that wait for a reader, in all chats.
    static let waitingBytes = 1 << 20
    /// Those of one person among them.
    static let waitingBytesPerPerson = 1 << 18
    /// Bytes of messages and outcomes that wait for a front end that does not read.
    static let backlogBytes = 2 << 20
    /// What a message or an outcome counts beside its text.
    static let messageOverhead = 256
    /// For so long a front end may take nothing of what waits for it, in milliseconds.
    static let readerPatience: Int64 = 10_000
    /// For so long no chat has to be shown until the user is away, in milliseconds.
    static let attentionGrace: Int64 = 5_000
    /// For so long a draft counts after its last edit, in milliseconds (T-9).
    static let draftTime: Int64 = 2_900
}
