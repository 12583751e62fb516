import InklingModel

/// The notices that still hold, for whoever begins to listen.
package struct StandingNotices: Sendable {
    private var notices: [(subject: NoticeSubject, notice: Notice)] = []

    package init() {}

    /// In the order in which they came.
    package var all: [Notice] { notices.map(\.notice) }

    /// Something was told.
    package mutating func note(_ notice: Notice) {
        let subject = NoticeSubject(notice)
        switch subject {
        case .discoveryUp: notices.removeAll { $0.subject == .discoveryDown }
        // What happened once is not a state.
        case .person, .oneself, .other: break
        case .discoveryDown, .identity, .lastWill, .reach, .damage, .newer, .unkept:
            notices.removeAll { $0.subject == subject }
            notices.append((subject, notice))
        }
    }
}
