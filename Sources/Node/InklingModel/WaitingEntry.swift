import InklingWire

/// A text of the user that waits on a daemon's disk for one person.
package struct WaitingEntry: Hashable, Sendable {
    /// A number that no other text gets.
    package var entry: UInt64
    package var chat: String
    package var user: UserID
    /// The person's name when the text was written.
    package var name: String
    package var key: PublicKey
    /// When the text was written.
    package var at: Timestamp
    package var text: String

    package init(
        entry: UInt64, chat: String, user: UserID, name: String, key: PublicKey, at: Timestamp, text: String
    ) {
        (self.entry, self.chat, self.user, self.name) = (entry, chat, user, name)
        (self.key, self.at, self.text) = (key, at, text)
    }
}
