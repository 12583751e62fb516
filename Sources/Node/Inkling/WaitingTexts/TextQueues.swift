import InklingCore
import InklingModel
import InklingWire

/// The user's unfinished texts with an ID, for each person in each chat (M-84 to M-86, A-61 to A-64).
///
/// The queues decide which texts go out, and which ones the owner writes to disk. The owner does both, and reports the
/// outcomes. A text of a person who is there is only in memory until its delivery fails.
package struct TextQueues: Sendable {
    /// A person in a chat.
    package struct Person: Hashable, Sendable {
        package var chat: String
        package var key: PublicKey

        package init(chat: String, key: PublicKey) {
            (self.chat, self.key) = (chat, key)
        }
    }

    /// A recipient of a new text.
    package struct Recipient: Sendable {
        package var key: PublicKey
        package var name: String
        /// Whether a link of the person is up.
        package var isThere: Bool

        package init(key: PublicKey, name: String, isThere: Bool) {
            (self.key, self.name, self.isThere) = (key, name, isThere)
        }
    }

    /// An unfinished text.
    package struct Text: Hashable, Sendable {
        package enum Place: Hashable, Sendable {
            case memory
            /// The owner is writing the text to disk.
            case writing
            case disk
        }

        package let chat: String
        package let content: WaitingText
        /// The number of the message in this run; nil for a text of an earlier run.
        package let message: MessageID?
        /// The number under which the protocol is sending the text; nil while the text waits.
        package fileprivate(set) var sending: UInt64?
        package fileprivate(set) var place = Place.memory

        package var person: Person { Person(chat: chat, key: content.key) }
        fileprivate var size: Int { content.text.utf8.count }
        /// The bytes that the text takes in memory while it waits for a transmission to somebody who is there.
        fileprivate var held: Int {
            sending == nil && place == .memory ? size + NodeLimits.waitingTextOverhead : 0
        }
    }

    /// The part of a new text's recipients that the protocol sends to at once.
    package struct Plan: Hashable, Sendable {
        /// The IDs of the text for people who get it at once.
        package var ids: [PublicKey: TextID] = [:]
        /// The people whose text waits behind older ones.
        package var queued: Set<PublicKey> = []
        /// The people among them for whom too much text waits in memory (M-14).
        package var full: [PublicKey] = []
    }

    /// The texts that changed with an input.
    package struct Changes: Hashable, Sendable {
        /// The texts that the owner writes to disk, in their order.
        package var toStore: [Text] = []
        /// The texts for which there was no room. They are no longer in the queues.
        package var refused: [Text] = []
    }

    /// Returns a random number for a run (M-96).
    private let newRun: @Sendable () -> UInt64
    /// The runs, by chat. A chat that moves keeps its run. Two chats that become one thus number no texts alike.
    private var runs: [String: UInt64] = [:]
    private var queues: [Person: ArraySlice<Text>] = [:]
    /// The sum of ``Text/held``, by person.
    private var held: [Person: Int] = [:]
    /// The last number of a text, by person.
    private var numbers: [Person: UInt64] = [:]
    private var lastEntry: UInt64 = 0
    /// The texts on disk, or on their way there.
    private var stored: [Person: TextPlaces.Use] = [:]
    private var storedByKey: [PublicKey: Int] = [:]

    /// Makes empty queues.
    ///
    /// - Parameter newRun: Returns an unpredictable number.
    package init(newRun: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }) {
        self.newRun = newRun
    }

    package var isEmpty: Bool { queues.isEmpty }

    // MARK: New texts

    /// Decides who gets a new text at once.
    ///
    /// - Parameter linked: The people with a link in the chat, up or down.
    package mutating func plan(size: Int, in chat: String, linked: [PublicKey], now: Timestamp) -> Plan {
        var plan = Plan()
        let run = run(in: chat)
        for key in linked {
            let person = Person(chat: chat, key: key)
            let number = (numbers[person] ?? 0) + 1
            let queue = queues[person] ?? []
            if !queue.contains(where: { $0.sending == nil }), Self.isInWindow(number, of: run, queue) {
                plan.ids[key] = TextID(run: run, number: number, written: Self.milliseconds(now))
                continue
            }
            plan.queued.insert(key)
            let size = (held[person] ?? 0) + size + NodeLimits.waitingTextOverhead
            if size > Limits.queueSize { plan.full.append(key) }
        }
        return plan
    }

    /// Adds a new text for all its recipients, after the protocol sent it according to the plan.
    ///
    /// - Parameter rank: Returns how well the user knows a person. Recipients of a higher rank get places first.
    package mutating func add(
        _ text: String, _ message: MessageID, in chat: String, to recipients: [Recipient], _ plan: Plan,
        now: Timestamp, age: Age, rank: (Person) -> SenderRank
    ) -> Changes {
        var changes = Changes()
        let run = run(in: chat)
        var places = TextPlaces(stored, rank: rank)
        for recipient in recipients {
            let person = Person(chat: chat, key: recipient.key)
            let number = (numbers[person] ?? 0) + 1
            numbers[person] = number
            let id = TextID(run: run, number: number, written: Self.milliseconds(now))
            let content = WaitingText(
                entry: nextEntry(now), key: recipient.key, name: recipient.name, id: id, at: now, since: age,
                text: text)
            let isSent = plan.ids[recipient.key] != nil
            var added = Text(
                chat: chat, content: content, message: message, sending: isSent ? message.rawValue : nil)
            if !recipient.isThere, hasRoom(for: added, &places, rank) {
                added.place = .writing
                changes.toStore.append(added)
            } else if !recipient.isThere, !isSent {
                changes.refused.append(added)
                continue
            }
            count(added, 1)
            queues[person, default: []].append(added)
        }
        return changes
    }

    /// Adds the texts that wait on disk, except those that are here.
    package mutating func restore(_ texts: [WaitingText], in chat: String, highestEntry: UInt64) {
        lastEntry = max(lastEntry, highestEntry)
        for text in texts {
            lastEntry = max(lastEntry, text.entry)
            let restored = Text(chat: chat, content: text, message: nil, sending: nil, place: .disk)
            guard find(restored) == nil else { continue }
            count(restored, 1)
            queues[restored.person, default: []].append(restored)
        }
    }

    private mutating func run(in chat: String) -> UInt64 {
        if let run = runs[chat] { return run }
        let run = newRun()
        runs[chat] = run
        return run
    }

    /// Forgets the run of a chat that the node leaves. Its texts were given up before.
    package mutating func forgetRun(in chat: String) {
        runs[chat] = nil
        numbers = numbers.filter { $0.key.chat != chat }
    }

    private mutating func nextEntry(_ now: Timestamp) -> UInt64 {
        // The time keeps the number unique even if no record of earlier texts is left.
        lastEntry = max(lastEntry + 1, Self.milliseconds(now))
        return lastEntry
    }

    // MARK: Transmissions

    /// Returns the texts to send to a person now, in their order (M-84, M-85).
    ///
    /// - Parameter again: Whether a new link needs the texts that are on their way over other links too (M-86).
    package func due(for person: Person, again: Bool = false) -> [Text] {
        let queue = queues[person] ?? []
        return queue.prefix { Self.isInWindow($0.content.id.number, of: $0.content.id.run, queue) }
            .filter { again || $0.sending == nil }
    }

    /// Records that the protocol is sending a text.
    package mutating func sent(_ text: Text, as number: UInt64) { update(text) { $0.sending = number } }

    /// Whether the window of the oldest unfinished text has room for a number (M-85).
    private static func isInWindow(_ number: UInt64, of run: UInt64, _ queue: ArraySlice<Text>) -> Bool {
        let lowest = queue.first { $0.content.id.run == run }?.content.id.number ?? number
        return number < lowest || number - lowest < UInt64(Limits.textsSeen)
    }

    /// Removes a text that the person has.
    ///
    /// - Returns: The text; nil if the transmission is of no text here.
    package mutating func delivered(_ number: UInt64, to person: Person) -> Text? {
        guard let text = queues[person]?.first(where: { $0.sending == number }) else { return nil }
        remove(text)
        return text
    }

    /// Records that a transmission failed. The text waits.
    ///
    /// - Returns: Nil if the transmission is of no text here.
    package mutating func failed(_ number: UInt64, to person: Person) -> Text? {
        guard var text = queues[person]?.first(where: { $0.sending == number }) else { return nil }
        text.sending = nil
        update(text) { $0.sending = nil }
        return text
    }

    // MARK: The disk

    /// Records that a person is not there, or that a delivery failed. The texts in memory go to disk.
    package mutating func becameAbsent(_ person: Person, rank: (Person) -> SenderRank) -> Changes {
        var changes = Changes()
        guard let queue = queues[person], queue.contains(where: { $0.place == .memory }) else { return changes }
        var places = TextPlaces(stored, rank: rank)
        var rest: ArraySlice<Text> = []
        for var text in queue {
            count(text, -1)
            if text.place == .memory, hasRoom(for: text, &places, rank) {
                text.place = .writing
                changes.toStore.append(text)
            } else if text.place == .memory, text.sending == nil {
                changes.refused.append(text)
                continue
            }
            count(text, 1)
            rest.append(text)
        }
        queues[person] = rest.isEmpty ? nil : rest
        return changes
    }

    /// Records whether a write to the disk succeeded. A text that is neither on disk nor on its way is lost.
    ///
    /// - Returns: The texts that now wait on disk, or those that are lost.
    package mutating func stored(_ texts: [Text], isKept: Bool) -> [Text] {
        texts.compactMap { text in
            guard let current = find(text) else { return nil }
            if isKept {
                update(text) { $0.place = .disk }
                return find(text)
            }
            if current.sending == nil {
                remove(current)
                return current
            }
            update(text) { $0.place = .memory }
            return nil
        }
    }

    private func hasRoom(for text: Text, _ places: inout TextPlaces, _ rank: (Person) -> SenderRank) -> Bool {
        storedByKey[text.content.key] ?? 0 < NodeLimits.waitingTextsPerKey
            && places.take(text.size, for: text.person, rank(text.person))
    }

    // MARK: The end

    /// Gives up the texts that the closure chooses.
    ///
    /// - Returns: These texts, in the order in which they were written. The owner withdraws those on their way.
    package mutating func giveUp(_ isMeant: (Text) -> Bool) -> [Text] {
        var meant: [Text] = []
        for (person, queue) in queues {
            let given = queue.filter(isMeant)
            guard !given.isEmpty else { continue }
            for text in given { count(text, -1) }
            meant += given
            let rest = queue.filter { !isMeant($0) }
            queues[person] = rest.isEmpty ? nil : rest[...]
        }
        return meant.sorted { $0.content.entry < $1.content.entry }
    }

    /// Gives up the texts that waited for 7 days.
    package mutating func expire(at age: Age) -> [Text] {
        giveUp { $0.content.since <= age - NodeLimits.waitingTextTime }
    }

    // MARK: Questions

    /// The texts that wait on disk, the oldest first.
    package func waiting(in chat: String? = nil) -> [Text] {
        queues.values.flatMap { $0.filter { $0.place == .disk && chat ?? $0.chat == $0.chat } }
            .sorted { $0.content.entry < $1.content.entry }
    }

    /// The people with unfinished texts, in the order of their keys.
    package func people(in chat: String? = nil) -> [Person] {
        queues.keys.filter { chat ?? $0.chat == $0.chat }.sorted { ($0.key, $0.chat) < ($1.key, $1.chat) }
    }

    /// Returns whether a text for a person waits for a transmission.
    package func isHeld(_ person: Person) -> Bool { queues[person]?.contains { $0.sending == nil } ?? false }

    // MARK: Helpers

    private func find(_ text: Text) -> Text? {
        queues[text.person]?.first { $0.content.entry == text.content.entry }
    }

    private mutating func update(_ text: Text, _ change: (inout Text) -> Void) {
        let person = text.person
        guard let place = queues[person]?.firstIndex(where: { $0.content.entry == text.content.entry }) else { return }
        if let text = queues[person]?[place] { count(text, -1) }
        change(&queues[person, default: []][place])
        if let text = queues[person]?[place] { count(text, 1) }
    }

    private mutating func remove(_ text: Text) {
        let person = text.person
        guard var queue = queues.removeValue(forKey: person) else { return }
        defer { queues[person] = queue.isEmpty ? nil : queue }
        guard let place = queue.firstIndex(where: { $0.content.entry == text.content.entry }) else { return }
        count(queue[place], -1)
        // The first one needs no move of the others.
        if place == queue.startIndex { _ = queue.popFirst() } else { queue.remove(at: place) }
    }

    /// Counts a text against the limits, or no longer.
    private mutating func count(_ text: Text, _ change: Int) {
        if text.held > 0 {
            let sum = (held[text.person] ?? 0) + change * text.held
            held[text.person] = sum > 0 ? sum : nil
        }
        guard text.place != .memory else { return }
        stored[text.person, default: TextPlaces.Use()].count += change
        stored[text.person]?.size += change * text.size
        if stored[text.person]?.count == 0 { stored[text.person] = nil }
        let count = (storedByKey[text.content.key] ?? 0) + change
        storedByKey[text.content.key] = count > 0 ? count : nil
    }

    private static func milliseconds(_ time: Timestamp) -> UInt64 { UInt64(time.rawValue * 1_000) }
}
