import InklingModel

/// A parser for a daemon's lines that are not answers.
enum AttachedEvents {
    /// Returns the output in a line; nil for a line that no front end uses or that a later version added.
    static func output(_ line: JSONMembers) -> ServiceOutput? {
        guard let at = line["at"].flatMap(Timestamp.init) else { return nil }
        if line["own"]?.boolean == true { return own(line, at).map { .own($0) } }
        if line["on"]?.string == "self" { return user(line, at).map { .user($0) } }
        var context = EventContext()
        guard let event = Event(line, &context) else { return nil }
        // A front end that joins a chat already knows whether the chat is open.
        if case .notice(.other(code: "open-chat", _)) = event { return nil }
        let timed = TimedEvent(at: at, event: event, isDelayed: context.isDelayed)
        return context.isUnread ? .unread(timed) : .event(timed)
    }

    private static func own(_ line: JSONMembers, _ at: Timestamp) -> OwnMessage? {
        var (reader, own) = (LineReader(line), OwnMessage.blank)
        own.at = at
        return (try? own.members(&reader, from: .blank)) == nil ? nil : own
    }

    private static func user(_ line: JSONMembers, _ at: Timestamp) -> UserState? {
        var (reader, user) = (LineReader(line), UserState.blank)
        user.at = at
        return (try? user.members(&reader)) == nil ? nil : user
    }

    /// Returns why a daemon ends the connection, from its last line.
    static func endReason(_ line: JSONMembers) -> ServiceEnd? {
        guard line["on"]?.string == "error", line["line"] == nil, line["id"] == nil else { return nil }
        return switch line["code"]?.string {
        case "too-slow": .tooSlow
        case "stopped": .stopped
        default: .lost
        }
    }
}
