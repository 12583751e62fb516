import Glibc
import InklingModel
import InklingWire

/// The records in `state.db` of a state directory: people, chats and their moves, the names of chats, and the age. One
/// thread at a time uses the object, and the calls block.
///
/// Each record has a check sum. `state.copy.db` is a checked copy of all records, which each decision of the user renews.
/// After damage, records that can be read and those of the copy are put together.
package final class StateTables {
    package enum Kind: Int64, Sendable, CaseIterable {
        case mark = 1
        case age, person, chain, chat, privateName, openName
        /// The logs of a chat that the user has left, which are about to end.
        case ending
    }

    package struct Key: Hashable, Sendable {
        package let kind: Kind
        package let id: [UInt8]

        package init(_ kind: Kind, _ id: [UInt8] = []) { (self.kind, self.id) = (kind, id) }

        init(mark: Mark) { self.init(.mark, [mark.rawValue]) }
    }

    enum Mark: UInt8 {
        /// The number of the last transaction. An older copy of the file has a lower one than ``copyName``.
        case counter = 1
        /// Whether the files of earlier builds are still to be replaced.
        case replacesEarlier
        /// Whether names of chats were lost.
        case lacksNames
    }

    package static let fileName = "state.db"
    package static let copyName = "state.copy.db"
    /// The name of a damaged file that was set aside.
    package static let damagedName = "state.damaged.db"
    static let schema = Database.Schema(
        application: 0x696E_6B73, version: 1,
        tables: [
            "CREATE TABLE records (kind INTEGER NOT NULL, id BLOB NOT NULL, content BLOB NOT NULL, sum BLOB NOT NULL, "
                + "PRIMARY KEY (kind, id)) WITHOUT ROWID"
        ])

    let directory: String
    package var path: String { "\(directory)/\(Self.fileName)" }
    var copyPath: String { "\(directory)/\(Self.copyName)" }
    /// Nil without a usable file, and for a node that only looks.
    var opened: Database?
    /// Why the file can't be used in this run.
    package internal(set) var refusal: String?
    /// Why names of chats may be missing, as a clause; nil if all are there.
    package internal(set) var namesFault: String?
    /// The content at the start.
    package private(set) var contents = StateContents()
    private var faults: [StateFault] = []
    private var counter: UInt64 = 0
    /// Whether the copy could not be renewed.
    var lacksCopy = false
    /// Whether the file has to be restored before the next write.
    private var isDamaged = false

    /// Reads the database.
    ///
    /// - Parameter isHeld: Whether the caller holds the directory, and so may write there. Otherwise no file changes.
    package init(in directory: String, isHeld: Bool) {
        self.directory = directory
        let records = isHeld ? open() : look()
        contents = StateContents(records) { _ in report(.damaged(path: path, aside: nil, copy: nil)) }
        counter = Self.counter(records)
        if records[Key(mark: .lacksNames)] != nil { namesFault = "\(path) was damaged or lost once" }
    }

    static func counter(_ records: [Key: [UInt8]]) -> UInt64 {
        records[Key(mark: .counter)].flatMap { UInt64(bigEndianBytes: $0) } ?? 0
    }

    /// The size of the files.
    package var bytes: Int64 {
        [Self.fileName, Self.copyName, Self.damagedName].reduce(0) { sum, name in
            var status = stat()
            return lstat("\(directory)/\(name)", &status) == 0 ? sum + Int64(status.st_size) : sum
        }
    }

    /// Removes and returns the faults that were not reported yet.
    package func takeFaults() -> [StateFault] {
        defer { faults = [] }
        return faults
    }

    /// Frees the memory of ``contents``.
    func dropContents() { contents = StateContents() }

    func report(_ fault: StateFault) {
        if !faults.contains(fault) { faults.append(fault) }
    }

    // MARK: Changes

    /// A change of records. All that come during a write share the next transaction.
    package struct Job: Sendable {
        /// Whether the user decided, so that the copy has the change too.
        let isDecision: Bool
        let work: @Sendable (StateTables) throws(Database.Failure) -> Void

        package init(
            isDecision: Bool = true, _ work: @escaping @Sendable (StateTables) throws(Database.Failure) -> Void
        ) {
            (self.isDecision, self.work) = (isDecision, work)
        }
    }

    /// Performs changes in their order.
    ///
    /// - Returns: For each change nil when it is on disk, or the reason for its failure.
    package func run(_ jobs: [Job]) -> [String?] {
        do throws(Database.Failure) {
            try write(jobs)
            return jobs.map { _ in nil }
        } catch {
            // A smaller change may have room on the disk. A file in use has been awaited for long enough.
            if jobs.count > 1, error != .busy { return jobs.flatMap { run([$0]) } }
            return jobs.map { _ in refusal ?? "\(path): \(error.reason)" }
        }
    }

    private func write(_ jobs: [Job]) throws(Database.Failure) {
        if isDamaged { try mend() }
        do throws(Database.Failure) {
            try perform(jobs)
        } catch {
            guard error == .damaged, opened != nil else { throw error }
            try mend()
            try perform(jobs)
        }
    }

    /// Restores a file that is damaged. After a failure, the next write tries again.
    private func mend() throws(Database.Failure) {
        (opened, isDamaged) = (nil, true)
        try restore()
        isDamaged = false
    }

    private func perform(_ jobs: [Job]) throws(Database.Failure) {
        let next = counter + 1
        let database = try database
        try database.transaction { () throws(Database.Failure) in
            for job in jobs { try job.work(self) }
            try put(Key(mark: .counter), next.bigEndianBytes)
        }
        counter = next
        if jobs.contains(where: \.isDecision) { try renewCopy() }
    }

    var database: Database {
        get throws(Database.Failure) {
            if let opened { return opened }
            throw .refused(refusal ?? "another program uses it")
        }
    }

    package func put(_ key: Key, _ content: [UInt8]) throws(Database.Failure) {
        try Self.put(key, content, in: database)
    }

    package func remove(_ key: Key) throws(Database.Failure) {
        try database.run("DELETE FROM records WHERE kind = ? AND id = ?", .integer(key.kind.rawValue), .bytes(key.id))
    }

    func keys(_ kind: Kind) throws(Database.Failure) -> [Key] {
        var keys: [Key] = []
        try database.rows("SELECT id FROM records WHERE kind = ?", [.integer(kind.rawValue)]) { row in
            keys.append(Key(kind, row.bytes(0)))
            return true
        }
        return keys
    }

    /// Makes these the records of a kind. Those that are there already stay as they are.
    package func replace(_ kind: Kind, by new: [[UInt8]: [UInt8]]) throws(Database.Failure) {
        var old: [[UInt8]: [UInt8]] = [:]
        try database.rows("SELECT id, content FROM records WHERE kind = ?", [.integer(kind.rawValue)]) { row in
            old[row.bytes(0)] = row.bytes(1)
            return true
        }
        for id in old.keys where new[id] == nil { try remove(Key(kind, id)) }
        for (id, content) in new where old[id] != content { try put(Key(kind, id), content) }
    }

    static func put(_ key: Key, _ content: [UInt8], in database: Database) throws(Database.Failure) {
        try database.run(
            "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)", .integer(key.kind.rawValue), .bytes(key.id),
            .bytes(content), .bytes(sum(key, content)))
    }

    private static func sum(_ key: Key, _ content: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(2 + key.id.count + content.count)
        bytes.append(UInt8(key.kind.rawValue))
        bytes.append(UInt8(clamping: key.id.count))
        bytes += key.id
        bytes += content
        return checkSum(bytes)
    }

    /// Returns the record of a row; nil for a damaged one.
    static func record(_ row: Database.Row) -> (key: Key, content: [UInt8])? {
        guard let kind = Kind(rawValue: row.integer(0)) else { return nil }
        let (key, content) = (Key(kind, row.bytes(1)), row.bytes(2))
        return sum(key, content) == row.bytes(3) ? (key, content) : nil
    }

    /// Writes kept chats, and the names of those that are private.
    ///
    /// - Returns: The reason for a failure.
    package func keep(_ chats: KeptChats) -> String? {
        var names = contents.names
        let added = names.add(chats)
        return run([
            Job { tables throws(Database.Failure) in
                try tables.replace(.chat, by: chats.records)
                for name in added { try tables.put(name.key, name.content) }
            }
        ])[0]
    }

    /// Puts a person, or removes one whom the table of people has forgotten.
    func put(_ key: PublicKey, _ person: KnownPeers.Entry?) throws(Database.Failure) {
        let place = Key(.person, key.bytes)
        if let person { try put(place, person.bytes) } else { try remove(place) }
    }

    /// Puts a chat in the place of the kept one that has moved there.
    func replace(_ former: Chat, by next: Chat) throws(Database.Failure) {
        let key = Key(.chat, Array(former.name.utf8))
        var content: [UInt8]?
        try database.rows(
            "SELECT content FROM records WHERE kind = ? AND id = ?", [.integer(key.kind.rawValue), .bytes(key.id)]
        ) { row in
            content = row.bytes(0)
            return false
        }
        if let content = content.flatMap({ KeptChats.moved($0, from: former, to: next) }) { try put(key, content) }
    }
}
