import CSQLite
import Glibc
import InklingModel
import InklingWire
import ProcessSupport
import SeededRandom
import Testing

@testable import Inkling

/// Damaged, missing, foreign, older and newer files of texts and histories.
@Suite("Files of texts", .timeLimit(.minutes(5)))
struct TextDatabaseTests {
    private static let history = LogName(.history, String(repeating: "0123456789abcdef", count: 2))

    /// Returns a stage with texts in two logs and a history.
    private static func stage(messages: Int = 40) async throws -> TextStage {
        let stage = try await TextStage()
        for number in 1...20 {
            try await stage.append([SomeText.waiting(number, size: 300), SomeText.received(number, size: 300)])
        }
        try await stage.append([SomeText.waiting(1)], to: TextLogID(Chat("open")))
        try await add(1...messages, to: stage)
        return stage
    }

    private static func add(_ numbers: ClosedRange<Int>, to stage: TextStage) async throws {
        let history = history
        let number = try await stage.perform { tables throws(Database.Failure) in
            try tables.begin(history)
            var last: UInt64 = 0
            try tables.transaction { () throws(Database.Failure) in
                for number in numbers {
                    last = try tables.append(Array("\(number)".utf8) + Array(repeating: 0x2E, count: 200), to: history)
                }
            }
            return last
        }
        #expect(number == UInt64(numbers.upperBound))
    }

    private static func messages(_ stage: TextStage) async throws -> [Int] {
        let history = history
        let messages = try await stage.perform { tables throws(Database.Failure) in
            var numbers: [Int] = []
            try tables.read(history, before: .max, limit: 100_000) { number, bytes in
                let text = String(decoding: bytes.prefix { $0 != 0x2E }, as: UTF8.self)
                if text == "\(number)" { numbers.append(Int(number)) }
                return true
            }
            return numbers
        }
        return try #require(messages).reversed()
    }

    private static func texts(_ faults: [TextFault]) -> [String] {
        faults.map {
            switch $0 {
            case .damaged(let text), .unwritable(let text), .remote(let text): text
            case .writable: "writable"
            }
        }
    }

