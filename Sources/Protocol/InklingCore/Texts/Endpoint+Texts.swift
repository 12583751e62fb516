import InklingWire

/// Texts that wait for a person who is away (M-80 to M-87).
extension Endpoint {
    // MARK: As the recipient

    /// Puts out a text with its ID, unless the node has seen the ID before (M-83).
    mutating func deliver(_ text: String, _ id: TextID, record: UInt32, from link: LinkID) {
        let person = links[link].personID
        switch texts.receive(id, from: person, over: link, record: record) {
        case .new:
            let number = deliver(text, id, from: link)
            texts.add(number, id, from: person, over: link, record: record)
        case .unkept: repeated(text, on: link)
        case .seen:
            repeated(text, on: link)
            links[link].receiver.keep(record)
            acknowledge(link)
        }
    }

    private mutating func repeated(_ text: String, on link: LinkID) {
        effects.counters.textsRepeated += 1
        pools.take(text.utf8.count, of: link)
    }

    /// Acknowledges received texts, because they and their IDs are on the owner's disk (M-82). Each number is one of
    /// ``Output/message(_:from:number:text:id:)``.
    ///
    /// A text that is never kept is never acknowledged. The owner does not call ``messageTaken(_:now:)`` before, because
    /// texts that are not kept must use up the node's room.
    package mutating func textsKept(_ numbers: [UInt64], now: Instant) {
        begin(now)
        defer { finish() }
        acknowledge(numbers.flatMap { texts.keep($0, surroundings) })
    }

    /// Begins or ends keeping the texts of a chat. At the end all texts are acknowledged. At the beginning each
    /// person with an up link is reported as reachable.
    ///
    /// - Parameter seen: The IDs of earlier texts, from the owner's disk (M-83).
    package mutating func setKeepsTexts(
        _ keeps: Bool, in chat: ChatID, seen: [PublicKey: SeenTexts] = [:], now: Instant
    ) throws(CommandError) {
        begin(now)
        defer { finish() }
        guard chats.contains(chat) else { throw .unknownChat }
        guard texts.chats.contains(chat) != keeps else { return }
        guard !keeps else {
            texts.join(chat, seen: seen, surroundings)
            for key in reachable(in: chat).sorted() { effects.tell(.reachable(chat, key)) }
            return
        }
        acknowledge(texts.leave(chat))
    }

    private mutating func acknowledge(_ records: [(link: LinkID, record: UInt32)]) {
        var answered: Set<LinkID> = []
        for (link, record) in records where links.contains(link) {
            links[link].receiver.keep(record)
            answered.insert(link)
        }
        for link in answered.sorted() where !links[link].isDown { acknowledge(link) }
    }

    /// Returns the IDs of a person's texts that the node has seen in a chat. The owner keeps them on its disk with the
    /// texts, and gives them to ``join(_:isSecret:talkWith:owner:refusing:keepsTexts:seen:now:)``.
    package func seenTexts(of key: PublicKey, in chat: ChatID) -> SeenTexts {
        texts.seen(of: PersonID(chat: chat, key: key))
    }

    /// Adds the IDs of texts seen in a chat that became one with this chat. Nothing happens in a chat without kept
    /// texts.
    package mutating func addSeenTexts(_ seen: [PublicKey: SeenTexts], in chat: ChatID) {
        texts.add(seen, in: chat, surroundings)
    }

    // MARK: As the writer

    /// Returns the people to whom ``send(_:to:ids:without:now:)`` would send a message now, ordered by key. Some of them
    /// may have no link that is up.
    package func recipients(in chat: ChatID) -> [PublicKey] {
        Set(links.ids(in: chat).filter { links[$0].takesMessages }.map { links[$0].key }).sorted()
    }

    /// Returns the people in a chat with a link that is up and takes messages.
    package func reachable(in chat: ChatID) -> Set<PublicKey> {
        Set(links.ids(in: chat).filter { links[$0].isShown }.map { links[$0].key })
    }

