import InklingModel
import InklingText

/// The pending requests to a node and the purposes of their answers, in order.
struct PendingAnswers: Sendable {
    /// The purpose of an answer.
    enum Purpose: Sendable {
        /// The first chat.
        case begin(Chat)
        case join(Chat)
        /// A chat is joined again after the node was gone.
        case rejoin
        case leave
        /// The chats of the daemon.
        case chats
        /// The chats, to open the one of that name.
        case open(name: String)
        case send
        case who
        /// New states of the people in a chat.
        case refresh
        /// The fingerprint of somebody is to be shown.
        case fingerprint(Labels.Label)
        case verify(Labels.Label)
        case block(Labels.Label)
        /// Somebody of that name, perhaps with that key, is to be found among the blocked people.
        case findBlocked(name: String, key: PublicKey?)
        case unblock(name: String)
        case rename(isOnce: Bool)
    }

    /// How long a daemon may take to answer before the prompt reports its silence, in milliseconds.
    static let patience: Int64 = 3_000

    private var entries: [(request: ServiceRequest, purpose: Purpose)] = []
    /// When the silence began, in milliseconds of the steady clock; nil once the prompt has reported it.
    private var silentSince: Int64?

    /// Whether an answer is due.
    var isEmpty: Bool { entries.isEmpty }

    /// Whether the first chat is not joined yet.
    var isStarting: Bool {
        entries.contains { entry in
            if case .begin = entry.purpose { true } else { false }
        }
    }

    /// Whether the outcome of a message is unknown.
    var hasMessages: Bool {
        entries.contains { entry in
            if case .send = entry.purpose { true } else { false }
        }
    }

    /// When the prompt has to report the silence.
    var nextDeadline: Int64? { isEmpty ? nil : silentSince.map { $0 + Self.patience } }

    mutating func add(_ request: ServiceRequest, for purpose: Purpose, at now: Int64) {
        if isEmpty { silentSince = now }
        entries.append((request, purpose))
    }

    /// Returns true when the prompt has to report a silence, once each time.
    mutating func isOverdue(at now: Int64) -> Bool {
        guard let deadline = nextDeadline, deadline <= now else { return false }
        silentSince = nil
        return true
    }

    /// Drops all pending requests and returns them.
    mutating func takeAll() -> [(request: ServiceRequest, purpose: Purpose)] {
        defer { entries = [] }
        return entries
    }

    /// Receives an answer. Returns its purpose, or nil if no request waits for it.
    mutating func take(_ request: ServiceRequest, at now: Int64) -> Purpose? {
        guard let index = entries.firstIndex(where: { $0.request == request }) else { return nil }
        silentSince = now
        return entries.remove(at: index).purpose
    }
}
