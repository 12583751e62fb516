import InklingModel

/// The writer of a node's events as lines. The program supplies the texts for people.
package struct JSONEvents: Sendable {
    private let indicator: @Sendable ([Person]) -> String
    private let notice: @Sendable (Notice) -> String

    /// Makes a writer.
    ///
    /// - Parameters:
    ///   - indicator: returns the text that names the people who type.
    ///   - notice: returns the text of a notice.
    package init(
        indicator: @escaping @Sendable ([Person]) -> String, notice: @escaping @Sendable (Notice) -> String
    ) {
        self.indicator = indicator
        self.notice = notice
    }

    /// Returns the line of an event.
    ///
    /// - Parameter hasWaited: Whether the event is about messages that arrived while no front end showed their chat.
    package func line(for timed: TimedEvent, hasWaited: Bool = false) -> JSONLine {
        var line: JSONLine
        switch timed.event {
        case .peer(let change):
            return JSONLine(
                on: "peer", at: timed.at,
                [
                    ("chat", .string(change.chat)), ("user", .string(change.peer.user.description)),
                    ("name", .string(change.peer.name)), ("presence", .string(change.peer.presence.rawValue)),
                    ("why", .string(change.why.rawValue)),
                ] + JSONValue.known(of: change.peer))
        case .typing(let chat, let people):
            line = JSONLine(on: "typing", at: timed.at)
            line.add("chat", chat)
            line.add("users", people)
            line.add("text", indicator(people))
        case .message(let message):
            line = JSONLine(on: "message", at: timed.at)
            line.add("chat", message.chat)
            line.add("from", message.sender)
            line.add("message", .unsigned(message.id.rawValue))
            line.add("text", message.text)
            if hasWaited { line.add("waited", .boolean(true)) }
            if timed.isDelayed { line.add("delayed", .boolean(true)) }
            if let written = message.written { line.add("written", .seconds(written)) }
        case .delivered(let receipt):
            line = JSONLine(on: "delivered", at: timed.at)
            line.add("chat", receipt.chat)
            line.add(receipt.message, receipt.entry)
            line.add("user", receipt.user.description)
        case .failed(let failure):
            line = JSONLine(on: "failed", at: timed.at)
            line.add("chat", failure.chat)
            line.add(failure.message, failure.entry)
            line.add("user", failure.user.description)
            line.add("why", failure.why.rawValue)
        case .waiting(let receipt):
            line = JSONLine(on: "waiting", at: timed.at)
            line.add("chat", receipt.chat)
            line.add("message", .unsigned(receipt.message.rawValue))
            line.add("user", receipt.user.description)
        case .notice(let about):
            return JSONLine(
                on: "notice", at: timed.at,
                [("code", .string(about.code)), ("text", .string(notice(about)))] + Self.members(of: about))
        case .missed(let missed):
            line = JSONLine(on: "missed", at: timed.at)
            line.add("chat", missed.chat)
            line.add("messages", .integer(missed.messages))
            line.add("outcomes", .integer(missed.outcomes))
            if hasWaited { line.add("waited", .boolean(true)) }
        }
        return line
    }

    /// Returns the line of a message that another front end of this user sent.
    func line(for own: OwnMessage, from person: Person) -> JSONLine {
        var line = JSONLine(on: "message", at: own.at)
        line.add("chat", own.chat)
        line.add("from", person)
        line.add("own", .boolean(true))
        line.add("sent", .unsigned(own.message.rawValue))
        line.add("to", .integer(own.recipients))
        line.add("text", own.text)
        return line
    }

    private static func members(of notice: Notice) -> [(String, JSONValue?)] {
        switch notice {
        case .keyChanged(let person, let known, let isVerified):
            JSONValue.members(of: person).map { ($0, $1) } + [
                ("known", .string(known.description)), ("verified", .boolean(isVerified)),
            ]
        case .invited(let invitation): invitation.members.map { ($0, $1) }
        case .invitationOver(let number, let end):
            [("invitation", .integer(number)), ("why", .string(end.rawValue))]
        case .moved(let chat): chat.movedMembers
        case .movedApart(let chat): [("chat", .string(chat))]
        case .newcomer(let newcomer):
            [
                ("chat", .string(newcomer.chat)), ("user", .string(newcomer.key.userID.description)),
                ("key", .string(newcomer.key.description)), ("name", newcomer.name.map(JSONValue.string)),
                ("verified", .boolean(newcomer.isVerified)),
            ] + JSONValue.members(of: newcomer.namesakes, newcomer.namesake).map { ($0, $1) }
        default: []
        }
    }
}

extension JSONLine {
    /// Adds what an outcome is about: a message, or a text that an earlier run of the node sent.
    fileprivate mutating func add(_ message: MessageID, _ entry: UInt64?) {
        if let entry { add("entry", .unsigned(entry)) } else { add("message", .unsigned(message.rawValue)) }
    }
}

/// The line of the latest event, which is the same for all front ends of a daemon.
final class EventLineCache {
    /// Whether several front ends need the line of an event.
    var isShared = false
    private var last: (timed: TimedEvent, line: [UInt8])?

    /// Returns the line with its line feed.
    func line(for timed: TimedEvent, from events: JSONEvents) -> [UInt8] {
        guard isShared else { return events.line(for: timed).bytes() }
        if let last, last.timed == timed { return last.line }
        let line = events.line(for: timed).bytes()
        last = (timed, line)
        return line
    }
}
