import InklingModel
import InklingText

/// The labels of people who speak while no front end shows the chat. As at the prompt, each label differs from those of
/// all people present or met before. So an impostor does not get the label of a friend who has not written.
package struct SpeakerLabels {
    /// The time for which a list of the people in a chat stays valid, in milliseconds. The speaker is always added.
    package static let refreshInterval: Int64 = 2_000
    /// The most chats with labels, as many as a node can be in (L-39).
    package static let mostChats = 32

    private struct Speakers {
        var labels: Labels
        let ownName: String
        /// The time when the list was requested, in milliseconds.
        let made: Int64
    }

    private var chats: [String: Speakers] = [:]

    package init() {}

    /// Returns the label of a person who just spoke, with their mark.
    ///
    /// - Parameters:
    ///   - sender: The node's data about this person; nil if there are none.
    ///   - people: Returns the people in the chat, and those met there, with the node's data about them.
    ///   - now: Milliseconds of a steady clock.
    package mutating func label(
        of person: Person, _ sender: Peer?, in chat: String, ownName: String, at now: Int64, people: () -> [Peer]
    ) -> String {
        let kept = chats.removeValue(forKey: chat).flatMap { speakers in
            speakers.ownName == ownName && now - speakers.made < Self.refreshInterval ? speakers : nil
        }
        var speakers = kept ?? Speakers(labels: Labels(ownName: ownName, people()), ownName: ownName, made: now)
        if chats.count >= Self.mostChats { chats = [:] }
        // The node may have no data about the speaker. The name may still be another person's.
        speakers.labels.update(sender.map { Labels.Person($0) } ?? Labels.Person(person))
        chats[chat] = speakers
        return speakers.labels.label(of: person.user.description).marked
    }
}
