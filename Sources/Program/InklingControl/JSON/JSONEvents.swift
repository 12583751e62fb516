import Inkling
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
        let waited: [(String, JSONValue?)] = hasWaited ? [("waited", .boolean(true))] : []
        return switch timed.event {
        case .peer(let change):
            JSONLine(
                on: "peer", at: timed.at,
                [
                    ("chat", .string(change.chat)), ("user", .string(change.peer.user.description)),
                    ("name", .string(change.peer.name)), ("presence", .string(change.peer.presence.rawValue)),
                    ("why", .string(change.why.rawValue)),
                ] + JSONValue.known(of: change.peer))
        case .typing(let chat, let people):
            JSONLine(
                on: "typing", at: timed.at,
                [
                    ("chat", .string(chat)), ("users", .array(people.map { .person($0) })),
                    ("text", .string(indicator(people))),
                ])
        case .message(let message):
            JSONLine(
                on: "message", at: timed.at,
                [
                    ("chat", .string(message.chat)), ("from", .person(message.sender)),
                    ("message", .unsigned(message.id.rawValue)), ("text", .string(message.text)),
                ] + waited + (timed.isDelayed ? [("delayed", .boolean(true))] : []))
        case .delivered(let receipt):
            JSONLine(
                on: "delivered", at: timed.at,
                [
                    ("chat", .string(receipt.chat)), ("message", .unsigned(receipt.message.rawValue)),
                    ("user", .string(receipt.user.description)),
                ])
        case .failed(let failure):
            JSONLine(
                on: "failed", at: timed.at,
                [
                    ("chat", .string(failure.chat)), ("message", .unsigned(failure.message.rawValue)),
                    ("user", .string(failure.user.description)), ("why", .string(failure.why.rawValue)),
                ])
        case .notice(let about):
            JSONLine(
                on: "notice", at: timed.at,
                [("code", .string(about.code)), ("text", .string(notice(about)))] + Self.members(of: about))
        case .missed(let missed):
            JSONLine(
                on: "missed", at: timed.at,
                [
                    ("chat", .string(missed.chat)), ("messages", .integer(missed.messages)),
                    ("outcomes", .integer(missed.outcomes)),
                ] + waited)
        }
    }

    /// Returns the line of a message that another front end of this user sent.
    func line(for own: OwnMessage, from person: Person) -> JSONLine {
        JSONLine(
            on: "message", at: own.at,
            [
                ("chat", .string(own.chat)), ("from", .person(person)), ("own", .boolean(true)),
                ("sent", .unsigned(own.message.rawValue)), ("text", .string(own.text)),
            ])
    }

    private static func members(of notice: Notice) -> [(String, JSONValue?)] {
        guard case .keyChanged(let person, let known, let isVerified) = notice else { return [] }
        return JSONValue.members(of: person).map { ($0, $1) } + [
            ("known", .string(known.description)), ("verified", .boolean(isVerified)),
        ]
    }
}

/// A cache of the latest event's line, which is the same for all front ends.
final class EventLineCache {
    private var last: (timed: TimedEvent, text: String)?

    func text(for timed: TimedEvent, from events: JSONEvents) -> String {
        if let last, last.timed == timed { return last.text }
        let text = events.line(for: timed).text
        last = (timed, text)
        return text
    }
}
