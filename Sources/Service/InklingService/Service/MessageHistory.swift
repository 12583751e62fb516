import Inkling
import InklingModel
import NIOCore
import NIOPosix

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
    /// Lists messages in their order; none without a history.
    func list(_ query: HistoryQuery, in chat: Chat, _ completion: @escaping (HistoryPage) -> Void)
}

/// The history of a node that keeps none.
final class NoHistory: ChatHistory {
    func begin(_ report: @escaping (Notice) -> Void) {}
    func keeps(_ chat: Chat) -> Bool { false }
    func set(_ isOn: Bool, for chat: Chat, _ completion: @escaping (String?) -> Void) { completion(nil) }
    func add(
        _ message: RecentMessage, isOutcome: Bool, of node: NodeIdentity, in chat: Chat,
        _ completion: @escaping (UInt64) -> Void
    ) {}
    func list(_ query: HistoryQuery, in chat: Chat, _ completion: @escaping (HistoryPage) -> Void) {
        completion(HistoryPage())
    }
}

/// The histories in a state directory. A thread of their own, which may block, does one job after the other. The object
/// belongs to its event loop.
package final class MessageHistory: ChatHistory {
    private let store: SealedStore
    /// Returns the ID of a chat's log.
    private let logID: (Chat) -> String
    private let eventLoop: any EventLoop
    private lazy var threads = makeThreads()
    private let makeThreads: () -> NIOThreadPool
    private var logs: Set<String>
    private var jobs = 0
    /// The bytes of messages that wait to be kept.
    private var backlog = 0
    private var isBacklogFull = false
    private var idle: [() -> Void] = []
    private var report: (Notice) -> Void = { _ in }

    /// Reads which chats have a history.
    ///
    /// - Parameters:
    ///   - logID: Returns the ID of a chat's log. A chat that has moved has the log of the first chat.
    ///   - threads: Makes a pool of one thread.
    package init(
        in directory: String, on eventLoop: any EventLoop, logID: @escaping (Chat) -> String = \.logID,
        threads: @escaping @autoclosure () -> NIOThreadPool
    ) {
        self.logID = logID
        store = SealedStore(in: directory)
        logs = store.logs
        self.eventLoop = eventLoop
        makeThreads = threads
    }

    package func begin(_ report: @escaping (Notice) -> Void) {
        self.report = report
        run({ $0.removeRemains() }, {})
    }

    /// Returns whether there is a history with an ID.
    package func has(_ id: String) -> Bool { logs.contains(id) }

    package func keeps(_ chat: Chat) -> Bool { !logs.isEmpty && logs.contains(logID(chat)) }

    package func set(_ isOn: Bool, for chat: Chat, _ completion: @escaping (String?) -> Void) {
        let id = logID(chat)
        // Messages that come from now on wait behind this job.
        let had = logs.contains(id)
        if isOn { logs.insert(id) } else { logs.remove(id) }
        run({ isOn ? $0.begin(id) : $0.end(id) }) { [self] reason in
            if reason != nil { if had { logs.insert(id) } else { logs.remove(id) } }
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
        guard keeps(chat) else { return }
        let size = message.text.utf8.count + DaemonLimits.messageOverhead
        guard backlog + size <= DaemonLimits.historyBacklog else {
            if !isBacklogFull { report(Self.unwritable("The disk is too slow")) }
            isBacklogFull = true
            return
        }
        backlog += size
        let id = logID(chat)
        run({ $0.append(Self.bytes(message, isOutcome, node), isNote: isOutcome, to: id) }) { [self] number in
            if let number, !isOutcome { completion(number) }
            backlog -= size
            if backlog == 0 { isBacklogFull = false }
        }
    }

    package func list(_ query: HistoryQuery, in chat: Chat, _ completion: @escaping (HistoryPage) -> Void) {
        guard keeps(chat) else { return completion(HistoryPage()) }
        let (id, name) = (logID(chat), chat.name)
        run({ Self.page(query, of: $0, id, in: name) }, completion)
    }

    /// Calls back when no job is left.
    package func whenIdle(_ completion: @escaping () -> Void) {
        guard jobs > 0 else { return completion() }
        idle.append(completion)
    }

    private func run<Value: Sendable>(
        _ job: @escaping @Sendable (SealedStore) -> Value, _ completion: @escaping (Value) -> Void
    ) {
        jobs += 1
        threads.runIfActive(eventLoop: eventLoop) { [store] in (job(store), store.takeFaults()) }
            .assumeIsolated().whenSuccess { [self] value, faults in
                jobs -= 1
                for fault in faults { report(Self.notice(fault)) }
                completion(value)
                guard jobs == 0 else { return }
                for completion in idle { completion() }
                idle = []
            }
    }

    // MARK: Messages

    private static func bytes(_ message: RecentMessage, _ isOutcome: Bool, _ node: NodeIdentity) -> [UInt8] {
        var message = message
        if isOutcome, case .own(var own, let delivered, let failed) = message.content {
            own.text = ""
            message.content = .own(own, delivered: delivered, failed: failed)
        }
        var line: [UInt8] = []
        ListedMessage(message, user: Person(user: node.user, name: node.name)).append(to: &line)
        return line
    }

    private static func page(
        _ query: HistoryQuery, of store: SealedStore, _ id: String, in chat: String
    ) -> HistoryPage {
        var page = HistoryPage()
        var size = 0
        var outcomes: [MessageID: RecentMessage] = [:]
        store.read(id, before: query.before) { record in
            guard record.isNote || record.number < query.before,
                let members = try? JSONMembers(record.bytes),
                var message = LineReader.object(ListedMessage.self, members)?.recent(in: chat)
            else { return true }
            if case .own(let own, _, _) = message.content {
                if record.isNote {
                    outcomes[own.message] = message
                    return true
                }
                if let noted = outcomes.removeValue(forKey: own.message),
                    case .own(let same, let delivered, let failed) = noted.content, same.at == own.at
                {
                    message.content = .own(own, delivered: delivered, failed: failed)
                }
            }
            guard query.text?.occurs(in: message.text) ?? true else { return true }
            message.entry = record.number
            size += RecentMessages.size(of: message)
            guard page.messages.count < query.count, page.messages.isEmpty || size <= DaemonLimits.recentBytes else {
                page.isBeginning = false
                return false
            }
            page.messages.append(message)
            return true
        }
        page.messages.reverse()
        return page
    }

    // MARK: Notices

    private static func notice(_ fault: SealedStore.Fault) -> Notice {
        switch fault {
        case .damaged(let path):
            damage("\(path) is damaged. Kept messages in it can't be read. If you have a copy, put it back.")
        case .missing(let path):
            damage("\(path) is missing, and the kept messages in it too. If you have a copy, put it back.")
        case .keysMissing(let path):
            damage(
                "\(path) is missing, so kept messages can't be read, and no new ones are kept. Put back a copy and start "
                    + "the daemon again, or begin again: /history on")
        case .keysUnusable(let path, let reason):
            damage(
                "\(path) can't be used: \(reason). So kept messages can't be read, and no new ones are kept. Repair or "
                    + "remove it, and start the daemon again.")
        case .unwritable(let path, let reason): unwritable("\(path) can't be written: \(reason)")
        }
    }

    private static func damage(_ text: String) -> Notice { .other(code: "history-damaged", text: text) }

    private static func unwritable(_ reason: String) -> Notice {
        let advice = "Make room on the disk, or make the folder writable."
        return .other(code: "history-not-kept", text: "New messages are not kept. \(reason). \(advice)")
    }
}
