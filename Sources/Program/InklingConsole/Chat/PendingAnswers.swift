import InklingModel
import InklingText

/// What a node was asked for, and what becomes of the answers, which come in the order of the requests.
struct PendingAnswers: Sendable {
    /// What an answer is for.
    enum Purpose: Sendable {
        /// The first chat.
        case begin(Chat)
        case join(Chat)
        /// A chat is joined again after the node was gone.
        case rejoin
        case leave
        /// The chats of the daemon.
        case chats
        /// Those among which one of that name is to be opened.
        case open(name: String)
        case send
        case who
        /// What is known of the people in a chat has changed.
        case refresh
        /// The fingerprint of somebody is to be shown.
        case fingerprint(Labels.Label)
        case verify(Labels.Label)
        case block(Labels.Label)
        /// Somebody of that name, perhaps with that key, is to be found among the blocked people.
        case findBlocked(name: String, key: String?)
        case unblock(name: String)
        case rename(isOnce: Bool)
    }

    /// How long a daemon may take to answer before the user is told, in milliseconds.
    static let patience: Int64 = 3_000

    private var entries: [(request: ServiceRequest, purpose: Purpose)] = []
    /// Since when nothing was answered, in milliseconds of the steady clock; nil once the user was told.
    private var silentSince: Int64?

    /// Whether an answer is due.
    var isEmpty: Bool { entries.isEmpty }

    /// Whether the first chat is not joined yet.
    var isStarting: Bool {
        entries.contains { entry in
            if case .begin = entry.purpose { true } else { false }
        }
    }

    /// Whether it is not known yet what becomes of a message.
    var hasMessages: Bool {
        entries.contains { entry in
            if case .send = entry.purpose { true } else { false }
        }
    }

    /// When the user is to be told that nothing is answered.
    var nextDeadline: Int64? { isEmpty ? nil : silentSince.map { $0 + Self.patience } }

    mutating func add(_ request: ServiceRequest, for purpose: Purpose, at now: Int64) {
        if isEmpty { silentSince = now }
        entries.append((request, purpose))
    }

    /// Whether the user is to be told now that nothing is answered: once each time.
    mutating func isOverdue(at now: Int64) -> Bool {
        guard let deadline = nextDeadline, deadline <= now else { return false }
        silentSince = nil
        return true
    }

    /// No answer comes any more. Returns what was asked for.
    mutating func takeAll() -> [(request: ServiceRequest, purpose: Purpose)] {
        defer { entries = [] }
        return entries
    }

    /// An answer came. Returns what it is for, unless nobody waits for it.
    mutating func take(_ request: ServiceRequest, at now: Int64) -> Purpose? {
        guard let index = entries.firstIndex(where: { $0.request == request }) else { return nil }
        silentSince = now
        return entries.remove(at: index).purpose
    }
}
