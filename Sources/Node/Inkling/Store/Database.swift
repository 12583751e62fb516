import CSQLite
import Glibc

/// A connection to a database in a file that only the user can read. One thread at a time uses it.
package final class Database {
    package enum Failure: Error, Hashable, Sendable {
        /// The file, or a part of it, isn't a database of this kind.
        case damaged
        /// Another program used the file for longer than ``patience``.
        case busy
        /// A later version of Inkling made the file.
        case newer
        /// The system refused a call.
        case refused(String)

        /// The reason, for the user to read.
        package var reason: String {
            switch self {
            case .damaged: "it is damaged"
            case .busy: "another program uses it"
            case .newer: "it is of a later version of Inkling"
            case .refused(let reason): reason
            }
        }
    }

    /// The tables of a database.
    package struct Schema: Sendable {
        /// The number of this kind of databases in the header of the file.
        let application: Int64
        /// The version. A file with a higher one is ``Failure/newer``.
        let version: Int64
        /// The statements that make the tables.
        let tables: [String]

        package init(application: Int64, version: Int64, tables: [String]) {
            (self.application, self.version, self.tables) = (application, version, tables)
        }
    }

    package enum Value: Sendable {
        case integer(Int64)
        case bytes([UInt8])
    }

    /// The current row of a statement.
    package struct Row {
        fileprivate let statement: OpaquePointer

        package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

        package func bytes(_ column: Int32) -> [UInt8] {
            guard let start = sqlite3_column_blob(statement, column) else { return [] }
            return Array(
                UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
        }
    }

    /// The time for which a call waits for other programs that use the file, in milliseconds.
    static let patience: Int32 = 2_000
    /// The memory for pages, in KiB.
    private static let cache = 512

    package let path: String
    private let isReadOnly: Bool
    private let connection: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]

    /// Opens a file, and makes a missing one.
    ///
    /// - Parameter isReadOnly: Whether the file must exist, and stays as it is.
    package init(_ path: String, _ schema: Schema, isReadOnly: Bool = false) throws(Failure) {
        try Self.secure(path, isReadOnly)
        (self.path, self.isReadOnly) = (path, isReadOnly)
        var opened: OpaquePointer?
        let flags = (isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_NOMUTEX
        // A relative path could look like a URI.
        let code = sqlite3_open_v2(path.hasPrefix("/") ? path : "./\(path)", &opened, flags, nil)
        guard let opened else { throw .refused("no memory") }
        connection = opened
        guard code == SQLITE_OK else { throw failure(code) }
        sqlite3_extended_result_codes(connection, 1)
        sqlite3_busy_timeout(connection, Self.patience)
        guard csqlite_harden(connection) == SQLITE_OK else { throw .refused("SQLite is too old") }
        // No other file than database and journal gets a row, and no byte of a removed row stays in them.
        for setting in [
            "mmap_size=0", "temp_store=MEMORY", "cell_size_check=ON", "secure_delete=ON", "cache_size=-\(Self.cache)",
        ] { try run("PRAGMA \(setting)") }
        if !isReadOnly {
            for setting in ["journal_mode=TRUNCATE", "synchronous=EXTRA"] { try run("PRAGMA \(setting)") }
        }
        try check(schema)
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close(connection)
    }

    /// Makes a missing file, and checks that only the user can read it.
    private static func secure(_ path: String, _ isReadOnly: Bool) throws(Failure) {
        // O_NONBLOCK: the open must not wait if the file is a pipe.
        let flags = (isReadOnly ? O_RDONLY : O_RDWR | O_CREAT) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let file = open(path, flags, 0o600)
        guard file >= 0 else { throw .refused(errno == ELOOP ? "it is a link" : StateFile.text(errno)) }
        defer { close(file) }
        var status = stat()
        // Root may look at the file of another user.
        guard fstat(file, &status) == 0, status.st_uid == geteuid() || isReadOnly && geteuid() == 0 else {
            throw .refused("it belongs to another user")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .damaged }
        if !isReadOnly, status.st_mode & 0o077 != 0 { _ = fchmod(file, 0o600) }
    }

    /// Makes the tables of a new file, and checks those of another one.
    private func check(_ schema: Schema) throws(Failure) {
        let (application, version) = (try integer("PRAGMA application_id"), try integer("PRAGMA user_version"))
        if application == 0, version == 0, try integer("SELECT count(*) FROM sqlite_schema") == 0, !isReadOnly {
            try run("PRAGMA auto_vacuum=INCREMENTAL")
            try transaction { () throws(Failure) in
                for table in schema.tables { try run(table) }
                try run("PRAGMA application_id=\(schema.application)")
                try run("PRAGMA user_version=\(schema.version)")
            }
            return
        }
        guard application == schema.application else { throw .damaged }
        guard version <= schema.version else { throw .newer }
        var tables: [[UInt8]] = []
        try rows("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid") {
            tables.append($0.bytes(0))
            return true
        }
        guard tables == schema.tables.map({ Array($0.utf8) }) else { throw .damaged }
    }

    // MARK: Statements

    /// Runs a statement, and ignores its rows.
    package func run(_ sql: String, _ values: Value...) throws(Failure) { try rows(sql, values) { _ in true } }

    /// Returns the first column of the first row; 0 without a row.
    package func integer(_ sql: String, _ values: Value...) throws(Failure) -> Int64 {
        var result: Int64 = 0
        try rows(sql, values) { row in
            result = row.integer(0)
            return false
        }
        return result
    }

    /// Passes the rows of a statement to `body` while the body returns true. The body must not run the same statement.
    package func rows(
        _ sql: String, _ values: [Value] = [], _ body: (Row) throws(Failure) -> Bool
    ) throws(Failure) {
        let statement = try prepared(sql)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (place, value) in zip(Int32(1)..., values) {
            let code =
                switch value {
                case .integer(let number): sqlite3_bind_int64(statement, place, number)
                case .bytes(let bytes): csqlite_bind_bytes(statement, place, bytes, Int32(clamping: bytes.count))
                }
            guard code == SQLITE_OK else { throw failure(code) }
        }
        while true {
            let code = sqlite3_step(statement)
            if code == SQLITE_DONE { return }
            guard code == SQLITE_ROW else { throw failure(code) }
            guard try body(Row(statement: statement)) else { return }
        }
    }

    /// Performs changes completely or not at all. They are on disk when the call returns.
    package func transaction<Result>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try run("BEGIN IMMEDIATE")
        do throws(Failure) {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            // Some failures have ended the transaction.
            if sqlite3_get_autocommit(connection) == 0 { try? run("ROLLBACK") }
            throw error
        }
    }

    private func prepared(_ sql: String) throws(Failure) -> OpaquePointer {
        if let statement = statements[sql] { return statement }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw failure(code) }
        statements[sql] = statement
        return statement
    }

    private func failure(_ code: Int32) -> Failure {
        switch code & 0xFF {
        case SQLITE_CORRUPT, SQLITE_NOTADB: return .damaged
        case SQLITE_BUSY, SQLITE_LOCKED: return .busy
        case SQLITE_FULL: return .refused(StateFile.text(ENOSPC))
        // SQLITE_READONLY_ROLLBACK
        case SQLITE_READONLY where code == SQLITE_READONLY | 3 << 8:
            return .refused("a write to it was cut short, which the next start of Inkling undoes")
        // A damaged header can declare the file read-only.
        case SQLITE_READONLY: return code == SQLITE_READONLY && !isReadOnly ? .damaged : .refused(StateFile.text(EROFS))
        default:
            let system = sqlite3_system_errno(connection)
            return .refused(system == 0 ? String(cString: sqlite3_errmsg(connection)) : StateFile.text(system))
        }
    }
}
