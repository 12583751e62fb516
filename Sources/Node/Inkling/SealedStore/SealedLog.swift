import Glibc

/// One log of a ``SealedStore``: entries with growing numbers from 1, and notes between them.
///
/// A segment is a file. Its name has the number of its first entry, so the names alone order the entries. Records are
/// appended to the last segment. Each run of the program begins a segment under a new key. So no nonce comes twice, even if
/// the system restores an older state of the disk. If the last segment has room, the new one takes over its records and
/// replaces its file. So the files stay few.
struct SealedLog {
    /// The file that records are appended to.
    private struct Tail {
        let descriptor: Int32
        let first: UInt64
        var entries = 0
        var size: Int
        /// The part of the file that a flush covers.
        var flushed: (entries: Int, size: Int)
        var sealer: SealedSegment.Sealer

        var next: UInt64 { first &+ UInt64(entries) }
    }

    /// The difference between a durable log and that of a history.
    struct Traits {
        let words: SealedSegment.Words
        /// Whether a segment is flushed before the next one begins. Then a torn end is no fault, because no caller
        /// relies on records that were not flushed.
        let isDurable: Bool
    }

    private enum Writer {
        case closed
        case open(Tail)
        /// The last write failed, or the segment is full. The next one begins with this entry.
        case ended(next: UInt64)
    }

    private let folder: String
    private let id: String
    private let key: [UInt8]
    private let limits: SealedStore.Limits
    private let traits: Traits
    private let calls: SealedStore.Calls
    private var writer = Writer.closed
    /// Why records that were appended since the last ``flush(_:)`` are not on disk.
    private var loss: SealedStore.Fault?

    init(
        in folder: String, id: String, key: [UInt8], limits: SealedStore.Limits, traits: Traits,
        calls: SealedStore.Calls
    ) {
        (self.folder, self.id, self.key, self.limits) = (folder, id, key, limits)
        (self.traits, self.calls) = (traits, calls)
    }

    // MARK: Writing

    /// Appends a record, as ``append(_:areNotes:_:)``.
    mutating func append(_ bytes: [UInt8], isNote: Bool, _ faults: inout [SealedStore.Fault]) -> UInt64? {
        append([bytes], areNotes: isNote, &faults)
    }

    /// Appends records by one write. After a failure, the log has no part of them.
    ///
    /// - Returns: The number of the last entry; nil after a failure.
    @discardableResult
    mutating func append(
        _ records: [[UInt8]], areNotes: Bool = false, _ faults: inout [SealedStore.Fault]
    ) -> UInt64? {
        guard var tail = tail(&faults) else { return nil }
        var sealed: [UInt8] = []
        for record in records { sealed += tail.sealer.seal(record, isNote: areNotes) }
        guard let reason = append(sealed, to: tail.descriptor) else {
            tail.size += sealed.count
            if !areNotes { tail.entries += records.count }
            writer = .open(tail)
            return tail.next &- 1
        }
        // The place of the record is not used again: a copy could have a part of its ciphertext.
        ftruncate(tail.descriptor, off_t(tail.size))
        finish(tail)
        faults.append(.unwritable(path: path(tail.first), reason: reason))
        return nil
    }

    /// Waits until the records are on disk.
    ///
    /// - Returns: The fault after which some of the records since the last flush are not on disk.
    mutating func flush() -> SealedStore.Fault? {
        if case .open(var tail) = writer, tail.flushed.size < tail.size {
            if let fault = flush(tail) {
                finish(tail, fault)
            } else {
                tail.flushed = (tail.entries, tail.size)
                writer = .open(tail)
            }
        }
        defer { loss = nil }
        return loss
    }

    private func flush(_ tail: Tail) -> SealedStore.Fault? {
        while calls.flush(tail.descriptor) != 0 {
            if errno != EINTR { return .unwritable(path: path(tail.first), reason: StateFile.text(errno)) }
        }
        return nil
    }

    /// Closes the file of a segment. The next record begins another one.
    ///
    /// - Parameter fault: The failure of a flush. After it, nobody knows which later parts of the file are on disk.
    private mutating func finish(_ tail: Tail, _ fault: SealedStore.Fault? = nil) {
        let fault = fault ?? (traits.isDurable && tail.flushed.size < tail.size ? flush(tail) : nil)
        if let fault {
            loss = fault
            ftruncate(tail.descriptor, off_t(tail.flushed.size))
        }
        Glibc.close(tail.descriptor)
        writer = .ended(next: fault == nil ? tail.next : tail.first &+ UInt64(tail.flushed.entries))
    }

