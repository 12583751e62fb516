import InklingModel
import InklingWire
import NIOCore
import Synchronization

/// The tables of `state.db` on the thread that uses them.
package final class StateThread: Sendable {
    private let tables: Mutex<StateTables>

    package init(_ tables: sending StateTables) { self.tables = Mutex(tables) }

    package func run(_ jobs: [StateTables.Job]) -> (failures: [String?], faults: [StateFault]) {
        tables.withLock { ($0.run(jobs), $0.takeFaults()) }
    }
}

/// The part of `state.db` that a running node needs, and the changes on their way to the disk.
struct NodeState {
    /// The state directory at the start of a node.
    struct Opening: Sendable {
        /// Nil if the node writes nothing there.
        let thread: StateThread?
        let refusal: String?
        let contents: StateContents
        let namesFault: String?
        let faults: [StateFault]

        init(in directory: String, isHeld: Bool) {
            let tables = StateTables(in: directory, isHeld: isHeld)
            (refusal, namesFault, contents) = (tables.refusal, tables.namesFault, tables.contents)
            faults = tables.takeFaults()
            tables.dropContents()
            thread = isHeld ? StateThread(tables) : nil
        }
    }

    /// Nil if the node keeps nothing.
    let thread: StateThread?
    /// Why the file can't be used in this run.
    let refusal: String?
    /// Why names of chats may be missing, as a clause; nil if all are there.
    let namesFault: String?
    /// The kept chats at the start.
    let kept: KeptChats
    var names: ChatNames
    /// The logs of chats that the user left in an earlier run, and which may not have ended.
    let ending: [String]
    fileprivate var pending: [(job: StateTables.Job, completion: (String?) -> Void)] = []
    /// The completions of the changes that are being written.
    fileprivate var running: [(String?) -> Void]?

    init(_ opening: Opening?) {
        (thread, refusal, namesFault) = (opening?.thread, opening?.refusal, opening?.namesFault)
        let contents = opening?.contents ?? StateContents()
        let endings = Set(contents.ending)
        // A chat may have come back before its end was complete.
        let back = Set(contents.chats.chats.map { contents.moves.logID(of: $0) })
        (kept, names, ending) = (contents.chats, contents.names, endings.subtracting(back).sorted())
    }

    /// Whether nothing waits for the disk.
    var isIdle: Bool { running == nil }
}

/// The changes of a node's state on disk.
extension Node {
    /// Changes the state on disk. All changes that come during a write share the next transaction, which also has the age.
    ///
    /// - Parameters:
    ///   - isDecision: Whether the user decided, so that the copy has the change too.
    ///   - completion: The argument is nil when the change is on disk, or if nothing is kept; otherwise the reason for the
    ///     failure.
    func changeState(
        isDecision: Bool = true, _ work: @escaping @Sendable (StateTables) throws(Database.Failure) -> Void,
        _ completion: @escaping (String?) -> Void = { _ in }
    ) {
        guard state.thread != nil else { return completion(nil) }
        // Another node may hold the directory now.
        if case .ended = lifecycle { return completion("the node has ended") }
        if let refusal = state.refusal { return completion(refusal) }
        state.pending.append((StateTables.Job(isDecision: isDecision, work), completion))
        if state.running == nil { runState() }
    }

    /// Calls back when all changes so far are on disk, or failed.
    func afterState(_ completion: @escaping @Sendable () -> Void) {
        guard !state.isIdle else { return completion() }
        changeState(isDecision: false) { _ in
        } _: { _ in
            completion()
        }
    }

    private func runState() {
        guard let thread = state.thread, !state.pending.isEmpty else { return }
        _ = age()
        let counter = nodeAge.counter
        let ageJob = StateTables.Job(isDecision: false) { tables throws(Database.Failure) in
            try tables.put(.init(.age), counter.encoded())
        }
        let jobs = state.pending.map(\.job) + [ageJob]
        state.running = state.pending.map(\.completion)
        state.pending = []
        worker.run(on: eventLoop) { thread.run(jobs) }.whenSuccess { [self] failures, faults in
            onLoop { $0.ranState(failures, faults) }
        }
    }

