import CSQLite
import Glibc
import InklingCore
import InklingModel
import InklingWire
import NIOCore
import NIOPosix
import ProcessSupport
import Synchronization
import Testing

@testable import Inkling

/// The texts of a state directory, over several runs, on a disk that can fail.
final class TextStage: FileStage, Sendable {
    private struct Run {
        let database: TextDatabase
        let texts: StoredTexts
    }

    private static let threads: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        return pool
    }()

    let folder: TemporaryFolder
    let disk: FaultyDisk
    let log: TextLogID
    let limits: TextTables.Limits
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    private let current: NIOLoopBoundBox<Run?>
    private let reported = Mutex<[TextFault]>([])

    /// The number of the folder's file system in statfs(2).
    let fileSystem: UInt32

    init(
        limits: TextTables.Limits = .init(), in folder: TemporaryFolder? = nil, fileSystem: UInt32 = 0xEF53
    ) async throws {
        self.folder = try folder ?? TemporaryFolder()
        self.limits = limits
        self.fileSystem = fileSystem
        disk = FaultyDisk(under: self.folder.path)
        log = TextLogID(try Chat("team", secret: Secret("abcdefghijklmnopqrstuvwxya")))
        current = NIOLoopBoundBox.makeEmptyBox(eventLoop: loop)
        try await restart()
    }

    /// Ends a run when it is done, or without its end as a kill does.
    func end(isKilled: Bool = false) async throws {
        if !isKilled, try await loop.submit({ [self] in current.value != nil }).get() { try await idle() }
        try await loop.submit { [self] in current.value = nil }.get()
    }

    /// Starts another run when the last one is done, and returns when its first work is done.
    func restart(isKilled: Bool = false) async throws {
        try await end(isKilled: isKilled)
        try await loop.submit { [self] in
            let run = open()
            current.value = run
            run.texts.begin { [weak self] fault in self?.reported.withLock { $0.append(fault) } }
        }.get()
        try await idle()
    }

    private func open() -> Run {
        let database = TextDatabase(
            in: folder.path, limits: limits, fileSystem: { [fileSystem] _ in fileSystem }, on: loop,
            threads: Self.threads)
        return Run(database: database, texts: StoredTexts(database))
    }

    /// Returns the state that another run would find.
    func found(_ log: TextLogID? = nil) -> TextState { open().texts.state(of: log ?? self.log) }

    func idle() async throws {
        _ = try await promised { (texts, done: @escaping (Bool) -> Void) in texts.whenIdle { done(true) } }
    }

    /// Appends records, and returns the reason of a failure.
    @discardableResult
    func append(_ records: [TextRecord], to log: TextLogID? = nil) async throws -> String? {
        try await promised { [self] in $0.append(records, to: log ?? self.log, completion: $1) }
    }

    func endLog() async throws -> String? { try await promised { [log] in $0.end(log, completion: $1) } }

    func rekey(_ logs: [TextLogID]) async throws -> String? { try await promised { $0.rekey(logs, completion: $1) } }

    func state(_ log: TextLogID? = nil) async throws -> TextState {
        try await loop.submit { [self] in current.value?.texts.state(of: log ?? self.log) ?? TextState() }.get()
    }

    func ids() async throws -> Set<TextLogID> {
        try await loop.submit { [self] in current.value?.texts.logs ?? [] }.get()
    }

    /// Calls `body` with the texts on the event loop, and returns the value that it passes on.
    func promised<Value: Sendable>(
        _ body: @escaping @Sendable (StoredTexts, @escaping (Value) -> Void) -> Void
    ) async throws -> Value {
        let done = loop.makePromise(of: Value.self)
        loop.execute { [self] in current.value.map { body($0.texts) { done.succeed($0) } } }
        return try await done.futureResult.get()
    }

    /// Performs a job with the tables, and returns its result.
    func perform<Value: Sendable>(
        _ work: @escaping @Sendable (TextTables) throws(Database.Failure) -> Value
    ) async throws -> Value? {
        let done = loop.makePromise(of: Value?.self)
        loop.execute { [self] in
            current.value?.database.perform(work) { value, _ in done.succeed(value) }
        }
        return try await done.futureResult.get()
    }

    /// Returns the number of rows on disk.
    func rowCount() async throws -> Int64 {
        try await perform { tables throws(Database.Failure) in
            try tables.database.integer("SELECT count(*) FROM rows")
        } ?? -1
    }

    /// Ends a log of any kind.
    func end(_ log: LogName) async throws {
        _ = try await perform { tables throws(Database.Failure) in try tables.end(log) }
    }

    /// Ends the logs of chats at a start, and returns the IDs of those that have ended.
    func endAtStart(_ ids: [String]) async throws -> [String] {
        try await loop.submit { [self] in open().database.end(ids) }.get()
    }

    /// Removes and returns the faults that were reported.
    func takeFaults() -> [TextFault] {
        reported.withLock { faults in
            defer { faults = [] }
            return faults
        }
    }

    // MARK: Files

    var keyFile: String { "\(folder.path)/keys" }
    var file: String { "\(folder.path)/texts.db" }

    /// Overwrites each page of the file but the first.
    func spoilPages() {
        let file = Glibc.open(self.file, O_WRONLY)
        let page = [UInt8](repeating: 0xAA, count: 4_096)
        for number in 1..<bytes(self.file).count / page.count {
            #expect(pwrite(file, page, page.count, off_t(number * page.count)) == page.count)
        }
        // A change by another connection would drop the pages in memory.
        #expect(pwrite(file, page, 4, 24) == 4)
        close(file)
    }
}