    /// Sends a text to one person with its old ID, on the links that do not have it yet (M-84, M-86).
    ///
    /// The owner sends the unfinished texts of a person in their order, and newer ones only afterwards. The owner does so
    /// after ``Output/reachable(_:_:)`` and after each outcome for the person.
    ///
    /// - Returns: The number of the message. A text without an outcome keeps its number.
    /// - Throws: An error after which nothing was sent. ``CommandError/unknownPerson`` if there is no link.
    ///   ``CommandError/queueFull(_:)`` if no link has room; the owner tries again after the next outcome for the person.
    package mutating func resend(
        _ text: String, _ id: TextID, to key: PublicKey, in chat: ChatID, now: Instant
    ) throws(CommandError) -> UInt64 {
        begin(now)
        defer { finish() }
        guard takesPart(in: chat) else { throw .unknownChat }
        let bytes = try checked(text)
        let person = PersonID(chat: chat, key: key)
        let theirs = links.ids(of: person).filter { links[$0].takesMessages }
        guard !theirs.isEmpty else { throw .unknownPerson }
        let unfinished = texts.message(of: id, to: person)
        let open = theirs.filter {
            !links[$0].sender.textIDs.contains(id) && roomForText(bytes.count, before: unfinished, on: $0, now) == .fits
        }
        let message: UInt64
        if let unfinished {
            outbox.extend(unfinished, to: person, over: open)
            message = unfinished
        } else {
            guard !open.isEmpty else { throw .queueFull(key) }
            message = try addToOutbox(bytes.count, over: open, now).0
            texts.sent(message, id, to: person)
        }
        for link in open {
            links[link].sender.enqueue(message, text: bytes, id, now: now)
            requestRecords(link, now)
        }
        return message
    }

    /// Removes a text that the user gave up from all queues. The text has no outcome then.
    ///
    /// - Returns: Whether no record of the text was sent. If one was, the text may still be delivered.
    @discardableResult
    package mutating func withdraw(_ id: TextID, to key: PublicKey, in chat: ChatID, now: Instant) -> Bool {
        begin(now)
        defer { finish() }
        let person = PersonID(chat: chat, key: key)
        for link in links.ids(of: person) { _ = links[link].sender.withdraw(id, now: now) }
        guard let message = texts.message(of: id, to: person) else { return true }
        texts.finished(message, to: person)
        outbox.withdraw(message, to: person)
        return !links.ids(of: person).contains { links[$0].sender.textIDs.contains(id) }
    }

    /// Returns the room on a link for a text with an ID. A link gets no text while it lacks an older unfinished one. Its
    /// texts thus stay in order (M-84).
    ///
    /// - Parameter message: The number of the text's message; nil for a new message.
    func roomForText(_ size: Int, before message: UInt64? = nil, on link: LinkID, _ now: Instant) -> RecordSender.Room {
        guard links[link].sender.room(for: size, now: now) == .fits else { return .waits }
        let older = texts.unfinished(of: links[link].personID, before: message ?? .max)
        guard !older.isEmpty else { return .fits }
        let theirs = links[link].sender.textIDs
        return older.allSatisfy(theirs.contains) ? .fits : .waits
    }

    // MARK: Reports

    /// Reports that the owner now sends what is unfinished for a person (M-86).
    mutating func reportReachable(_ link: Link) {
        guard link.isShown, texts.chats.contains(link.chat) else { return }
        effects.tell(.reachable(link.chat, link.key))
    }

    /// Reports that no link of a person is up any more.
    ///
    /// - Parameter before: A link as it was when it was up.
    mutating func reportUnreachable(_ before: Link) {
        guard before.isShown, texts.chats.contains(before.chat),
            !links.ids(of: before.personID).contains(where: { links[$0].isShown })
        else { return }
        effects.tell(.unreachable(before.chat, before.key))
    }

    /// Reports that a person left the chat, unless another link of the person is up.
    mutating func reportLeft(_ link: Link) {
        guard link.takesMessages,
            !links.ids(of: link.personID).contains(where: { $0 != link.id && links[$0].isShown })
        else { return }
        effects.tell(.left(link.chat, link.key))
    }
}

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
