/// The drafts of all front ends: the user types in a chat while any of them does.
///
/// Times are in milliseconds of a clock that never goes back.
struct DraftUnion {
    /// What the node is to be told.
    enum Edge: Equatable {
        /// Another edit.
        case start(chat: String)
        case stop(chat: String)
    }

    private struct Draft {
        var text: String
        /// When it ceases to count; nil if it does not.
        var until: Int64?
    }

    private struct Drafts {
        var drafts: [Int: Draft] = [:]
        /// When the node ends typing by itself; nil if nobody types as far as it knows.
        var nodeUntil: Int64?

        /// When the last draft ceases to count.
        var until: Int64? { drafts.values.compactMap(\.until).max() }
    }

    private var chats: [String: Drafts] = [:]
    /// Whether a text is a message in the making (T-9).
    private let counts: (String) -> Bool

    init(counts: @escaping (String) -> Bool) {
        self.counts = counts
    }

    /// When ``advance(to:)`` is to be called.
    var nextDeadline: Int64? {
        // What the node ends by itself, at the same time, needs no call.
        chats.values.compactMap { $0.until == $0.nodeUntil ? nil : $0.until }.min()
    }

    /// The input field of a front end holds this text. The same text again is no edit (T-3).
    mutating func compose(_ text: String, in chat: String, by frontEnd: Int, at now: Int64) -> Edge? {
        var drafts = chats[chat] ?? Drafts()
        guard drafts.drafts[frontEnd]?.text ?? "" != text else { return nil }
        return edit(&drafts, text, counts(text), chat, frontEnd, now)
    }

    /// An edit of a text that is not shown.
    mutating func type(in chat: String, by frontEnd: Int, at now: Int64) -> Edge? {
        var drafts = chats[chat] ?? Drafts()
        return edit(&drafts, drafts.drafts[frontEnd]?.text ?? "", true, chat, frontEnd, now)
    }

    private mutating func edit(
        _ drafts: inout Drafts, _ text: String, _ counts: Bool, _ chat: String, _ frontEnd: Int, _ now: Int64
    ) -> Edge? {
        guard counts else {
            drafts.drafts[frontEnd] = text.isEmpty ? nil : Draft(text: text)
            return settle(drafts, chat, now)
        }
        let until = now + DaemonLimits.draftTime
        drafts.drafts[frontEnd] = Draft(text: text, until: until)
        drafts.nodeUntil = until
        chats[chat] = drafts
        return .start(chat: chat)
    }

    /// The input field of a front end is empty, as it sent, opened another chat, left or went.
    mutating func drop(in chat: String, by frontEnd: Int, at now: Int64) -> Edge? {
        guard var drafts = chats[chat], drafts.drafts.removeValue(forKey: frontEnd) != nil else { return nil }
        return settle(drafts, chat, now)
    }

    /// A front end is gone.
    mutating func drop(_ frontEnd: Int, at now: Int64) -> [Edge] {
        chats.keys.sorted().compactMap { drop(in: $0, by: frontEnd, at: now) }
    }

    /// Something was sent: the node has ended typing, and other drafts count again at their next edit.
    mutating func sent(in chat: String, by frontEnd: Int) {
        guard var drafts = chats[chat] else { return }
        drafts.drafts[frontEnd] = nil
        rest(&drafts)
        chats[chat] = drafts.drafts.isEmpty ? nil : drafts
    }

    /// The user went away: the node has ended typing in all chats.
    mutating func restAll() {
        for (chat, var drafts) in chats {
            rest(&drafts)
            chats[chat] = drafts.drafts.isEmpty ? nil : drafts
        }
    }

    /// The node is not in the chat any more.
    mutating func forget(chat: String) { chats[chat] = nil }

    /// Time has passed.
    mutating func advance(to now: Int64) -> [Edge] {
        chats.keys.sorted().compactMap { chat in chats[chat].flatMap { settle($0, chat, now) } }
    }

    private func rest(_ drafts: inout Drafts) {
        for frontEnd in drafts.drafts.keys { drafts.drafts[frontEnd]?.until = nil }
        drafts.nodeUntil = nil
    }

    /// Drafts have ceased to count.
    private mutating func settle(_ drafts: Drafts, _ chat: String, _ now: Int64) -> Edge? {
        var drafts = drafts
        for (frontEnd, draft) in drafts.drafts {
            if let until = draft.until, until <= now { drafts.drafts[frontEnd]?.until = nil }
        }
        let isOver = drafts.nodeUntil != nil && drafts.until == nil
        if isOver { drafts.nodeUntil = nil }
        chats[chat] = drafts.drafts.isEmpty ? nil : drafts
        return isOver ? .stop(chat: chat) : nil
    }
}
