/// The drafts of all front ends. The user types in a chat while any of its drafts counts as typing.
///
/// Times are in milliseconds of a clock that never goes back.
struct DraftUnion {
    /// A change to report to the node.
    enum Edge: Equatable {
        /// The node must announce typing, or learns of another edit.
        case start(chat: String)
        case stop(chat: String)
    }

    private struct Draft {
        var text: String
        /// The time until which the draft counts; nil if it does not count.
        var until: Int64?
    }

    private struct Drafts {
        var drafts: [Int: Draft] = [:]
        /// The time at which the node ends typing by itself; nil if the node knows of no typing.
        var nodeUntil: Int64?

        mutating func count(_ draft: Draft, of frontEnd: Int) {
            drafts[frontEnd] = draft
            nodeUntil = draft.until
        }

        /// The time until which at least one draft counts.
        var until: Int64? {
            drafts.values.reduce(nil as Int64?) { latest, draft in draft.until.map { max($0, latest ?? $0) } ?? latest }
        }
    }

    private var chats: [String: Drafts] = [:]
    /// Returns whether a text counts as typing (T-9).
    private let counts: (String) -> Bool

    init(counts: @escaping (String) -> Bool) {
        self.counts = counts
    }

    /// The time of the next call of ``advance(to:)``.
    var nextDeadline: Int64? {
        // If the node ends typing by itself at the same time, no call is needed.
        var deadline: Int64?
        for drafts in chats.values {
            guard let until = drafts.until, until != drafts.nodeUntil else { continue }
            deadline = min(until, deadline ?? until)
        }
        return deadline
    }

    /// Records the text in a front end's input field. The same text again is not an edit (T-3).
    mutating func compose(_ text: String, in chat: String, by frontEnd: Int, at now: Int64) -> Edge? {
        guard chats[chat]?.drafts[frontEnd]?.text ?? "" != text else { return nil }
        return edit(text, counts(text), chat, frontEnd, now)
    }

    /// Records an edit of a text that the front end does not reveal.
    mutating func type(in chat: String, by frontEnd: Int, at now: Int64) -> Edge? {
        edit(chats[chat]?.drafts[frontEnd]?.text ?? "", true, chat, frontEnd, now)
    }

    private mutating func edit(
        _ text: String, _ counts: Bool, _ chat: String, _ frontEnd: Int, _ now: Int64
    ) -> Edge? {
        guard counts else {
            var drafts = chats[chat] ?? Drafts()
            drafts.drafts[frontEnd] = text.isEmpty ? nil : Draft(text: text)
            return settle(drafts, chat, now)
        }
        let until = now + DaemonLimits.draftTime
        // A copy of the drafts would take 800 instructions.
        chats[chat, default: Drafts()].count(Draft(text: text, until: until), of: frontEnd)
        return .start(chat: chat)
    }

    /// Removes the draft of a front end that stopped typing, opened another chat, left or detached.
    mutating func drop(in chat: String, by frontEnd: Int, at now: Int64) -> Edge? {
        guard var drafts = chats[chat], drafts.drafts.removeValue(forKey: frontEnd) != nil else { return nil }
        return settle(drafts, chat, now)
    }

    /// Removes all drafts of a front end that detached or is suspended.
    mutating func drop(_ frontEnd: Int, at now: Int64) -> [Edge] {
        chats.keys.sorted().compactMap { drop(in: $0, by: frontEnd, at: now) }
    }

    /// Records a sent message. The node has then ended typing. Other drafts count again at their next edit.
    mutating func sent(in chat: String, by frontEnd: Int) {
        guard var drafts = chats[chat] else { return }
        drafts.drafts[frontEnd] = nil
        rest(&drafts)
        chats[chat] = drafts.drafts.isEmpty ? nil : drafts
    }

    /// Lets all drafts rest until their next edit, because the user goes away.
    ///
    /// - Returns: A stop for each chat in which the user types. A node that announces the change needs none.
    mutating func restAll() -> [Edge] {
        let typing = chats.filter { $0.value.nodeUntil != nil }.keys.sorted()
        for (chat, var drafts) in chats {
            rest(&drafts)
            chats[chat] = drafts.drafts.isEmpty ? nil : drafts
        }
        return typing.map { .stop(chat: $0) }
    }

    /// Removes all drafts of a chat that the node left.
    mutating func forget(chat: String) { chats[chat] = nil }

    /// Expires drafts.
    mutating func advance(to now: Int64) -> [Edge] {
        chats.keys.sorted().compactMap { chat in chats[chat].flatMap { settle($0, chat, now) } }
    }

    private func rest(_ drafts: inout Drafts) {
        for frontEnd in drafts.drafts.keys { drafts.drafts[frontEnd]?.until = nil }
        drafts.nodeUntil = nil
    }

    /// Expires drafts of a chat. Returns a stop if no draft counts any more.
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
