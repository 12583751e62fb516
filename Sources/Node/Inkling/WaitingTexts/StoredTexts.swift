import InklingCore
import InklingModel
import InklingWire
import NIOCore
import NIOPosix
import Synchronization

/// The texts of a node in its ``TextDatabase``. The initialiser reads all of them.
package final class StoredTexts: TextStore {
    private let database: TextDatabase
    private let rows: TextRows
    /// The bytes of records that wait for the disk.
    private var backlog = 0
    private var isFailing = false
    private var report: (TextFault) -> Void = { _ in }

    /// Reads the texts of a database.
    ///
    /// - Parameter standings: How well the user knows people. Those of the lowest standing are forgotten first.
    package init(_ database: TextDatabase, standings: [PublicKey: Standing] = [:]) {
        self.database = database
        let rows = TextRows(standings)
        self.rows = rows
        database.thread.withTables { rows.read($0) }
    }

    package var logs: Set<TextLogID> { rows.ids }

    package func begin(_ report: @escaping (TextFault) -> Void) {
        self.report = report
        database.begin { [weak self] fault in
            switch fault {
            case .keysUnusable, .unusable: self?.isFailing = true
            default: break
            }
            let text = fault.text(about: "messages that waited or were unread")
            if case .remote = fault { report(.remote(text)) } else { report(.damaged(text)) }
        }
    }

    package func setStandings(_ standings: [PublicKey: Standing]) { rows.setStandings(standings) }

    package func state(of log: TextLogID) -> TextState { rows.state(of: log) }

    package func append(_ records: [TextRecord], to log: TextLogID, completion: @escaping (String?) -> Void) {
        let size = records.reduce(0) { $0 + $1.estimatedSize }
        guard backlog + size <= TextRows.longestBacklog else {
            // The caller expects the answer after the call.
            return database.perform { _ in
            } _: { [self] (_: Void?, _) in
                finish("The disk is too slow", completion)
            }
        }
        backlog += size
        database.change(beginning: log.name) { [rows] tables throws(Database.Failure) in
            try rows.append(records, to: log, tables)
        } _: { [self] (_: Void?, reason) in
            backlog -= size
            finish(reason, completion)
        }
    }

    package func end(_ log: TextLogID, completion: @escaping (String?) -> Void) {
        database.perform { [rows] tables throws(Database.Failure) in
            try tables.end(log.name)
            rows.forget(log)
        } _: { (_: Void?, reason) in
            completion(reason)
        }
    }

    package func rekey(_ logs: [TextLogID], completion: @escaping (String?) -> Void) {
        database.perform { [rows] tables throws(Database.Failure) in
            try rows.rekey(logs, tables)
        } _: { (_: Void?, reason) in
            completion(reason)
        }
    }

    package func whenIdle(_ completion: @escaping () -> Void) { database.whenIdle(completion) }

    private func finish(_ reason: String?, _ completion: (String?) -> Void) {
        if isFailing != (reason != nil) {
            isFailing = reason != nil
            report(
                reason.map {
                    .unwritable(
                        "\($0). Texts are not kept until a write succeeds. Make room on the disk, or make the folder "
                            + "writable.")
                } ?? .writable)
        }
        completion(reason)
    }
}

extension TextLogID {
    fileprivate var name: LogName { LogName(.texts, digits) }
}

/// The texts of all logs in memory, and the rows that hold them. Changes come on the thread of the database.
private final class TextRows: Sendable {
    private struct Log {
        var state = TextState()
        /// The number of each row.
        var rows: [TextState.Row: Int64] = [:]
        var next: Int64 = 1
    }

    private struct Logs {
        /// The logs as they are on disk.
        var stored: [TextLogID: Log] = [:]
        /// The logs that the present transaction changes.
        var changed: [TextLogID: Log] = [:]
        /// How well the user knows people.
        var standings: [PublicKey: Standing]
    }

    /// The bytes of records that may wait for the disk.
    static let longestBacklog = 16 << 20

    private let logs: Mutex<Logs>

    init(_ standings: [PublicKey: Standing]) { logs = Mutex(Logs(standings: standings)) }

    var ids: Set<TextLogID> { logs.withLock { Set($0.stored.keys) } }

    func state(of log: TextLogID) -> TextState { logs.withLock { $0.stored[log]?.state ?? TextState() } }

    func setStandings(_ standings: [PublicKey: Standing]) { logs.withLock { $0.standings = standings } }

    // MARK: The database's thread

