import Glibc
import InklingCore
import InklingWire

/// The start: which of the files belong to each other, and what can be saved of damaged ones.
extension TextTables {
    /// The database. A missing file is made.
    var database: Database {
        get throws(Database.Failure) {
            if let opened { return opened }
            if let refusal { throw .refused(refusal) }
            let isNew = access(path, F_OK) != 0
            let made = try Database(path, Self.schema)
            opened = made
            if isNew { try set(.counter, keys.counter) }
            try? reportRemote()
            return made
        }
    }

    func open(_ merging: ([EarlierLogs.Record]) -> [EarlierLogs.Record]) {
        let hasKeys = readKeys()
        guard refusal == nil else { return }
        let hasFile = access(path, F_OK) == 0
        do throws(Database.Failure) {
            if hasFile {
                do throws(Database.Failure) {
                    _ = try database
                    try compare(hasKeys)
                } catch {
                    switch error {
                    case .damaged: try salvage()
                    // Where nothing can be written, the messages can still be read.
                    case .refused: opened = try Database(path, Self.schema, isReadOnly: true)
                    case .busy, .newer: throw error
                    }
                    try compare(hasKeys)
                }
            } else if !keys.keys.isEmpty {
                report(.missing(path: path))
            }
        } catch {
            refusal = reason(of: error)
            opened = nil
            return report(.unusable(path: path, reason: error.reason))
        }
        // After a failure, the next start tries again.
        try? importEarlier(merging)
    }

    /// Reports once that the database is on a file system over a network or in a program.
    private func reportRemote() throws(Database.Failure) {
        guard let kind = StoredMessages.remoteKind(of: directory, number: fileSystem), try mark(.isRemote) == 0
        else { return }
        report(.remote(path: path, kind: kind))
        try set(.isRemote, 1)
    }

    /// Returns whether there is a file of keys.
    private func readKeys() -> Bool {
        do throws(StateFile.Failure) {
            let text = try StateFile(directory: directory, name: StoreKeys.fileName, newName: "").read()
            do throws(StoreKeys.Fault) {
                keys = try StoreKeys(text: text)
            } catch {
                refuse(error == .newer ? "it is of a later version of Inkling" : "it is damaged")
            }
            return true
        } catch {
            switch error {
            case .missing: return false
            case .damaged: refuse("it is damaged")
            case .unreadable(let reason): refuse(reason)
            }
            return true
        }
    }

    /// Whether the keys can be used, and none is known to be missing.
    var hasAllKeys: Bool { refusal == nil && (opened == nil || (try? mark(.keepsOrphans)) == 0) }

    private func refuse(_ reason: String) {
        refusal = "\(keyPath) can't be used: \(reason)"
        report(.keysUnusable(path: keyPath, reason: reason))
    }

    /// Compares keys and rows.
    private func compare(_ hasKeys: Bool) throws(Database.Failure) {
        let present = try presentKeys()
        // A stop in the middle of a change of keys leaves two of a log. The rows have one of them.
        for (log, known) in keys.keys where known.count > 1 {
            keys.keys[log] = [known.last { present.contains(RowSeal.id(of: $0)) } ?? known[known.count - 1]]
        }
        let counter = try mark(.counter)
        let hasOrphans = !present.isSubset(of: keyIDs)
        let keptOrphans = try mark(.keepsOrphans) != 0
        if hasOrphans, !hasKeys || keys.counter < counter || keptOrphans {
            report(hasKeys ? .keysBehind(path: keyPath) : .keysMissing(path: keyPath))
            try? set(.keepsOrphans, 1)
        } else if keptOrphans {
            try? set(.keepsOrphans, 0)
        }
        if hasOrphans, !keptOrphans, keys.counter == counter, !keys.isUncertain, try mark(.hasRemains) == 0 {
            // Nothing but damage changes the key of a row.
            report(.damaged(path: path, aside: nil))
        }
        if keys.counter > (keys.isUncertain ? counter + 1 : counter) { report(.older(path: path)) }
        keys.counter = max(keys.counter, counter)
    }

    private var keyIDs: Set<Int64> { Set(keys.keys.values.flatMap { $0.map(RowSeal.id) }) }