    private func ranState(_ failures: [String?], _ faults: [StateFault]) {
        let completions = state.running ?? []
        for fault in faults { tell(fault) }
        for (completion, failure) in zip(completions, failures) { completion(failure) }
        state.running = nil
        if !faults.isEmpty, !isStopped {
            // The memory has what the file may lack now.
            knownPeers.noteChanges(of: knownPeers.allNames.keys)
            keepKnownPeers()
            keepMoves()
        }
        runState()
    }

    func tell(_ fault: StateFault) {
        logger.notice("\(fault.text)")
        tell(.notice(.other(code: fault.code, text: fault.text)))
    }

    // MARK: Kept chats

    /// Writes the kept chats, and the names of those that are private.
    ///
    /// - Parameters:
    ///   - left: A chat that the user leaves. The next start ends its logs if this run does not; see
    ///     ``finishLeaving(_:)``.
    ///   - completion: The argument is nil when they are on disk, otherwise the reason for the failure.
    func keep(_ chats: KeptChats, leaving left: Chat?, _ completion: @escaping (String?) -> Void) {
        // A chat without its chain would have another history, and the keys removed there.
        if moving.isUnkept { keepMoves() }
        var names = state.names
        let added = names.add(chats)
        let ending = left.map { StateTables.Key(.ending, logID(of: $0)) }
        let back = Set(chats.chats.map { StateTables.Key(.ending, logID(of: $0)) })
        changeState { tables throws(Database.Failure) in
            try tables.replace(.chat, by: chats.records)
            for name in added { try tables.put(name.key, name.content) }
            for key in try tables.keys(.ending) where back.contains(key) { try tables.remove(key) }
            if let ending { try tables.put(ending, []) }
        } _: { [self] reason in
            if reason == nil { _ = state.names.add(chats) }
            completion(reason)
        }
    }

    /// Records that the logs of a left chat have ended, if they have. If the node is in the chat after all, the logs
    /// stay.
    func finishLeaving(_ chat: Chat) {
        let digits = logID(of: chat)
        guard let store = texts.store, !isIn(log: digits) else { return removeEnding(of: digits) }
        store.value.whenIdle { [weak self] in
            self?.onLoop { node in
                let hasTexts = TextLogID(digits: digits).map { store.value.logs.contains($0) } ?? false
                let hasLogs = hasTexts || node.moving.hasHistory?.value(digits) == true
                guard !hasLogs || node.isIn(log: digits) else { return }
                node.removeEnding(of: digits)
            }
        }
    }

    /// Returns whether the node is in a chat with this log.
    private func isIn(log digits: String) -> Bool { joined.contains { logID(of: $0.chat) == digits } }

    func removeEnding(of digits: String) {
        let key = StateTables.Key(.ending, digits)
        changeState(isDecision: false) { tables throws(Database.Failure) in try tables.remove(key) }
    }

    // MARK: Names

    /// Keeps the name of a chat that the node is about to join.
    ///
    /// - Parameter completion: The argument is nil when the name is on disk, otherwise the reason for the failure.
    func remember(_ chat: Chat, _ completion: @escaping (String?) -> Void) {
        guard !state.names.contains(chat.name, isOpen: chat.isOpen) else { return completion(nil) }
        var names = state.names
        let dropped = names.add(chat.name, isOpen: chat.isOpen)
        guard let record = names.record(chat.name, isOpen: chat.isOpen) else { return completion(nil) }
        changeState(isDecision: !chat.isOpen) { tables throws(Database.Failure) in
            try tables.put(record.key, record.content)
            if let dropped { try tables.remove(ChatNames.key(dropped, true)) }
        } _: { [self] reason in
            if reason == nil { state.names.add(chat.name, isOpen: chat.isOpen) }
            completion(reason)
        }
    }
}

extension StateTables.Key {
    /// The key of a record about a log, of 32 hexadecimal digits.
    init(_ kind: StateTables.Kind, _ digits: String) {
        let values = digits.utf8.compactMap {
            UInt8(ascii: "0") <= $0 ? Character(Unicode.Scalar($0)).hexDigitValue : nil
        }
        self.init(kind, stride(from: 0, to: values.count - 1, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) })
    }
}