    //
    @Test("a flipped bit costs the rows of its page at most, and is reported once")
    func flipped() async throws {
        let stage = try await Self.stage()
        try await stage.end()
        let (whole, keys) = (stage.bytes(stage.file), stage.bytes(stage.keyFile))
        var random = SeededGenerator(seed: 3)
        var lost: [Int] = []
        for round in 0..<120 where !(30..<32).contains(round) {
            // The bytes from 60 on are the version: a later one stays as it is.
            let place = round < 60 ? round * 2 : .random(in: 0..<whole.count, using: &random)
            var bytes = whole
            bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            stage.put(bytes, at: stage.file)
            stage.put(keys, at: stage.keyFile)
            unlink("\(stage.folder.path)/texts.damaged.db")
            _ = stage.takeFaults()
            try await stage.restart()
            let state = try await stage.state()
            let messages = try await Self.messages(stage)
            #expect(Set(state.entries).isSubset(of: 1...20) && state.entries == state.entries.sorted())
            let missing = 20 - state.entries.count + 20 - state.unread.count + 40 - messages.count
            if place >= 4_096 { lost.append(missing) }
            let reports = Self.texts(stage.takeFaults())
            // Nothing tells that the list of a page's rows lacks one, or that one message of a history has another kind.
            if missing > 1, place < 100 || place % 4_096 >= 400 { #expect(!reports.isEmpty, "byte \(place)") }
            #expect(missing <= 30, "byte \(place)")
            #expect(reports.count <= 1, "\(reports)")
            #expect(try await stage.append([SomeText.waiting(999)]) == nil, "byte \(place)")
            try await stage.restart()
            #expect(try await stage.state().entries == state.entries + [999], "byte \(place)")
            #expect(try await Self.messages(stage) == messages)
            #expect(stage.takeFaults().isEmpty, "the damage was reported before: byte \(place)")
            try await stage.end()
        }
        #expect(lost.contains { $0 > 0 })
    }

    //
    @Test("a truncated file, zeros and another file cost what they lack, and the old file is kept")
    func spoiled() async throws {
        let stage = try await Self.stage(messages: 2_000)
        try await stage.end()
        let (whole, keys) = (stage.bytes(stage.file), stage.bytes(stage.keyFile))
        #expect(whole.count > 100 * 4_096)
        var saved: [Int] = []
        for (name, bytes) in [
            ("half", Array(whole.prefix(whole.count / 2))), ("one page", Array(whole.prefix(4_096))),
            ("torn", Array(whole.prefix(whole.count - 1_000))), ("nothing", []),
            ("text", Array("This was a shopping list.".utf8)),
            ("zeros", whole.enumerated().map { (40_960..<81_920).contains($0.offset) ? 0 : $0.element }),
        ] {
            stage.put(bytes, at: stage.file)
            stage.put(keys, at: stage.keyFile)
            unlink("\(stage.folder.path)/texts.damaged.db")
            try await stage.restart()
            let count = try await Self.messages(stage).count
            saved.append(count)
            #expect(try await stage.append([SomeText.waiting(999)]) == nil, "\(name)")
            let reports = Self.texts(stage.takeFaults())
            #expect(reports.count == 1, "\(name): \(reports)")
            #expect(reports.first?.hasPrefix(stage.file) == true)
            if name != "nothing" {
                #expect(reports.first?.contains("texts.damaged.db: remove it") == true, "\(name): \(reports)")
                #expect(stage.bytes("\(stage.folder.path)/texts.damaged.db").count >= bytes.count)
            }
            try await stage.restart()
            #expect(try await stage.state().entries.last == 999 && stage.takeFaults().isEmpty)
            #expect(try await Self.messages(stage).count == count)
            try await stage.end()
        }
        #expect(saved[0] > 100 && saved[5] > 1_000, "\(saved)")
    }

    //
    @Test("damage that shows during a run costs no text, because the run has them in memory")
    func damagedMeanwhile() async throws {
        let stage = try await Self.stage()
        stage.spoilPages()
        _ = try await stage.append([SomeText.waiting(21)])
        #expect(Self.texts(stage.takeFaults()).contains { $0.contains("was damaged") })
        #expect(try await stage.append([SomeText.waiting(22)]) == nil)
        try await stage.restart()
        #expect(try await stage.state().entries.suffix(2) == [21, 22])
    }

    //
    @Test("texts whose rows are out of order show in the run that finds them, and a later text replaces none")
    func disordered() async throws {
        let stage = try await TextStage()
        let logs = try (1...8).map { TextLogID(try Chat("chat \($0)")) }
        for log in logs {
            try await stage.append((1...3).map { try SomeText.waiting($0) } + [SomeText.received(4)], to: log)
        }
        try await stage.end()
        stage.reverseKeys(of: "rows", "key", in: stage.file)
        #expect(logs.count { stage.found($0).entries.isEmpty } >= 4, "a search finds few rows")
        try await stage.restart()
        #expect(Self.texts(stage.takeFaults()).map { $0.contains("was damaged") } == [true])
        for log in logs {
            let state = try await stage.state(log)
            #expect(state.entries == [1, 2, 3] && state.unreadNumbers == [4])
            try await stage.append([SomeText.waiting(5)], to: log)
        }
        try await stage.restart()
        #expect(stage.takeFaults().isEmpty)
        for log in logs {
            let state = try await stage.state(log)
            #expect(state.entries == [1, 2, 3, 5] && state.unreadNumbers == [4])
        }
    }

    //
    @Test("a missing file is reported once, and a file of a later version stays as it is")
    func missing() async throws {
        let stage = try await Self.stage()
        try await stage.end()
        unlink(stage.file)
        try await stage.restart()
        #expect(
            Self.texts(stage.takeFaults()) == [
                "\(stage.file) is missing, and all messages that waited or were unread with it. If you have a copy, put it "
                    + "back, and start Inkling again."
            ])
        #expect(try await stage.append([SomeText.waiting(7)]) == nil)
        try await stage.restart()
        #expect(try await stage.state().entries == [7] && stage.takeFaults().isEmpty)
        try await stage.end()
        var connection: OpaquePointer?
        sqlite3_open(stage.file, &connection)
        sqlite3_exec(connection, "PRAGMA user_version=2", nil, nil, nil)
        sqlite3_close(connection)
        let newer = stage.bytes(stage.file)
        try await stage.restart()
        #expect(try await stage.state().entries.isEmpty)
        #expect(try await stage.append([SomeText.waiting(8)]) == "\(stage.file): it is of a later version of Inkling")
        #expect(Self.texts(stage.takeFaults()).first?.contains("can't be used: it is of a later version") == true)
        #expect(stage.bytes(stage.file) == newer)
    }

