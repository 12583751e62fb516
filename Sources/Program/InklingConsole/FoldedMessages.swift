import InklingModel
import InklingText

/// The folded messages of one chat, which were not shown completely or not at all. The storage keeps the latest until
/// the user asks for them. Reports give their number.
///
/// The storage is bounded. If one person has too many or too large messages, that person's oldest are evicted. If the
/// storage is full, the person whose messages take the most room loses the oldest.
///
/// Time is in milliseconds of a clock that never goes back.
package struct FoldedMessages: Sendable {
    /// The number of messages of one person that are kept.
    package static let messagesPerPerson = 200
    /// The bytes of messages of one person that are kept.
    package static let bytesPerPerson = 256 * 1_024
    /// The total bytes of messages that are kept.
    package static let bytes = 1_024 * 1_024
    /// The bytes that a message adds to the size of its text.
    package static let bytesPerMessage = 64
    /// The number of people whose messages are kept. With one person more, the messages of the person who was silent
    /// for longest are evicted.
    package static let people = 64
    /// The time without a folded message for which a report waits.
    package static let pause: Int64 = 1_000
    /// The shortest time between two reports, and the longest time that a report waits for a pause.
    package static let interval: Int64 = 5_000

    /// A folded message.
    package struct Message: Hashable, Sendable {
        /// The user ID of the author.
        package var user: String
        /// The text as sent, but in NFC. The text is safe only in a line of `ChatLines`.
        package var text: String
        /// The time when the message came.
        package var time: LocalTime
        /// The number of the message among all folded messages.
        fileprivate var number: Int

        fileprivate var bytes: Int { text.utf8.count + FoldedMessages.bytesPerMessage }
    }

    /// The folded messages, as an answer to a request.
    package struct Answer: Equatable, Sendable {
        /// The kept messages, in the order in which they came.
        package var messages: [Message] = []
        /// The numbers of earlier messages that were not kept, by author, sorted by user ID.
        package var missing: [Missing] = []
        /// The number of messages that were not kept, of authors who are forgotten.
        package var missingOfOthers = 0

        package var isEmpty: Bool { messages.isEmpty && missing.isEmpty && missingOfOthers == 0 }
    }

    /// The number of messages of one person that were not kept.
    package struct Missing: Equatable, Sendable {
        package var user: String
        package var count: Int

        package init(user: String, count: Int) {
            self.user = user
            self.count = count
        }
    }

    private struct Person {
        var messages: [Message] = []
        var bytes = 0
        var missing = 0
        var unreported = 0
        /// The number of the latest message.
        var latest = 0
    }

    private var folded: [String: Person] = [:]
    private var total = 0
    private var lastNumber = 0
    private var missingOfOthers = 0
    private var unreportedOfOthers = 0
    /// The time when the first unreported message was folded.
    private var unreportedSince: Int64?
    private var lastFold: Int64 = 0
    private var lastReport: Int64?

    /// Makes an empty storage.
    package init() {}

    /// The time of the next call of `due(at:labels:)`; nil for none.
    package var nextDeadline: Int64? {
        unreportedSince.map { first in
            min(max(lastFold + Self.pause, lastReport.map { $0 + Self.interval } ?? 0), first + Self.interval)
        }
    }

    /// The user IDs of people with folded messages, sorted.
    package var users: [String] { folded.keys.sorted() }

    // MARK: Incoming events

    /// Folds a message. A later report counts it.
    package mutating func fold(_ text: String, from user: String, at now: Int64, time: LocalTime) {
        keep(text, from: user, time: time)
        folded[user]?.unreported += 1
        lastFold = now
        if unreportedSince == nil { unreportedSince = now }
    }

    /// Keeps a message whose beginning is shown, with a note about the rest.
    package mutating func keep(_ text: String, from user: String, time: LocalTime) {
        lastNumber += 1
        let message = Message(user: user, text: text, time: time, number: lastNumber)
        folded[user, default: Person()].messages.append(message)
        folded[user]?.latest = lastNumber
        folded[user]?.bytes += message.bytes
        total += message.bytes
        while let person = folded[user],
            person.messages.count > Self.messagesPerPerson || person.bytes > Self.bytesPerPerson
        { dropOldest(of: user) }
        while total > Self.bytes, let most = folded.max(by: { ($0.value.bytes, $1.key) < ($1.value.bytes, $0.key) }) {
            dropOldest(of: most.key)
        }
        if folded.count > Self.people, let quiet = folded.min(by: { $0.value.latest < $1.value.latest }) {
            forget(quiet.key)
        }
    }

    /// Returns the report if one is due.
    package mutating func due(at now: Int64, labels: Labels) -> [Line] {
        guard let nextDeadline, nextDeadline <= now else { return [] }
        lastReport = now
        return report(labels: labels)
    }

    /// Reports all unreported messages now.
    ///
    /// - Parameter isLast: whether the session ends, so that the user can't ask for the messages.
    package mutating func report(labels: Labels, isLast: Bool = false) -> [Line] {
        let people = folded.filter { $0.value.unreported > 0 }
            .sorted { ($1.value.unreported, $0.key) < ($0.value.unreported, $1.key) }
        let count = people.reduce(unreportedOfOthers) { $0 + $1.value.unreported }
        guard count > 0 else { return [] }
        let line = ChatLines.folded(
            count, from: people.map { labels.label(of: $0.key) }, andOthers: unreportedOfOthers > 0, isLast: isLast)
        for (user, _) in people { folded[user]?.unreported = 0 }
        (unreportedOfOthers, unreportedSince) = (0, nil)
        return [line]
    }

    /// Reports the unreported messages of one person now, before the prompt shows something of that person.
    package mutating func report(on user: String, labels: Labels) -> [Line] {
        guard let count = folded[user]?.unreported, count > 0 else { return [] }
        reported(user)
        return [ChatLines.folded(count, from: [labels.label(of: user)])]
    }

    /// Removes and returns the folded messages of a person, or of all people. They need no report any more.
    package mutating func drain(from user: String? = nil) -> Answer {
        var answer = Answer()
        for user in user.map({ [$0] }) ?? users {
            guard let person = folded.removeValue(forKey: user) else { continue }
            answer.messages += person.messages
            total -= person.bytes
            if person.missing > 0 { answer.missing.append(Missing(user: user, count: person.missing)) }
        }
        answer.messages.sort { $0.number < $1.number }
        if user == nil {
            (answer.missingOfOthers, missingOfOthers, unreportedOfOthers) = (missingOfOthers, 0, 0)
        }
        forgetReportIfNone()
        return answer
    }

    // MARK: Room

    private mutating func dropOldest(of user: String) {
        guard let first = folded[user]?.messages.first else { return }
        folded[user]?.messages.removeFirst()
        folded[user]?.bytes -= first.bytes
        folded[user]?.missing += 1
        total -= first.bytes
    }

    private mutating func forget(_ user: String) {
        guard let person = folded.removeValue(forKey: user) else { return }
        total -= person.bytes
        missingOfOthers += person.missing + person.messages.count
        unreportedOfOthers += person.unreported
    }

    private mutating func reported(_ user: String) {
        folded[user]?.unreported = 0
        forgetReportIfNone()
    }

    private mutating func forgetReportIfNone() {
        guard unreportedOfOthers == 0, folded.values.allSatisfy({ $0.unreported == 0 }) else { return }
        unreportedSince = nil
    }
}

