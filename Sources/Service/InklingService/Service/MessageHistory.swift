import Inkling
import InklingModel
import NIOCore

/// A part of a chat's history that a front end asks for (A-52).
package struct HistoryQuery: Sendable {
    /// The messages of an answer if the request has no `count`.
    private static let usualPage = 50

    package var before: UInt64 = .max
    package var count: Int
    /// The text that each message contains; nil for any.
    package var text: FoldedText?

    package init(before: UInt64? = nil, count: Int? = nil, text: FoldedText? = nil) {
        self.before = before ?? .max
        self.count = min(count ?? Self.usualPage, Int(ServiceRequest.longestPage))
        self.text = text
    }
}

/// Messages of a history, in their order.
package struct HistoryPage: Equatable, Sendable {
    package var messages: [RecentMessage] = []
    /// Whether no earlier message of the history has the text.
    package var isBeginning = true

    package init() {}
}

/// The histories of private chats, as a service uses them. The completions come on the event loop, in order.
package protocol ChatHistory: AnyObject {
    /// Begins to report damage and failures.
    func begin(_ report: @escaping (Notice) -> Void)
    /// The notice that messages are not kept; nil if the last write succeeded.
    var fault: Notice? { get }
    func keeps(_ chat: Chat) -> Bool
    /// Begins the history of a chat, or ends and removes it.
    ///
    /// - Parameter completion: The argument is nil, or the reason for the failure and the remedy.
    func set(_ isOn: Bool, for chat: Chat, _ completion: @escaping (String?) -> Void)
    /// Adds a message, or the outcomes of one that was added before. Does nothing without a history.
    ///
    /// - Parameter completion: Called with the number of a message that is on disk.
    func add(
        _ message: RecentMessage, isOutcome: Bool, of node: NodeIdentity, in chat: Chat,
        _ completion: @escaping (UInt64) -> Void)
    /// Adds the received messages that are later than all of the history, because the last run ended before it had
    /// added them. Does nothing without a history or to an empty one.
    func addMissing(_ messages: [RecentMessage], of node: NodeIdentity, in chat: Chat)
    /// Lists messages in their order; none without a history.
    func list(_ query: HistoryQuery, in chat: Chat, _ completion: @escaping (HistoryPage) -> Void)
}

/// The history of a node that keeps none.
final class NoHistory: ChatHistory {
    let fault: Notice? = nil

    func begin(_ report: @escaping (Notice) -> Void) {}
    func keeps(_ chat: Chat) -> Bool { false }
    func set(_ isOn: Bool, for chat: Chat, _ completion: @escaping (String?) -> Void) { completion(nil) }
    func add(
        _ message: RecentMessage, isOutcome: Bool, of node: NodeIdentity, in chat: Chat,
        _ completion: @escaping (UInt64) -> Void
    ) {}
    func addMissing(_ messages: [RecentMessage], of node: NodeIdentity, in chat: Chat) {}
    func list(_ query: HistoryQuery, in chat: Chat, _ completion: @escaping (HistoryPage) -> Void) {
        completion(HistoryPage())
    }
}

