import Glibc
import Inkling
import InklingModel
import ProcessSupport
import Synchronization
import Testing

/// A log on disk that is small enough to try each of its bytes.
private final class StoreStage: FileStage {
    static let id = String(repeating: "0123456789abcdef", count: 2)
    static let small = SealedStore.Limits(entries: 10, bytes: 1 << 20, segmentEntries: 4, segmentBytes: 1 << 16)

    let folder: TemporaryFolder
    let limits: SealedStore.Limits
    private let disk = TextStage.Disk()
    /// The bytes that the disk still takes; nil for any number.
    var room: Int? {
        get { disk.room.withLock(\.self) }
        set { disk.room.withLock { $0 = newValue } }
    }
    private(set) var store: SealedStore

    init(_ limits: SealedStore.Limits = StoreStage.small) throws {
        folder = try TemporaryFolder()
        self.limits = limits
        store = SealedStore(in: folder.path, limits: limits)
        restart()
    }

    /// Opens the store as another run of the program does.
    func restart() {
        store = SealedStore(in: folder.path, limits: limits) { [disk] in disk.write($0, $1) }
    }

    func append(_ texts: String...) { for text in texts { store.append(Array(text.utf8), to: Self.id) } }

    /// Returns the texts of all entries, the oldest first.
    func texts() -> [String] { records().filter { !$0.isNote }.map { String(decoding: $0.bytes, as: UTF8.self) } }

    func records(before: UInt64 = .max) -> [SealedStore.Record] {
        var records: [SealedStore.Record] = []
        store.read(Self.id, before: before) {
            records.append($0)
            return true
        }
        return records.reversed()
    }

    var messages: String { folder.path + "/" + SealedStore.folder }

    /// The paths of the segments, in order.
    var segments: [String] { paths(in: messages).filter { $0.hasPrefix("\(messages)/\(Self.id)") } }

    func keys() -> [UInt8] { bytes("\(folder.path)/\(SealedStore.keyFile)") }
}

/// Sealed logs in a state directory.
@Suite("Sealed logs")
struct SealedStoreTests {
    @Test("records come back in later runs, the latest first, with numbers that grow")
    func roundTrip() throws {
        let stage = try StoreStage()
        #expect(stage.store.begin(StoreStage.id) == nil)
        stage.append("one", "two")
        stage.store.append(Array("about two".utf8), isNote: true, to: StoreStage.id)
        stage.restart()
        stage.append("three", "", "five", "six")
        let records = stage.records()
        #expect(records.map(\.number) == [1, 2, 2, 3, 4, 5, 6])
        #expect(records.map(\.isNote) == [false, false, true, false, false, false, false])
        #expect(stage.texts() == ["one", "two", "three", "", "five", "six"])
        #expect(stage.segments.count == 2, "four entries are in the first")
        #expect(stage.records(before: 2).contains { $0.isNote }, "the note about the first one could be there")
        #expect(stage.store.takeFaults().isEmpty)
    }

    //
    @Test("only the user can read the files, and no text is in them")
    func rights() throws {
        let stage = try StoreStage()
        _ = stage.store.begin(StoreStage.id)
        stage.append("a text", "a text")
        let segment = try #require(stage.segments.first)
        #expect(stage.folder.mode(SealedStore.keyFile) == 0o600 && stage.folder.mode(SealedStore.folder) == 0o700)
        #expect(stage.folder.mode(String(segment.dropFirst(stage.folder.path.count + 1))) == 0o600)
        let bytes = stage.bytes(segment)
        #expect(!bytes.contains("a text".utf8))
        // 40 bytes of header; each record has a word and a tag.
        #expect(bytes.count == 40 + 2 * (4 + 6 + 16))
        #expect(bytes[44..<66] != bytes[70..<92], "no nonce comes twice")
    }

    //
    @Test("each run seals under a new key, even if the disk went back to an older state")
    func newKey() throws {
        let stage = try StoreStage()
        _ = stage.store.begin(StoreStage.id)
        stage.append("one")
        let segment = try #require(stage.segments.first)
        let before = stage.bytes(segment)
        stage.restart()
        stage.append("two")
        let after = stage.bytes(segment)
        #expect(before[8..<40] != after[8..<40] && before[44..<63] != after[44..<63])
        #expect(stage.texts() == ["one", "two"])
        stage.put(before, at: segment)
        stage.restart()
        stage.append("TWO")
        #expect(stage.bytes(segment)[63...] != after[63...])
        #expect(stage.texts() == ["one", "TWO"])
    }