extension Line {
    /// The number of grapheme clusters of a text that are searched for highlighting: more than a screen holds.
    static let highlighted = 8_192

    /// Returns the line with all matches in bold, from span `first` on.
    func highlighting(_ text: FoldedText, from first: Int) -> Line {
        var line = self
        line.spans = Array(spans.prefix(first))
        for span in spans.dropFirst(first) {
            let characters = Array(span.text)
            var end = 0
            for range in text.ranges(in: Array(characters.prefix(Self.highlighted))) {
                line.append(characters[end..<range.lowerBound], span.emphasis)
                line.append(characters[range], .bold)
                end = range.upperBound
            }
            line.append(characters[end...], span.emphasis)
        }
        return line
    }

    private mutating func append(_ characters: ArraySlice<Character>, _ emphasis: Emphasis) {
        if !characters.isEmpty { spans.append(Span(text: String(characters), emphasis: emphasis)) }
    }
}

/// Detects people whose messages come faster than a reader can follow, by identity.
///
/// Nobody types that fast. The first ``messages`` of a person never belong to a flood.
///
/// Time is in milliseconds of a clock that never goes back.
package struct Floods: Sendable {
    /// The number of messages of one person within ``window`` that are no flood yet.
    package static let messages = 10
    /// The time over which messages are counted.
    package static let window: Int64 = 5_000
    /// A flood ends when the number of messages within ``window`` has fallen to this.
    package static let calm = 5
    /// The number of people with counted messages. Above it, people who were quiet for ``window`` are forgotten.
    package static let people = 256

    private struct Rate {
        /// The times of the latest messages. There are at most one more than are no flood.
        var times: [Int64] = []
        var isFlood = false
    }

    private var rates: [String: Rate] = [:]

    /// Makes a detector without any messages.
    package init() {}

    /// Counts a message.
    ///
    /// - Returns: Whether the message belongs to a flood.
    package mutating func countMessage(from user: String, at now: Int64) -> Bool {
        var rate = rates[user] ?? Rate()
        rate.times = rate.times.filter { now - $0 < Self.window }.suffix(Self.messages) + [now]
        if rate.times.count > Self.messages {
            rate.isFlood = true
        } else if rate.times.count <= Self.calm {
            rate.isFlood = false
        }
        rates[user] = rate
        if rates.count > Self.people {
            rates = rates.filter { now - ($0.value.times.last ?? now) < Self.window }
        }
        return rate.isFlood
    }

    /// The number of people whose messages are counted now.
    package var count: Int { rates.count }
}
