import Glibc
import InklingModel
import InklingWire
import Synchronization

/// Logs on disk that only the user can read. Each log has a random key, in a file apart from the logs. The end of a log
/// removes the key, so no copy of the log opens any more.
///
/// At the start, only the file of the keys is read. The calls block, so they belong on a thread for such work.
package final class SealedStore: Sendable {
    /// The file of the keys, in the state directory.
    package static let keyFile = "messages.key"
    /// The folder of the logs, in the state directory.
    package static let folder = "messages"
    /// Numbers of entries are lower than this.
    static let highestNumber: UInt64 = 1 << 53

    /// The limits of a log. The store drops whole segments, so a log can hold up to two segments more.
    package struct Limits: Sendable {
        package var entries: Int
        package var bytes: Int
        package var segmentEntries: Int
        package var segmentBytes: Int

        package init(
            entries: Int = 10_000, bytes: Int = 16 << 20, segmentEntries: Int = 512, segmentBytes: Int = 1 << 18
        ) {
            (self.entries, self.bytes) = (entries, bytes)
            (self.segmentEntries, self.segmentBytes) = (segmentEntries, segmentBytes)
        }
    }

    /// The files and the kind of the logs.
    package struct Format: Sendable {
        /// The names in the state directory.
        let keyFile, folder: String
        /// Whether logs lose no record: an append waits for the disk, and one log can replace another. Such a log has
        /// its file's name from its key, so the file of the keys alone decides which of two is the current one.
        let isDurable: Bool

        package static let history = Format(
            keyFile: SealedStore.keyFile, folder: SealedStore.folder, isDurable: false)
        package static let texts = Format(keyFile: "texts.key", folder: "texts", isDurable: true)
    }

    /// A record of a log.
    package struct Record: Hashable, Sendable {
        /// The number of the entry, or of the entry before the note.
        package let number: UInt64
        /// Whether the record is about an earlier entry.
        package let isNote: Bool
        package let bytes: [UInt8]
    }

    /// Damage or a failure, which costs records but ends nothing.
    package enum Fault: Hashable, Sendable {
        /// A part of the file, or all of it, does not open.
        case damaged(path: String)
        /// The file that should begin with the entry behind others is not there.
        case missing(path: String)
        /// There are logs, but no file of keys.
        case keysMissing(path: String)
        /// The keys can't be read, and stay as they are.
        case keysUnusable(path: String, reason: String)
        case unwritable(path: String, reason: String)
    }

    /// Writes to a file as the function `write` of the system does.
    package typealias Write = @Sendable (Int32, UnsafeRawBufferPointer) -> Int
    /// Flushes a file as the function `fdatasync` of the system does.
    package typealias Flush = @Sendable (Int32) -> Int32

    /// The calls of the system that tests replace.
    struct Calls: Sendable {
        let write: Write
        let flush: Flush
    }

    private struct State {
        var keys: [String: [UInt8]] = [:]
        var logs: [String: SealedLog] = [:]
        /// Set while the keys can't be used.
        var keyFault: Fault?
        /// Faults for ``takeFaults()``.
        var faults: [Fault] = []
        /// Damage that was reported once.
        var reported: Set<Fault> = []
        /// Whether the last write failed.
        var isFailing = false
    }

    private let directory: String
    private let format: Format
    private let limits: Limits
    private let calls: Calls
    private let state = Mutex(State())

    /// Reads the keys in a state directory.
    package init(
        in directory: String, _ format: Format = .history, limits: Limits = Limits(),
        write: @escaping Write = { Glibc.write($0, $1.baseAddress, $1.count) },
        flush: @escaping Flush = { fdatasync($0) }
    ) {
        self.directory = directory
        self.format = format
        self.limits = limits
        calls = Calls(write: write, flush: flush)
        state.withLock { state in
            do throws(StateFile.Failure) {
                guard let keys = SealedKeys(text: try keyFile.read()) else { throw .damaged }
                state.keys = keys.keys
            } catch {
                switch error {
                case .missing: break
                case .damaged: state.keyFault = .keysUnusable(path: keyPath, reason: "it is damaged")
                case .unreadable(let reason): state.keyFault = .keysUnusable(path: keyPath, reason: reason)
                }
            }
            if let fault = state.keyFault { state.faults.append(fault) }
        }
    }

    deinit {
        state.withLock { state in
            for id in state.logs.keys { state.logs[id]?.close() }
        }
    }

    private var folder: String { "\(directory)/\(format.folder)" }
    private var keyPath: String { "\(directory)/\(format.keyFile)" }
    private var keyFile: StateFile {
        StateFile(directory: directory, name: format.keyFile, newName: "\(format.keyFile).new")
    }

    /// The IDs of the logs.
    package var logs: Set<String> { state.withLock { Set($0.keys.keys) } }

    /// Removes the files of logs that have ended, which an earlier run may have left.
    package func removeRemains() {
        state.withLock { state in
            let names = SealedLog.names(in: folder)
            guard state.keyFault == nil, !names.isEmpty else { return }
            // Without the file of the keys, its copy may come back.
            guard !state.keys.isEmpty || access(keyPath, F_OK) == 0 else {
                return state.faults.append(.keysMissing(path: keyPath))
            }
            let files = Set(state.keys.map { fileID($0.key, key: $0.value) })
            for name in names where SealedKeys.isID(name.prefix(32)) && !files.contains(String(name.prefix(32))) {
                unlink("\(folder)/\(name)")
            }
        }
    }

    /// Begins a log with a new key.
    ///
    /// - Parameter id: 32 lower-case hexadecimal digits.
    /// - Returns: The reason for a failure.
    package func begin(_ id: String) -> String? {
        precondition(SealedKeys.isID(id), "the ID of a log has 32 digits")
        return state.withLock { state in
            guard state.keys[id] == nil else { return nil }
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { return StateFile.text(errno) }
            state.keys[id] = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
            guard let reason = writeKeys(state) else { return nil }
            state.keys[id] = nil
            return reason
        }
    }

    /// Ends a log: removes its files and its key.
    ///
    /// - Returns: The reason for a failure. The key may then still be there.
    package func end(_ id: String) -> String? {
        state.withLock { state in
            guard let key = state.keys.removeValue(forKey: id) else { return nil }
            var log = state.logs.removeValue(forKey: id) ?? log(id, key: key)
            // A durable log without its files would be damaged, so its key goes first.
            if format.isDurable, writeKeys(state) == nil || isCurrent(state) {
                log.remove()
                return nil
            }
            // On a full disk, the removed files make room for the new file of keys.
            log.remove()
            guard let reason = writeKeys(state), !isCurrent(state) else { return nil }
            state.keys[id] = key
            return reason
        }
    }

    /// Appends a record. A failure is a fault, once until a record is appended.
    ///
    /// - Returns: The number of the last entry; nil after a failure.
    @discardableResult
    package func append(_ bytes: [UInt8], isNote: Bool = false, to id: String) -> UInt64? {
        state.withLock { state in
            guard open(id, &state) else { return nil }
            var faults: [Fault] = []
            let number = state.logs[id]?.append(bytes, isNote: isNote, &faults)
            let isFailing = faults.contains { if case .unwritable = $0 { true } else { false } }
            if state.isFailing { faults.removeAll { if case .unwritable = $0 { true } else { false } } }
            state.isFailing = isFailing
            report(faults, &state)
            return number ?? nil
        }
    }

    /// Passes the records of a log to `body`, the latest first. The reading ends when `body` returns false.
    ///
    /// - Parameter before: The number of the entry before which the reading begins. Some later records come too.
    package func read(_ id: String, before: UInt64 = .max, _ body: (Record) -> Bool) {
        state.withLock { state in
            guard open(id, &state) else { return }
            var faults: [Fault] = []
            state.logs[id]?.read(before: before, &faults, body)
            report(faults, &state)
        }
    }

    /// Removes and returns the faults that were not reported yet.
    package func takeFaults() -> [Fault] {
        state.withLock { state in
            defer { state.faults = [] }
            return state.faults
        }
    }

    @discardableResult
    private func open(_ id: String, _ state: inout State) -> Bool {
        guard let key = state.keys[id] else { return false }
        if state.logs[id] == nil { state.logs[id] = log(id, key: key) }
        return true
    }

    private func log(_ id: String, key: [UInt8]) -> SealedLog {
        let traits = SealedLog.Traits(words: format.isDurable ? .checked : .plain, isDurable: format.isDurable)
        return SealedLog(
            in: folder, id: fileID(id, key: key), key: key, limits: limits, traits: traits, calls: calls)
    }

    /// Returns the beginning of the names of a log's files.
    private func fileID(_ id: String, key: [UInt8]) -> String {
        guard format.isDurable else { return id }
        return hexadecimal(deriveKey(key, salt: [], info: Array("inkling log name".utf8)).prefix(16))
    }

    private func report(_ faults: [Fault], _ state: inout State) {
        for fault in faults {
            let isNew = if case .unwritable = fault { true } else { state.reported.insert(fault).inserted }
            if isNew { state.faults.append(fault) }
        }
    }

    private func writeKeys(_ state: borrowing State) -> String? {
        if let reason = unusable(state) { return reason }
        return keyFile.write(SealedKeys(keys: state.keys).text)
    }

    private func unusable(_ state: borrowing State) -> String? {
        guard case .keysUnusable(let path, let reason) = state.keyFault else { return nil }
        return "\(path) can't be used: \(reason)"
    }

    /// Whether the file of the keys has these keys, perhaps after a write that failed behind the file's renaming.
    private func isCurrent(_ state: borrowing State) -> Bool {
        (try? keyFile.read()) == SealedKeys(keys: state.keys).text
    }
}

