import Glibc
import InklingWire

/// The start, the copy, and what can be saved after damage.
extension StateTables {
    typealias Records = [Key: [UInt8]]

    /// Opens the file of a directory that the caller holds. A missing one is made from the files of earlier builds.
    func open() -> Records {
        do throws(Database.Failure) {
            if access(path, F_OK) != 0, access(copyPath, F_OK) != 0 { return try makeFile() }
            let records = try read()
            // A kill may have come between the tables and their first records.
            if records[Key(mark: .counter)] == nil { return try makeFile() }
            if records[Key(mark: .replacesEarlier)] != nil { replaceEarlier() }
            return records
        } catch {
            opened = nil
            // Where nothing can be written, all can still be read.
            if case .refused = error { return refuse(error, look()) }
            return refuse(error, [:])
        }
    }

    /// Reads what is there, and changes nothing.
    func look() -> Records {
        var reason = "it is not complete"
        do throws(Database.Failure) {
            let records = try Self.records(of: Database(path, Self.schema, isReadOnly: true)).records
            if records[Key(mark: .counter)] != nil { return records }
        } catch {
            reason = error.reason
        }
        let earlier = EarlierState(in: directory)
        let copied = copied
        if access(path, F_OK) == 0, !earlier.isPresent {
            // The holder may be writing, or the file may be damaged.
            refusal = "\(path) can't be read: \(reason)"
            if let copied { return copied }
            namesFault = refusal
            return [:]
        }
        if let copied { return copied }
        namesFault = earlier.refusal ?? (earlier.lacksNames ? "\(directory) has a damaged list of chats" : nil)
        if earlier.isReplaced { namesFault = "\(path) is missing" }
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
        if earlier.isReplaced || earlier.lacksNames { Self.noteLostNames(&records) }
        if earlier.isReplaced { report(.missing(path: path)) }
        try made.transaction { () throws(Database.Failure) in
            for (key, content) in records { try Self.put(key, content, in: made) }
        }
        opened = made
        if earlier.isPresent { replaceEarlier() }
        return records
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
        if isWhole, copiedCounter <= Self.counter(found) { return found }
        if isWhole { report(.older(path: path, copy: copyPath)) }
        opened = nil
        return try restore(isSound: isWhole)
    }

    /// The number of the copy's last transaction; 0 without a usable copy.
    private var copiedCounter: UInt64 {
        var records = Records()
        try? Database(copyPath, Self.schema, isReadOnly: true).rows(
            "SELECT kind, id, content, sum FROM records WHERE kind = ?", [.integer(Kind.mark.rawValue)]
        ) { row in
            if let (key, content) = Self.record(row) { records[key] = content }
            return true
        }
        return Self.counter(records)
    }

    /// The records of the copy; nil without a usable one.
    private var copied: Records? {
        guard let database = try? Database(copyPath, Self.schema, isReadOnly: true),
            let (records, _) = try? Self.records(of: database)
        else { return nil }
        return records
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

    /// Records that names of private chats may be missing. The user then confirms each open chat again.
    private static func noteLostNames(_ records: inout Records) {
        records[Key(mark: .lacksNames)] = [1]
        records = records.filter { $0.key.kind != .openName }
    }

    // MARK: Copies

    /// Renews the copy. Without room for it, a copy that has more than the database goes.
    func renewCopy() {
        guard let opened else { return }
        let new = "\(copyPath).new"
        do throws(Database.Failure) {
            defer { Self.unlinkAll(new) }
            Self.unlinkAll(new)
            let (records, isWhole) = try Self.records(of: opened)
            guard isWhole else { return }
            try Self.write(records, to: new)
            guard rename(new, copyPath) == 0 else { throw .refused(StateFile.text(errno)) }
            _ = StateFile.syncDirectory(directory)
        } catch {
            // A secret that the user forgot must not stay there.
            unlink(copyPath)
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
    func restore(isSound: Bool = false) throws(Database.Failure) {
        _ = try restore(isSound: isSound) as Records
    }

    private func restore(isSound: Bool) throws(Database.Failure) -> Records {
        let (new, salvage) = ("\(path).new", "\(path).copy")
        let isMissing = access(path, F_OK) != 0
        defer {
            Self.unlinkAll(new)
            Self.unlinkAll(salvage)
        }
        Self.unlinkAll(new)
        let fresh = try Database(new, Self.schema)
        var found = Records()
        if !isMissing {
            Self.unlinkAll(salvage)
            guard Database.copy(path, to: salvage, firstPageOf: new) else { throw .refused(StateFile.text(errno)) }
            found = Self.salvaged(salvage)
        }
        let copied = copied
        let copiedCounter = Self.counter(copied ?? [:])
        let isOlder = isSound || found[Key(mark: .counter)] != nil && Self.counter(found) < copiedCounter
        var records = isOlder ? Self.merged(copied ?? [:], found) : Self.merged(found, copied ?? [:])
        let counter = max(Self.counter(found), copiedCounter)
        records[Key(mark: .counter)] = counter.bigEndianBytes
        if copied == nil { Self.noteLostNames(&records) }
        try fresh.transaction { () throws(Database.Failure) in
            for (key, content) in records { try Self.put(key, content, in: fresh) }
        }
        // The name of the damaged file always leads to one of the two. A journal of the damaged file would spoil the new one.
        let aside = "\(directory)/\(Self.damagedName)"
        if !isSound, !isMissing {
            unlink(aside)
            if link(path, aside) != 0, rename(path, aside) != 0 { throw .refused(StateFile.text(errno)) }
        }
        unlink("\(path)-journal")
        guard rename(new, path) == 0 else { throw .refused(StateFile.text(errno)) }
        _ = StateFile.syncDirectory(directory)
        opened = try Database(path, Self.schema)
        let copy = copied == nil ? nil : copyPath
        if isMissing {
            report(copy.map { .restored(path: path, copy: $0) } ?? .missing(path: path))
        } else if !isSound {
            report(.damaged(path: path, aside: aside, copy: copy))
        }
        renewCopy()
        return records
    }

    /// Returns the records of a damaged file that can be read, from either side of the damage.
    private static func salvaged(_ path: String) -> Records {
        var records = Records()
        guard let damaged = try? Database(path, schema, isReadOnly: true) else { return records }
        let all = "SELECT kind, id, content, sum FROM records"
        let queries =
            [(all, []), ("\(all) ORDER BY kind DESC, id DESC", [])]
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