    /// The numbers of the keys of all rows.
    private func presentKeys() throws(Database.Failure) -> Set<Int64> {
        var present: Set<Int64> = []
        var last: Int64?
        while true {
            var next: Int64?
            let condition = last == nil ? "" : "WHERE key > ?"
            try database.rows(
                "SELECT key FROM rows \(condition) ORDER BY key LIMIT 1", last.map { [.integer($0)] } ?? []
            ) { row in
                next = row.integer(0)
                return false
            }
            guard let next else { return present }
            present.insert(next)
            last = next
        }
    }

    /// Removes the rows of logs that have ended, and begins the count of this run.
    func tidy() throws(Database.Failure) {
        guard refusal == nil, opened != nil else { return }
        try checkOrder()
        let orphans = try presentKeys().subtracting(keyIDs)
        if !orphans.isEmpty, try mark(.keepsOrphans) == 0 { try removeRows(of: Array(orphans)) }
        // By this count, the next start recognises an older copy of the database.
        if !keys.keys.isEmpty { try write(keys) }
    }

    /// Checks that the rows are in order. A search would not find all rows behind one that is not.
    private func checkOrder() throws(Database.Failure) {
        var last: (Int64, Int64, Int64)?
        var isOrdered = true
        try database.rows("SELECT key, kind, entry FROM rows") { row in
            let place = (row.integer(0), row.integer(1), row.integer(2))
            if let last, last >= place { isOrdered = false }
            last = place
            return isOrdered
        }
        if !isOrdered { throw .damaged }
    }

    // MARK: Damage

    /// Puts another file in the place of a damaged one, with all rows that can be read.
    func salvage() throws(Database.Failure) {
        opened = nil
        let (new, copy, aside) = ("\(path).new", "\(path).copy", "\(directory)/\(Self.damagedFile)")
        let helpers = [new, "\(new)-journal", copy, "\(copy)-journal"]
        for path in helpers { unlink(path) }
        defer { for path in helpers { unlink(path) } }
        try save(in: copy, to: new)
        try Database.replace(path, by: new, settingAside: aside)
        opened = try Database(path, Self.schema)
        report(.damaged(path: path, aside: aside))
    }

    /// Saves rows of the damaged file in a new file.
    private func save(in copy: String, to new: String) throws(Database.Failure) {
        let fresh = try Database(new, Self.schema)
        guard Database.copy(path, to: copy, firstPageOf: new) else { throw .refused(StateFile.text(errno)) }
        let damaged = try? Database(copy, Self.schema, isReadOnly: true)
        try fresh.transaction { () throws(Database.Failure) in
            if let damaged { try copyRows(from: damaged, to: fresh) }
            let counter = (try? damaged?.integer("SELECT value FROM marks WHERE mark = 1")) ?? keys.counter
            try fresh.run("INSERT INTO marks VALUES (?, ?)", .integer(Mark.counter.rawValue), .integer(counter))
            let earlier = (try? damaged?.integer("SELECT value FROM marks WHERE mark = 3")) ?? 2
            try fresh.run("INSERT INTO marks VALUES (?, ?)", .integer(Mark.earlier.rawValue), .integer(earlier))
        }
    }

    /// Copies the rows of all logs, except those that can't be read or opened.
    private func copyRows(from damaged: Database, to fresh: Database) throws(Database.Failure) {
        for log in logs {
            var seal = try seal(log)
            // Rows out of order are found from the beginning alone.
            try? damaged.rows("SELECT kind, entry, sealed, key FROM rows") { row throws(Database.Failure) in
                let (entry, sealed) = (row.integer(1), row.bytes(2))
                guard row.integer(3) == seal.id, let kind = RowKind(rawValue: row.integer(0)),
                    seal.open(sealed, kind, entry) != nil
                else { return true }
                try fresh.run(
                    "INSERT OR IGNORE INTO rows VALUES (?, ?, ?, ?)", .integer(seal.id), .integer(kind.rawValue),
                    .integer(entry), .bytes(sealed))
                return true
            }
            for kind: RowKind in [.highestEntry, .left, .waiting, .unread, .seen, .message] {
                var next = Int64.min
                while let last = try copyRun(&seal, kind, from: next, damaged, fresh) {
                    guard let place = Self.placeBehind(last, isReadable: { isReadable(seal.id, kind, $0, damaged) })
                    else { break }
                    next = place
                }
            }
        }
    }

