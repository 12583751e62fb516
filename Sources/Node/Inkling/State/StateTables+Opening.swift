import Glibc
import InklingWire

/// The start, the copy, and what can be saved after damage.
extension StateTables {
    typealias Records = [Key: [UInt8]]

    /// Opens the file of a directory that the caller holds. A missing one is made from the files of earlier builds.
    func open() -> Records {
        // A kill may have left files with secrets.
        for path in ["\(path).new", "\(path).copy", "\(copyPath).new"] { Self.unlinkAll(path) }
        do throws(Database.Failure) {
            if access(path, F_OK) != 0, access(copyPath, F_OK) != 0 { return try makeFile() }
            let records = try read()
            // A kill may have come between the tables and their first records.
            if records[Key(mark: .counter)] == nil { return try makeFile() }
            StateDirectory.noteDatabase(directory)
            if records[Key(mark: .replacesEarlier)] != nil {
                replaceEarlier()
            } else {
                let files = EarlierState.putBack(in: directory)
                if !files.isEmpty { report(.putBack(files, directory: directory)) }
            }
            return records
        } catch {
            opened = nil
            switch error {
            // Where nothing can be written, all can still be read.
            case .refused, .busy: return refuse(error, look())
            case .damaged, .newer: return refuse(error, [:])
            }
        }
    }

    /// Reads what is there, and changes nothing.
    func look() -> Records {
        var (found, reason) = (Records(), "it is not complete")
        do throws(Database.Failure) {
            let (records, isWhole) = try Self.records(of: Database(path, Self.schema, isReadOnly: true))
            if records[Key(mark: .counter)] != nil {
                if isWhole { return records }
                (found, reason) = (records, Database.Failure.damaged.reason)
            }
        } catch {
            reason = error.reason
        }
        let copy = (try? readCopy()) ?? Copy()
        let isThere = access(path, F_OK) == 0
        if isThere { refusal = "\(path) can't be read: \(reason)" }
        guard found.isEmpty, copy.records.isEmpty else { return Self.assembled(found, copy) }
        let earlier = EarlierState(in: directory)
        if isThere, !earlier.isPresent {
            namesFault = refusal
            return [:]
        }
        // The holder may be reading the files of an earlier build.
        refusal = nil
        namesFault = earlier.refusal ?? (earlier.lacksNames ? "\(directory) has a damaged list of chats" : nil)
        if isLost(earlier) { namesFault = "\(path) is missing" }
        return earlier.records
    }

    private func refuse(_ failure: Database.Failure, _ records: Records) -> Records {
        refusal = "\(path) can't be used: \(failure.reason)"
        if records.isEmpty { namesFault = refusal }
        report(.unusable(path: path, reason: failure.reason, isEmpty: records.isEmpty))
        return records
    }

    private func makeFile() throws(Database.Failure) -> Records {
        let earlier = EarlierState(in: directory)
        if let reason = earlier.refusal { throw .refused(reason) }
        let made: Database
        if let opened { made = opened } else { made = try Database(path, Self.schema) }
        var records = earlier.records
        records[Key(mark: .counter)] = (1 as UInt64).bigEndianBytes
        if earlier.isPresent { records[Key(mark: .replacesEarlier)] = [1] }
        if isLost(earlier) || earlier.lacksNames { Self.noteLostNames(&records) }
        if isLost(earlier) { report(.missing(path: path)) }
        try made.transaction { () throws(Database.Failure) in
            for (key, content) in records { try Self.put(key, content, in: made) }
        }
        opened = made
        StateDirectory.noteDatabase(directory)
        if earlier.isPresent { replaceEarlier() }
        return records
    }

    /// Returns whether a missing database has been there.
    private func isLost(_ earlier: EarlierState) -> Bool {
        earlier.isReplaced || StateDirectory.hadDatabase(directory)
    }

    /// Puts stubs in the place of the files of earlier builds, whose records are here. After a failure, the next start tries
    /// again.
    private func replaceEarlier() {
        let (isDone, faults) = EarlierState.replace(in: directory)
        for fault in faults { report(fault) }
        guard isDone, let opened else { return }
        try? opened.transaction { () throws(Database.Failure) in try remove(Key(mark: .replacesEarlier)) }
    }

    /// Reads the file, and puts it together with the copy if it is damaged, missing or an older copy.
    private func read() throws(Database.Failure) -> Records {
        var (found, isWhole) = (Records(), false)
        if access(path, F_OK) == 0 {
            do throws(Database.Failure) {
                let made = try Database(path, Self.schema)
                (found, isWhole) = try Self.records(of: made)
                opened = made
            } catch {
                guard error == .damaged else { throw error }
            }
        }
        if isWhole {
            if try copiedCounter <= Self.counter(found) { return found }
            report(.older(path: path, copy: copyPath))
        }
        opened = nil
        return try restore(isSound: isWhole)
    }

    /// The readable records of the copy.
    private struct Copy {
        var records = Records()
        /// Whether these are all of its records.
        var isWhole = false
    }

    /// Opens the copy; nil if there is none.
    private func openCopy() throws(Database.Failure) -> Database? {
        access(copyPath, F_OK) == 0 ? try Database(copyPath, Self.schema, isReadOnly: true) : nil
    }

    private func readCopy() throws(Database.Failure) -> Copy {
        do throws(Database.Failure) {
            guard let database = try openCopy() else { return Copy() }
            let (records, isWhole) = try Self.records(of: database)
            return Copy(records: records, isWhole: isWhole)
        } catch {
            guard error == .damaged else { throw .refused("\(copyPath): \(error.reason)") }
            return Copy(records: Self.salvaged(copyPath))
        }
    }