    //
    @Test("without keys that can be read, nothing is written, and nothing is removed")
    func keys() async throws {
        let stage = try await Self.stage()
        try await stage.end()
        let (whole, keys) = (stage.bytes(stage.file), stage.bytes(stage.keyFile))
        for spoiled in [Array(keys.dropLast()), [], Array("inkling keys 2\nx\n".utf8)] {
            stage.put(spoiled, at: stage.keyFile)
            try await stage.restart()
            let reports = Self.texts(stage.takeFaults())
            #expect(reports.count == 1 && reports.first?.hasPrefix("\(stage.keyFile) can't be used: it is ") == true)
            #expect(try await stage.state().entries.isEmpty)
            #expect(try await stage.append([SomeText.waiting(2)])?.hasPrefix("\(stage.keyFile) can't be used") == true)
            #expect(try await stage.endLog() == nil)
            #expect(try await stage.rekey([stage.log]) == nil)
            #expect(stage.bytes(stage.file) == whole && stage.bytes(stage.keyFile) == spoiled)
            _ = stage.takeFaults()
        }
        // Without the file, its copy may come back, also after new texts.
        try await stage.end()
        unlink(stage.keyFile)
        for _ in 0..<2 {
            try await stage.restart()
            #expect(Self.texts(stage.takeFaults()).first?.contains("inkling forget") == true)
            #expect(try await stage.append([SomeText.waiting(50)]) == nil)
        }
        #expect(try await stage.state().entries == [50])
        try await stage.end()
        stage.put(keys, at: stage.keyFile)
        try await stage.restart()
        #expect(try await stage.state().entries == Array(1...20))
        #expect(try await Self.messages(stage) == Array(1...40))
    }

    //
    @Test("a log whose key can't be read now has not ended", arguments: ["damaged", "missing"])
    func endsLater(_ how: String) async throws {
        let stage = try await Self.stage()
        try await stage.end()
        let keys = stage.bytes(stage.keyFile)
        if how == "damaged" { stage.put([1, 2, 3], at: stage.keyFile) } else { unlink(stage.keyFile) }
        #expect(try await stage.endAtStart([Self.history.id]).isEmpty)
        stage.put(keys, at: stage.keyFile)
        #expect(try await stage.endAtStart([Self.history.id]) == [Self.history.id])
        #expect(stage.bytes(stage.keyFile).count < keys.count)
    }