    /// Reads all logs.
    func read(_ tables: TextTables) {
        tables.observer = { [self] tables, event throws(Database.Failure) in try handle(event, tables) }
        let names = tables.logs.filter { $0.kind == .texts }.compactMap { TextLogID(digits: $0.id) }
        try? tables.saved { () throws(Database.Failure) in
            var found: [TextLogID: Log] = [:]
            for id in names { found[id] = try log(id, tables) }
            logs.withLock { $0.stored = found }
        }
    }

    private func log(_ id: TextLogID, _ tables: TextTables) throws(Database.Failure) -> Log {
        var log = Log()
        let standings = logs.withLock(\.standings)
        try tables.readAll(id.name) { _, entry, bytes in
            log.next = max(log.next, entry + 1)
            guard let record = TextRecord(bytes) else { return }
            for case .put(let row, _) in log.state.changes(by: record, standings) { log.rows[row] = entry }
        }
        return log
    }

    func append(_ records: [TextRecord], to id: TextLogID, _ tables: TextTables) throws(Database.Failure) {
        // The log has no other owner meanwhile, so a change copies nothing.
        var (log, standings) = logs.withLock { logs in
            (logs.changed.removeValue(forKey: id) ?? logs.stored[id] ?? Log(), logs.standings)
        }
        for record in records {
            for change in log.state.changes(by: record, standings) {
                switch change {
                case .put(let row, let record):
                    if let old = log.rows[row] { try tables.remove(row.kind, old, in: id.name) }
                    try tables.put(record.bytes, row.kind, log.next, in: id.name)
                    log.rows[row] = log.next
                    log.next += 1
                case .remove(let row):
                    if let old = log.rows.removeValue(forKey: row) { try tables.remove(row.kind, old, in: id.name) }
                }
            }
        }
        logs.withLock { $0.changed[id] = log }
    }

    func forget(_ id: TextLogID) { logs.withLock { $0.stored[id] = nil } }

    func rekey(_ ids: [TextLogID], _ tables: TextTables) throws(Database.Failure) {
        var new = logs.withLock { logs in logs.stored.filter { ids.contains($0.key) } }
        var rows: [LogName: [(kind: RowKind, bytes: [UInt8])]] = [:]
        for (id, log) in new {
            var state = log.state
            state.forgetWaiting()
            var next = Log(state: state)
            rows[id.name] = state.snapshot.map { record in
                if let row = record.row { next.rows[row] = next.next }
                next.next += 1
                return (record.rowKind, record.bytes)
            }
            new[id] = next
        }
        guard !new.isEmpty else { return }
        try tables.rekey(rows)
        logs.withLock { logs in logs.stored.merge(new) { $1 } }
    }

    private func handle(_ event: TextTables.Event, _ tables: TextTables) throws(Database.Failure) {
        switch event {
        case .committed:
            logs.withLock { logs in
                logs.stored.merge(logs.changed) { $1 }
                logs.changed = [:]
            }
        case .rolledBack: logs.withLock { $0.changed = [:] }
        case .salvaged:
            // The memory still has the rows that the new file lacks.
            for (id, log) in logs.withLock(\.stored) {
                for record in log.state.snapshot {
                    if let row = record.row, let entry = log.rows[row] {
                        try tables.put(record.bytes, row.kind, entry, in: id.name)
                    }
                }
                // The new file has rows that no search found in the damaged one.
                let found = try self.log(id, tables)
                logs.withLock { $0.changed[id] = found }
            }
        }
    }
}

extension TextRecord {
    /// The bytes that the record takes in memory, about.
    fileprivate var estimatedSize: Int {
        switch self {
        case .waiting(let text): 128 + text.name.utf8.count + text.text.utf8.count
        case .received(let text): 128 + text.name.utf8.count + text.text.utf8.count
        case .finished, .read, .left, .highestEntry: 128
        case .seen(_, let seen): 128 + 24 * seen.runs.count
        }
    }

    /// The kind of the row that holds the record; nil for one that removes a row.
    fileprivate var row: TextState.Row? {
        switch self {
        case .waiting(let text): .waiting(TextState.Name(text.key, text.id))
        case .received(let text): .unread(TextState.Name(text.key, text.id))
        case .left(let key, true): .left(key)
        case .seen(let key, _): .seen(key)
        case .highestEntry: .highestEntry
        case .left(_, false), .finished, .read: nil
        }
    }

    /// The kind of the record's row in a snapshot.
    var rowKind: RowKind { row?.kind ?? .highestEntry }
}

extension TextState.Row {
    fileprivate var kind: RowKind {
        switch self {
        case .highestEntry: .highestEntry
        case .left: .left
        case .waiting: .waiting
        case .unread: .unread
        case .seen: .seen
        }
    }
}