/// Logs that lose no record whose append was flushed.
extension SealedStore {
    /// Whether the file of the keys can't be used, so that nothing can be written.
    package var isUnusable: Bool { state.withLock { $0.keyFault != nil } }

    /// Passes all records of a durable log to `body`, the first one first.
    ///
    /// - Returns: Whether no part of the log is damaged or missing.
    package func readAll(_ id: String, _ body: ([UInt8]) -> Void) -> Bool {
        state.withLock { state in
            guard open(id, &state) else { return true }
            var faults: [Fault] = []
            var records: [[UInt8]] = []
            state.logs[id]?.read(before: .max, &faults) {
                records.append($0.bytes)
                return true
            }
            for record in records.reversed() { body(record) }
            report(faults, &state)
            return faults.isEmpty
        }
    }

    /// Appends records to a durable log, and begins it if necessary. Only ``flush(_:)`` waits for the disk.
    ///
    /// - Returns: The reason for a failure. A part of the records may then be in the log.
    package func append(_ records: [[UInt8]], to id: String) -> String? {
        state.withLock { state in
            if !open(id, &state), let reason = replace([id: []], &state) { return reason }
            var faults: [Fault] = []
            var rest = records[...]
            while !rest.isEmpty, faults.isEmpty {
                // A segment must stay small enough to be read.
                var size = 0
                let part = rest.prefix(while: { record in
                    defer { size += record.count }
                    return size < limits.segmentBytes
                })
                state.logs[id]?.append(Array(part), &faults)
                rest = rest.dropFirst(part.count)
            }
            return reason(faults, &state)
        }
    }