    //
    @Test("an older copy of either file shows no forgotten text, and is reported")
    func copies() async throws {
        let stage = try await Self.stage()
        try await stage.end()
        let (file, keys) = (stage.bytes(stage.file), stage.bytes(stage.keyFile))
        try await stage.restart()
        #expect(try await stage.append([SomeText.finished(1), SomeText.read(1), SomeText.waiting(21)]) == nil)
        try await stage.end(Self.history)
        try await stage.end()
        let (laterFile, laterKeys) = (stage.bytes(stage.file), stage.bytes(stage.keyFile))
        stage.put(file, at: stage.file)
        try await stage.restart()
        #expect(Self.texts(stage.takeFaults()).map { $0.hasPrefix("\(stage.file) is an older copy") } == [true])
        #expect(try await stage.state().entries == Array(1...20), "what was delivered shows again")
        #expect(try await Self.messages(stage).isEmpty, "what was forgotten does not")
        try await stage.end()
        stage.put(laterFile, at: stage.file)
        stage.put(laterKeys, at: stage.keyFile)
        try await stage.restart()
        #expect(try await stage.rekey([stage.log]) == nil)
        try await stage.end()
        stage.put(keys, at: stage.keyFile)
        try await stage.restart()
        #expect(Self.texts(stage.takeFaults()).map { $0.hasPrefix("\(stage.keyFile) is an older copy") } == [true])
        #expect(try await stage.state().entries.isEmpty)
        #expect(try await stage.rowCount() > 10)
    }

    //
    @Test("a directory without write permission keeps what it has", .enabled(if: geteuid() == 0))
    func readOnlyAsRoot() async throws {
        let stage = try await Self.stage()
        try await stage.end()
        let path = stage.folder.path
        try #require(mount(path, path, nil, UInt(MS_BIND), nil) == 0)
        defer { umount2(path, Int32(MNT_DETACH)) }
        try #require(mount(nil, path, nil, UInt(MS_BIND) | UInt(MS_REMOUNT) | UInt(MS_RDONLY), nil) == 0)
        try await stage.restart()
        #expect(stage.takeFaults().isEmpty)
        #expect(try await stage.append([SomeText.waiting(99)]) == "\(stage.file): Read-only file system")
        #expect(Self.texts(stage.takeFaults()).first?.contains("Read-only file system. Texts are not kept") == true)
        #expect(try await stage.endLog() != nil)
        #expect(try await stage.state().entries == Array(1...20))
        #expect(try await Self.messages(stage) == Array(1...40))
    }

    //
    @Test("a disk that is full in truth costs later texts alone, and a log can end on it", .enabled(if: geteuid() == 0))
    func fullDiskAsRoot() async throws {
        let folder = try TemporaryFolder()
        try #require(mount("tmpfs", folder.path, "tmpfs", 0, "size=192k,mode=700") == 0)
        defer { umount2(folder.path, Int32(MNT_DETACH)) }
        let stage = try await TextStage(in: folder)
        var kept = 0
        while try await stage.append([SomeText.waiting(kept + 1, size: 1_000)]) == nil { kept += 1 }
        #expect((10..<192).contains(kept))
        #expect(Self.texts(stage.takeFaults()).first?.contains("No space left on device. Texts are not kept") == true)
        try await stage.restart()
        #expect(try await stage.state().entries == Array(1...kept))
        _ = stage.takeFaults()
        let copy = stage.bytes(stage.file)
        #expect(try await stage.endLog() == nil)
        try await stage.end()
        stage.put(copy, at: stage.file)
        #expect(stage.found().entries.isEmpty, "no copy opens")
    }

