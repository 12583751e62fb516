import Glibc
import Inkling
import InklingModel
import InklingWire
import Synchronization
import Testing

/// The texts of a daemon on disk.
@Suite("Texts on disk", .timeLimit(.minutes(2)))
struct TextLogsTests {
    //
    @Test("waiting and unread texts come back in later runs, in order")
    func runs() async throws {
        let stage = try await TextStage()
        let records = [
            try SomeText.waiting(1), try SomeText.received(2), try SomeText.waiting(3), try SomeText.received(4),
        ]
        let other = TextLogID(try Chat("open"))
        #expect(try await stage.append(records) == nil)
        #expect(try await stage.append([SomeText.waiting(5)], to: other) == nil)
        for _ in 0..<3 {
            #expect(try await stage.state().isSame(as: SomeText.state(records)))
            #expect(try await stage.state(other).entries == [5])
            #expect(try await stage.ids() == [stage.log, other])
            try await stage.restart()
        }
        #expect(try await stage.append([SomeText.finished(1), SomeText.read(2)]) == nil)
        try await stage.restart()
        #expect(try await stage.state().entries == [3])
        #expect(try await stage.state().unreadNumbers == [4])
        #expect(stage.takeFaults().isEmpty)
    }

    //
    @Test("only the user can read the files, and no text is in them")
    func rights() async throws {
        let stage = try await TextStage()
        try await stage.append([SomeText.waiting(1, size: 100)])
        let segment = try #require(stage.segments.first)
        #expect(stage.folder.mode("texts.key") == 0o600 && stage.folder.mode("texts") == 0o700)
        #expect(stage.folder.mode(String(segment.dropFirst(stage.folder.path.count + 1))) == 0o600)
        #expect(!stage.bytes(segment).contains("xxxx".utf8) && !segment.contains(stage.log.digits))
    }

    //
    @Test("no append completes before its flush, and all that come during a write share the next one")
    func groupCommit() async throws {
        let stage = try await TextStage()
        #expect(try await stage.append([SomeText.waiting(1)]) == nil)
        let before = stage.disk.flushes.withLock(\.self)
        let done = Mutex<[UInt64]>([])
        let records = try (2...1_002).map { try SomeText.waiting($0) }
        func append(_ records: some Sequence<TextRecord> & Sendable) async throws {
            _ = try await stage.promised { (logs, done: @escaping (Bool) -> Void) in
                for record in records { logs.append([record], to: stage.log) { reason in note(record, reason) } }
                done(true)
            }
        }
        @Sendable func note(_ record: TextRecord, _ reason: String?) {
            if reason == nil, case .waiting(let text) = record { done.withLock { $0.append(text.entry) } }
        }
        stage.disk.holdsFlushes.withLock { $0 = true }
        try await append(records.prefix(1))
        try await append(records.dropFirst())
        try await Task.sleep(for: .milliseconds(100))
        #expect(done.withLock(\.self).isEmpty)
        #expect(try await stage.state().entries == [1])
        stage.disk.holdsFlushes.withLock { $0 = false }
        try await stage.idle()
        #expect(done.withLock(\.self) == Array(2...1_002))
        #expect(stage.disk.flushes.withLock(\.self) - before == 2)
        #expect(stage.found().entries == Array(1...1_002))
    }

    //
    @Test("a log does not grow beyond twice its texts, and keeps the highest entry and the seen IDs")
    func compaction() async throws {
        let stage = try await TextStage()
        try await stage.append([SomeText.waiting(1), SomeText.received(1)])
        for start in stride(from: 2, to: 602, by: 20) {
            let numbers = start..<start + 20
            try await stage.append(
                numbers.flatMap { [try SomeText.waiting($0, size: 1_000), try SomeText.received($0, size: 1_000)] })
            try await stage.append(numbers.flatMap { [try SomeText.finished($0), try SomeText.read($0)] })
        }
        try await stage.idle()
        #expect(stage.size < 300 << 10, "1.2 MB were written")
        let state = stage.found()
        #expect(state.entries == [1] && state.unreadNumbers == [1] && state.highestEntry == 601)
        #expect(state.seen[try SomeText.key()]?.contains(SomeText.id(600)) == true)
        #expect(try await stage.state().isSame(as: state))
        // Texts that wait are no reason for a compaction.
        let large = try (701...999).map { try SomeText.waiting($0, size: 1_000) }
        try await stage.append(large)
        try await stage.idle()
        #expect(stage.found().entries == [1] + Array(701...999))
        #expect(stage.takeFaults().isEmpty)
    }

