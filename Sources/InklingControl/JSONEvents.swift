import Inkling
import InklingModel

/// What a node reports, as lines; the texts that people read in them come from the program.
package struct JSONEvents: Sendable {
    private let indicator: @Sendable ([Person]) -> String
    private let notice: @Sendable (Notice) -> String

    /// - Parameters:
    ///   - indicator: the text that says who is typing.
    ///   - notice: the text of a notice.
    package init(
        indicator: @escaping @Sendable ([Person]) -> String, notice: @escaping @Sendable (Notice) -> String
    ) {
        self.indicator = indicator
        self.notice = notice
    }

    package func line(for timed: TimedEvent) -> JSONLine {
        switch timed.event {
        case .peer(let chat, let peer, let why):
            JSONLine(
                on: "peer", at: timed.at,
                [
                    ("chat", .string(chat)), ("user", .string(peer.user.description)),
                    ("name", .string(peer.name)), ("presence", .string(peer.presence.rawValue)),
                    ("why", .string(why.rawValue)),
                ])
        case .typing(let chat, let people):
            JSONLine(
                on: "typing", at: timed.at,
                [
                    ("chat", .string(chat)), ("users", .array(people.map { .person($0) })),
                    ("text", .string(indicator(people))),
                ])
        case .message(let chat, let from, let number, let text):
            JSONLine(
                on: "message", at: timed.at,
                [
                    ("chat", .string(chat)), ("from", .person(from)), ("message", .unsigned(number)),
                    ("text", .string(text)),
                ])
        case .delivered(let chat, let message, let user):
            JSONLine(
                on: "delivered", at: timed.at,
                [("chat", .string(chat)), ("message", .unsigned(message)), ("user", .string(user.description))])
        case .failed(let chat, let message, let user, let why):
            JSONLine(
                on: "failed", at: timed.at,
                [
                    ("chat", .string(chat)), ("message", .unsigned(message)), ("user", .string(user.description)),
                    ("why", .string(why.rawValue)),
                ])
        case .notice(let about):
            JSONLine(
                on: "notice", at: timed.at, [("code", .string(about.code)), ("text", .string(notice(about)))])
        case .missed(let chat, let messages, let outcomes):
            JSONLine(
                on: "missed", at: timed.at,
                [("chat", .string(chat)), ("messages", .integer(messages)), ("outcomes", .integer(outcomes))])
        }
    }
}

extension JSONValue {
    /// Somebody in a chat.
    package static func person(_ person: Person) -> JSONValue { .object(members(of: person)) }

    /// Somebody in a chat, among the members of an object.
    package static func members(of person: Person) -> [(String, JSONValue)] {
        [("user", .string(person.user.description)), ("name", .string(person.name))]
    }

    /// What a node knows of somebody, with further members after the key.
    package static func peer(_ peer: Peer, _ further: [(String, JSONValue)] = []) -> JSONValue {
        var members = members(of: peer.person)
        members += [("presence", .string(peer.presence.rawValue)), ("key", .string(peer.key))] + further
        if let lastSeen = peer.lastSeen { members.append(("lastSeen", .seconds(lastSeen))) }
        if let since = peer.onlineSince { members.append(("onlineSince", .seconds(since))) }
        if let roundTrip = peer.roundTrip {
            // Milliseconds with three decimals.
            members.append(("rtt", .raw(String((roundTrip / .microseconds(1)).rounded() / 1_000))))
        }
        return .object(members)
    }
}