    @Test(
        "a file system over a network, or of a program, is reported once",
        arguments: [(UInt32(0x6969), "NFS"), (0xFF53_4D42, "CIFS"), (0xFE53_4D42, "CIFS"), (0x6573_5546, "FUSE")])
    func remote(_ number: UInt32, _ kind: String) async throws {
        let stage = try await TextStage(fileSystem: number)
        #expect(stage.takeFaults().isEmpty, "there is no file yet")
        #expect(try await stage.append([SomeText.waiting(1)]) == nil)
        #expect(
            stage.takeFaults() == [
                .remote(
                    "\(stage.file) is on a file system of the kind \(kind): slower than a disk of this machine, and a power "
                        + "failure can cost messages that waited or were unread.")
            ])
        try await stage.restart()
        #expect(try await stage.state().entries == [1] && stage.takeFaults().isEmpty)
    }

    //
    @Test("a history keeps its last messages within the limits, and numbers grow over restarts")
    func limits() async throws {
        var limits = TextTables.Limits()
        limits.messages = 10
        let stage = try await TextStage(limits: limits)
        for number in 1...35 {
            try await Self.add(number...number, to: stage)
            #expect(try await Self.messages(stage) == Array(max(1, number - 9)...number))
            if number % 7 == 0 { try await stage.restart() }
        }
        limits = TextTables.Limits()
        limits.bytes = 1_000
        let tight = try await TextStage(limits: limits)
        for number in 1...20 { try await Self.add(number...number, to: tight) }
        #expect(try await Self.messages(tight) == [17, 18, 19, 20])
    }

    //
    @Test("each run seals under a new salt, even if the disk went back to an older state")
    func salts() async throws {
        let stage = try await TextStage()
        try await Self.add(1...1, to: stage)
        try await stage.end()
        let (file, keys) = (stage.bytes(stage.file), stage.bytes(stage.keyFile))
        var sealed: Set<[UInt8]> = []
        for _ in 0..<3 {
            stage.put(file, at: stage.file)
            stage.put(keys, at: stage.keyFile)
            try await stage.restart()
            try await Self.add(2...2, to: stage)
            let bytes = try await stage.perform { tables throws(Database.Failure) in
                var bytes: [UInt8] = []
                try tables.database.rows("SELECT sealed FROM rows WHERE entry = 2") { row in
                    bytes = row.bytes(0)
                    return false
                }
                return bytes
            }
            sealed.insert(Array(try #require(bytes).prefix(24)))
            try await stage.end()
        }
        #expect(sealed.count == 3)
    }

    //
    @Test("a program that reads the file for long delays texts, and loses none")
    func backup() async throws {
        let stage = try await TextStage()
        try await stage.append([SomeText.waiting(1)])
        var reader: OpaquePointer?
        sqlite3_open(stage.file, &reader)
        #expect(sqlite3_exec(reader, "BEGIN; SELECT * FROM rows", nil, nil, nil) == SQLITE_OK)
        #expect(try await stage.append([SomeText.waiting(2)]) == "\(stage.file): another program uses it")
        #expect(Self.texts(stage.takeFaults()).first?.contains("another program uses it. Texts are not kept") == true)
        #expect(sqlite3_exec(reader, "COMMIT", nil, nil, nil) == SQLITE_OK)
        sqlite3_close(reader)
        #expect(try await stage.append([SomeText.waiting(2)]) == nil)
        #expect(stage.found().entries == [1, 2])
    }
}

/// The files as the user counts and removes them.
@Suite("Messages on disk", .timeLimit(.minutes(1)))
struct StoredMessagesTests {
    @Test("the files tell how many messages they hold, and `remove` erases the keys and leaves nothing")
    func remove() async throws {
        let stage = try await TextStage()
        #expect(try StoredMessages(in: stage.folder.path).bytes == 0)
        try await stage.append([SomeText.waiting(1), SomeText.waiting(2), SomeText.received(3)])
        let messages = try StoredMessages(in: stage.folder.path)
        #expect((messages.kept, messages.waiting, messages.unread) == (0, 2, 1) && messages.bytes > 8_192)
        try await stage.end()
        // A second name of the file of keys stands for its blocks on the disk.
        #expect(link(stage.keyFile, "\(stage.folder.path)/blocks") == 0)
        let lock = open("\(stage.folder.path)/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        flock(lock, LOCK_EX)
        #expect(throws: NodeError.stateDirectoryInUse(stage.folder.path)) {
            try StoredMessages.remove(in: stage.folder.path)
        }
        close(lock)
        try StoredMessages.remove(in: stage.folder.path)
        for path in stage.paths(in: stage.folder.path) { #expect(path.hasSuffix("lock") || path.hasSuffix("blocks")) }
        let blocks = stage.bytes("\(stage.folder.path)/blocks")
        #expect(try StoreKeys(text: blocks).keys.isEmpty && blocks.count > 60)
        try await stage.restart()
        #expect(try await stage.state().entries.isEmpty && stage.takeFaults().isEmpty)
    }
}
