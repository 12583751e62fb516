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
    /// A text that is never kept is never acknowledged. The owner does not call ``messageTaken(_:)`` before, because
    /// texts that are not kept must use up the node's room.
    package mutating func textsKept(_ numbers: [UInt64], now: Instant) {
        begin(now)
        defer { finish() }
        var answered: Set<LinkID> = []
        for number in numbers {
            for (link, record) in texts.keep(number, surroundings) where links.contains(link) {
                links[link].receiver.keep(record)
                answered.insert(link)
            }
        }
        for link in answered.sorted() where !links[link].isDown { acknowledge(link) }
    }

    /// Returns the IDs of a person's texts that the node has seen in a chat. The owner keeps them on its disk with the
    /// texts, and gives them to ``join(_:isSecret:talkWith:owner:generation:refusing:keepsTexts:seen:now:)``.
    package func seenTexts(of key: PublicKey, in chat: ChatID) -> SeenTexts {
        texts.seen(of: PersonID(chat: chat, key: key))
    }

    // MARK: As the writer

    /// Returns the people to whom ``send(_:to:ids:without:now:)`` would send a message now, ordered by key.
    package func recipients(in chat: ChatID) -> [PublicKey] {
        Set(links.ids(in: chat).filter { links[$0].takesMessages }.map { links[$0].key }).sorted()
    }

    /// Sends a text to one person with its old ID, on the links that do not have it yet (M-84, M-86).
    ///
    /// The owner sends the unfinished texts of a person in their order, after ``Output/reachable(_:_:)`` and after a
    /// failure, and newer ones only afterwards.
    ///
    /// - Returns: The number of the message. A text without an outcome keeps its number.
    /// - Throws: An error after which nothing was sent. ``CommandError/unknownPerson`` if there is no link.
    package mutating func resend(
        _ text: String, _ id: TextID, to key: PublicKey, in chat: ChatID, now: Instant
    ) throws(CommandError) -> UInt64 {
        begin(now)
        defer { finish() }
        guard takesPart(in: chat) else { throw .unknownChat }
        let bytes = try checked(text)
        let person = PersonID(chat: chat, key: key)
        let theirs = links.ids(in: chat).filter { links[$0].key == key && links[$0].takesMessages }
        guard !theirs.isEmpty else { throw .unknownPerson }
        guard let unfinished = texts.message(of: id, to: person) else {
            let (message, open, failed, _) = try addToOutbox(bytes.count, over: theirs, now)
            texts.sent(message, id, to: person)
            enqueue(message, bytes, id, on: open, now)
            for outcome in failed { tell(outcome) }
            return message
        }
        let open = theirs.filter {
            !links[$0].sender.contains(id) && links[$0].sender.room(for: bytes.count, now: now) == .fits
        }
        outbox.extend(unfinished, to: person, over: open)
        enqueue(unfinished, bytes, id, on: open, now)
        return unfinished
    }

    private mutating func enqueue(
        _ message: UInt64, _ text: [UInt8], _ id: TextID, on open: [LinkID], _ now: Instant
    ) {
        for link in open {
            links[link].sender.enqueue(message, text: text, id, now: now)
            requestRecords(link, now)
        }
    }
}
