import InklingText

/// The folded messages of one chat, which were not shown, or not as a whole. The latest are kept until the user
/// requests them, and reports count them.
///
/// The storage is bounded. Without room, the oldest messages are evicted: those of the same person, if that person has
/// too many or too large ones. Otherwise the person whose messages take the most room loses them.
///
/// Time is in milliseconds of a clock that never goes back.
package struct FoldedMessages: Sendable {
    /// How many messages of one person are kept.
    package static let messagesPerPerson = 200
    /// How many bytes of one person are kept.
    package static let bytesPerPerson = 256 * 1_024
    /// How many bytes are kept in all.
    package static let bytes = 1_024 * 1_024
    /// The bytes that each message counts besides its text.
    package static let bytesPerMessage = 64
    /// How many people's messages are kept. With one person more, those of the person with the longest silence are
    /// evicted.
    package static let people = 64
    /// A report waits until nothing was folded for that time.
    package static let pause: Int64 = 1_000
    /// The least time between two reports, and the longest that one waits for a pause.
    package static let interval: Int64 = 5_000

    /// A message that was folded.
    package struct Message: Hashable, Sendable {
        /// The user ID of the author.
        package var user: String
        /// As it was sent, but in NFC; safe only in a line of `ChatLines`.
        package var text: String
        /// When it came.
        package var time: LocalTime
        /// Its place among all that were folded.
        fileprivate var number: Int

        fileprivate var bytes: Int { text.utf8.count + FoldedMessages.bytesPerMessage }
    }

    /// The folded messages, as an answer to a request.
    package struct Answer: Equatable, Sendable {
        /// In the order in which they came.
        package var messages: [Message] = []
        /// How many earlier ones were not kept, by the user IDs of their authors, in the order of these.
        package var missing: [Missing] = []
        /// How many were not kept of people of whom nothing is known any more.
        package var missingOfOthers = 0

        package var isEmpty: Bool { messages.isEmpty && missing.isEmpty && missingOfOthers == 0 }
    }

    /// How many messages of somebody were not kept.
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
    /// When the first message that was not reported yet was folded.
    private var unreportedSince: Int64?
    private var lastFold: Int64 = 0
    private var lastReport: Int64?

    /// Nothing is folded yet.
    package init() {}

    /// When to call `due(at:labels:)`, if at all.
    package var nextDeadline: Int64? {
        unreportedSince.map { first in
            min(max(lastFold + Self.pause, lastReport.map { $0 + Self.interval } ?? 0), first + Self.interval)
        }
    }

    /// The user IDs of those of whom something is folded, sorted.
    package var users: [String] { folded.keys.sorted() }

    // MARK: Incoming events

    /// Folds a message, which will be reported.
    package mutating func fold(_ text: String, from user: String, at now: Int64, time: LocalTime) {
        keep(text, from: user, time: time)
        folded[user]?.unreported += 1
        lastFold = now
        if unreportedSince == nil { unreportedSince = now }
    }

    /// Keeps a message whose beginning is shown with a note about the rest.
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

    /// The report that is due, if any.
    package mutating func due(at now: Int64, labels: Labels) -> [Line] {
        guard let nextDeadline, nextDeadline <= now else { return [] }
        lastReport = now
        return report(labels: labels)
    }

    /// Reports now what was not reported yet.
    ///
    /// - Parameter isLast: whether it is the end, and nobody can ask for the messages.
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

    /// Reports now what was not reported yet of one person, of whom something is about to be shown.
    package mutating func report(on user: String, labels: Labels) -> [Line] {
        guard let count = folded[user]?.unreported, count > 0 else { return [] }
        reported(user)
        return [ChatLines.folded(count, from: [labels.label(of: user)])]
    }

    /// Removes and returns the folded messages of a person, or of everybody. They need no report any more.
    package mutating func take(from user: String? = nil) -> Answer {
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
