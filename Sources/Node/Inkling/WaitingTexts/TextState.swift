import InklingCore
import InklingWire

/// The texts of one chat that are on disk: the result of all its records, in their order.
///
/// A record that comes twice has no further effect, so a writer may repeat an append that failed.
package struct TextState: Sendable {
    /// A part of the state, which a row of the database holds.
    enum Row: Hashable, Sendable {
        case highestEntry
        case left(PublicKey)
        case waiting(Name)
        case unread(Name)
        case seen(PublicKey)
    }

    /// A change of the state. A record that is put replaces its row.
    enum Change {
        case put(Row, TextRecord)
        case remove(Row)
    }

    /// A text without its time of writing, which does not distinguish it.
    struct Name: Hashable, Sendable {
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
        ///
        /// - Returns: Whether it is new.
        mutating func add(_ text: Text, as name: Name) -> Bool {
            guard places[name] == nil else { return false }
            places[name] = next
            texts[next] = text
            next += 1
            return true
        }

        /// Returns whether the text was there.
        mutating func remove(_ name: Name) -> Bool {
            guard let place = places.removeValue(forKey: name) else { return false }
            texts[place] = nil
            return true
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
        _ = changes(by: record, standings)
    }

    /// Applies one record, and returns what it changed.
    mutating func changes(by record: TextRecord, _ standings: [PublicKey: Standing] = [:]) -> [Change] {
        switch record {
        case .waiting(let text):
            let name = Name(text.key, text.id)
            let raised = raise(to: text.entry)
            return raised + (waitingTexts.add(text, as: name) ? [.put(.waiting(name), record)] : [])
        case .finished(let key, let id):
            return waitingTexts.remove(Name(key, id)) ? [.remove(.waiting(Name(key, id)))] : []
        case .received(let text):
            var seen = people[text.key] ?? SeenTexts()
            guard !seen.contains(text.id) else { return [] }
            seen.insert(text.id)
            let name = Name(text.key, text.id)
            let isNew = unreadTexts.add(text, as: name)
            return set(seen, for: text.key, standings) + (isNew ? [.put(.unread(name), record)] : [])
        case .read(let key, let id):
            return unreadTexts.remove(Name(key, id)) ? [.remove(.unread(Name(key, id)))] : []
        case .left(let key, true):
            let (isSet, forgotten) = left.set((), for: key, standings)
            return (forgotten.map { [.remove(.left($0))] } ?? []) + (isSet ? [.put(.left(key), record)] : [])
        case .left(let key, false):
            left.remove(key)
            return [.remove(.left(key))]
        case .seen(let key, let seen): return set(seen.union(people[key] ?? SeenTexts()), for: key, standings)
        case .highestEntry(let entry): return raise(to: entry)
        }
    }

    private mutating func raise(to entry: UInt64) -> [Change] {
        guard entry > highestEntry else { return [] }
        highestEntry = entry
        return [.put(.highestEntry, .highestEntry(entry))]
    }

    private mutating func set(
        _ seen: SeenTexts, for key: PublicKey, _ standings: [PublicKey: Standing]
    ) -> [Change] {
        let (isSet, forgotten) = people.set(seen, for: key, standings)
        return (forgotten.map { [.remove(.seen($0))] } ?? []) + (isSet ? [.put(.seen(key), .seen(key, seen))] : [])
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
