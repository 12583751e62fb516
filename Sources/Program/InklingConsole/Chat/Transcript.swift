import InklingModel
import InklingText

/// The latest messages of a chat since the start of the program, for searches.
package struct Transcript: Sendable {
    /// The number of messages that are kept.
    static let messages = 2_000
    /// The total bytes of messages that are kept.
    static let bytes = 512 * 1_024
    /// The bytes that a message adds to the size of its text.
    private static let bytesPerMessage = 64

    package struct Message: Hashable, Sendable {
        /// The user ID of the author; nil for this user.
        var user: String?
        /// The text as sent, but in NFC.
        var text: String
        var time: LocalTime

        /// Returns whether two messages are the same one, which two clocks may have timed.
        func isSame(as other: Message) -> Bool {
            user == other.user && text == other.text && time.day == other.time.day
                && abs(60 * (time.hour - other.time.hour) + time.minute - other.time.minute) <= 1
        }

        fileprivate var bytes: Int { text.utf8.count + Transcript.bytesPerMessage }
    }

    private var said: ArraySlice<Message> = []
    private var total = 0
    /// Whether earlier messages were forgotten.
    private(set) var isCut = false

    mutating func add(_ message: Message) {
        said.append(message)
        total += message.bytes
        while said.count > Self.messages || total > Self.bytes, let first = said.popFirst() {
            total -= first.bytes
            isCut = true
        }
    }

    /// Returns the messages that contain a text, in order.
    func messages(with text: FoldedText) -> [Message] { said.filter { text.occurs(in: ChatLines.spoken($0.text)) } }
}