    //
    @Test("after `rekey` nothing waits, the rest stays, and no old copy opens")
    func rekey() async throws {
        let stage = try await TextStage()
        let other = TextLogID(try Chat("open"))
        for log in [stage.log, other] {
            try await stage.append([SomeText.waiting(1), SomeText.received(2), SomeText.waiting(3)], to: log)
        }
        let copies = stage.segments.map { ($0, stage.bytes($0)) }
        let keys = stage.bytes(stage.keyFile)
        #expect(try await stage.rekey([stage.log, other]) == nil)
        for log in [stage.log, other] {
            let state = stage.found(log)
            #expect(state.entries.isEmpty && state.unreadNumbers == [2] && state.highestEntry == 3)
            #expect(state.seen[try SomeText.key()]?.contains(SomeText.id(2)) == true)
        }
        #expect(Set(stage.segments).isDisjoint(with: copies.map(\.0)))
        // The old bytes are of no use to the new keys, even under the new names.
        let names = stage.segments
        for (path, copy) in copies { stage.put(copy, at: path) }
        for name in names { for (_, copy) in copies { stage.put(copy, at: name) } }
        #expect(stage.found().entries.isEmpty && stage.found().unread.isEmpty)
        #expect(stage.bytes(stage.keyFile).count == keys.count && stage.bytes(stage.keyFile) != keys)
        try await stage.restart()
        #expect(Set(stage.segments) == Set(names), "the start removes files without a key")
    }

    //
    @Test("the end of a log removes its files and its key")
    func end() async throws {
        let stage = try await TextStage()
        try await stage.append([SomeText.waiting(1)])
        let copy = stage.bytes(stage.segments[0])
        #expect(try await stage.end() == nil)
        #expect(stage.segments.isEmpty && stage.bytes(stage.keyFile).count < 40)
        #expect(try await stage.ids().isEmpty)
        #expect(try await stage.state().entries.isEmpty)
        #expect(try await stage.append([SomeText.waiting(2)]) == nil)
        stage.put(copy, at: stage.segments[0])
        #expect(stage.found().entries.isEmpty)
        #expect(try await stage.end() == nil)
        #expect(try await stage.end() == nil, "there is none any more")
    }

    @Test("a kill before or after the write of the keys leaves the old logs or the new ones")
    func switching() async throws {
        let stage = try await TextStage()
        try await stage.append([SomeText.waiting(1), SomeText.received(2)])
        let old = (path: stage.segments[0], bytes: stage.bytes(stage.segments[0]), keys: stage.bytes(stage.keyFile))
        #expect(try await stage.rekey([stage.log]) == nil)
        let new = (path: stage.segments[0], bytes: stage.bytes(stage.segments[0]), keys: stage.bytes(stage.keyFile))
        stage.put(old.bytes, at: old.path)
        stage.put(old.keys, at: stage.keyFile)
        try await stage.restart()
        #expect(try await stage.state().entries == [1])
        #expect(stage.segments == [old.path])
        stage.put(new.bytes, at: new.path)
        stage.put(new.keys, at: stage.keyFile)
        try await stage.restart()
        #expect(try await stage.state().entries.isEmpty)
        #expect(try await stage.state().unreadNumbers == [2])
        #expect(stage.segments == [new.path] && stage.takeFaults().isEmpty)
    }

    @Test("the log of a chat depends on its name and secret, and is not that of its history")
    func logID() throws {
        let chat = try Chat("a", secret: Secret("abcdefghijklmnopqrstuvwxya"))
        #expect(TextLogID(chat).digits != chat.logID)
        #expect(try TextLogID(chat) != TextLogID(Chat("a")))
        #expect(TextLogID(digits: TextLogID(chat).digits) == TextLogID(chat))
        #expect(TextLogID(digits: "../x") == nil)
    }
}
