/// The lines that tell what happens in a chat. Names, texts and reasons come as they were sent and are made safe
/// here, so that no line can be built from anything unsafe.
package enum ChatLines {
    /// What stands before the input; an open chat is marked.
    package static func prompt(chat: String, isOpen: Bool) -> String {
        let name = DisplayWidth.prefix(of: SafeText.line(chat), columns: 20)
        return isOpen ? "\(name) (open)> " : "\(name)> "
    }

    package static func message(from name: String, text: String) -> Line {
        Line([
            Line.Span(text: shown(name) + ":", emphasis: .bold),
            Line.Span(text: " " + SafeText.message(text), emphasis: .plain),
        ])
    }

    /// The line that an open chat begins with.
    package static func openWarning(chat: String) -> Line {
        notice(
            "\(chat) is an open chat: anybody on this network can join and read it. For one that is not: inkling invite"
        )
    }

    /// The line that says that nobody is there yet.
    package static func waiting() -> Line {
        notice("Nobody else is here yet; waiting for others. Messages reach only people who are online.")
    }

    /// What is said of somebody who came, went or changed.
    package static func presence(name: String, _ change: PresenceChange) -> Line {
        switch change {
        case .online: notice("\(shown(name)) is here")
        case .back: notice("\(shown(name)) is back")
        case .away: notice("\(shown(name)) is away")
        case .left: notice("\(shown(name)) left")
        case .silent: notice("\(shown(name)) is out of reach")
        }
    }

    /// A message that is not known to have reached somebody.
    package static func notDelivered(to name: String, text: String, why: String) -> Line {
        notice("Not delivered to \(shown(name)) (\(reason(why))): \(excerpt(text))")
    }

    /// A message that nobody was there for.
    package static func reachedNobody(text: String) -> Line {
        notice("Nobody was here to receive: \(excerpt(text))")
    }

    package static func notice(_ text: String) -> Line {
        Line("* " + SafeText.line(text), .dim)
    }

    /// An error of the program or a command.
    package static func error(_ text: String) -> Line {
        Line("! " + SafeText.line(text))
    }

    /// One person in the answer to /who.
    ///
    /// - Parameter detail: the presence as text, such as "Active now".
    package static func person(name: String, user: String, detail: String) -> Line {
        notice("\(shown(name)) (\(user)): \(detail)")
    }

    /// A name that can be shown: "Someone" where it can't.
    package static func shown(_ name: String) -> String {
        SafeText.name(name) ?? "Someone"
    }

    private static func excerpt(_ text: String) -> String {
        let line = SafeText.line(text.split(separator: "\n", maxSplits: 1).first ?? "")
        let cut = DisplayWidth.prefix(of: line, columns: 40)
        return cut.count < text.count ? cut + "..." : line
    }

    private static func reason(_ why: String) -> String {
        switch why {
        case "bye", "left": "left"
        case "silence": "out of reach"
        case "will": "quit"
        case "stalled": "did not answer"
        case "lost-state", "replaced": "started anew"
        default: why
        }
    }
}

/// What can change about somebody's presence, as the prompt tells it.
package enum PresenceChange: Sendable {
    case online
    case back
    case away
    case left
    case silent
}
