import InklingCore
import InklingModel
import InklingWire

/// A text of the user that waits for one person.
package struct WaitingText: Hashable, Sendable {
    /// A number that no other text gets.
    package var entry: UInt64
    package var key: PublicKey
    /// The person's display name, when the text was written.
    package var name: String
    package var id: TextID
    /// The time of day at which the text was written, for people to read.
    package var at: Timestamp
    /// The age at which the text was written, from which it waits. Earlier builds recorded none: their texts wait from the
    /// beginning of the count.
    package var since: Age
    package var text: String

    package init(
        entry: UInt64, key: PublicKey, name: String, id: TextID, at: Timestamp, since: Age = .zero, text: String
    ) {
        (self.entry, self.key, self.name, self.id) = (entry, key, name, id)
        (self.at, self.since, self.text) = (at, since, text)
    }
}

/// A received text with an ID that the user has not read yet.
package struct KeptText: Hashable, Sendable {
    package var key: PublicKey
    /// The author's display name, when the text came.
    package var name: String
    package var id: TextID
    /// When the text came.
    package var at: Timestamp
    package var text: String

    package init(key: PublicKey, name: String, id: TextID, at: Timestamp, text: String) {
        (self.key, self.name, self.id, self.at, self.text) = (key, name, id, at, text)
    }

    /// Returns the text as a message with that number.
    package func event(_ number: MessageID, in chat: String) -> Event {
        .message(
            ReceivedMessage(
                chat: chat, from: InklingModel.Person(user: key.userID, name: name), id: number, text: text,
                written: Timestamp(rawValue: Double(id.written) / 1_000)))
    }
}

/// A change of the texts of one chat, as a record on disk.
package enum TextRecord: Hashable, Sendable {
    /// The text waits from now on.
    case waiting(WaitingText)
    /// The text for this person was delivered or given up.
    case finished(PublicKey, TextID)
    /// The text came, and its ID was seen.
    case received(KeptText)
    /// The text of this person is no longer unread.
    case read(PublicKey, TextID)
    /// The member left the chat, or is back.
    case left(PublicKey, Bool)
    /// The IDs seen of a person, besides those of the records before. Snapshots have it, and chats that became one.
    case seen(PublicKey, SeenTexts)
    /// The highest entry before the records that follow. Only snapshots have it.
    case highestEntry(UInt64)
}
