import InklingModel

/// The notices that still apply, for new readers.
package struct StandingNotices: Sendable {
    private var notices: [(subject: NoticeSubject, notice: Notice)] = []

    /// The codes of notices about what the disk has lost, or can't keep in this run.
    private static let lasting: Set = [
        "state-damaged", "state-unusable", "state-earlier", "identity-new", "waiting-damaged", "history-damaged",
        "store-remote",
    ]

    package init() {}

    /// The notices, in the order in which they came.
    package var all: [Notice] { notices.map(\.notice) }

    /// Records a notice that the node reported.
    package mutating func note(_ notice: Notice) {
        let subject = NoticeSubject(notice)
        switch subject {
        case .discoveryUp: notices.removeAll { $0.subject == .discoveryDown }
        case .other(let code) where Self.lasting.contains(code):
            if !all.contains(notice) { notices.append((subject, notice)) }
        // These notices report a single event, and no state that could last.
        case .person, .oneself, .moved, .movedApart, .newcomer, .other: break
        case .invitation:
            notices.removeAll { $0.subject == subject }
            if case .invited = notice { notices.append((subject, notice)) }
        case .discoveryDown, .identity, .lastWill, .reach:
            notices.removeAll { $0.subject == subject }
            notices.append((subject, notice))
        }
    }
}
