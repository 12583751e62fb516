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
