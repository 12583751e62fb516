import InklingModel
import InklingText

/// The lines about events in a chat. Names, texts and reasons come as sent. The methods here make them safe, so that
/// every line is safe.
package enum ChatLines {
    /// Returns the name of a chat for lines and the prompt, cut to some columns. An open chat is marked.
    package static func chat(_ name: String, isOpen: Bool, columns: Int = 40) -> String {
        cut(name, columns: columns) + (isOpen ? " (open)" : "")
    }

    /// Returns a text made safe, and visibly cut if it is too wide.
    static func cut(_ text: String, columns: Int) -> String {
        let text = SafeText.line(text)
        guard DisplayWidth.of(text) > columns else { return text }
        return DisplayWidth.prefix(of: text, columns: max(columns - 3, 1)) + "..."
    }

    package static func message(from label: Labels.Label, text: String) -> Line {
        Line([
            Line.Span(text: label.isolated + ":", emphasis: .person(label.user)),
            Line.Span(text: " " + SafeText.message(text), emphasis: .plain),
        ])
    }

    /// Returns the line of a message that this user sent.
    ///
    /// - Parameter mark: the delivery, see `Delivery.mark`.
    package static func own(text: String, mark: String? = nil) -> Line {
        Line([
            Line.Span(text: "You:", emphasis: .bold),
            Line.Span(text: " " + SafeText.message(text), emphasis: .plain),
            Line.Span(text: mark.map { "  (" + SafeText.line($0) + ")" } ?? "", emphasis: .dim),
        ])
    }

    /// Returns the first line of an open chat.
    ///
    /// - Parameter takesCommands: whether the user can enter commands.
    package static func openWarning(chat: String, takesCommands: Bool = true) -> Line {
        notice(
            "\(chat) is an open chat: anybody on this network can join and read it. For a private chat: "
                + (takesCommands ? "/invite NAME" : "inkling invite NAME"))
    }

    /// Returns the hint in a chat whose name begins as channels are written elsewhere.
    static func numberSign(_ chat: String) -> Line {
        notice("The # is part of this chat's name. If you mean \(chat.dropFirst()): /join \(chat.dropFirst())")
    }

    /// Returns the first line of a private chat.
    static func privateChat(_ chat: String) -> Line {
        notice("\(chat) is private: only people with its invite can join and read.")
    }

    /// Returns the first line of a talk of two people.
    static func talk(_ chat: String) -> Line {
        notice("\(chat) is a talk: only the two of you can join and read.")
    }

    /// Returns the first line of a chat in which nobody has been found yet.
    ///
    /// - Parameter keepsTexts: whether messages wait for members who are offline.
    package static func looking(keepsTexts: Bool = false) -> Line {
        let reach =
            keepsTexts
            ? "wait for members who are offline, and go out while Inkling runs" : "reach only people who are online"
        return notice("Looking for others. Messages \(reach).")
    }

    /// Returns the line that explains why a text was not put into the input.
    package static func full() -> Line {
        error("A message can hold at most 64 KiB: this was not inserted. Send it in parts")
    }

    /// Returns the line about people who came, left or changed in the same way.
    package static func presence(_ line: PresenceLine) -> Line { notice(line.isolatedText) }

    /// Returns the explanation of a person's suffix.
    ///
    /// - Parameter hasNamesake: whether the suffix tells two people apart.
    static func suffix(of label: Labels.Label, hasNamesake: Bool) -> Line {
        let reason =
            hasNamesake
            ? "tells this \(isolated(label.name)) from another one that you have met"
            : "begins the user ID of \(isolated(label.name)), because the name could mislead"
        return notice("\(label.suffix) \(reason): /whois \(label.text)")
    }

    /// Returns the line for a user whom the owner of a chat has removed.
    static func removed(from chat: String) -> Line { notice("You were removed from \(SafeText.line(chat))") }

    /// Returns the line for a user whose name somebody else has too.
    ///
    /// - Parameter own: the name as others see it, with a suffix.
    static func namesake(_ own: String) -> Line {
        notice("Somebody else here has your name: others see you as \(own). To change your name: /nick NAME")
    }

    /// Returns the line about the new name of a present person.
    static func renamed(_ before: Labels.Label, to after: Labels.Label) -> Line {
        notice("\(before.isolated) is now called \(after.isolated)")
    }

    /// Returns the line about new names of several people.
    static func renamed(_ people: Int) -> Line { notice("\(people) people have changed their names") }

    /// Returns the loud alarm about a known name with another key than before.
    ///
    /// - Parameters:
    ///   - known: the known person's spelling of the name.
    ///   - isVerified: whether the known person is verified.
    ///   - formerName: another name that this key had before, if any.
    package static func changedKey(
        _ label: Labels.Label, known: String, isVerified: Bool = false, formerName: String? = nil
    ) -> Line {
        let explanation =
            formerName.map { "Its key was called \(isolated($0)) before." }
            ?? "It may be a new device, or somebody else using that name."
        return Line(
            """
            !! \(label.isolated) is not the \(isolated(known)) you \(isVerified ? "verified" : "know"): the key is different.
            \(explanation)
            Share nothing secret until you have compared fingerprints,
            face to face or by telephone: /verify \(label.text)
            """, .bold)
    }

    /// Returns the alarm about a key that had the name already in an earlier run.
    package static func stillAnotherKey(_ label: Labels.Label, known: String, isVerified: Bool = false) -> Line {
        error(
            "\(label.isolated) is still not the \(isolated(known)) you \(isVerified ? "verified" : "know"): "
                + "/verify \(label.text), or /block")
    }

    /// Returns a short form of the alarm, shown before a message of that person.
    package static func anotherKey(_ label: Labels.Label, known: String, isVerified: Bool = false) -> Line {
        Line(
            "!! \(label.isolated) is not the \(isolated(known)) you \(isVerified ? "verified" : "know"): /verify \(label.text)",
            .bold)
    }

    /// Returns the alarm about several people at once, which names a few.
    ///
    /// - Parameters:
    ///   - verified: the number of people with the name of a verified person; these come first.
    ///   - known: the known person's spelling of the name that all of them use; nil if they use several.
    ///   - areMore: whether such a line about others was shown a moment ago.
    package static func changedKeys(
        of labels: [Labels.Label], verified: Int = 0, known name: String? = nil, areMore: Bool = true
    ) -> Line {
        let names = labels.prefix(KeyAlarms.named).map(\.isolated)
        let rest = labels.count - names.count
        let others = rest > 0 ? [rest == 1 ? "1 other" : "\(rest) others"] : []
        let known = verified == labels.count ? "verified" : "know"
        let some = verified > 0 && verified < labels.count ? ", \(verified) of them names you verified" : ""
        let people = areMore ? "\(labels.count) more people" : "\(labels.count) people"
        let what =
            name.map { "use the name of the \(isolated($0)) you \(verified > 0 ? "verified" : "know")" }
            ?? "use names you \(known)\(some)"
        return Line(
            """
            !! \(people) \(what), but their keys are different:
            \(Words.list(names + others)).
            Share nothing secret until you have compared fingerprints,
            face to face or by telephone: /verify NAME
            """, .bold)
    }

    /// Returns the line about messages that were not shown one by one.
    ///
    /// - Parameters:
    ///   - labels: their authors, of whom a few are named.
    ///   - andOthers: whether there were further authors, of whom the prompt knows nothing any more.
    ///   - isLast: whether the session ends, so that the user can't ask for the messages.
    package static func folded(
        _ count: Int, from labels: [Labels.Label], andOthers: Bool = false, isLast: Bool = false
    ) -> Line {
        var names = labels.map(\.isolated)
        if names.count > 3 {
            names = names.prefix(2) + [andOthers ? "others" : "\(names.count - 2) others"]
        } else if andOthers {
            names.append("others")
        }
        let messages = count == 1 ? "1 more message" : "\(count) more messages"
        let end = isLast ? "not shown" : labels.count == 1 && !andOthers ? "/show \(labels[0].text)" : "/show"
        return notice("\(messages) from \(Words.list(names))\(isLast ? ", " : ": ")\(end)")
    }

    /// Returns the line about folded messages that the prompt has not kept.
    ///
    /// - Parameter label: the author; `nil` if the authors are unknown.
    package static func notKept(_ count: Int, from label: Labels.Label?) -> Line {
        let messages = count == 1 ? "1 earlier message" : "\(count) earlier messages"
        return notice("\(messages) from \(label?.isolated ?? "others") \(count == 1 ? "was" : "were") not kept")
    }

    /// Returns the answer to /show if no message is folded.
    package static func nothingFolded(from label: Labels.Label? = nil) -> Line {
        notice("There is nothing more to show" + (label.map { " from \($0.isolated)" } ?? ""))
    }

    /// Returns the line about a person who is muted from now on, or was muted before.
    package static func muted(_ label: Labels.Label, isNew: Bool) -> Line {
        guard isNew else { return notice("\(label.isolated) is already muted. To undo it: /unmute \(label.text)") }
        return notice(
            "\(label.isolated) is muted until you quit: you see nothing from them, but they still get your messages. "
                + "To undo it: /unmute \(label.text)")
    }

    /// Returns the line about a person who is no longer muted.
    ///
    /// - Parameters:
    ///   - presence: the presence as text, such as "Active now"; nil if unknown.
    ///   - messages: the number of messages from the person while muted.
    package static func unmuted(_ label: Labels.Label, presence: String?, messages: Int) -> Line {
        notice(
            "\(label.isolated)\(presence.map { " (\($0))" } ?? "") is no longer muted: "
                + missed(messages, "while they were muted"))
    }

    /// Returns the line for one person in the answer to /mute without a name.
    package static func muted(_ person: MutedPeople.Person) -> Line {
        notice("\(person.label.isolated) is muted: " + missed(person.messages, "so far"))
    }

    private static func missed(_ messages: Int, _ period: String) -> String {
        switch messages {
        case 0: "no messages " + period
        case 1: "1 message \(period), not shown"
        default: "\(messages) messages \(period), not shown"
        }
    }

    /// Returns the fingerprint of a person and this user, and instructions.
    package static func fingerprint(_ label: Labels.Label, rows: [String]) -> [Line] {
        [notice("Fingerprint of you and \(label.isolated):")]
            + rows.map { notice("  " + $0) }
            + [notice("If theirs is the same, type: /verify \(label.text) ok")]
    }

    /// Returns the line for one chat in the answer to /chats.
    package static func chat(number: Int, name: String, isOpen: Bool, unread: Int, isCurrent: Bool) -> Line {
        let details = (isCurrent ? ["here"] : []) + (unread > 0 ? ["\(unread) unread"] : [])
        return notice(
            "\(number) " + chat(name, isOpen: isOpen) + (details.isEmpty ? "" : ": " + details.joined(separator: ", ")))
    }

    /// Returns the line for a chat in the answer to /chats that only the daemon or another prompt is in.
    static func chat(name: String, isOpen: Bool, unread: Int, isKept: Bool) -> Line {
        let details = [isKept ? "kept" : "at another prompt"] + (unread > 0 ? ["\(unread) unread"] : [])
        return notice(
            "- " + chat(name, isOpen: isOpen) + ": \(details.joined(separator: ", ")). To open it: "
                + "/open \(SafeText.line(name))")
    }

    /// Returns the line with the candidates for a Tab.
    package static func choices(_ texts: [String]) -> Line { notice(texts.joined(separator: "  ")) }

    /// Returns the answer to a command with a name that several people have.
    ///
    /// - Parameters:
    ///   - command: the command, such as "/whois".
    ///   - rest: the part of the command after the name.
    static func whichOne(_ labels: [String], of command: String, rest: String = "") -> Line {
        let count = labels.count < numbers.count ? numbers[labels.count] : String(labels.count)
        let shown = labels.prefix(mostChoices).map { "\(command) \($0)\(rest)" }
        let choices =
            shown.count == labels.count ? Words.list(shown, last: "or") : shown.joined(separator: ", ") + ", ..."
        return error("There are \(count): type \(choices)")
    }

    private static let numbers = ["no", "one", "two", "three", "four", "five"]
    private static let mostChoices = 4

    /// Returns the line about a message that had no recipient.
    package static func reachedNobody(text: String) -> Line {
        notice("Nobody was here to receive: ", excerpt: text)
    }

    package static func notice(_ text: String) -> Line {
        Line("* " + NameIsolation.line(text), .dim)
    }

    /// Returns a notice that ends with the beginning of a message. The pictures in the message stay whole.
    static func notice(_ text: String, excerpt message: String) -> Line {
        var line = notice(text)
        line.spans.append(Line.Span(text: excerpt(message), emphasis: .dim))
        return Line(line.spans)
    }

    /// Returns the line for an error of the program or a command.
    package static func error(_ text: String) -> Line {
        Line("! " + NameIsolation.line(text))
    }

    /// Returns the form of a name that is shown without a label; "Someone" if the name can't be shown.
    package static func shown(_ name: String) -> String {
        Labels.shown(name) ?? "Someone"
    }

    private static func isolated(_ name: String) -> String { NameIsolation.isolated(shown(name)) }

    static func excerpt(_ text: String) -> String {
        // `message` instead of `line`, which would take the joiners out of pictures.
        let safe = SafeText.message(text)
        let line = String(safe.prefix { $0 != "\n" })
        let cut = DisplayWidth.prefix(of: line, columns: 40)
        return cut.count < safe.count ? cut + "..." : line
    }

    /// Returns the line about messages without a known outcome at the end.
    ///
    /// - Parameter count: the number of further such messages.
    package static func abandoned(_ count: Int) -> Line {
        notice(count == 1 ? "Delivery of 1 more message is unknown" : "Delivery of \(count) more messages is unknown")
    }
}