    private func append(_ bytes: [UInt8], to descriptor: Int32) -> String? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { calls.write(descriptor, $0) }
            if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { return StateFile.text(errno) }
        }
        return nil
    }

    /// Returns the segment with room for a record, or nil after a failure.
    private mutating func tail(_ faults: inout [SealedStore.Fault]) -> Tail? {
        switch writer {
        case .open(let tail) where hasRoom(entries: tail.entries, size: tail.size): return tail
        case .open(let tail): finish(tail)
        case .ended, .closed: break
        }
        if case .ended(let next) = writer { return begin(at: next, [], &faults) }
        guard let last = segments.last else { return begin(at: 1, [], &faults) }
        let (contents, size) = read(last, &faults)
        let next = last &+ UInt64(contents.entries)
        // Another key may still open a damaged segment, so nothing replaces it.
        guard contents.isSound else { return begin(at: last &+ UInt64(limits.segmentEntries), [], &faults) }
        guard hasRoom(entries: contents.entries, size: size) else { return begin(at: next, [], &faults) }
        return begin(at: last, contents.records, &faults)
            ?? {
                writer = .ended(next: next)
                return nil
            }()
    }

    private func hasRoom(entries: Int, size: Int) -> Bool {
        entries < limits.segmentEntries && size < limits.segmentBytes
    }

    /// Begins a segment with these records, and drops the oldest segments beyond the limits.
    private mutating func begin(
        at first: UInt64, _ records: [SealedSegment.Record], _ faults: inout [SealedStore.Fault]
    ) -> Tail? {
        writer = .ended(next: first)
        var sealer = SealedSegment.Sealer(key: key, first: first, words: traits.words)
        let bytes = records.reduce(into: sealer.header) { $0 += sealer.seal($1.bytes, isNote: $1.isNote) }
        var reason = StateFile(directory: folder, name: name(first), newName: "\(id).new").write(bytes)
        var descriptor: Int32 = -1
        if reason == nil {
            descriptor = open(path(first), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC)
            if descriptor < 0 { reason = StateFile.text(errno) }
        }
        if let reason {
            faults.append(.unwritable(path: path(first), reason: reason))
            return nil
        }
        let entries = records.count { !$0.isNote }
        let tail = Tail(
            descriptor: descriptor, first: first, entries: entries, size: bytes.count, flushed: (entries, bytes.count),
            sealer: sealer)
        writer = .open(tail)
        trim(next: tail.next)
        return tail
    }

    /// Removes the oldest segments while the others hold enough.
    private func trim(next: UInt64) {
        var rest = segments[...]
        var size = rest.reduce(0) { $0 + self.size($1) }
        while rest.count > 1, let oldest = rest.first,
            size > limits.bytes || next &- rest[rest.startIndex + 1] >= UInt64(limits.entries)
        {
            size -= self.size(oldest)
            unlink(path(oldest))
            rest = rest.dropFirst()
        }
    }

    /// Begins the first segment of a new log, without records.
    mutating func begin(_ faults: inout [SealedStore.Fault]) { _ = begin(at: 1, [], &faults) }

    /// Closes the file. A later record opens the log again.
    mutating func close() {
        if case .open(let tail) = writer { Glibc.close(tail.descriptor) }
        writer = .closed
    }

    // MARK: Reading

    /// Passes the records to `body`, the latest first. The reading ends when `body` returns false.
    ///
    /// - Parameter before: The number of the entry at which the reading may begin. Records behind it may come too, because
    ///   they can be notes about earlier ones.
    func read(
        before: UInt64, _ faults: inout [SealedStore.Fault], _ body: (SealedStore.Record) -> Bool
    ) {
        let segments = segments
        // A durable log drops no segment, and its key is on disk only after its first one.
        if traits.isDurable, segments.first != 1 { faults.append(.missing(path: path(1))) }
        guard let place = segments.lastIndex(where: { $0 < before }) else { return }
        var later: UInt64?
        for first in segments[...min(place + 1, segments.count - 1)].reversed() {
            let contents = read(first, &faults).contents
            let next = first &+ UInt64(contents.entries)
            let isWhole = contents.isSound && (traits.isDurable || !contents.isTorn)
            if let later, next < later, isWhole { faults.append(.missing(path: path(next))) }
            later = first
            for record in contents.records.reversed() {
                let number = first &+ UInt64(record.place) &- (record.isNote ? 1 : 0)
                guard body(SealedStore.Record(number: number, isNote: record.isNote, bytes: record.bytes)) else {
                    return
                }
            }
        }
    }

    private func read(
        _ first: UInt64, _ faults: inout [SealedStore.Fault]
    ) -> (contents: SealedSegment.Contents, size: Int) {
        let file = StateFile(directory: folder, name: name(first), newName: "")
        guard let bytes = try? file.read() else {
            faults.append(.damaged(path: path(first)))
            return (SealedSegment.Contents(isSound: false), 0)
        }
        let contents = SealedSegment.contents(of: bytes, key: key, first: first, words: traits.words)
        if !contents.isSound || contents.isTorn && !traits.isDurable { faults.append(.damaged(path: path(first))) }
        return (contents, bytes.count)
    }

    // MARK: Files

    /// The numbers of the first entries of all segments, in order.
    private var segments: [UInt64] {
        SealedLog.names(in: folder).compactMap { name in
            guard name.hasPrefix("\(id)-") else { return nil }
            let first = UInt64(name.dropFirst(id.count + 1), radix: 16)
            return first.flatMap { self.name($0) == name && $0 < SealedStore.highestNumber ? $0 : nil }
        }.sorted()
    }

    /// Closes the log and removes its files.
    mutating func remove() {
        close()
        for first in segments { unlink(path(first)) }
        unlink("\(folder)/\(id).new")
    }

    private func name(_ first: UInt64) -> String {
        let digits = String(first, radix: 16)
        return "\(id)-" + String(repeating: "0", count: max(14 - digits.count, 0)) + digits
    }

    private func path(_ first: UInt64) -> String { "\(folder)/\(name(first))" }

    private func size(_ first: UInt64) -> Int {
        var status = stat()
        return lstat(path(first), &status) == 0 ? Int(status.st_size) : 0
    }

    /// Returns the names of the files in a folder.
    static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
