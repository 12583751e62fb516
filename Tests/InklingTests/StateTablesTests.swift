import CSQLite
import Glibc
import InklingCore
import InklingModel
import InklingWire
import ProcessSupport
import SeededRandom
import Testing

@testable import Inkling

/// The state of a directory on disk, through damage, failures, copies and kills.
@Suite("State on disk", .timeLimit(.minutes(5)))
struct StateTablesTests: FileStage {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder("state") }

    private var path: String { "\(folder.path)/\(StateTables.fileName)" }
    private var copy: String { "\(folder.path)/\(StateTables.copyName)" }

    private func opened(isHeld: Bool = true) -> StateTables { StateTables(in: folder.path, isHeld: isHeld) }

    // MARK: Content

    static let secret = "aaaaaaaaaaaaaaaaaaaaaaaaaa"

    static func team() throws -> Chat { try Chat("team", secret: Secret(secret)) }

    /// People, half of them verified or blocked, and the rest of a state.
    static func contents(people count: Int = 40) throws -> StateContents {
        var contents = StateContents()
        var random = SeededGenerator(seed: 7)
        for number in 1...count {
            let key = try SomeText.key(number)
            let time = MeetingTime(wall: 1_000 + Double(number), age: Age.zero + .seconds(number))
            _ = contents.people.met(key, name: "Person \(number)", chat: "0123456789abcdef", at: time, using: &random)
            contents.people.setAddresses(["192.0.2.1:\(number)"], of: key, in: "0123456789abcdef")
            if number % 4 == 0 { contents.people.setVerified(true, key, at: time, using: &random) }
            if number % 4 == 1 { contents.people.setBlocked(true, key, at: time, using: &random) }
        }
        let (team, owner) = (try team(), try SomeText.key(9))
        let kitchen = try Chat("kitchen \"Ünï\"")
        let owned = try Chat("club", secret: Secret("ccccccccccccccccccccccccca"), owner: owner)
        contents.chats = KeptChats([team, kitchen, owned], holds: [kitchen.name: true, "team": false])
        contents.names.add("team", isOpen: false)
        contents.names.add("club", isOpen: false)
        contents.names.add(kitchen.name, isOpen: true)
        let seed = try #require(SuccessorSeed([UInt8](repeating: 3, count: Limits.secretSize)))
        let successor = Successor(seed: seed, owner: owner, removed: [try SomeText.key(4)])
        contents.moves.depart(from: owned, for: successor, choosing: [owner], until: Age.zero + .seconds(2_592_000))
        contents.age = AgeCounter(
            age: Age.zero + .seconds(77), boot: "boot", sinceBoot: 5, anchor: nil, hasGap: false)
        return contents
    }

    private func write(_ contents: StateContents, isDecision: Bool = true) throws {
        let tables = opened()
        let records = contents.records
        #expect(
            tables.run([
                StateTables.Job(isDecision: isDecision) { tables throws(Database.Failure) in
                    for (key, content) in records { try tables.put(key, content) }
                }
            ]) == [nil])
    }

    private func expectSame(_ found: StateContents, _ contents: StateContents, _ what: String = "") {
        #expect(found.people == contents.people, "\(what)")
        #expect(found.moves == contents.moves && found.chats == contents.chats, "\(what)")
        #expect(found.names == contents.names && found.age == contents.age, "\(what)")
    }

    // R23, A-19, A-33, A-45
    @Test("what is written is read again, from files that only the user can read")
    func roundTrip() throws {
        let contents = try Self.contents()
        try write(contents)
        expectSame(opened().contents, contents)
        expectSame(opened(isHeld: false).contents, contents)
        let files = [copy, path, "\(path)-journal"]
        #expect(paths(in: folder.path) == files)
        for file in files { #expect(folder.mode(String(file.dropFirst(folder.path.count + 1))) == 0o600) }
        chmod(path, 0o644)
        expectSame(opened().contents, contents, "as after a copy")
        #expect(folder.mode(StateTables.fileName) == 0o600)
    }

    @Test("each decision renews the copy; what peers cause does not")
    func copies() throws {
        try write(try Self.contents())
        let before = bytes(copy)
        try write(try Self.contents(people: 41), isDecision: false)
        #expect(bytes(copy) == before)
        try write(try Self.contents(people: 41))
        #expect(bytes(copy) != before)
    }

    @Test("a damaged person, chat or chain is no record, and no byte too many is one either")
    func format() throws {
        let contents = try Self.contents()
        for (key, content) in contents.records where key.kind == .person {
            #expect(KnownPeers.Entry(key.id, content)?.bytes == content)
            for count in 0..<content.count { #expect(KnownPeers.Entry(key.id, Array(content.prefix(count))) == nil) }
            #expect(KnownPeers.Entry(key.id, content + [0]) == nil)
            #expect(KnownPeers.Entry([1, 2], content) == nil)
        }
        for text in ["", "{}", #"{"chat":""}"#, #"{"chat":"a","secret":"b"}"#, #"{"chat":"a","hold":1}"#] {
            #expect(KeptChats.chat(Array(text.utf8)) == nil, "\(text)")
        }
    }

    // MARK: Damage

    /// The ways to spoil a file.
    static let damages = ["flip", "zero", "cut", "empty", "foreign", "header"]

    private func spoil(_ path: String, _ how: String, page: Int) {
        var content = bytes(path)
        switch how {
        case "flip":
            for place in stride(from: page * 4_096 + 50, to: (page + 1) * 4_096, by: 97) { content[place] ^= 0x55 }
        case "zero": for place in page * 4_096..<(page + 1) * 4_096 { content[place] = 0 }
        case "cut": content = Array(content.prefix(page * 4_096 + 100))
        case "empty": content = []
        case "foreign": content = Array("Not a database at all".utf8)
        default: for place in 0..<100 { content[place] ^= 0xFF }
        }
        put(content, at: path)
    }

    /// Returns the number of a page with records of people or names, and none of chats.
    private func leaf(with text: String, in content: [UInt8]) throws -> Int {
        try #require(
            (2..<content.count / 4_096).first { page in
                let bytes = content[page * 4_096..<(page + 1) * 4_096]
                let words = String(decoding: bytes, as: UTF8.self)
                // A leaf begins with 10.
                return bytes.first == 10 && words.contains(text) && !words.contains("{\"chat\"")
            })
    }

    // R50, A-33
    @Test("whatever happens to the file, the copy brings back all decisions, and the user is told", arguments: damages)
    func damage(_ how: String) throws {
        let contents = try Self.contents()
        try write(contents)
        let (whole, wholeCopy) = (bytes(path), bytes(copy))
        for page in 0..<whole.count / 4_096 {
            put(whole, at: path)
            put(wholeCopy, at: copy)
            spoil(path, how, page: page)
            guard bytes(path) != whole else { continue }
            let tables = opened()
            expectSame(tables.contents, contents, "page \(page)")
            #expect(tables.namesFault == nil && tables.refusal == nil)
            let faults = tables.takeFaults()
            let aside = "\(folder.path)/\(StateTables.damagedName)"
            let expected: [StateFault] =
                switch (how, page) {
                case ("empty", _): [.older(path: path, copy: copy)]
                // The map of pages, which only writes use.
                case ("flip", 1), ("zero", 1): []
                default: [.damaged(path: path, aside: aside, copy: copy)]
                }
            #expect(faults == expected, "\(how) page \(page)")
            #expect(tables.run([StateTables.Job { _ in }]) == [nil])
            let again = opened()
            expectSame(again.contents, contents, "page \(page), again")
            #expect(again.takeFaults().isEmpty)
        }
    }

    @Test("without a copy, all records beside the damage are saved, and names count as lost")
    func salvage() throws {
        var contents = try Self.contents(people: 400)
        for number in 1...250 { contents.names.add("a garden with a long name \(number)", isOpen: true) }
        try write(contents)
        let whole = bytes(path)
        let pages = whole.count / 4_096
        #expect(pages > 20)
        var saved: [Int] = []
        for page in 2..<pages {
            put(whole, at: path)
            spoil(path, "zero", page: page)
            unlink(copy)
            let tables = opened()
            saved.append(tables.contents.people.count)
            #expect(tables.contents.people.all.allSatisfy { contents.people[$0.key] == $0 })
            guard let fault = tables.takeFaults().first else { continue }
            #expect(fault == .damaged(path: path, aside: "\(folder.path)/\(StateTables.damagedName)", copy: nil))
            #expect(tables.namesFault?.contains(path) == true && opened().namesFault != nil, "also later")
        }
        // Damage on either side hides nothing between.
        put(whole, at: path)
        for text in ["Person", "a garden"] {
            spoil(path, "zero", page: try leaf(with: text, in: whole))
        }
        unlink(copy)
        let between = opened().contents
        #expect(between.chats == contents.chats && between.moves == contents.moves)
        #expect(between.people.count < 400)
        // A page in the middle of the tree hides those below it.
        #expect(saved.count { $0 > 350 } > pages * 2 / 3, "\(saved)")
    }

    // R40
    @Test("damage that a write finds is mended from the copy, and the write succeeds")
    func damageLater() throws {
        let contents = try Self.contents()
        try write(contents)
        let tables = opened()
        let file = open(path, O_WRONLY)
        let page = [UInt8](repeating: 0xAA, count: 4_096)
        for number in 1..<bytes(path).count / 4_096 { _ = pwrite(file, page, page.count, off_t(number * 4_096)) }
        _ = pwrite(file, page, 4, 24)
        close(file)
        let key = StateTables.Key(.openName, Array("garden".utf8))
        #expect(
            tables.run([StateTables.Job { t throws(Database.Failure) in try t.put(key, (9 as UInt64).bigEndianBytes) }])
                == [nil])
        #expect(tables.takeFaults().map(\.code) == ["state-damaged"])
        let found = opened().contents
        #expect(found.people == contents.people && found.names.contains("garden", isOpen: true))
    }

    /// Changes one byte of a text in a file.
    private func flip(_ text: String, in path: String) throws {
        var (content, text) = (bytes(path), Array(text.utf8))
        let place = try #require(content.indices.first { content[$0...].starts(with: text) })
        content[place] ^= 1
        // SQLite forgets the pages that it has read.
        content[24] ^= 1
        let file = open(path, O_WRONLY)
        _ = pwrite(file, content, content.count, 0)
        close(file)
    }

    /// Returns the files with the bytes of a text.
    private func files(with text: String) -> [String] {
        let text = Array(text.utf8)
        return paths(in: folder.path).filter { path in
            let content = bytes(path)
            return content.indices.contains { content[$0] == text[0] && content[$0...].starts(with: text) }
        }
    }

    private static func leaveTeam() -> StateTables.Job {
        StateTables.Job { t throws(Database.Failure) in try t.remove(StateTables.Key(.chat, Array("team".utf8))) }
    }

    // R50, A-45
    @Test("damage beside a decision costs neither the copy nor the decision", arguments: ["flip", "zero", "byte"])
    func damageBeside(_ how: String) throws {
        let contents = try Self.contents(people: 400)
        try write(contents)
        let tables = opened()
        if how == "byte" {
            try flip("Person 77", in: path)
        } else {
            spoil(path, how, page: try leaf(with: "Person", in: bytes(path)))
            var content = bytes(path)
            content[24] ^= 1
            put(content, at: path)
        }
        #expect(tables.run([Self.leaveTeam()]) == [nil])
        let aside = "\(folder.path)/\(StateTables.damagedName)"
        #expect(tables.takeFaults() == [.damaged(path: path, aside: aside, copy: copy)])
        for damaged in ["nothing", path, copy] {
            if damaged != "nothing" { put([], at: damaged) }
            let found = opened()
            #expect(found.contents.people == contents.people && found.namesFault == nil)
            #expect(found.contents.chats.chats.count == 2, "the user left team")
            #expect(found.run([StateTables.Job { _ in }]) == [nil])
        }
    }

    @Test("if a restoration fails, the next write tries again")
    func restoresLater() throws {
        let contents = try Self.contents()
        try write(contents)
        let disk = FaultyDisk(under: folder.path)
        let tables = opened()
        try flip("Person 7", in: path)
        disk.set { $0.isFull = true }
        spoil(path, "header", page: 0)
        for _ in 1...2 { #expect(tables.run([Self.leaveTeam()])[0]?.contains("No space left") == true) }
        disk.set { $0.isFull = false }
        #expect(tables.run([Self.leaveTeam()]) == [nil])
        let found = opened().contents
        #expect(found.people == contents.people && found.chats.chats.count == 2)
    }

    @Test(
        "a copy that a later version made, or that can't be read, is not replaced",
        arguments: ["newer", "link"], ["missing", "damaged", "whole"])
    func foreignCopy(_ what: String, _ state: String) throws {
        let contents = try Self.contents()
        try write(contents)
        if what == "newer" {
            try Database(copy, StateTables.schema).run("PRAGMA user_version=99")
        } else {
            rename(copy, "\(folder.path)/elsewhere")
            symlink("elsewhere", copy)
        }
        switch state {
        case "missing": unlink(path)
        case "damaged": try flip("Person 7", in: path)
        default: break
        }
        let before = [bytes(path), bytes(copy)]
        let tables = opened()
        if (what, state) == ("link", "whole") {
            #expect(tables.refusal == nil && tables.run([StateTables.Job { _ in }]) == [nil])
            return
        }
        #expect([bytes(path), bytes(copy)] == before)
        let reason = what == "newer" ? "it is of a later version of Inkling" : "it is a link"
        #expect(
            tables.takeFaults() == [.unusable(path: path, reason: "\(copy): \(reason)", isEmpty: state == "missing")])
        #expect((tables.namesFault == nil) == (state == "whole"))
        if state == "whole" { expectSame(tables.contents, contents) }
        if state == "damaged" { #expect(tables.contents.people.count == 39) }
    }

    // A-33
    @Test("names count as lost if neither file has all records", arguments: [true, false])
    func bothDamaged(isHeld: Bool) throws {
        let contents = try Self.contents()
        try write(contents)
        try flip("Person 7", in: path)
        let looker = opened(isHeld: false)
        expectSame(looker.contents, contents, "from the copy")
        #expect(looker.namesFault == nil && looker.refusal?.contains("damaged") == true)
        for number in [8, 9] { try flip("Person \(number)", in: copy) }
        let tables = opened(isHeld: isHeld)
        #expect(tables.namesFault != nil)
        #expect(tables.contents.people.count == 39 + 1, "each record of either file")
        #expect(tables.contents.chats == contents.chats)
        unlink(path)
        if isHeld { put([], at: copy) }
        let again = opened(isHeld: isHeld)
        #expect(again.namesFault != nil)
    }

    @Test("rows that are out of order are damage, because a search would not find all of them")
    func order() throws {
        let contents = try Self.contents()
        try write(contents)
        reverseKeys(of: "records", "kind", in: path)
        let tables = opened()
        #expect(tables.takeFaults().map(\.code) == ["state-damaged"])
        expectSame(tables.contents, contents)
        #expect(tables.run([Self.leaveTeam()]) == [nil])
        #expect(opened().contents.chats.chats.count == 2)
    }

    @Test("a page of the copy that can't be read costs only the records there")
    func damagedCopy() throws {
        let contents = try Self.contents(people: 400)
        try write(contents)
        unlink(path)
        spoil(copy, "zero", page: try leaf(with: "Person", in: bytes(copy)))
        let tables = opened()
        #expect((350..<400).contains(tables.contents.people.count))
        #expect(tables.takeFaults() == [.restored(path: path, copy: copy)] && tables.namesFault != nil)
    }

    @Test("a pipe in the place of the file is set aside")
    func pipe() throws {
        let contents = try Self.contents()
        try write(contents)
        unlink(path)
        mkfifo(path, 0o600)
        let tables = opened()
        expectSame(tables.contents, contents)
        #expect(tables.takeFaults().map(\.code) == ["state-damaged"])
    }

    // R43
    @Test("while another program locks the file, blocks and names are those of the copy, and nothing is kept")
    func busy() throws {
        let contents = try Self.contents()
        try write(contents)
        let other = try Database(path, StateTables.schema)
        try other.run("BEGIN EXCLUSIVE")
        let tables = opened()
        expectSame(tables.contents, contents)
        #expect(
            tables.takeFaults() == [.unusable(path: path, reason: "another program uses it", isEmpty: false)])
        #expect(tables.namesFault == nil && tables.refusal != nil)
    }

    @Test("the start removes files with secrets that a kill left")
    func remains() throws {
        try write(try Self.contents())
        let before = paths(in: folder.path)
        for name in ["state.db.new", "state.db.copy", "state.copy.db.new"] {
            try folder.write(Self.secret, to: name)
            try folder.write(Self.secret, to: "\(name)-journal")
        }
        _ = opened()
        #expect(paths(in: folder.path) == before)
    }

    // R44, R50
    @Test("an older copy put back in the place of the file gets what came later, blocks too")
    func older() throws {
        var contents = try Self.contents()
        try write(contents)
        let old = bytes(path)
        var random = SeededGenerator(seed: 1)
        let time = MeetingTime(wall: 9_000, age: Age.zero + .seconds(9_000))
        contents.people.setBlocked(true, try SomeText.key(2), at: time, using: &random)
        contents.chats.remove("team")
        contents.chats.put(try Chat("shed", secret: .random()))
        let (records, chats) = (contents.records, contents.chats.records)
        let tables = opened()
        #expect(
            tables.run([
                StateTables.Job { tables throws(Database.Failure) in
                    try tables.replace(.chat, by: chats)
                    for (key, content) in records { try tables.put(key, content) }
                }
            ]) == [nil])
        put(old, at: path)
        let found = opened()
        #expect(found.contents.people == contents.people)
        #expect(Set(found.contents.chats.chats.map(\.name)).isSuperset(of: ["shed", "club"]))
        #expect(found.takeFaults() == [.older(path: path, copy: copy)])
        #expect(opened().takeFaults().isEmpty)
    }

    @Test("of two states, blocked, removed keys and the end of a chat win, whichever is newer")
    func merge() throws {
        let contents = try Self.contents()
        var blocked = contents
        var random = SeededGenerator(seed: 1)
        let key = try SomeText.key(2)
        let time = MeetingTime(wall: 9_000, age: .zero)
        blocked.people.setBlocked(true, key, at: time, using: &random)
        let club = try #require(contents.moves.chains.first)
        var left = contents.moves
        let hasEnded = left.endLogs([club.log])
        #expect(hasEnded)
        let place = Moves.Place(
            fingerprint: club.place.fingerprint, owner: club.place.owner, removed: [try SomeText.key(5)], secret: nil)
        var chain = try #require(left.chains.first)
        #expect(chain.place.secret == nil)
        chain.place = place
        blocked.moves = Moves([chain])
        for (newer, older) in [(contents, blocked), (blocked, contents)] {
            let merged = StateContents(StateTables.merged(newer.records, older.records)) { _ in }
            #expect(merged.people[key]?.isBlocked == true)
            let place = try #require(merged.moves.chains.first?.place)
            #expect(place.secret == nil)
            let removed = [try SomeText.key(4), try SomeText.key(5)]
            #expect(Set(place.removed) == Set(removed))
        }
    }

    // A-45
    @Test("of two states, the newer one's leave of a chat wins, and so does its return")
    func mergeLeaves() throws {
        let (kept, log) = (try Self.contents(), try Self.team().logID)
        var left = kept
        left.chats.remove("team")
        left.ending = [log]
        for (newer, older) in [(kept, left), (left, kept)] {
            let merged = StateContents(StateTables.merged(newer.records, older.records)) { _ in }
            #expect(merged.chats == newer.chats)
        }
    }

    @Test("the copy replaces a missing file; without both, the user reads that the file is gone")
    func missing() throws {
        let contents = try Self.contents()
        try write(contents)
        unlink(path)
        let tables = opened()
        expectSame(tables.contents, contents)
        #expect(tables.takeFaults() == [.restored(path: path, copy: copy)])
    }

    @Test("a file of a later version stays as it is, and no name is known")
    func newer() throws {
        try write(try Self.contents())
        var connection: OpaquePointer?
        #expect(sqlite3_open(path, &connection) == SQLITE_OK)
        #expect(sqlite3_exec(connection, "PRAGMA user_version=99", nil, nil, nil) == SQLITE_OK)
        sqlite3_close(connection)
        let before = bytes(path)
        let tables = opened()
        #expect(tables.contents.chats.chats.isEmpty && tables.contents.people.count == 0)
        #expect(tables.namesFault?.contains("later version") == true)
        let reason = "it is of a later version of Inkling"
        #expect(tables.takeFaults() == [.unusable(path: path, reason: reason, isEmpty: true)])
        #expect(tables.run([StateTables.Job { _ in }])[0]?.contains("later version") == true)
        #expect(bytes(path) == before)
    }

    @Test("while one process holds the directory, another reads and changes nothing")
    func twoProcesses() throws {
        let contents = try Self.contents()
        try write(contents)
        let holder = opened()
        let before = paths(in: folder.path).map { ($0, bytes($0).count) }.map(\.0)
        let other = opened(isHeld: false)
        expectSame(other.contents, contents)
        #expect(other.run([StateTables.Job { _ in }])[0] != nil)
        #expect(paths(in: folder.path) == before)
        #expect(holder.run([StateTables.Job { _ in }]) == [nil])
    }

    // MARK: Failures

    @Test("on a full disk nothing changes, the reason is told, and a later write succeeds")
    func full() throws {
        let contents = try Self.contents()
        try write(contents)
        let disk = FaultyDisk(under: folder.path)
        let tables = opened()
        disk.set { $0.isFull = true }
        let key = StateTables.Key(.openName, Array("garden".utf8))
        let job = StateTables.Job { t throws(Database.Failure) in try t.put(key, (9 as UInt64).bigEndianBytes) }
        #expect(tables.run([job, job]).allSatisfy { $0?.contains("No space left") == true })
        expectSame(opened(isHeld: false).contents, contents)
        disk.set { $0.isFull = false }
        #expect(tables.run([job]) == [nil])
        #expect(opened().contents.names.contains("garden", isOpen: true))
    }

    // A-33
    @Test("without the database and its copy, names count as lost, and the user hears of it")
    func bothMissing() throws {
        #expect(opened().takeFaults().isEmpty)
        for hadDatabase in [false, true] {
            for path in paths(in: folder.path) { unlink(path) }
            // Each start makes the file of the lock.
            try folder.write("", to: "lock")
            if hadDatabase {
                #expect(opened().takeFaults().isEmpty && opened().namesFault == nil)
                for path in [path, copy] { unlink(path) }
            }
            #expect((opened(isHeld: false).namesFault != nil) == hadDatabase)
            let tables = opened()
            #expect(tables.takeFaults() == (hadDatabase ? [.missing(path: path)] : []))
            #expect((tables.namesFault != nil) == hadDatabase && (opened().namesFault != nil) == hadDatabase)
        }
    }

    @Test("a copy that can't be renewed is removed, and the user hears of it once until a copy is there again")
    func noCopy() throws {
        let contents = try Self.contents()
        try write(contents)
        let tables = opened()
        // Nothing can be written there.
        mkdir("\(copy).new", 0o700)
        let leave = Self.leaveTeam()
        #expect(tables.run([leave]) == [nil])
        let faults = tables.takeFaults()
        guard case .notCopied(copy, _)? = faults.first, faults.count == 1 else {
            Issue.record("\(faults)")
            return
        }
        #expect(access(copy, F_OK) != 0)
        #expect(tables.run([leave]) == [nil] && tables.takeFaults().isEmpty)
        rmdir("\(copy).new")
        #expect(tables.run([leave]) == [nil] && access(copy, F_OK) == 0)
        mkdir("\(copy).new", 0o700)
        #expect(tables.run([leave]) == [nil] && tables.takeFaults().count == 1)
    }

    @Test(
        "a disk that dies at any change leaves all of a transaction or nothing, and of a secret nothing if all",
        arguments: [false, true])
    func dyingDisk(losesFile: Bool) throws {
        // A journal of a lost file must not be played back into the new one.
        let contents = try Self.contents(people: losesFile ? 300 : 12)
        try write(contents)
        let disk = FaultyDisk(under: folder.path)
        let whole = paths(in: folder.path).map { ($0, bytes($0)) }
        let keys = (0..<30).map { StateTables.Key(.openName, Array("garden \($0)".utf8)) }
        let job = StateTables.Job { t throws(Database.Failure) in
            for key in keys { try t.put(key, (9 as UInt64).bigEndianBytes) }
            try t.remove(StateTables.Key(.chat, Array("team".utf8)))
        }
        var (deaths, cut) = (0, 0)
        for last in 0... {
            for path in paths(in: folder.path) { unlink(path) }
            for (path, content) in whole { put(content, at: path) }
            let tables = opened()
            disk.set { ($0.changes, $0.lastChange) = (0, last) }
            let result = tables.run([job])[0]
            let isDead = disk.isDead
            disk.set { $0.lastChange = nil }
            // Somebody who only looks can't undo what the dead disk left.
            let looker = opened(isHeld: false)
            #expect(looker.contents.people == contents.people && looker.namesFault == nil, "\(last)")
            if looker.refusal?.contains("cut short") == true { cut += 1 }
            if result == nil { #expect(files(with: Self.secret).isEmpty, "\(last)") }
            if losesFile, access(copy, F_OK) == 0 { unlink(path) }
            let isLost = access(path, F_OK) != 0
            let found = opened()
            let names = found.contents.names.openNames.count { $0.hasPrefix("garden") }
            #expect(names == 0 || names == keys.count, "\(last)")
            if result == nil { #expect(names == keys.count, "\(last)") }
            #expect(found.contents.people == contents.people, "\(last)")
            #expect(found.takeFaults() == (isLost ? [.restored(path: path, copy: copy)] : []), "\(last)")
            #expect(opened().takeFaults().isEmpty, "\(last)")
            guard isDead else { break }
            deaths += 1
        }
        #expect(deaths > 8 && cut > 3)
    }

    // A-45, R40
    @Test("no file has the bytes of what was forgotten: a left chat's secret, a person, a name")
    func forgotten() throws {
        try write(try Self.contents())
        let tables = opened()
        let key = StateTables.Key(.openName, Array("a name to forget".utf8))
        #expect(tables.run([StateTables.Job { t throws(Database.Failure) in try t.put(key, [1]) }]) == [nil])
        for text in [Self.secret, "Person 7", "a name to forget"] { #expect(files(with: text).count == 2, "\(text)") }
        let person = try SomeText.key(7)
        #expect(
            tables.run([
                StateTables.Job { tables throws(Database.Failure) in
                    try tables.remove(StateTables.Key(.chat, Array("team".utf8)))
                    try tables.put(person, nil)
                    try tables.remove(key)
                }
            ]) == [nil])
        for text in [Self.secret, "Person 7", "a name to forget"] { #expect(files(with: text).isEmpty, "\(text)") }
    }
}