/// Decides when the prompt reports new names: the first change at once, and all changes of the next 10 s together. The
/// line about an author's new name precedes the author's message. If a person leaves, a line first reports the person's
/// last name. Only a few people in that time get such a line.
///
/// Times are milliseconds of a clock that never goes back.
struct RenameLines: Sendable {
    /// The time for which further changes wait after a line.
    static let step: Int64 = 10_000
    /// The number of people that a line names. For more people, the line has only their number.
    static let named = 3

    /// The earlier labels of people whose new names have no line yet, in the order of the changes.
    private var pending: [(user: UserID, before: Labels.Label)] = []
    private var reportedAt: Int64?
    /// The times of the last lines about leaving people.
    private var farewells: [Int64] = []

    /// The time of the next call of ``due(at:labels:)``; nil for none.
    var nextDeadline: Int64? { pending.isEmpty ? nil : (reportedAt ?? 0) + Self.step }

    /// Records the new name of a present person.
    mutating func record(_ user: UserID, before: Labels.Label) {
        if !pending.contains(where: { $0.user == user }) { pending.append((user, before)) }
    }

    /// Returns the line about a leaving person's unreported name; empty if too many people leave.
    mutating func beforeLeaving(of user: UserID, at now: Int64, labels: Labels) -> [Line] {
        let lines = beforeMessage(of: user, labels: labels)
        guard !lines.isEmpty else { return [] }
        farewells = farewells.filter { now - $0 < Self.step }
        guard farewells.count < Self.named else { return [] }
        farewells.append(now)
        return lines
    }