/// The histories in a ``TextDatabase``. The object belongs to its event loop.
package final class MessageHistory: ChatHistory {
    /// An own message of this run. Numbers begin again in each run, and chats are apart.
    private struct Own: Hashable {
        let log: String
        let number: MessageID
        let at: Timestamp
    }

    /// Where the outcomes of an own message go.
    private enum Place {
        /// The message is about to be written. The argument is the message with its outcomes, if they are known.
        case pending(RecentMessage?)
        case entry(UInt64)
    }

    /// The most own messages whose outcomes the history still adds.
    private static let lastOwn = 4_096
    /// The messages that a search looks through before other work comes.
    private static let slice = 256

    private let database: TextDatabase
    /// Returns the ID of a chat's log.
    private let logID: (Chat) -> String
    private var logs: Set<String>
    /// The places of the last own messages, and their order.
    private var places: [Own: Place] = [:]
    private var order = CircularBuffer<Own>()
    /// The bytes of messages that wait to be kept.
    private var backlog = 0
    package private(set) var fault: Notice?
    private var report: (Notice) -> Void = { _ in }

    /// Reads which chats have a history.
    ///
    /// - Parameter logID: Returns the ID of a chat's log. A chat that has moved has the log of the first chat.
    package init(_ database: TextDatabase, logID: @escaping (Chat) -> String = \.logID) {
        (self.database, self.logID) = (database, logID)
        logs = database.logs(.history)
    }

    package func begin(_ report: @escaping (Notice) -> Void) {
        self.report = report
        database.begin { [weak self] fault in
            // Without a history, nothing of it is lost.
            guard let self else { return }
            // The texts report this one.
            if case .remote = fault { return }
            if !logs.isEmpty || Self.concernsAll(fault) {
                report(.other(code: "history-damaged", text: fault.text(about: "kept messages")))
            }
        }
    }

    /// Whether nobody knows which chats have a history.
    private static func concernsAll(_ fault: StoreFault) -> Bool {
        switch fault {
        case .keysUnusable, .keysMissing, .earlier, .earlierUnusable: true
        default: false
        }
    }

    /// Returns whether there is a history with an ID.
    package func has(_ id: String) -> Bool { logs.contains(id) }

    package func keeps(_ chat: Chat) -> Bool { log(of: chat) != nil }

    /// Returns the log of a chat with a history.
    private func log(of chat: Chat) -> LogName? {
        guard !logs.isEmpty else { return nil }
        let id = logID(chat)
        return logs.contains(id) ? LogName(.history, id) : nil
    }

    package func set(_ isOn: Bool, for chat: Chat, _ completion: @escaping (String?) -> Void) {
        let id = logID(chat)
        let log = LogName(.history, id)
        // Messages that come from now on wait behind this job.
        let had = logs.contains(id)
        if isOn { logs.insert(id) } else { logs.remove(id) }
        database.perform { tables throws(Database.Failure) in
            if isOn { try tables.begin(log) } else { try tables.end(log) }
        } _: { [self] (_: Void?, reason) in
            if reason != nil { if had { logs.insert(id) } else { logs.remove(id) } }
            if logs.isEmpty { fault = nil }
            completion(
                reason.map {
                    "The key of the history can't be \(isOn ? "written" : "removed"): \($0). Make room for the file or "
                        + "repair it, and try again."
                })
        }
    }

    package func add(
        _ message: RecentMessage, isOutcome: Bool, of node: NodeIdentity, in chat: Chat,
        _ completion: @escaping (UInt64) -> Void = { _ in }
    ) {
        guard let log = log(of: chat) else { return }
        let size = message.text.utf8.count + DaemonLimits.messageOverhead
        guard backlog + size <= DaemonLimits.historyBacklog else { return wrote("The disk is too slow") }
        let own: Own? =
            if case .own(let own, _, _) = message.content {
                Own(log: log.id, number: own.message, at: own.at)
            } else { nil }
        guard !isOutcome else {
            switch own.flatMap({ places[$0] }) {
            case nil: return
            case .pending: if let own { places[own] = .pending(message) }
            case .entry(let entry): replace(message, of: node, entry, log)
            }
            return
        }
        backlog += size
        if let own { remember(own) }
        database.change { tables throws(Database.Failure) in
            try tables.append(Self.bytes(message, node), to: log)
        } _: { [self] number, reason in
            backlog -= size
            wrote(reason)
            if let own, case .pending(let outcome) = places[own] {
                places[own] = number.map { .entry($0) }
                if let number, let outcome { replace(outcome, of: node, number, log) }
            }
            if let number { completion(number) }
        }
    }

    private func replace(_ message: RecentMessage, of node: NodeIdentity, _ entry: UInt64, _ log: LogName) {
        database.change { tables throws(Database.Failure) in
            try tables.replace(Self.bytes(message, node), entry: entry, in: log)
        } _: { [self] (_: Void?, reason) in
            wrote(reason)
        }
    }

    package func addMissing(_ messages: [RecentMessage], of node: NodeIdentity, in chat: Chat) {
        guard !messages.isEmpty, let log = log(of: chat) else { return }
        database.change { tables throws(Database.Failure) in
            var last: Timestamp?
            try tables.read(log, before: .max, limit: 1) { _, bytes in
                last = Self.message(bytes, in: chat.name)?.at
                return false
            }
            guard let last else { return }
            // The form on disk has microseconds.
            for message in messages where message.at.seconds(since: last) > 0.000_01 {
                _ = try tables.append(Self.bytes(message, node), to: log)
            }
        } _: { [self] (_: Void?, reason) in
            wrote(reason)
        }
    }

    private func remember(_ own: Own) {
        places[own] = .pending(nil)
        order.append(own)
        if order.count > Self.lastOwn { places[order.removeFirst()] = nil }
    }

    /// Reports that messages are not kept, once until a write succeeds.
    private func wrote(_ reason: String?) {
        guard let reason else { return fault = nil }
        guard fault == nil else { return }
        let notice = Notice.other(
            code: "history-not-kept",
            text: "New messages are not kept. \(reason). Make room on the disk, or make the folder writable.")
        fault = notice
        report(notice)
    }

    package func list(_ query: HistoryQuery, in chat: Chat, _ completion: @escaping (HistoryPage) -> Void) {
        guard let log = log(of: chat) else { return completion(HistoryPage()) }
        read(Search(query, in: chat.name), log, completion)
    }

    /// Reads a slice after the other. Messages that come meanwhile are written between them.
    private func read(_ search: Search, _ log: LogName, _ completion: @escaping (HistoryPage) -> Void) {
        database.perform { tables throws(Database.Failure) in
            var (search, count) = (search, 0)
            try tables.read(log, before: search.before, limit: Self.slice) { entry, bytes in
                count += 1
                return search.add(bytes, entry)
            }
            if count < Self.slice { search.isDone = true }
            return search
        } _: { [self] (found: Search?, _) in
            guard let found, !found.isDone else { return completion((found ?? search).result) }
            read(found, log, completion)
        }
    }

    // MARK: Messages

    /// A page in the making.
    private struct Search: Sendable {
        private let query: HistoryQuery
        private let chat: String
        /// The number behind the next message.
        private(set) var before: UInt64
        var isDone = false
        private var page = HistoryPage()
        private var size = 0

        init(_ query: HistoryQuery, in chat: String) { (self.query, self.chat, before) = (query, chat, query.before) }

        var result: HistoryPage {
            var page = page
            page.messages.reverse()
            return page
        }

        /// Adds the next message if it is wanted.
        ///
        /// - Returns: Whether an earlier one may be wanted.
        mutating func add(_ bytes: [UInt8], _ entry: UInt64) -> Bool {
            before = entry
            guard var message = MessageHistory.message(bytes, in: chat), query.text?.occurs(in: message.text) ?? true
            else { return true }
            message.entry = entry
            size += RecentMessages.size(of: message)
            guard page.messages.count < query.count, page.messages.isEmpty || size <= DaemonLimits.recentBytes else {
                page.isBeginning = false
                isDone = true
                return false
            }
            page.messages.append(message)
            return true
        }
    }

    private static func bytes(_ message: RecentMessage, _ node: NodeIdentity) -> [UInt8] {
        var message = message
        message.entry = nil
        return bytes(ListedMessage(message, user: Person(user: node.user, name: node.name)))
    }

    private static func bytes(_ message: ListedMessage) -> [UInt8] {
        var line: [UInt8] = []
        message.append(to: &line)
        return line
    }

    private static func message(_ bytes: [UInt8], in chat: String) -> RecentMessage? {
        guard let members = try? JSONMembers(bytes) else { return nil }
        return LineReader.object(ListedMessage.self, members)?.recent(in: chat)
    }

    /// Puts the outcomes that an earlier build noted behind own messages into these messages.
    @Sendable
    package static func merging(_ records: [EarlierLogs.Record]) -> [EarlierLogs.Record] {
        guard records.contains(where: \.isNote) else { return records }
        var merged = records
        var outcomes: [MessageID: RecentMessage] = [:]
        for index in records.indices.reversed() {
            guard let members = try? JSONMembers(records[index].bytes),
                var listed = LineReader.object(ListedMessage.self, members),
                let message = listed.recent(in: ""), case .own(let own, _, _) = message.content
            else { continue }
            guard !records[index].isNote else {
                outcomes[own.message] = message
                continue
            }
            guard let noted = outcomes.removeValue(forKey: own.message),
                case .own(let same, let delivered, let failed) = noted.content, same.at == own.at
            else { continue }
            (listed.delivered, listed.failed) = (delivered, failed)
            merged[index].bytes = bytes(listed)
        }
        return merged
    }
}
