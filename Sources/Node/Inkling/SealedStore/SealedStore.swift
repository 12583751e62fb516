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
    private let limits: Limits
    private let write: Write
    private let state = Mutex(State())

    /// Reads the keys in a state directory.
    package init(
        in directory: String, limits: Limits = Limits(),
        write: @escaping Write = { Glibc.write($0, $1.baseAddress, $1.count) }
    ) {
        self.directory = directory
        self.limits = limits
        self.write = write
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

    private var folder: String { "\(directory)/\(Self.folder)" }
    private var keyPath: String { "\(directory)/\(Self.keyFile)" }
    private var keyFile: StateFile { StateFile(directory: directory, name: Self.keyFile, newName: "messages.key.new") }

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
            for name in names where SealedKeys.isID(name.prefix(32)) && state.keys[String(name.prefix(32))] == nil {
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

    /// Ends a log: removes its files, then its key.
    ///
    /// - Returns: The reason for a failure. The key may then still be there.
    package func end(_ id: String) -> String? {
        state.withLock { state in
            guard let key = state.keys[id] else { return nil }
            // On a full disk, the removed files make room for the new file of keys.
            open(id, &state)
            state.logs[id]?.remove()
            state.logs[id] = nil
            state.keys[id] = nil
            guard let reason = writeKeys(state) else { return nil }
            state.keys[id] = key
            return reason
        }
    }

    /// Appends a record. A failure is a fault, once until a record is appended.
    package func append(_ bytes: [UInt8], isNote: Bool = false, to id: String) {
        state.withLock { state in
            guard open(id, &state) else { return }
            var faults: [Fault] = []
            state.logs[id]?.append(bytes, isNote: isNote, &faults)
            let isFailing = faults.contains { if case .unwritable = $0 { true } else { false } }
            if state.isFailing { faults.removeAll { if case .unwritable = $0 { true } else { false } } }
            state.isFailing = isFailing
            report(faults, &state)
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
        if state.logs[id] == nil {
            state.logs[id] = SealedLog(in: folder, id: id, key: key, limits: limits, write: write)
        }
        return true
    }

    private func report(_ faults: [Fault], _ state: inout State) {
        for fault in faults {
            let isNew = if case .unwritable = fault { true } else { state.reported.insert(fault).inserted }
            if isNew { state.faults.append(fault) }
        }
    }

    private func writeKeys(_ state: borrowing State) -> String? {
        if case .keysUnusable(let path, let reason) = state.keyFault { return "\(path) can't be used: \(reason)" }
        return keyFile.write(SealedKeys(keys: state.keys).text)
    }
}

/// The keys of logs, as the text of their file: a line with the version, then one with ID and key for each log.
struct SealedKeys {
    private static let label = "inkling message keys 1"

    var keys: [String: [UInt8]]

    init(keys: [String: [UInt8]]) { self.keys = keys }

    init?(text: [UInt8]) {
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.first?[...] == Self.label[...], lines.last?.isEmpty == true else { return nil }
        keys = [:]
        for line in lines.dropFirst().dropLast() {
            let parts = line.split(separator: " ", omittingEmptySubsequences: false)
            guard parts.count == 2, Self.isID(parts[0]), parts[1].utf8.count == 64 else { return nil }
            let digits = parts[1].utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            guard digits.count == 64 else { return nil }
            keys[String(parts[0])] = stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
        }
    }

    var text: [UInt8] {
        let lines = keys.sorted { $0.key < $1.key }.map { "\($0.key) \(hexadecimal($0.value))\n" }
        return Array((Self.label + "\n" + lines.joined()).utf8)
    }

    static func isID(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 32 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

extension Chat {
    /// The ID of the chat's log in a ``SealedStore``. Nobody can compute it without the secret.
    package var logID: String { logID(of: "inkling log") }

    /// The ID of the chat's log of one kind.
    func logID(of label: String) -> String {
        let parts = [label, name, secret?.text ?? "", owner?.description ?? ""]
        return hexadecimal(SHA256.hash(Array(parts.joined(separator: "\n").utf8)).prefix(16))
    }
}

private func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