    /// Waits until all records of a durable log are on disk.
    ///
    /// - Returns: The reason why some of those since the last call are not.
    package func flush(_ id: String) -> String? {
        state.withLock { state in
            let fault = state.logs[id]?.flush()
            return reason(fault.map { [$0] } ?? [], &state)
        }
    }

    /// Replaces durable logs by others, with new keys. The change is complete or has no effect, also after a kill.
    ///
    /// - Returns: The reason for a failure.
    package func replace(_ logs: [String: [[UInt8]]]) -> String? {
        state.withLock { state in replace(logs, &state) }
    }

    private func replace(_ logs: [String: [[UInt8]]], _ state: inout State) -> String? {
        if let reason = unusable(state) { return reason }
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { return "\(folder): \(StateFile.text(errno))" }
        let keys = state.keys
        var new: [String: SealedLog] = [:]
        var faults: [Fault] = []
        for (id, records) in logs {
            let key = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
            var log = log(id, key: key)
            log.begin(&faults)
            for record in records where faults.isEmpty { log.append([record], &faults) }
            if let fault = log.flush() { faults.append(fault) }
            new[id] = log
            state.keys[id] = key
        }
        var reason = reason(faults, &state)
        if reason == nil { reason = writeKeys(state) }
        guard reason == nil || isCurrent(state) else {
            for id in logs.keys { new[id]?.remove() }
            state.keys = keys
            return reason
        }
        for (id, key) in keys where logs[id] != nil {
            state.logs[id]?.close()
            // A power failure can bring back the old keys if their folder is not flushed.
            var old = log(id, key: key)
            if reason == nil { old.remove() }
        }
        for (id, log) in new { state.logs[id] = log }
        return nil
    }

    /// Returns the reason for a failed write, and reports the other faults.
    private func reason(_ faults: [Fault], _ state: inout State) -> String? {
        var reason: String?
        var others: [Fault] = []
        for fault in faults {
            if case .unwritable(let path, let text) = fault {
                reason = "\(path): \(text)"
            } else {
                others.append(fault)
            }
        }
        report(others, &state)
        return reason
    }
}
