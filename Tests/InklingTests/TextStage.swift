import Glibc
import Inkling
import InklingCore
import InklingModel
import InklingWire
import NIOCore
import NIOPosix
import ProcessSupport
import Synchronization
import Testing

/// The texts of a state directory, over several runs, on a disk that can fail.
final class TextStage: FileStage, Sendable {
    /// A disk whose calls a test can refuse or hold.
    final class Disk: Sendable {
        /// The bytes that the disk still takes; nil for any number.
        let room = Mutex<Int?>(nil)
        let flushes = Mutex(0)
        let flushesFail = Mutex(false)
        /// Whether no flush ends.
        let holdsFlushes = Mutex(false)

        func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
            let count = room.withLock { room in
                let count = min(bytes.count, room ?? bytes.count)
                room = room.map { $0 - count }
                return count
            }
            guard count > 0 else {
                errno = ENOSPC
                return -1
            }
            return Glibc.write(descriptor, bytes.baseAddress, count)
        }

        func flush(_ descriptor: Int32) -> Int32 {
            while holdsFlushes.withLock(\.self) { usleep(1_000) }
            flushes.withLock { $0 += 1 }
            guard !flushesFail.withLock(\.self) else {
                errno = EIO
                return -1
            }
            return fdatasync(descriptor)
        }
    }

    private static let threads: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        return pool
    }()

    let folder: TemporaryFolder
    let disk = Disk()
    let log: TextLogID
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    private let logs: NIOLoopBoundBox<TextLogs?>
    private let reported = Mutex<[TextFault]>([])

    init() async throws {
        folder = try TemporaryFolder()
        log = TextLogID(try Chat("team", secret: Secret("abcdefghijklmnopqrstuvwxya")))
        logs = NIOLoopBoundBox.makeEmptyBox(eventLoop: loop)
        try await restart()
    }

    /// Starts another run when the last one is done, and returns when its first work is done.
    func restart() async throws {
        if try await loop.submit({ [self] in logs.value != nil }).get() { try await idle() }
        try await loop.submit { [self] in
            let logs = open()
            self.logs.value = logs
            logs.begin { fault in self.reported.withLock { $0.append(fault) } }
        }.get()
        try await idle()
    }

    private func open() -> TextLogs {
        let store = SealedStore(
            in: folder.path, .texts, limits: TextLogs.limits, write: { [disk] in disk.write($0, $1) },
            flush: { [disk] in disk.flush($0) })
        return TextLogs(store, on: loop, threads: Self.threads)
    }

    /// Returns the state that another run would find.
    func found(_ log: TextLogID? = nil) -> TextState { open().state(of: log ?? self.log) }

    func idle() async throws {
        _ = try await promised { (logs, done: @escaping (Bool) -> Void) in logs.whenIdle { done(true) } }
    }

    /// Appends records, and returns the reason of a failure.
    @discardableResult
    func append(_ records: [TextRecord], to log: TextLogID? = nil) async throws -> String? {
        try await promised { [self] in $0.append(records, to: log ?? self.log, completion: $1) }
    }

    func end() async throws -> String? { try await promised { [log] in $0.end(log, completion: $1) } }

    func rekey(_ logs: [TextLogID]) async throws -> String? { try await promised { $0.rekey(logs, completion: $1) } }

    func state(_ log: TextLogID? = nil) async throws -> TextState {
        try await loop.submit { [self] in logs.value?.state(of: log ?? self.log) ?? TextState() }.get()
    }

    func ids() async throws -> Set<TextLogID> { try await loop.submit { [self] in logs.value?.logs ?? [] }.get() }

    /// Calls `body` with the logs on the event loop, and returns the value that it passes on.
    func promised<Value: Sendable>(
        _ body: @escaping @Sendable (TextLogs, @escaping (Value) -> Void) -> Void
    ) async throws -> Value {
        let done = loop.makePromise(of: Value.self)
        loop.execute { [self] in logs.value.map { body($0) { done.succeed($0) } } }
        return try await done.futureResult.get()
    }

    /// Removes and returns the faults that were reported.
    func takeFaults() -> [TextFault] {
        reported.withLock { faults in
            defer { faults = [] }
            return faults
        }
    }

    // MARK: Files

    var keyFile: String { "\(folder.path)/texts.key" }

    /// The paths of the segments, in order within each log.
    var segments: [String] { paths(in: "\(folder.path)/texts") }

    /// The size of all segments.
    var size: Int { segments.reduce(0) { $0 + bytes($1).count } }
}

/// A stage with files.
protocol FileStage {}

extension FileStage {
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
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
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