    /// Returns the line to show before a person's message.
    mutating func beforeMessage(of user: UserID, labels: Labels) -> [Line] {
        defer { pending.removeAll { $0.user == user } }
        return lines(pending.filter { $0.user == user }, labels)
    }

    /// Returns the lines that are due.
    mutating func due(at now: Int64, labels: Labels) -> [Line] {
        guard reportedAt.map({ $0 + Self.step <= now }) ?? true else { return [] }
        let lines = lines(pending, labels)
        pending = []
        if !lines.isEmpty { reportedAt = now }
        return lines
    }

    private func lines(_ entries: [(user: UserID, before: Labels.Label)], _ labels: Labels) -> [Line] {
        let changes = entries.compactMap { user, before in
            let after = labels.label(of: user.description)
            return after.name == before.name ? nil : (before, after)
        }
        guard changes.count <= Self.named else { return [ChatLines.renamed(changes.count)] }
        return changes.map { ChatLines.renamed($0, to: $1) }
    }
}

/// The answer to /who.
extension ChatLines {
    /// One person in the answer.
    package struct Presence: Sendable {
        var label: Labels.Label
        /// The presence as text, such as "Active now".
        var presence: String
        /// The time since when the person is here; nil for others.
        var since: LocalTime?
        /// The time when an absent person was last here.
        var seen: LocalTime?
        /// The round trip of a datagram to the person.
        var roundTrip: Duration?
        var isVerified = false
        /// Whether this user has muted them.
        var isMuted = false

        package init(
            label: Labels.Label, presence: String, since: LocalTime? = nil, seen: LocalTime? = nil,
            roundTrip: Duration? = nil, isVerified: Bool = false, isMuted: Bool = false
        ) {
            self.label = label
            self.presence = presence
            self.since = since
            self.seen = seen
            self.roundTrip = roundTrip
            self.isVerified = isVerified
            self.isMuted = isMuted
        }

        /// Returns the period since when the person is here, or the time when the person was last here.
        fileprivate func period(today: LocalTime.Day) -> String? {
            if let since { return "since " + since.text }
            return seen.map { "last " + ($0.day == today ? "" : $0.day.short + " ") + $0.text }
        }

        fileprivate var travel: String? { roundTrip.map { milliseconds($0) + " round trip" } }
    }