    /// Copies rows until one can't be read.
    ///
    /// - Returns: The number before that row; nil at the end.
    private func copyRun(
        _ seal: inout RowSeal, _ kind: RowKind, from start: Int64, _ damaged: Database, _ fresh: Database
    ) throws(Database.Failure) -> Int64? {
        var last = max(start, 0)
        var failure: Database.Failure?
        do throws(Database.Failure) {
            try damaged.rows(
                "SELECT entry, sealed FROM rows WHERE key = ? AND kind = ? AND entry >= ? ORDER BY entry",
                [.integer(seal.id), .integer(kind.rawValue), .integer(start)]
            ) { row in
                last = row.integer(0)
                let sealed = row.bytes(1)
                guard seal.open(sealed, kind, last) != nil else { return true }
                do throws(Database.Failure) {
                    try fresh.run(
                        "INSERT OR IGNORE INTO rows VALUES (?, ?, ?, ?)", .integer(seal.id), .integer(kind.rawValue),
                        .integer(last), .bytes(sealed))
                } catch {
                    failure = error
                    return false
                }
                return true
            }
        } catch {
            return last
        }
        if let failure { throw failure }
        return nil
    }

    private func isReadable(_ key: Int64, _ kind: RowKind, _ entry: Int64, _ damaged: Database) -> Bool {
        (try? damaged.rows(
            "SELECT entry, sealed FROM rows WHERE key = ? AND kind = ? AND entry >= ? ORDER BY entry LIMIT 1",
            [.integer(key), .integer(kind.rawValue), .integer(entry)]
        ) { row in
            _ = row.bytes(1)
            return true
        }) != nil
    }

    /// Returns the lowest number behind damage from which rows can be read; nil if there is none.
    private static func placeBehind(_ last: Int64, isReadable: (Int64) -> Bool) -> Int64? {
        var step: Int64 = 1
        while !isReadable(last + step) {
            step *= 2
            guard step < 1 << 40 else { return nil }
        }
        var (low, high) = (step / 2, step)
        while high - low > 1 {
            let middle = (low + high) / 2
            if isReadable(last + middle) { high = middle } else { low = middle }
        }
        return last + high
    }

    // MARK: Earlier builds

    /// Reads the logs of earlier builds once. The mark says whether their rows are here (1), and whether their files are
    /// gone (2).
    private func importEarlier(
        _ merging: ([EarlierLogs.Record]) -> [EarlierLogs.Record]
    ) throws(Database.Failure) {
        let formats = [EarlierLogs.texts, .history].filter { $0.isPresent(in: directory) }
        guard !formats.isEmpty else { return }
        guard try mark(.earlier) < 2 else {
            for format in formats { report(.earlier(path: format.keyPath(in: directory))) }
            return
        }
        if try mark(.earlier) == 0 {
            var logs: [LogName: [EarlierLogs.Record]] = [:]
            for format in formats {
                switch format.read(in: directory) {
                case .unusable(let reason):
                    return report(.earlierUnusable(path: format.keyPath(in: directory), reason: reason))
                case .logs(let found, _):
                    for (id, records) in found { logs[LogName(format.kind, id)] = records }
                }
            }
            var new = keys
            for log in logs.keys where keys.keys[log] == nil { new.keys[log] = [StoreKeys.newKey()] }
            try write(new)
            try transaction { () throws(Database.Failure) in
                for (log, records) in logs { try add(records, to: log, merging) }
                try set(.earlier, 1)
            }
        }
        for format in formats {
            let (isDone, aside) = format.remove(in: directory)
            guard isDone else { return }
            if let aside { report(.earlier(path: aside)) }
        }
        try set(.earlier, 2)
    }

    private func add(
        _ records: [EarlierLogs.Record], to log: LogName, _ merging: ([EarlierLogs.Record]) -> [EarlierLogs.Record]
    ) throws(Database.Failure) {
        // If an earlier start could not import, the log can have newer rows.
        let last = try database.integer("SELECT max(entry) FROM rows WHERE key = ?", .integer(seal(log).id))
        guard log.kind == .texts else {
            for record in merging(records) where !record.isNote {
                try put(record.bytes, .message, last + Int64(clamping: record.number), in: log)
            }
            return
        }
        var state = TextState()
        for record in records { if let record = TextRecord(record.bytes) { state.apply(record) } }
        for (place, record) in state.snapshot.enumerated() {
            try put(record.bytes, record.rowKind, last + Int64(place) + 1, in: log)
        }
    }
}
