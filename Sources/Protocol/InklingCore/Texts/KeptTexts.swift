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
        /// The links with a copy of the text.
        var links: Set<LinkID>
    }

    /// The chats whose texts the owner keeps.
    private(set) var chats: Set<ChatID> = []
    private var seen: [PersonID: SeenTexts] = [:]
    /// The people of ``seen``, the one used last at the end.
    private var people: [PersonID] = []
    private var unkept: [UInt64: Unkept] = [:]
    /// The last record of each copy of an unkept text, and the text's number. No copy may be acknowledged before the text
    /// is kept. A link has at most 16 copies, because its acks wait for the first (M-16).
    private var copies: [LinkID: [(record: UInt32, number: UInt64)]] = [:]
    private var numbers: [PersonID: [Name: UInt64]] = [:]
    /// The messages of unfinished own texts.
    private var sent: [PersonID: [TextID: UInt64]] = [:]

    // MARK: Chats

    mutating func join(_ chat: ChatID, seen: [PublicKey: SeenTexts], _ surroundings: Surroundings) {
        chats.insert(chat)
        for (key, texts) in seen.sorted(by: { $0.key < $1.key }) {
            let person = PersonID(chat: chat, key: key)
            if use(person, surroundings) { self.seen[person] = texts }
        }
    }

    /// Adds the IDs seen in a chat that became one with this chat.
    mutating func add(_ former: [PublicKey: SeenTexts], in chat: ChatID, _ surroundings: Surroundings) {
        guard chats.contains(chat) else { return }
        for (key, texts) in former.sorted(by: { $0.key < $1.key }) {
            let person = PersonID(chat: chat, key: key)
            if use(person, surroundings) { seen[person] = seen(of: person).union(texts) }
        }
    }

    /// - Returns: The records that need not wait any more.
    mutating func leave(_ chat: ChatID) -> [(link: LinkID, record: UInt32)] {
        guard chats.remove(chat) != nil else { return [] }
        seen = seen.filter { $0.key.chat != chat }
        people.removeAll { $0.chat == chat }
        let numbers = unkept.filter { $0.value.person.chat == chat }.keys.sorted()
        return numbers.flatMap { remove($0)?.records ?? [] }
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
        unkept[number]?.links.insert(link)
        copies[link, default: []].append((record, number))
        return .unkept
    }

    /// Adds a new text that was put out under a number.
    mutating func add(_ number: UInt64, _ id: TextID, from person: PersonID, over link: LinkID, record: UInt32) {
        unkept[number] = Unkept(person: person, id: id, links: [link])
        copies[link, default: []].append((record, number))
        numbers[person, default: [:]][Name(id)] = number
    }

    /// Records that a text is on the disk.
    ///
    /// - Returns: The records to acknowledge.
    mutating func keep(_ number: UInt64, _ surroundings: Surroundings) -> [(link: LinkID, record: UInt32)] {
        guard let (text, records) = remove(number) else { return [] }
        if use(text.person, surroundings) { seen[text.person, default: SeenTexts()].insert(text.id) }
        return records
    }

    private mutating func remove(_ number: UInt64) -> (text: Unkept, records: [(link: LinkID, record: UInt32)])? {
        guard let text = unkept.removeValue(forKey: number) else { return nil }
        numbers[text.person]?[Name(text.id)] = nil
        if numbers[text.person]?.isEmpty == true { numbers[text.person] = nil }
        var records: [(link: LinkID, record: UInt32)] = []
        for link in text.links.sorted() {
            records += (copies[link] ?? []).filter { $0.number == number }.map { (link, $0.record) }
            removeCopies(on: link) { $0.number == number }
        }
        return (text, records)
    }

    private mutating func removeCopies(on link: LinkID, where isOver: ((record: UInt32, number: UInt64)) -> Bool) {
        copies[link]?.removeAll(where: isOver)
        if copies[link]?.isEmpty == true { copies[link] = nil }
    }

    /// Moves a person to the end of ``people``. Without room for a new person, the first one of the lowest rank is
    /// forgotten.
    ///
    /// - Returns: Whether the person has a place. All others may have a higher rank.
    private mutating func use(_ person: PersonID, _ surroundings: Surroundings) -> Bool {
        if let place = people.lastIndex(of: person) {
            people.remove(at: place)
        } else if people.count >= Limits.peopleSeen {
            let ranks = people.map { surroundings.rank(of: $0) }
            guard let lowest = ranks.min(), lowest <= surroundings.rank(of: person),
                let place = ranks.firstIndex(of: lowest)
            else { return false }
            seen[people.remove(at: place)] = nil
        }
        people.append(person)
        return true
    }

    /// Forgets the records of a link below a number, because a forward skipped them (M-38). Without a number, the link
    /// ended or has a new state.
    mutating func forget(_ link: LinkID, below record: UInt32 = .max) {
        guard let before = copies[link] else { return }
        removeCopies(on: link) { $0.record < record }
        let rest = Set((copies[link] ?? []).map(\.number))
        for (_, number) in before where !rest.contains(number) { unkept[number]?.links.remove(link) }
    }

    /// The number of copies of unkept texts that wait for an ack.
    var copyCount: Int { copies.values.reduce(0) { $0 + $1.count } }

    func seen(of person: PersonID) -> SeenTexts { seen[person] ?? SeenTexts() }

    // MARK: Own texts

    func message(of id: TextID, to person: PersonID) -> UInt64? { sent[person]?[id] }

    /// Returns the unfinished texts for a person that are older than a message.
    func unfinished(of person: PersonID, before message: UInt64) -> [TextID] {
        (sent[person] ?? [:]).filter { $0.value < message }.map(\.key)
    }

    mutating func sent(_ message: UInt64, _ id: TextID, to person: PersonID) {
        sent[person, default: [:]][id] = message
    }

    mutating func finished(_ message: UInt64, to person: PersonID) {
        guard let rest = sent[person]?.filter({ $0.value != message }) else { return }
        sent[person] = rest.isEmpty ? nil : rest
    }
}
