import InklingModel
import InklingText

/// The requests to a node that have no answer yet, with the purposes of their answers, in order.
struct PendingAnswers: Sendable {
    /// The purpose of an answer.
    enum Purpose: Sendable {
        /// The join of the first chat.
        case begin(Chat)
        case join(Chat)
        /// The join of a new private chat, whose invite is then shown.
        case make
        /// The keeping of a private chat in a daemon.
        case keep(chat: String)
        /// The join of a talk, or of the chat of that invitation.
        case enter(invitation: Int?)
        case invite(Labels.Label, chat: String)
        case decline(Int)
        /// The join of a chat after the node was lost.
        case rejoin
        case leave
        /// The list of the daemon's chats, to show it.
        case chats
        /// The list of the daemon's chats, to count what is unread there.
        case others
        /// The list of the daemon's chats, to open the chat with this name.
        case open(name: String)
        /// A message, which a line may have shown while it waited.
        case send(isShown: Bool)
        case who
        /// The current states of the people in a chat.
        case refresh
        /// The fingerprint of a person, to show it.
        case fingerprint(Labels.Label)
        case verify(Labels.Label)
        case block(Labels.Label)
        /// Somebody of that name, perhaps with that key, is to be found among the blocked people.
        case findBlocked(name: String, key: PublicKey?)
        case unblock(name: String)
        case rename(isOnce: Bool)
        case history(HistoryStep)
        /// The people of a chat, to show who moves.
        case showMove(ShownMove)
        case move(ShownMove)
        /// The join of a chat of the user's own, to which the people of that chat are invited.
        case own(from: String)
        case admit(Newcomer)
        /// A request about messages that wait for people who are offline.
        case texts
    }

    /// The longest time for a daemon's answer before the prompt reports its silence, in milliseconds.
    static let patience: Int64 = 3_000

    private struct Entry {
        /// Nil until the program asks the node.
        var id: RequestID?
        let request: ServiceRequest
        /// Nil for a request whose answer does not matter.
        let purpose: Purpose?
    }

    private var entries: [Entry] = []
    /// When the silence began, in milliseconds of the steady clock; nil once the prompt has reported it.
    private var silentSince: Int64?

    /// Whether no answer is due that matters.
    var isEmpty: Bool { !entries.contains { $0.purpose != nil } }

    /// Whether the node has not joined the first chat yet.
    var isStarting: Bool {
        entries.contains { entry in
            if case .begin = entry.purpose { true } else { false }
        }
    }

    /// Whether the answer to a sent message is due.
    var hasMessages: Bool {
        entries.contains { entry in
            if case .send = entry.purpose { true } else { false }
        }
    }

    /// The time when the prompt must report the silence.
    var nextDeadline: Int64? { isEmpty ? nil : silentSince.map { $0 + Self.patience } }

    mutating func add(_ request: ServiceRequest, for purpose: Purpose? = nil, at now: Int64) {
        if isEmpty { silentSince = now }
        entries.append(Entry(request: request, purpose: purpose))
    }

    /// Gives an ID to the oldest request without one, because the program performs the requests in order.
    mutating func assign(_ id: RequestID) {
        guard let index = entries.firstIndex(where: { $0.id == nil }) else { return }
        entries[index].id = id
    }

    /// Returns whether an answer is for a message.
    func isMessage(_ id: RequestID) -> Bool {
        entries.contains { entry in
            if case .send = entry.purpose { entry.id == id } else { false }
        }
    }

    /// Returns whether the prompt must report a silence now. The result is true once for each silence.
    mutating func isOverdue(at now: Int64) -> Bool {
        guard let deadline = nextDeadline, deadline <= now else { return false }
        silentSince = nil
        return true
    }

    /// Removes all pending requests.
    ///
    /// - Returns: Those whose answers matter.
    mutating func drain() -> [(request: ServiceRequest, purpose: Purpose)] {
        defer { entries = [] }
        return entries.compactMap { entry in entry.purpose.map { (entry.request, $0) } }
    }

    /// Removes the request of an answer. Returns it and the purpose, or nil if no request waits for the answer.
    mutating func remove(_ id: RequestID, at now: Int64) -> (request: ServiceRequest, purpose: Purpose)? {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
        let entry = entries.remove(at: index)
        guard let purpose = entry.purpose else { return nil }
        silentSince = now
        return (entry.request, purpose)
    }
}

/// The meaning of an answer to the question for the user's name.
package enum NameAnswer: Equatable, Sendable {
    /// The name that the user chose, in NFC.
    case name(String)
    /// The user leaves without a name.
    case quit
    /// The answer is not a valid name. The text gives the reason and is safe to show. The program asks again.
    case refused(String)

    /// Interprets an answer.
    ///
    /// - Parameter proposal: The name that an empty answer chooses.
    package init(_ line: String, proposal: String) {
        let answer = NormalForm.canonical(line.trimmed)
        if answer.hasPrefix("/") {
            guard PromptCommand(answer) != .quit else {
                self = .quit
                return
            }
            self = .refused(
                "A slash begins a command, and of these there is only /quit yet. Type your name, or press Enter.")
            return
        }
        let name = answer.isEmpty ? NormalForm.canonical(proposal) : answer
        if let fault = NameFault(ofOwnName: name) {
            self = .refused(SafeText.line(NodeError.name(fault).fact) + " Choose another.")
        } else {
            self = .name(name)
        }
    }
}
