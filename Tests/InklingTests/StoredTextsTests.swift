import Glibc
import InklingModel
import InklingWire
import ProcessSupport
import SeededRandom
import Synchronization
import Testing

@testable import Inkling

/// The texts of a daemon on disk.
@Suite("Texts on disk", .timeLimit(.minutes(3)))
struct StoredTextsTests {
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
    @Test("only the user can read the files, and neither text nor person nor chat is in them")
    func rights() async throws {
        let stage = try await TextStage()
        try await stage.append([SomeText.waiting(1, size: 100), SomeText.received(2, size: 100)])
        for name in ["keys", "texts.db", "texts.db-journal"] { #expect(stage.folder.mode(name) == 0o600) }
        let bytes = stage.bytes(stage.file)
        #expect(bytes.count > 4_096)
        for hidden in [Array("xxxx".utf8), Array("Bob".utf8), Array(stage.log.digits.utf8), try SomeText.key().bytes] {
            #expect(!bytes.contains(hidden))
        }
    }

    //
    @Test("no append completes before its flush, and all that come during a write share the next one")
    func groupCommit() async throws {
        let stage = try await TextStage()
        #expect(try await stage.append([SomeText.waiting(1)]) == nil)
        func flushes() -> Int { stage.disk.state.withLock(\.flushes) }
        let before = flushes()
        #expect(try await stage.append([SomeText.finished(1)]) == nil)
        let ofOne = flushes() - before
        let done = Mutex<[UInt64]>([])
        let records = try (2...1_002).map { try SomeText.waiting($0) }
        func append(_ records: some Sequence<TextRecord> & Sendable) async throws {
            _ = try await stage.promised { (texts, done: @escaping (Bool) -> Void) in
                for record in records { texts.append([record], to: stage.log) { reason in note(record, reason) } }
                done(true)
            }
        }
        @Sendable func note(_ record: TextRecord, _ reason: String?) {
            if reason == nil, case .waiting(let text) = record { done.withLock { $0.append(text.entry) } }
        }
        stage.disk.set { $0.holdsFlushes = true }
        try await append(records.prefix(1))
        try await append(records.dropFirst())
        try await Task.sleep(for: .milliseconds(100))
        #expect(done.withLock(\.self).isEmpty)
        #expect(try await stage.state().entries.isEmpty, "the event loop waits for no disk")
        let held = flushes()
        stage.disk.set { $0.holdsFlushes = false }
        try await stage.idle()
        #expect(done.withLock(\.self) == Array(2...1_002))
        #expect(flushes() - held <= 2 * ofOne)
        #expect(stage.found().entries == Array(2...1_002))
    }

    //
    @Test("the file does not grow with texts that are gone, and keeps the highest entry and the seen IDs")
    func room() async throws {
        let stage = try await TextStage()
        try await stage.append([SomeText.waiting(1), SomeText.received(1)])
        for start in stride(from: 2, to: 602, by: 20) {
            let numbers = start..<start + 20
            try await stage.append(
                numbers.flatMap { [try SomeText.waiting($0, size: 1_000), try SomeText.received($0, size: 1_000)] })
            try await stage.append(numbers.flatMap { [try SomeText.finished($0), try SomeText.read($0)] })
        }
        #expect(stage.bytes(stage.file).count < 200 << 10, "1.2 MB were written")
        let state = stage.found()
        #expect(state.entries == [1] && state.unreadNumbers == [1] && state.highestEntry == 601)
        #expect(state.seen[try SomeText.key()]?.contains(SomeText.id(600)) == true)
        #expect(try await stage.state().isSame(as: state))
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
        let (copy, keys) = (stage.bytes(stage.file), stage.bytes(stage.keyFile))
        #expect(try await stage.rekey([stage.log, other]) == nil)
        for log in [stage.log, other] {
            let state = stage.found(log)
            #expect(state.entries.isEmpty && state.unreadNumbers == [2] && state.highestEntry == 3)
            #expect(state.seen[try SomeText.key()]?.contains(SomeText.id(2)) == true)
        }
        #expect(try await stage.append([SomeText.waiting(4), SomeText.read(2)]) == nil)
        #expect(stage.found().entries == [4] && stage.found().unread.isEmpty)
        #expect(stage.bytes(stage.keyFile).count == keys.count && stage.bytes(stage.keyFile) != keys)
        try await stage.end()
        stage.put(copy, at: stage.file)
        try await stage.restart()
        #expect(try await stage.state().isSame(as: TextState()))
        let faults = stage.takeFaults()
        guard case .damaged(let text)? = faults.first else { throw SystemError("no fault") }
        #expect(faults.count == 1 && text.hasPrefix("\(stage.file) is an older copy: "))
        #expect(stage.bytes(stage.file).count < copy.count + 1, "the start removes rows without a key")
    }

    //
    @Test("the end of a log removes its rows and its key, also on a full disk")
    func end() async throws {
        for isFull in [false, true] {
            let stage = try await TextStage()
            try await stage.append([SomeText.waiting(1, size: 9_000)])
            let (copy, keys) = (stage.bytes(stage.file), stage.bytes(stage.keyFile))
            let key = try #require(String(decoding: keys, as: UTF8.self).split(separator: " ").last)
            stage.disk.set { $0.isFull = isFull }
            #expect(try await stage.endLog() == nil)
            #expect(!stage.bytes(stage.keyFile).contains(key.utf8.prefix(60)))
            #expect(try await stage.ids().isEmpty)
            #expect(try await stage.state().entries.isEmpty)
            stage.disk.set { $0.isFull = false }
            try await stage.restart()
            #expect(stage.takeFaults().isEmpty, "full: \(isFull)")
            #expect(try await stage.rowCount() == 0)
            #expect(try await stage.append([SomeText.waiting(2)]) == nil)
            try await stage.end()
            stage.put(copy, at: stage.file)
            #expect(stage.found().entries.isEmpty)
            try await stage.restart()
            #expect(try await stage.endLog() == nil)
            #expect(try await stage.endLog() == nil, "there is none any more")
        }
    }

    @Test("the log of a chat depends on its name and secret, and is not that of its history")
    func logID() throws {
        let chat = try Chat("a", secret: Secret("abcdefghijklmnopqrstuvwxya"))
        #expect(TextLogID(chat).digits != chat.logID)
        #expect(try TextLogID(chat) != TextLogID(Chat("a")))
        #expect(TextLogID(digits: TextLogID(chat).digits) == TextLogID(chat))
        #expect(TextLogID(digits: "../x") == nil)
        let others = [
            try Chat("b", secret: Secret("abcdefghijklmnopqrstuvwxya")),
            try Chat("a", secret: Secret("bbcdefghijklmnopqrstuvwxya")), try Chat("a"),
        ]
        #expect(Set(others.map(\.logID) + [chat.logID]).count == 4 && chat.logID.utf8.count == 32)
    }

    // MARK: Failures

    @Test("a full disk fails the appends that did not fit, and is reported once")
    func full() async throws {
        let stage = try await TextStage()
        try await stage.append([SomeText.waiting(1)])
        stage.disk.set { $0.isFull = true }
        for number in 2...4 {
            let reason = try await stage.append([SomeText.waiting(number)])
            #expect(reason == "\(stage.file): No space left on device")
        }
        #expect(try await stage.state().entries == [1])
        #expect(
            stage.takeFaults() == [
                .unwritable(
                    "\(stage.file): No space left on device. Texts are not kept until a write succeeds. Make room on the "
                        + "disk, or make the folder writable.")
            ])
        stage.disk.set { $0.isFull = false }
        #expect(try await stage.append([SomeText.waiting(5)]) == nil)
        #expect(stage.takeFaults() == [.writable])
        try await stage.restart()
        #expect(try await stage.state().entries == [1, 5] && stage.takeFaults().isEmpty)
    }