    /// Returns the lines of people, in columns if there is room for them.
    ///
    /// - Parameters:
    ///   - columns: the width of the screen; nil without a screen.
    ///   - today: the day of the answer.
    package static func people(_ people: [Presence], columns: Int?, today: LocalTime.Day) -> [Line] {
        if let columns, let lines = table(people, columns: columns, today: today) { return lines }
        return people.map { person in
            let words = [
                person.presence, person.period(today: today), person.travel, person.isVerified ? "verified" : nil,
                person.isMuted ? "muted" : nil,
            ].compactMap { $0 }
            return notice("\(person.label.isolated): \(words.joined(separator: ", ")) (\(person.label.user))")
        }
    }

    /// Returns the lines in columns. Without enough room, the user IDs are left out, because /whois shows them as well.
    /// Returns nil if that is not enough.
    private static func table(_ people: [Presence], columns: Int, today: LocalTime.Day) -> [Line]? {
        let rows = people.map { person in
            [
                person.label.isolated, person.presence, person.period(today: today) ?? "",
                person.travel ?? "", person.isMuted ? "muted" : "", person.label.user,
            ]
        }
        let used = rows.first?.indices.filter { column in rows.contains { !$0[column].isEmpty } } ?? []
        var widths = used.map { column in rows.map { DisplayWidth.of($0[column]) }.max() ?? 0 }
        if widths.reduce(2 * widths.count, +) > columns { widths.removeLast() }
        guard widths.reduce(2 * widths.count, +) <= columns else { return nil }
        return rows.map { row in
            let cells = zip(used, widths).map { column, width in
                row[column] + String(repeating: " ", count: width - DisplayWidth.of(row[column]))
            }
            // A terminal may wrap differently from this program. So no row may end with blanks, which would then begin
            // the next row.
            return notice(String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed()))
        }
    }

    private static func milliseconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        return milliseconds < 1 ? "under 1 ms" : "\(milliseconds) ms"
    }
}

