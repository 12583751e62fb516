import InklingCore
import InklingWire

/// The texts of one chat that are on disk: the result of all its records, in their order.
///
/// A record that comes twice has no further effect, so a writer may repeat an append that failed.
package struct TextState: Sendable {
    /// A text without its time of writing, which does not distinguish it.
    private struct Name: Hashable {
        let key: PublicKey
        let run, number: UInt64

        init(_ key: PublicKey, _ id: TextID) { (self.key, run, number) = (key, id.run, id.number) }
    }

    /// Texts in their order. A removal does not move the others.
    private struct Queue<Text: Sendable>: Sendable {
        private var places: [Name: Int] = [:]
        private var texts: [Int: Text] = [:]
        private var next = 0

        var all: [Text] { texts.sorted { $0.key < $1.key }.map(\.value) }

        /// Adds a text behind the others; does nothing if it is there.
        mutating func add(_ text: Text, as name: Name) {
            guard places[name] == nil else { return }
            places[name] = next
            texts[next] = text
            next += 1
        }

        mutating func remove(_ name: Name) {
            guard let place = places.removeValue(forKey: name) else { return }
            texts[place] = nil
        }

        mutating func removeAll() { self = Queue() }
    }

    private var waitingTexts = Queue<WaitingText>()
    private var unreadTexts = Queue<KeptText>()
    private var people = PeopleByStanding<SeenTexts>()
    /// The highest entry of a text that ever waited; 0 for none.
    package private(set) var highestEntry: UInt64 = 0

    /// The members who left the chat and are not back.
    package private(set) var left = PeopleByStanding<Void>()

    package init() {}

    /// The texts that wait, in the order of their records.
    package var waiting: [WaitingText] { waitingTexts.all }
    /// The unread texts, in the order in which they came.
    package var unread: [KeptText] { unreadTexts.all }
    /// The IDs of the received texts of each person, for the best known people (M-83).
    package var seen: [PublicKey: SeenTexts] { Dictionary(uniqueKeysWithValues: people.inOrder) }

    /// Applies one record.
    ///
    /// - Parameter standings: How well the user knows people now. All others are strangers.
    package mutating func apply(_ record: TextRecord, _ standings: [PublicKey: Standing] = [:]) {
        switch record {
        case .waiting(let text):
            highestEntry = max(highestEntry, text.entry)
            waitingTexts.add(text, as: Name(text.key, text.id))
        case .finished(let key, let id): waitingTexts.remove(Name(key, id))
        case .received(let text):
            var seen = people[text.key] ?? SeenTexts()
            guard !seen.contains(text.id) else { return }
            seen.insert(text.id)
            people.set(seen, for: text.key, standings)
            unreadTexts.add(text, as: Name(text.key, text.id))
        case .read(let key, let id): unreadTexts.remove(Name(key, id))
        case .left(let key, true): left.set((), for: key, standings)
        case .left(let key, false): left.remove(key)
        case .seen(let key, let seen):
            people.set(seen.union(people[key] ?? SeenTexts()), for: key, standings)
        case .highestEntry(let entry): highestEntry = max(highestEntry, entry)
        }
    }

    /// Gives up all waiting texts.
    mutating func forgetWaiting() { waitingTexts.removeAll() }

    /// The records of which this state is the result.
    package var snapshot: [TextRecord] {
        // A text that comes behind its ID would count as repeated, so the IDs are last.
        let seen = people.inOrder.map { TextRecord.seen($0.0, $0.1) }
        let left = left.keys.map { TextRecord.left($0, true) }
        return [.highestEntry(highestEntry)] + left + waiting.map(TextRecord.waiting)
            + unread.map(TextRecord.received) + seen
    }
}
