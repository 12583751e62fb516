import Glibc
import InklingWire

/// The logs in `texts.db` of a state directory, and the keys that open their rows. One thread at a time uses the object,
/// and the calls block.
///
/// Each log has a random key in the file `keys`. A row names its key by a number, and all else in it is sealed. So the end
/// of a log is the removal of its key. `keys` changes before rows that need the change, and both files count the changes.
package final class TextTables {
    /// The most messages of a history, and their most bytes.
    package struct Limits: Sendable {
        package var messages = 10_000
        package var bytes: Int64 = 16 << 20

        package init() {}
    }

    /// A number in the database besides the rows.
    enum Mark: Int64 {
        /// The counter of ``StoreKeys``. The database is one ahead while `keys` is about to change.
        case counter = 1
        /// Whether rows without a key stay, because their keys may come back.
        case keepsOrphans
        /// The progress with the files of earlier builds; see ``importEarlier(_:)``.
        case earlier
        /// Whether rows of a removed key may be left.
        case hasRemains
        /// Whether ``StoreFault/remote(path:kind:)`` was reported.
        case isRemote
    }

    /// The newest message of a history and the size of all.
    private struct Tail {
        var next, count, bytes: Int64
    }

    /// The outcome of a group of changes.
    enum Event { case committed, rolledBack, salvaged }

    package static let fileName = "texts.db"
    /// The name of a damaged file that was set aside.
    static let damagedFile = "texts.damaged.db"
    static let schema = Database.Schema(
        application: 0x696E_6B74, version: 1,
        tables: [
            "CREATE TABLE marks (mark INTEGER PRIMARY KEY, value INTEGER NOT NULL)",
            "CREATE TABLE rows (key INTEGER NOT NULL, kind INTEGER NOT NULL, entry INTEGER NOT NULL, "
                + "sealed BLOB NOT NULL, PRIMARY KEY (key, kind, entry)) WITHOUT ROWID",
        ])

    let directory: String
    let limits: Limits
    /// Returns the number of a directory's file system in statfs(2).
    let fileSystem: @Sendable (String) -> UInt32
    var path: String { "\(directory)/\(Self.fileName)" }
    var keyPath: String { "\(directory)/\(StoreKeys.fileName)" }
    /// Nil without a usable file.
    var opened: Database?
    /// Why the files can't be used in this run.
    var refusal: String?
    var keys = StoreKeys()
    var seals: [LogName: RowSeal] = [:]
    private var tails: [LogName: Tail] = [:]
    /// The damaged rows that were found and not removed.
    private var damagedRows: [(key: Int64, kind: Int64, entry: Int64)] = []
    private var faults: [StoreFault] = []
    private var reported: Set<StoreFault> = []
    /// Called after each group.
    var observer: (TextTables, Event) throws(Database.Failure) -> Void = { _, _ in }

    /// Reads the keys, opens the database, and reads the files of earlier builds.
    init(
        in directory: String, limits: Limits,
        fileSystem: @escaping @Sendable (String) -> UInt32 = StoredMessages.fileSystem(of:),
        merging: @Sendable ([EarlierLogs.Record]) -> [EarlierLogs.Record]
    ) {
        (self.directory, self.limits, self.fileSystem) = (directory, limits, fileSystem)
        open(merging)
    }

    /// Removes and returns the faults that were not reported yet.
    func takeFaults() -> [StoreFault] {
        defer { faults = [] }
        return faults
    }

    /// Reports a fault once. The damage of a file includes that of its rows.
    func report(_ fault: StoreFault) {
        if case .damaged(_, .some) = fault { faults.removeAll { $0 == .damaged(path: path, aside: nil) } }
        if reported.insert(fault).inserted { faults.append(fault) }
    }

    /// Returns the reason for a failure, for the user to read.
    func reason(of failure: Database.Failure) -> String { refusal ?? "\(path): \(failure.reason)" }

    // MARK: Logs and keys

    /// The logs with a key.
    var logs: Set<LogName> { Set(keys.keys.keys) }

    /// Gives a key to a log that has none.
    package func begin(_ log: LogName) throws(Database.Failure) {
        guard keys.keys[log] == nil else { return }
        var new = keys
        new.keys[log] = [StoreKeys.newKey()]
        try write(new)
    }

    /// Removes the key of a log, then the rows.
    package func end(_ log: LogName) throws(Database.Failure) {
        guard let old = keys.keys[log] else { return }
        var new = keys
        new.keys[log] = nil
        try write(new, without: old)
        // The next start removes rows that stay.
        try? removeRows(of: old.map(RowSeal.id))
    }

    /// Replaces the rows of logs, and their keys, so that no copy of the old rows opens.
    func rekey(_ logs: [LogName: [(kind: RowKind, bytes: [UInt8])]]) throws(Database.Failure) {
        let before = keys
        var both = keys
        for log in logs.keys where keys.keys[log] != nil { both.keys[log]?.append(StoreKeys.newKey()) }
        try write(both)
        do throws(Database.Failure) {
            try transaction { () throws(Database.Failure) in
                for (log, rows) in logs {
                    for key in before.keys[log] ?? [] { try removeRows(of: RowSeal.id(of: key)) }
                    var entry: Int64 = 0
                    for row in rows {
                        entry += 1
                        try put(row.bytes, row.kind, entry, in: log)
                    }
                }
            }
        } catch {
            let counter = keys.counter
            keys = before
            keys.counter = counter
            seals = [:]
            throw error
        }
        var new = keys
        var old: [[UInt8]] = []
        for log in logs.keys {
            old += before.keys[log] ?? []
            new.keys[log] = both.keys[log]?.suffix(1)
        }
        try write(new, without: old)
    }

    /// Replaces the file of the keys.
    ///
    /// - Parameter erased: Keys that the file must not have any more, even on a full disk.
    func write(_ new: StoreKeys, without erased: [[UInt8]] = []) throws(Database.Failure) {
        var new = new
        new.counter = keys.counter + 1
        new.isUncertain = false
        do throws(Database.Failure) {
            try transaction { () throws(Database.Failure) in
                try set(.counter, new.counter)
                if !erased.isEmpty { try set(.hasRemains, 1) }
            }
            let file = StateFile(directory: directory, name: StoreKeys.fileName, newName: "keys.new")
            if let reason = file.write(new.text), (try? file.read()) != new.text { throw .refused(reason) }
        } catch {
            guard refusal == nil, !erased.isEmpty, StoreKeys.erase(erased, counter: new.counter, in: directory) else {
                throw error
            }
            new.isUncertain = true
        }
        keys = new
        seals = seals.filter { keys.keys[$0.key]?.last.map(RowSeal.id) == $0.value.id }
        tails = tails.filter { keys.keys[$0.key] != nil }
    }

    func seal(_ log: LogName) throws(Database.Failure) -> RowSeal {
        if let seal = seals[log] { return seal }
        guard let key = keys.keys[log]?.last else { throw .refused("the log has ended") }
        let seal = RowSeal(key: key)
        seals[log] = seal
        return seal
    }

    // MARK: Rows

    /// Writes a row in the place of that with the same kind and number.
    ///
    /// - Returns: The size of the sealed row.
    @discardableResult
    func put(_ bytes: [UInt8], _ kind: RowKind, _ entry: Int64, in log: LogName) throws(Database.Failure) -> Int {
        var seal = try seal(log)
        let sealed = seal.seal(bytes, kind, entry)
        seals[log] = seal
        try database.run(
            "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)", .integer(seal.id), .integer(kind.rawValue),
            .integer(entry), .bytes(sealed))
        return sealed.count
    }

    func remove(_ kind: RowKind, _ entry: Int64, in log: LogName) throws(Database.Failure) {
        try database.run(
            "DELETE FROM rows WHERE key = ? AND kind = ? AND entry = ?", .integer(seal(log).id),
            .integer(kind.rawValue), .integer(entry))
    }

    /// Passes the rows of a log to `body`, by kind and entry. Damaged rows are reported and left out.
    func readAll(
        _ log: LogName, _ body: (RowKind, Int64, [UInt8]) -> Void
    ) throws(Database.Failure) {
        guard opened != nil else { return }
        var seal = try seal(log)
        try database.rows(
            "SELECT kind, entry, sealed FROM rows WHERE key = ? ORDER BY kind, entry", [.integer(seal.id)]
        ) { row in
            let entry = row.integer(1)
            if let kind = RowKind(rawValue: row.integer(0)), let bytes = seal.open(row.bytes(2), kind, entry) {
                body(kind, entry, bytes)
            } else {
                foundDamage(seal.id, row.integer(0), entry)
            }
            return true
        }
        seals[log] = seal
    }

    private func foundDamage(_ key: Int64, _ kind: Int64, _ entry: Int64) {
        damagedRows.append((key, kind, entry))
        report(.damaged(path: path, aside: nil))
    }

    // MARK: Histories

    /// Adds a message to a history. The oldest messages beyond the limits go.
    ///
    /// - Returns: The number of the message. The first one has 1.
    package func append(_ bytes: [UInt8], to log: LogName) throws(Database.Failure) -> UInt64 {
        let id = try seal(log).id
        var tail = try tail(log, id)
        let entry = tail.next
        tail.bytes += Int64(try put(bytes, .message, entry, in: log))
        tail.next += 1
        tail.count += 1
        while tail.count > limits.messages || tail.bytes > limits.bytes, tail.count > 1 {
            var oldest: (entry: Int64, size: Int64)?
            try database.rows(
                "SELECT entry, length(sealed) FROM rows WHERE key = ? AND kind = ? ORDER BY entry LIMIT 1",
                [.integer(id), .integer(RowKind.message.rawValue)]
            ) { row in
                oldest = (row.integer(0), row.integer(1))
                return false
            }
            guard let oldest else { break }
            try remove(.message, oldest.entry, in: log)
            tail.count -= 1
            tail.bytes -= oldest.size
        }
        tails[log] = tail
        return UInt64(entry)
    }

    private func tail(_ log: LogName, _ id: Int64) throws(Database.Failure) -> Tail {
        if let tail = tails[log] { return tail }
        var tail = Tail(next: 1, count: 0, bytes: 0)
        try database.rows(
            "SELECT max(entry), count(*), sum(length(sealed)) FROM rows WHERE key = ? AND kind = ?",
            [.integer(id), .integer(RowKind.message.rawValue)]
        ) { row in
            tail = Tail(next: row.integer(0) + 1, count: row.integer(1), bytes: row.integer(2))
            return false
        }
        return tail
    }

    /// Replaces a message of a history; does nothing if it is there no longer.
    package func replace(_ bytes: [UInt8], entry: UInt64, in log: LogName) throws(Database.Failure) {
        var seal = try seal(log)
        let entry = Int64(clamping: entry)
        let sealed = seal.seal(bytes, .message, entry)
        seals[log] = seal
        try database.run(
            "UPDATE rows SET sealed = ? WHERE key = ? AND kind = ? AND entry = ?", .bytes(sealed), .integer(seal.id),
            .integer(RowKind.message.rawValue), .integer(entry))
    }

    /// Passes messages of a history to `body`, the latest first, while the body returns true.
    ///
    /// - Parameters:
    ///   - before: The number behind the first message.
    ///   - limit: The most messages.
    package func read(
        _ log: LogName, before: UInt64, limit: Int, _ body: (UInt64, [UInt8]) -> Bool
    ) throws(Database.Failure) {
        guard opened != nil, keys.keys[log] != nil else { return }
        var seal = try seal(log)
        try database.rows(
            "SELECT entry, sealed FROM rows WHERE key = ? AND kind = ? AND entry < ? ORDER BY entry DESC LIMIT ?",
            [
                .integer(seal.id), .integer(RowKind.message.rawValue), .integer(Int64(clamping: before)),
                .integer(Int64(limit)),
            ]
        ) { row in
            let entry = row.integer(0)
            guard let bytes = seal.open(row.bytes(1), .message, entry) else {
                foundDamage(seal.id, RowKind.message.rawValue, entry)
                return true
            }
            return body(UInt64(clamping: entry), bytes)
        }
        seals[log] = seal
    }

    // MARK: Groups

    /// Performs jobs in their order. Those that follow each other and may share a transaction do.
    ///
    /// - Returns: For each job nil, or the reason for its failure.
    func run(_ jobs: [StoreJob]) -> [String?] {
        var failures: [Database.Failure?] = []
        var rest = jobs[...]
        while let first = rest.first {
            let group = first.sharesTransaction ? rest.prefix(while: \.sharesTransaction) : rest.prefix(1)
            rest = rest.dropFirst(group.count)
            failures += first.sharesTransaction ? share(group) : [failure(of: first)]
        }
        removeDamagedRows()
        return failures.map { $0.map(reason) }
    }

    private func share(_ jobs: ArraySlice<StoreJob>) -> [Database.Failure?] {
        do throws(Database.Failure) {
            try saved { () throws(Database.Failure) in
                for job in jobs { if let log = job.log { try begin(log) } }
                try transaction { () throws(Database.Failure) in for job in jobs { try job.work(self) } }
            }
            try? observer(self, .committed)
            return jobs.map { _ in nil }
        } catch {
            guard jobs.count > 1, error != .busy else { return jobs.map { _ in error } }
            // A smaller change may have room on the disk.
            return jobs.indices.flatMap { share(jobs[$0...$0]) }
        }
    }

    private func failure(of job: StoreJob) -> Database.Failure? {
        do throws(Database.Failure) {
            try saved { () throws(Database.Failure) in try job.work(self) }
            try? observer(self, .committed)
            return nil
        } catch {
            return error
        }
    }

    /// Performs `body`, and once more after it found the file damaged and another one took its place.
    func saved(_ body: () throws(Database.Failure) -> Void) throws(Database.Failure) {
        do throws(Database.Failure) {
            try body()
        } catch {
            rollBack()
            guard error == .damaged, opened != nil else { throw error }
            try salvage()
            tails = [:]
            try transaction { () throws(Database.Failure) in try observer(self, .salvaged) }
            try? observer(self, .committed)
            do throws(Database.Failure) {
                try body()
            } catch {
                rollBack()
                throw error
            }
        }
    }

    private func rollBack() {
        tails = [:]
        try? observer(self, .rolledBack)
    }

    func transaction(_ body: () throws(Database.Failure) -> Void) throws(Database.Failure) {
        try database.transaction(body)
    }

    private func removeDamagedRows() {
        guard !damagedRows.isEmpty, opened != nil else { return }
        try? transaction { () throws(Database.Failure) in
            for row in damagedRows {
                try database.run(
                    "DELETE FROM rows WHERE key = ? AND kind = ? AND entry = ?", .integer(row.key), .integer(row.kind),
                    .integer(row.entry))
            }
        }
        damagedRows = []
    }

    /// Removes all rows under keys.
    func removeRows(of keys: [Int64]) throws(Database.Failure) {
        try transaction { () throws(Database.Failure) in
            for key in keys { try removeRows(of: key) }
            try set(.hasRemains, 0)
        }
        try database.run("PRAGMA incremental_vacuum")
    }

    private func removeRows(of key: Int64) throws(Database.Failure) {
        try database.run("DELETE FROM rows WHERE key = ?", .integer(key))
    }

    // MARK: Marks

    func mark(_ mark: Mark) throws(Database.Failure) -> Int64 {
        try database.integer("SELECT value FROM marks WHERE mark = ?", .integer(mark.rawValue))
    }

    func set(_ mark: Mark, _ value: Int64) throws(Database.Failure) {
        try database.run("INSERT OR REPLACE INTO marks VALUES (?, ?)", .integer(mark.rawValue), .integer(value))
    }
}

/// A change or a reading of the tables, for their thread.
struct StoreJob: Sendable {
    /// Whether the job is one of a transaction.
    let sharesTransaction: Bool
    /// The log that must have a key before.
    var log: LogName?
    let work: @Sendable (TextTables) throws(Database.Failure) -> Void
}
