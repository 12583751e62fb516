import InklingModel
import InklingText

/// What those are called who say something while nobody looks: of each chat, those who spoke last.
package struct SpeakerLabels {
    /// How many people of a chat are remembered, and how many chats.
    package static let mostPeople = 256
    package static let mostChats = 32

    private struct Speakers {
        var labels: Labels
        var ownName: String
        /// Those who spoke first come first.
        var order: [UserID] = []
    }

    private var chats: [String: Speakers] = [:]

    package init() {}

    /// How many people are remembered.
    package var count: Int { chats.values.reduce(0) { $0 + $1.order.count } }

    /// Somebody has said something.
    ///
    /// - Returns: What they are called, with their mark.
    package mutating func label(of person: Person, in chat: String, ownName: String) -> String {
        var speakers =
            chats.removeValue(forKey: chat)
            ?? Speakers(
                labels: Labels(ownName: ownName), ownName: ownName)
        if chats.count >= Self.mostChats { chats = [:] }
        if speakers.ownName != ownName { speakers.labels.setOwnName(ownName) }
        speakers.ownName = ownName
        speakers.labels.update(Labels.Person(person))
        speakers.order.removeAll { $0 == person.user }
        speakers.order.append(person.user)
        if speakers.order.count > Self.mostPeople {
            speakers.labels.remove(speakers.order.removeFirst().description)
        }
        chats[chat] = speakers
        return speakers.labels.label(of: person.user.description).marked
    }
}