    @Test("a failed flush fails all appends of the write, and later ones are whole")
    func flush() async throws {
        let stage = try await TextStage()
        let other = TextLogID(try Chat("open"))
        for log in [stage.log, other] { try await stage.append([SomeText.waiting(1)], to: log) }
        stage.disk.set { $0.flushesFail = true }
        let records = try (2...400).map { try SomeText.waiting($0, size: 1_000) }
        #expect(try await stage.append(records) != nil)
        #expect(try await stage.append([SomeText.finished(1)]) != nil)
        #expect(try await stage.append([SomeText.finished(1)], to: other) != nil)
        #expect(try await stage.state().entries == [1])
        stage.disk.set { $0.flushesFail = false }
        #expect(stage.found().entries == [1])
        for log in [stage.log, other] { #expect(try await stage.append([SomeText.waiting(500)], to: log) == nil) }
        try await stage.restart()
        for log in [stage.log, other] { #expect(try await stage.state(log).entries == [1, 500]) }
        #expect(stage.takeFaults().count == 2, "unwritable, and writable again")
    }

    //
    @Test("when the disk dies at any change, all that completed is there, and the rest is there or not")
    func death() async throws {
        var random = SeededGenerator(seed: 1)
        for round in 0..<60 {
            let stage = try await TextStage()
            var records: [TextRecord] = []
            func append(_ more: [TextRecord]) async throws -> Bool {
                let isDone = try await stage.append(more) == nil
                if isDone { records += more }
                return isDone
            }
            _ = try await append([try SomeText.waiting(1), try SomeText.received(1)])
            stage.disk.set { $0.lastChange = $0.changes + round * 2 + .random(in: 0...1, using: &random) }
            var next = 2
            var last: [TextRecord] = []
            repeat {
                last = [
                    try SomeText.waiting(next, size: next * 100), try SomeText.received(next, from: next % 3 + 1),
                    try SomeText.finished(next - 1), try SomeText.read(next - 1, of: (next - 1) % 3 + 1),
                ]
                next += 1
            } while try await append(last)
            try await stage.end(isKilled: true)
            stage.disk.set { $0.lastChange = nil }
            try await stage.restart()
            let state = try await stage.state()
            let outcomes = [SomeText.state(records), SomeText.state(records + last)]
            #expect(outcomes.contains { state.isSame(as: $0) }, "round \(round)")
            #expect(stage.takeFaults().filter { if case .damaged = $0 { true } else { false } }.isEmpty)
        }
    }

    //
    @Test("when the disk dies during `rekey` or an end, the texts are all there or all forgotten")
    func deathOfKeys() async throws {
        for ends in [false, true] {
            var outcomes: Set<[Int]> = []
            for changes in 0..<40 {
                let stage = try await TextStage()
                let other = TextLogID(try Chat("open"))
                try await stage.append([SomeText.waiting(1), SomeText.received(2)])
                try await stage.append([SomeText.waiting(1)], to: other)
                stage.disk.set { $0.lastChange = $0.changes + changes }
                let reason = try await ends ? stage.endLog() : stage.rekey([stage.log, other])
                try await stage.end(isKilled: true)
                let isDead = stage.disk.isDead
                stage.disk.set { $0.lastChange = nil }
                try await stage.restart()
                let (state, kept) = (try await stage.state(), try await stage.state(other))
                #expect(state.unreadNumbers == (ends && state.entries.isEmpty ? [] : [2]))
                #expect(kept.entries == (ends ? [1] : state.entries), "\(changes)")
                if reason == nil { #expect(state.entries.isEmpty) }
                let faults = stage.takeFaults()
                #expect(!faults.contains { if case .damaged = $0 { true } else { false } }, "\(changes): \(faults)")
                outcomes.insert(state.entries)
                if !isDead { break }
            }
            // A key can be erased on each disk.
            #expect(outcomes == (ends ? [[]] : [[], [1]]))
        }
    }
}

/// The time that texts and histories take.
@Suite("Speed of texts on disk", .serialized, .timeLimit(.minutes(3)))
struct StoredTextsSpeedTests {
    private static func best(_ count: Int = 5, _ body: () async throws -> Void) async throws -> Duration {
        var best = Duration.seconds(99)
        for _ in 0..<count {
            let begun = ContinuousClock.now
            try await body()
            best = min(best, ContinuousClock.now - begun)
        }
        return best
    }

    @Test("a start with 1,000 waiting texts, 1,000 unread ones and six full histories takes at most 30 ms longer")
    func start() async throws {
        let stage = try await TextStage()
        func open() async throws -> Duration {
            try await Self.best { #expect(stage.found().entries.count >= 0) }
        }
        let empty = try await open()
        for start in stride(from: 1, through: 901, by: 100) {
            let numbers = start..<start + 100
            try await stage.append(
                numbers.flatMap {
                    [
                        try SomeText.waiting($0, for: $0 % 5, size: 200),
                        try SomeText.received($0, from: $0, size: 200),
                    ]
                })
        }
        for number in 0..<6 {
            let log = LogName(.history, String(repeating: "\(number)", count: 32))
            _ = try await stage.perform { tables throws(Database.Failure) in
                try tables.begin(log)
                try tables.transaction { () throws(Database.Failure) in
                    for _ in 0..<10_000 { _ = try tables.append(Array(repeating: 0x2E, count: 250), to: log) }
                }
            }
        }
        let full = try await open()
        print("figure: opening empty texts \(empty), full ones of \(stage.bytes(stage.file).count >> 10) KiB \(full)")
        #expect(full - empty <= .milliseconds(30) * Self.slowness)
    }

    @Test("1,000 texts a second come to the disk, each completed after it")
    func pace() async throws {
        let stage = try await TextStage()
        let count = 4_000
        let begun = ContinuousClock.now
        // As from links with 16 texts on their way.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for first in 1...16 {
                group.addTask { () async throws in
                    for number in stride(from: first, through: count, by: 16) {
                        let reason = try await stage.append([try SomeText.received(number, size: 300)])
                        #expect(reason == nil)
                    }
                }
            }
            try await group.waitForAll()
        }
        let time = ContinuousClock.now - begun
        print("figure: \(count) texts on disk in \(time)")
        #expect(time < .seconds(4) * Self.slowness)
    }

    /// A debug build takes several times as long.
    #if DEBUG
        private static let slowness = 10
    #else
        private static let slowness = 1
    #endif
}
