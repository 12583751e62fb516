import InklingModel
import InklingText

/// What a node was asked for, and what becomes of the answers, which come in the order of the requests.
struct PendingAnswers: Sendable {
    /// What an answer is for.
    enum Purpose: Sendable {
        /// The first chat.
        case begin(Chat)
        case join(Chat)
        case leave
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
        case rename
    }

    private var entries: [(request: ServiceRequest, purpose: Purpose)] = []

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

    mutating func add(_ request: ServiceRequest, for purpose: Purpose) { entries.append((request, purpose)) }

    /// An answer came. Returns what it is for, unless nobody waits for it.
    mutating func take(_ request: ServiceRequest) -> Purpose? {
        guard let index = entries.firstIndex(where: { $0.request == request }) else { return nil }
        return entries.remove(at: index).purpose
    }
}
