import CSQLite
import Glibc
import ProcessSupport
import Testing

@testable import Inkling

/// A database of numbers with texts.
private final class DatabaseStage: FileStage {
    static let schema = Database.Schema(
        application: 77, version: 2, tables: ["CREATE TABLE lines (number INTEGER PRIMARY KEY, line BLOB NOT NULL)"])

    let folder: TemporaryFolder
    let disk: FaultyDisk
    var path: String { "\(folder.path)/test.db" }

    init() throws {
        folder = try TemporaryFolder()
        disk = FaultyDisk(under: folder.path)
    }

    func open(isReadOnly: Bool = false) throws(Database.Failure) -> Database {
        try Database(path, Self.schema, isReadOnly: isReadOnly)
    }

    /// Runs statements on the file by another connection.
    func foreign(_ statements: String) {
        var connection: OpaquePointer?
        sqlite3_open(path, &connection)
        #expect(sqlite3_exec(connection, statements, nil, nil, nil) == SQLITE_OK)
        sqlite3_close(connection)
    }
}

extension Database {
    fileprivate func put(_ number: Int64, _ text: String) throws(Failure) {
        try run("INSERT INTO lines VALUES (?, ?)", .integer(number), .bytes(Array(text.utf8)))
    }

    fileprivate var lines: [String] {
        get throws(Failure) {
            var lines: [String] = []
            try rows("SELECT line FROM lines ORDER BY number") { row in
                lines.append(String(decoding: row.bytes(0), as: UTF8.self))
                return true
            }
            return lines
        }
    }
}

@Suite("Databases", .timeLimit(.minutes(1)))
struct DatabaseTests {
    @Test("only the user can read the files, no child gets them, and the journal is empty between transactions")
    func rights() throws {
        let stage = try DatabaseStage()
        let database = try stage.open()
        try database.transaction { () throws(Database.Failure) in try database.put(1, "one") }
        for name in ["test.db", "test.db-journal"] { #expect(stage.folder.mode(name) == 0o600) }
        #expect(stage.bytes(stage.path + "-journal").isEmpty)
        for path in stage.paths(in: "/proc/self/fd") {
            var target = [CChar](repeating: 0, count: 4_096)
            let count = readlink(path, &target, target.count)
            guard count > 0,
                String(decoding: target[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
                    .hasPrefix(stage.folder.path), let file = path.split(separator: "/").last.flatMap({ Int32($0) })
            else { continue }
            #expect(fcntl(file, F_GETFD) & FD_CLOEXEC != 0)
        }
        chmod(stage.path, 0o644)
        #expect(try stage.open().lines == ["one"] && stage.folder.mode("test.db") == 0o600, "as after a copy")
    }

    @Test("no byte of a removed row stays in database or journal")
    func removed() throws {
        let stage = try DatabaseStage()
        let database = try stage.open()
        let long = String(repeating: "a secret that is long. ", count: 1_000)
        try database.put(1, "a short secret")
        try database.put(2, long)
        try database.run("UPDATE lines SET line = ? WHERE number = 1", .bytes(Array("changed".utf8)))
        try database.run("DELETE FROM lines WHERE number = 2")
        for path in stage.paths(in: stage.folder.path) {
            #expect(!stage.bytes(path).contains("secret".utf8), "\(path)")
        }
        #expect(try database.lines == ["changed"])
    }

    @Test("after a death at each change of the disk, a transaction is complete or has no effect")
    func death() throws {
        var changes = 1
        var outcomes: Set<Int> = []
        while true {
            let stage = try DatabaseStage()
            try stage.open().put(0, "first")
            stage.disk.set { $0 = FaultyDisk.State(lastChange: changes) }
            var isDone = false
            do throws(Database.Failure) {
                let database = try stage.open()
                try database.transaction { () throws(Database.Failure) in
                    for number in 1...40 { try database.put(Int64(number), String(repeating: "x", count: 1_000)) }
                }
                isDone = true
            } catch {}
            let died = stage.disk.isDead
            stage.disk.set { $0 = FaultyDisk.State() }
            let count = try stage.open().lines.count
            #expect(count == 41 || count == 1 && !isDone, "\(changes) changes, \(count) lines")
            outcomes.insert(count)
            guard died else { break }
            changes += 1
        }
        #expect(changes > 20 && outcomes == [1, 41])
    }

    @Test("a full disk and a failed flush fail the transaction with the system's reason")
    func refused() throws {
        let stage = try DatabaseStage()
        let database = try stage.open()
        func insert() throws(Database.Failure) {
            try database.transaction { () throws(Database.Failure) in try database.put(1, "one") }
        }
        stage.disk.set { $0.isFull = true }
        #expect(throws: Database.Failure.refused("No space left on device")) { try insert() }
        stage.disk.set { $0 = .init(flushesFail: true) }
        #expect(throws: Database.Failure.self) { try insert() }
        stage.disk.set { $0 = .init() }
        #expect(try database.lines.isEmpty)
        try insert()
        #expect(try stage.open().lines == ["one"])
    }

    @Test("a damaged, foreign or newer file is recognised, and stays as it is")
    func recognised() throws {
        let stage = try DatabaseStage()
        try stage.open().put(1, "one")
        let whole = stage.bytes(stage.path)
        for (bytes, failure) in [
            (Array("This is no database at all.".utf8), Database.Failure.damaged),
            (Array(whole.prefix(5_000)), .damaged),
            (Array(repeating: 0, count: 100) + whole.dropFirst(100), .damaged),
        ] {
            stage.put(bytes, at: stage.path)
            #expect(throws: failure) { try stage.open() }
            #expect(stage.bytes(stage.path) == bytes)
        }
        for (statements, failure) in [
            ("PRAGMA user_version=3", Database.Failure.newer), ("PRAGMA application_id=78", .damaged),
            ("CREATE TRIGGER t AFTER INSERT ON lines BEGIN DELETE FROM lines; END", .damaged),
        ] {
            stage.put(whole, at: stage.path)
            stage.foreign(statements)
            #expect(throws: failure) { try stage.open() }
        }
        unlink(stage.path)
        symlink("/etc/passwd", stage.path)
        #expect(throws: Database.Failure.refused("it is a link")) { try stage.open() }
        unlink(stage.path)
        mkdir(stage.path, 0o700)
        #expect(throws: Database.Failure.refused("Is a directory")) { try stage.open() }
    }

    @Test("a program that reads the file delays a write for 2 s at most, and a reader waits for no lock between writes")
    func busy() throws {
        let stage = try DatabaseStage()
        let database = try stage.open()
        try database.put(1, "one")
        var reader: OpaquePointer?
        sqlite3_open(stage.path, &reader)
        defer { sqlite3_close(reader) }
        #expect(sqlite3_exec(reader, "BEGIN; SELECT * FROM lines", nil, nil, nil) == SQLITE_OK)
        #expect(try database.lines == ["one"])
        let (clock, begun) = (ContinuousClock(), ContinuousClock().now)
        #expect(throws: Database.Failure.busy) {
            try database.transaction { () throws(Database.Failure) in try database.put(2, "two") }
        }
        #expect((.milliseconds(1_500)..<(.seconds(5))).contains(clock.now - begun))
        #expect(sqlite3_exec(reader, "COMMIT", nil, nil, nil) == SQLITE_OK)
        try database.put(2, "two")
        #expect(try stage.open(isReadOnly: true).lines == ["one", "two"])
    }
}