/// Decides which alarms about keys to show, once for each person and name.
struct KeyWarnings: Sendable {
    /// The number of pairs of a person and a name whose shown alarms are remembered.
    private static let remembered = 4_096

    /// When this began.
    private let startedAt: Timestamp
    private var warned: Set<Warned> = []

    private struct Warned: Hashable {
        let user: UserID
        let name: String
    }

    init(startedAt: Timestamp) {
        self.startedAt = startedAt
    }

    /// Returns the alarm about a person's key, only once. Returns nil for a verified key, or for the first owner of the
    /// name.
    mutating func alarm(about peer: Peer) -> KeyAlarm? {
        if warned.count > Self.remembered { warned = [] }
        guard let namesake = peer.namesake, !peer.isVerified,
            warned.insert(Warned(user: peer.user, name: peer.name)).inserted
        else { return nil }
        return KeyAlarm(
            newcomer: peer.name, formerNames: peer.names.dropFirst(), knownNames: namesake.names,
            isVerified: namesake.isVerified, isRepeated: peer.namedSince.map { $0 < startedAt } ?? false)
    }
}

extension IndicatorText {
    /// Returns the emphasis of the indicator: dim at first, so that it appears gently, and plain from then on.
    ///
    /// - Parameter age: the time for which an indicator has been on the screen, even if its names changed.
    package static func emphasis(age: Duration, decorated: Bool, reducedMotion: Bool) -> Line.Emphasis {
        decorated && !reducedMotion && age < appearance ? .dim : .plain
    }

    /// The time for which the indicator is dim.
    package static let appearance = Duration.milliseconds(300)
}