/// A stage with files.
protocol FileStage {}

extension FileStage {
    /// Makes the keys of a table in a database descend, while the schema says that they ascend.
    ///
    /// - Parameter column: The first column of the key.
    func reverseKeys(of table: String, _ column: String, in file: String) {
        for steps in [
            ["UPDATE sqlite_schema SET sql = replace(sql, '(\(column),', '(\(column) DESC,') WHERE name = '\(table)'"],
            [
                "CREATE TEMP TABLE copies AS SELECT * FROM \(table)", "DELETE FROM \(table)",
                "INSERT INTO \(table) SELECT * FROM copies",
                "UPDATE sqlite_schema SET sql = replace(sql, '(\(column) DESC,', '(\(column),') WHERE name = '\(table)'",
            ],
        ] {
            var connection: OpaquePointer?
            #expect(sqlite3_open(file, &connection) == SQLITE_OK)
            for step in ["PRAGMA writable_schema=ON"] + steps {
                #expect(sqlite3_exec(connection, step, nil, nil, nil) == SQLITE_OK, "\(step)")
            }
            sqlite3_close(connection)
        }
    }

    /// Returns the paths of the files in a folder, in order.
    func paths(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
        }
        return names.filter { !$0.hasPrefix(".") }.sorted().map { "\(folder)/\($0)" }
    }

    func bytes(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var status = stat()
        var bytes = [UInt8](repeating: 0, count: fstat(fileno(file), &status) == 0 ? Int(status.st_size) : 0)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes.prefix(count))
    }

    func put(_ bytes: [UInt8], at path: String) {
        guard let file = fopen(path, "w") else { return }
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }
}

/// Texts by number.
enum SomeText {
    static func key(_ number: Int = 1) throws -> PublicKey {
        try #require(
            PublicKey([UInt8(truncatingIfNeeded: number), UInt8(number >> 8)] + Array(repeating: 7, count: 30)))
    }

    static func id(_ number: Int) -> TextID { TextID(run: 77, number: UInt64(number), written: 1_700) }

    static func waiting(_ number: Int, for person: Int = 1, size: Int = 0) throws -> TextRecord {
        .waiting(
            WaitingText(
                entry: UInt64(number), key: try key(person), name: "Bob", id: id(number), at: 1.5,
                text: "\(number)" + String(repeating: "x", count: size)))
    }

    static func received(_ number: Int, from person: Int = 1, size: Int = 0) throws -> TextRecord {
        .received(
            KeptText(
                key: try key(person), name: "Zoë", id: id(number), at: 2.5,
                text: "\(number)" + String(repeating: "y", count: size)))
    }

    static func finished(_ number: Int, for person: Int = 1) throws -> TextRecord {
        .finished(try key(person), id(number))
    }

    static func read(_ number: Int, of person: Int = 1) throws -> TextRecord { .read(try key(person), id(number)) }

    /// Returns the state after records.
    static func state(_ records: some Sequence<TextRecord>) -> TextState {
        records.reduce(into: TextState()) { $0.apply($1) }
    }
}

extension TextState {
    /// The numbers of the entries that wait.
    var entries: [Int] { waiting.map { Int($0.entry) } }
    /// The numbers of the unread texts.
    var unreadNumbers: [Int] { unread.map { Int($0.id.number) } }

    func isSame(as other: TextState) -> Bool {
        waiting == other.waiting && unread == other.unread && seen == other.seen && highestEntry == other.highestEntry
    }
}
