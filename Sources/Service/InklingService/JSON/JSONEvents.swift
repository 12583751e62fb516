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
    /// - Parameter isUnread: Whether the event is about messages that arrived while no front end showed their chat.
    package func line(for timed: TimedEvent, isUnread: Bool = false) -> JSONLine {
        var line = JSONLine(at: timed.at)
        if case .typing(var chat, var people) = timed.event {
            var text = indicator(people)
            line.typing(&chat, &people, &text)
            return line
        }
        var (context, event) = (EventContext(isUnread: isUnread, isDelayed: timed.isDelayed), timed.event)
        if case .notice(let about) = event { context.text = notice(about) }
        event.members(&line, &context)
        return line
    }

    /// Returns the line of a message that another front end of this user sent.
    func line(for own: OwnMessage, from person: Person) -> JSONLine {
        var (line, own) = (JSONLine(at: own.at), own)
        own.members(&line, from: person)
        return line
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
