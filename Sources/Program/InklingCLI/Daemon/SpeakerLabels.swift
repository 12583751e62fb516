import InklingModel
import InklingText

/// The labels of people who speak while nobody looks. They are those of the prompt: made beside all who are present or
/// were met before, so an impostor is not called like the friend who is silent.
package struct SpeakerLabels {
    /// Milliseconds for which the people of a chat are taken to be the same, besides the one who speaks.
    package static let refreshInterval: Int64 = 2_000
    /// The chats that are remembered: as many as a node can be in (L-39).
    package static let mostChats = 32

    private struct Speakers {
        var labels: Labels
        let ownName: String
        /// When the people were asked for, in milliseconds.
        let made: Int64
    }

    private var chats: [String: Speakers] = [:]

    package init() {}

    /// Returns the label of somebody who said something just now, with their mark.
    ///
    /// - Parameters:
    ///   - sender: What the node knows of this person; nil if it knows nothing.
    ///   - people: Returns those who are in the chat or were met there, with what the node knows of them.
    ///   - now: Milliseconds of a steady clock.
    package mutating func label(
        of person: Person, _ sender: Peer?, in chat: String, ownName: String, at now: Int64, people: () -> [Peer]
    ) -> String {
        let kept = chats.removeValue(forKey: chat).flatMap { speakers in
            speakers.ownName == ownName && now - speakers.made < Self.refreshInterval ? speakers : nil
        }
        var speakers = kept ?? Speakers(labels: Labels(ownName: ownName, people()), ownName: ownName, made: now)
        if chats.count >= Self.mostChats { chats = [:] }
        // Nobody knows yet whether a name that comes without anything else is that of another person.
        speakers.labels.update(sender.map { Labels.Person($0) } ?? Labels.Person(person))
        chats[chat] = speakers
        return speakers.labels.label(of: person.user.description).marked
    }
}