    /// The number of the copy's last transaction; 0 if it can't be read.
    private var copiedCounter: UInt64 {
        get throws(Database.Failure) {
            var records = Records()
            do throws(Database.Failure) {
                try openCopy()?.rows(
                    "SELECT kind, id, content, sum FROM records WHERE kind = ?", [.integer(Kind.mark.rawValue)]
                ) { row in
                    if let (key, content) = Self.record(row) { records[key] = content }
                    return true
                }
            } catch {
                // The next decision would replace it.
                if error == .newer { throw .refused("\(copyPath): \(error.reason)") }
            }
            return Self.counter(records)
        }
    }

    /// Returns the records of a database, and whether that is all of them, in order.
    private static func records(of database: Database) throws(Database.Failure) -> (records: Records, isWhole: Bool) {
        var (records, isWhole, last) = (Records(), true, (Int64.min, [UInt8]()))
        records.reserveCapacity(Int(try database.integer("SELECT count(*) FROM records")))
        try database.rows("SELECT kind, id, content, sum FROM records") { row in
            if let (key, content) = record(row) { records[key] = content } else { isWhole = false }
            let place = (row.integer(0), row.bytes(1))
            // A search would not find all rows behind one that is out of order.
            if place.0 < last.0 || place.0 == last.0 && !last.1.lexicographicallyPrecedes(place.1) { isWhole = false }
            last = place
            return true
        }
        return (records, isWhole)
    }

    /// Puts the readable records of the file and of its copy together.
    private static func assembled(_ found: Records, _ copy: Copy) -> Records {
        let (counter, copied) = (counter(found), counter(copy.records))
        let isOlder = found[Key(mark: .counter)] != nil && counter < copied
        var records = isOlder ? merged(copy.records, found) : merged(found, copy.records)
        records[Key(mark: .counter)] = max(counter, copied).bigEndianBytes
        if !copy.isWhole { noteLostNames(&records) }
        return records
    }

    /// Records that names of private chats may be missing. The user then confirms each open chat again.
    private static func noteLostNames(_ records: inout Records) {
        records[Key(mark: .lacksNames)] = [1]
        records = records.filter { $0.key.kind != .openName }
    }

    // MARK: Copies

    /// Renews the copy. Without room for it, a copy that has more than the database goes.
    func renewCopy() throws(Database.Failure) {
        guard let opened else { return }
        let new = "\(copyPath).new"
        do throws(Database.Failure) {
            defer { Self.unlinkAll(new) }
            Self.unlinkAll(new)
            let (records, isWhole) = try Self.records(of: opened)
            guard isWhole else { throw .damaged }
            try Self.write(records, to: new)
            guard rename(new, copyPath) == 0 else { throw .refused(StateFile.text(errno)) }
            _ = StateFile.syncDirectory(directory)
            lacksCopy = false
        } catch {
            // The restoration needs the copy, and renews it.
            if error == .damaged { throw error }
            // A secret that the user forgot must not stay there.
            unlink(copyPath)
            if !lacksCopy { report(.notCopied(copy: copyPath, reason: error.reason)) }
            lacksCopy = true
        }
    }

    private static func write(_ records: Records, to path: String) throws(Database.Failure) {
        let made = try Database(path, schema)
        try made.transaction { () throws(Database.Failure) in
            for (key, content) in records { try put(key, content, in: made) }
        }
    }

    private static func unlinkAll(_ path: String) {
        for path in [path, "\(path)-journal"] { unlink(path) }
    }

    // MARK: Damage

    /// Replaces a file that is damaged, missing or old. The new one has all records that can be read, and those of the copy.
    ///
    /// - Parameter isSound: Whether the file is an older copy, and not damaged.
    @discardableResult
    func restore(isSound: Bool = false) throws(Database.Failure) -> Records {
        let (new, salvage) = ("\(path).new", "\(path).copy")
        let isMissing = access(path, F_OK) != 0
        defer { for path in [new, salvage] { Self.unlinkAll(path) } }
        for path in [new, salvage] { Self.unlinkAll(path) }
        let copy = try readCopy()
        let fresh = try Database(new, Self.schema)
        var found = Records()
        if !isMissing {
            guard Database.copy(path, to: salvage, firstPageOf: new) else { throw .refused(StateFile.text(errno)) }
            found = Self.salvaged(salvage)
        }
        let records = Self.assembled(found, copy)
        try fresh.transaction { () throws(Database.Failure) in
            for (key, content) in records { try Self.put(key, content, in: fresh) }
        }
        let aside = isSound || isMissing ? nil : "\(directory)/\(Self.damagedName)"
        try Database.replace(path, by: new, settingAside: aside)
        opened = try Database(path, Self.schema)
        let source = copy.records.isEmpty ? nil : copyPath
        if isMissing {
            report(source.map { .restored(path: path, copy: $0) } ?? .missing(path: path))
        } else if let aside {
            report(.damaged(path: path, aside: aside, copy: source))
        }
        try renewCopy()
        return records
    }

    /// Returns the records of a damaged file that can be read, from either side of the damage.
    private static func salvaged(_ path: String) -> Records {
        var records = Records()
        guard let damaged = try? Database(path, schema, isReadOnly: true) else { return records }
        let all = "SELECT kind, id, content, sum FROM records"
        let queries =
            [(all, [])]
            + Kind.allCases.flatMap { kind in
                ["ASC", "DESC"].map {
                    ("\(all) WHERE kind = ? ORDER BY id \($0)", [Database.Value.integer(kind.rawValue)])
                }
            }
        for (query, values) in queries {
            try? damaged.rows(query, values) { row in
                if let (key, content) = record(row) { records[key] = content }
                return true
            }
        }
        return records
    }
}