    //
    @Test("a copy of an ended log opens by no later key")
    func end() throws {
        let stage = try StoreStage()
        _ = stage.store.begin(StoreStage.id)
        stage.append("a", "b", "c", "d", "e")
        let copies = stage.segments.map { ($0, stage.bytes($0)) }
        let key = stage.keys()
        #expect(copies.count == 2 && stage.store.end(StoreStage.id) == nil)
        #expect(stage.segments.isEmpty && stage.store.logs.isEmpty)
        #expect(!stage.keys().contains(key.suffix(66)) && key.contains(StoreStage.id.utf8))
        for isNew in [false, true] {
            if isNew { #expect(stage.store.begin(StoreStage.id) == nil) }
            for (path, bytes) in copies { stage.put(bytes, at: path) }
            for _ in 0..<2 {
                #expect(stage.records().isEmpty)
                stage.restart()
            }
        }
        #expect(stage.keys().count == key.count && stage.keys() != key)
    }

    @Test("a log keeps as many entries as it should, and drops whole segments")
    func limits() throws {
        let stage = try StoreStage()
        _ = stage.store.begin(StoreStage.id)
        for number in 1...50 {
            stage.append("\(number)")
            let texts = stage.texts()
            #expect(texts == (max(1, number - texts.count + 1)...number).map(String.init))
            #expect(texts.count >= min(number, 10) && texts.count < 10 + 2 * 4)
            if number % 7 == 0 { stage.restart() }
        }
        let tight = try StoreStage(.init(entries: 1_000, bytes: 1_000, segmentEntries: 4, segmentBytes: 300))
        _ = tight.store.begin(StoreStage.id)
        for number in 1...50 { tight.append("\(number)" + String(repeating: "x", count: 100)) }
        #expect(tight.segments.reduce(0) { $0 + tight.bytes($1).count } <= 1_400)
        #expect(tight.texts().last?.hasPrefix("50") == true && tight.texts().count >= 6)
    }

    //
    @Test("a kill within a write costs the record alone, at each byte")
    func torn() throws {
        let stage = try StoreStage()
        _ = stage.store.begin(StoreStage.id)
        stage.append("one", "two")
        let segment = try #require(stage.segments.first)
        let whole = stage.bytes(segment)
        let last = whole.count - (4 + 3 + 16)
        for size in 0..<whole.count {
            stage.put(Array(whole.prefix(size)), at: segment)
            stage.restart()
            let expected = size < last ? [] : ["one"]
            #expect(stage.texts() == expected, "\(size) bytes")
            #expect(stage.store.takeFaults().count == (size == 40 || size == last ? 0 : 1))
            stage.append("three")
            #expect(stage.texts() == expected + ["three"], "\(size) bytes")
            for path in stage.segments { unlink(path) }
        }
    }

    //
    @Test("a flipped bit costs what its file holds behind it at most, and is reported once")
    func flipped() throws {
        let stage = try StoreStage()
        _ = stage.store.begin(StoreStage.id)
        stage.append("one", "two", "three", "four", "five")
        let (first, whole) = (try #require(stage.segments.first), stage.bytes(try #require(stage.segments.first)))
        for place in whole.indices {
            var bytes = whole
            bytes[place] ^= 1
            stage.put(bytes, at: first)
            stage.restart()
            let texts = stage.texts()
            #expect(texts.last == "five", "byte \(place)")
            if place >= 40 + 23 { #expect(texts.first == "one", "byte \(place)") }
            // Behind the word, the damage ends with the record.
            if (44..<63).contains(place) { #expect(texts == ["two", "three", "four", "five"]) }
            #expect(!texts.contains("six") && texts.count < 5)
            _ = stage.texts()
            #expect(stage.store.takeFaults() == [.damaged(path: first)], "byte \(place)")
            stage.append("six")
            #expect(stage.texts() == texts + ["six"] && stage.store.takeFaults().isEmpty)
            #expect(stage.bytes(first) == bytes, "another key could open it")
            for path in stage.segments.dropFirst() { unlink(path) }
            stage.restart()
            stage.put(whole, at: first)
            stage.append("five")
        }
    }

    //
    @Test("a damaged last segment stays as it is, and later entries get higher numbers")
    func damagedTail() throws {
        let stage = try StoreStage()
        _ = stage.store.begin(StoreStage.id)
        stage.append("one", "two")
        let segment = try #require(stage.segments.first)
        var bytes = stage.bytes(segment)
        bytes[50] ^= 1
        stage.put(bytes, at: segment)
        stage.restart()
        stage.append("three")
        #expect(stage.bytes(segment) == bytes && stage.records().map(\.number) == [2, 5])
        #expect(stage.store.takeFaults() == [.damaged(path: segment)])
    }

    //
    @Test("a missing segment and foreign files cost nothing else")
    func foreign() throws {
        let stage = try StoreStage()
        _ = stage.store.begin(StoreStage.id)
        for number in 1...9 { stage.append("\(number)") }
        let segments = stage.segments
        #expect(segments.count == 3)
        unlink(segments[1])
        #expect(stage.texts() == ["1", "2", "3", "4", "9"])
        #expect(stage.store.takeFaults() == [.missing(path: segments[1])])
        _ = stage.texts()
        #expect(stage.store.takeFaults().isEmpty)
        // A folder, a pipe, a link and a text where segments could be, and names that are none.
        mkdir(segments[1], 0o700)
        mkfifo("\(stage.messages)/\(StoreStage.id)-00000000000006", 0o600)
        symlink(segments[0], "\(stage.messages)/\(StoreStage.id)-00000000000007")
        stage.put(Array("text".utf8), at: "\(stage.messages)/\(StoreStage.id)-00000000000008")
        for name in ["-0000000000009", "-00000000000G9", "-ffffffffffffff", "", "-"] {
            stage.put([1], at: "\(stage.messages)/\(StoreStage.id)\(name)")
        }
        stage.restart()
        #expect(stage.texts() == ["1", "2", "3", "4", "9"])
        #expect(stage.store.takeFaults().count == 4)
        stage.append("10")
        #expect(stage.texts().last == "10")
    }

    //
    @Test("a full disk costs the records that came meanwhile, and is reported once")
    func full() throws {
        for room in 0..<24 {
            let stage = try StoreStage()
            _ = stage.store.begin(StoreStage.id)
            stage.append("one")
            stage.room = room
            stage.append("two", "2", "II")
            let failed = stage.store.takeFaults()
            guard room < 23 else {
                #expect(failed.count == 1 && stage.texts() == ["one", "two"])
                continue
            }
            #expect(stage.texts().first == "one" && failed.count == 1, "\(room)")
            guard case .unwritable(_, let reason) = failed.first else { Issue.record("\(failed)"); continue }
            #expect(reason == "No space left on device")
            stage.room = nil
            stage.append("three")
            let texts = stage.texts()
            #expect(texts.suffix(1) == ["three"] && texts.first == "one")
            stage.restart()
            #expect(stage.texts() == texts && stage.store.takeFaults().isEmpty, "\(room)")
            stage.room = 0
            stage.append("four", "five")
            #expect(stage.store.takeFaults().count == 1, "each full disk is reported")
        }
    }

    //
    @Test("a disk that is full in truth costs records alone, and a log can end on it", .enabled(if: geteuid() == 0))
    func fullDiskAsRoot() throws {
        let folder = try TemporaryFolder()
        let isMounted = mount("tmpfs", folder.path, "tmpfs", 0, "size=64k,mode=700") == 0
        try #require(isMounted)
        defer { umount2(folder.path, Int32(MNT_DETACH)) }
        let (log, other) = (StoreStage.id, String(StoreStage.id.reversed()))
        var store = SealedStore(in: folder.path)
        #expect(store.begin(log) == nil)
        let text = [UInt8](repeating: 7, count: 1_000)
        for _ in 0..<100 { store.append(text, to: log) }
        func count() -> Int {
            var count = 0
            store.read(log) {
                count += $0.bytes == text ? 1 : 0; return true
            }
            return count
        }
        let kept = count()
        #expect((30..<64).contains(kept))
        #expect(store.takeFaults().count == 1 && store.begin(other) != nil)
        store = SealedStore(in: folder.path)
        store.append(text, to: log)
        #expect(count() == kept && store.takeFaults().count == 1)
        #expect(store.end(log) == nil && store.begin(log) == nil)
        store.append(text, to: log)
        #expect(count() == 1 && store.takeFaults().isEmpty)
    }

    //
    @Test("a directory without write permission keeps what it has", .enabled(if: geteuid() == 0))
    func readOnlyAsRoot() throws {
        let stage = try StoreStage()
        _ = stage.store.begin(StoreStage.id)
        stage.append("one")
        chmod(stage.folder.path, 0o755)
        let path = stage.folder.path
        let faults = try asOtherUser(65_534) {
            let store = SealedStore(in: path)
            #expect(store.logs.isEmpty && store.begin(StoreStage.id) != nil)
            store.append([1], to: StoreStage.id)
            return store.takeFaults()
        }
        let keys = "\(path)/\(SealedStore.keyFile)"
        #expect(faults == [.keysUnusable(path: keys, reason: "Permission denied")])
        // Root may write anywhere but on a file system that is mounted for reading.
        try #require(mount(stage.folder.path, stage.folder.path, nil, UInt(MS_BIND), nil) == 0)
        defer { umount2(stage.folder.path, Int32(MNT_DETACH)) }
        let flags = UInt(MS_BIND) | UInt(MS_REMOUNT) | UInt(MS_RDONLY)
        try #require(mount(nil, stage.folder.path, nil, flags, nil) == 0)
        stage.restart()
        stage.store.removeRemains()
        #expect(stage.texts() == ["one"])
        stage.append("two", "three")
        #expect(stage.store.takeFaults().count == 1 && stage.texts() == ["one"])
        #expect(stage.store.end(StoreStage.id) == "Read-only file system")
        #expect(stage.store.begin(String(StoreStage.id.reversed())) == "Read-only file system")
    }

    //
    @Test("keys that can't be read stay as they are, and so do the logs")
    func damagedKeys() throws {
        let stage = try StoreStage()
        _ = stage.store.begin(StoreStage.id)
        stage.append("one")
        let keys = stage.keys()
        let path = "\(stage.folder.path)/\(SealedStore.keyFile)"
        for size in 0..<keys.count {
            stage.put(Array(keys.prefix(size)), at: path)
            stage.restart()
            stage.store.removeRemains()
            #expect(stage.store.logs.isEmpty || size == keys.count)
            // The end of the first line is that of a file without keys.
            guard size != 23 else {
                stage.put(keys, at: path)
                stage.restart()
                stage.append("one")
                continue
            }
            #expect(stage.store.takeFaults() == [.keysUnusable(path: path, reason: "it is damaged")], "\(size)")
            #expect(stage.store.begin(StoreStage.id) != nil)
            stage.append("x")
            #expect(stage.bytes(path).count == size && stage.segments.count == 1)
        }
        stage.put(keys, at: path)
        stage.restart()
        #expect(stage.texts() == ["one"])
        unlink(path)
        stage.restart()
        stage.store.removeRemains()
        #expect(stage.store.takeFaults() == [.keysMissing(path: path)] && stage.segments.count == 1)
        #expect(stage.store.begin(StoreStage.id) == nil && stage.texts().isEmpty)
    }

    //
    @Test("a start removes what an interrupted end left")
    func remains() throws {
        let stage = try StoreStage()
        let other = String(StoreStage.id.reversed())
        _ = stage.store.begin(StoreStage.id)
        _ = stage.store.begin(other)
        stage.append("one")
        stage.store.append([1], to: other)
        let copy = stage.bytes(try #require(stage.segments.first))
        #expect(stage.store.end(StoreStage.id) == nil)
        let path = "\(stage.messages)/\(StoreStage.id)-00000000000001"
        stage.put(copy, at: path)
        stage.put(copy, at: "\(stage.messages)/note")
        stage.restart()
        stage.store.removeRemains()
        #expect(access(path, F_OK) != 0 && access("\(stage.messages)/note", F_OK) == 0)
        var count = 0
        stage.store.read(other) { _ in
            count += 1; return true
        }
        #expect(count == 1)
    }

    @Test("the ID of a chat's log depends on its name and secret")
    func logID() throws {
        let secret = try Secret("abcdefghijklmnopqrstuvwxya")
        let other = try Secret("bbcdefghijklmnopqrstuvwxya")
        let ids = [
            try Chat("a", secret: secret), try Chat("b", secret: secret), try Chat("a", secret: other), try Chat("a"),
        ].map(\.logID)
        #expect(Set(ids).count == 4 && ids.allSatisfy { $0.utf8.count == 32 })
        #expect(try Chat("a", secret: secret).logID == ids[0])
    }
}
