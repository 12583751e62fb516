import InklingWire

/// The texts with an ID, in the chats whose texts the owner of the endpoint keeps on its disk (M-80 to M-86).
struct KeptTexts: Sendable {
    private struct Name: Hashable {
        let run: UInt64
        let number: UInt64

        init(_ id: TextID) {
            run = id.run
            number = id.number
        }
    }

    /// A text that was put out and is not on the disk yet.
    private struct Unkept {
        let person: PersonID
        let id: TextID
        /// The last record of each copy of the text. No copy may be acknowledged before the text is kept.
        var records: [(link: LinkID, record: UInt32)]
    }

    /// The chats whose texts the owner keeps.
    private(set) var chats: Set<ChatID> = []
    private var seen: [PersonID: SeenTexts] = [:]
    /// The people of ``seen``, the one used last at the end.
    private var people: [PersonID] = []
    private var unkept: [UInt64: Unkept] = [:]
    private var numbers: [PersonID: [Name: UInt64]] = [:]
    /// The messages of unfinished own texts.
    private var sent: [PersonID: [TextID: UInt64]] = [:]

    // MARK: Chats

    mutating func join(_ chat: ChatID, seen: [PublicKey: SeenTexts]) {
        chats.insert(chat)
        for (key, texts) in seen.sorted(by: { $0.key < $1.key }) {
            let person = PersonID(chat: chat, key: key)
            self.seen[person] = texts
            people.append(person)
        }
    }

    mutating func leave(_ chat: ChatID) {
        guard chats.remove(chat) != nil else { return }
        seen = seen.filter { $0.key.chat != chat }
        people.removeAll { $0.chat == chat }
        unkept = unkept.filter { $0.value.person.chat != chat }
        numbers = numbers.filter { $0.key.chat != chat }
    }

    // MARK: Received texts

    /// The state of a received text.
    enum Novelty: Equatable {
        case new
        /// An earlier copy is not on the disk yet. The text is acknowledged with that copy.
        case unkept
        case seen
    }

    /// Returns whether a text is new, and notes the record of a further copy of an unkept text.
    mutating func receive(_ id: TextID, from person: PersonID, over link: LinkID, record: UInt32) -> Novelty {
        if seen[person]?.contains(id) ?? false { return .seen }
        guard let number = numbers[person]?[Name(id)] else { return .new }
        unkept[number]?.records.append((link, record))
        return .unkept
    }

    /// Adds a new text that was put out under a number.
    mutating func add(_ number: UInt64, _ id: TextID, from person: PersonID, over link: LinkID, record: UInt32) {
        unkept[number] = Unkept(person: person, id: id, records: [(link, record)])
        numbers[person, default: [:]][Name(id)] = number
    }

    /// Records that a text is on the disk.
    ///
    /// - Returns: The records to acknowledge.
    mutating func keep(_ number: UInt64, _ surroundings: Surroundings) -> [(link: LinkID, record: UInt32)] {
        guard let text = unkept.removeValue(forKey: number) else { return [] }
        numbers[text.person]?[Name(text.id)] = nil
        if numbers[text.person]?.isEmpty == true { numbers[text.person] = nil }
        remember(text.id, of: text.person, surroundings)
        return text.records
    }

    private mutating func remember(_ id: TextID, of person: PersonID, _ surroundings: Surroundings) {
        if let place = people.lastIndex(of: person) {
            people.remove(at: place)
        } else if people.count >= Limits.peopleSeen {
            let place = people.firstIndex { !surroundings.isPreferred($0) } ?? 0
            seen[people.remove(at: place)] = nil
        }
        people.append(person)
        seen[person, default: SeenTexts()].insert(id)
    }

    /// Forgets the records of a link that ended or has a new state.
    mutating func forget(_ link: LinkID) {
        for number in unkept.keys { unkept[number]?.records.removeAll { $0.link == link } }
    }

    func seen(of person: PersonID) -> SeenTexts { seen[person] ?? SeenTexts() }

    // MARK: Own texts

    func message(of id: TextID, to person: PersonID) -> UInt64? { sent[person]?[id] }

    mutating func sent(_ message: UInt64, _ id: TextID, to person: PersonID) {
        sent[person, default: [:]][id] = message
    }

    mutating func finished(_ message: UInt64, to person: PersonID) {
        guard let rest = sent[person]?.filter({ $0.value != message }) else { return }
        sent[person] = rest.isEmpty ? nil : rest
    }
}
