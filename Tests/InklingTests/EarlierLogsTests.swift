import Glibc
import InklingModel
import InklingWire
import ProcessSupport
import Testing

@testable import Inkling

/// The logs of texts and histories that earlier builds of 0.3.0 left in a state directory.
private struct EarlierStage: FileStage {
    let folder: TemporaryFolder
    static let key = (0..<32).map { UInt8($0) + 1 }
    static let history = String(repeating: "0123456789abcdef", count: 2)

    /// Writes a text's log in two segments, and a history with a note.
    init(texts log: TextLogID) throws {
        folder = try TemporaryFolder()
        let keys = Array("inkling message keys 1\n".utf8)
        func line(_ id: String) -> [UInt8] { Array("\(id) \(hexadecimal(Self.key))\n".utf8) }
        put(keys + line(log.digits), at: "\(folder.path)/texts.key")
        put(keys + line(Self.history), at: "\(folder.path)/messages.key")
        for name in ["texts", "messages"] { mkdir("\(folder.path)/\(name)", 0o700) }
        let name = hexadecimal(deriveKey(Self.key, salt: [], info: Array("inkling log name".utf8)).prefix(16))
        let records = try EarlierStage.records().map(\.bytes)
        for (first, part) in [(1, records[..<3]), (4, records[3...])] {
            put(Self.segment(part.map { ($0, false) }, first: first, isChecked: true), at: path("texts/\(name)", first))
        }
        let messages = (1...5).map { (Array("message \($0)".utf8), false) } + [(Array("about 5".utf8), true)]
        put(Self.segment(messages, first: 8, isChecked: false), at: path("messages/\(Self.history)", 8))
    }

    static func records() throws -> [TextRecord] {
        [
            try SomeText.waiting(1), try SomeText.received(2), try SomeText.waiting(3), try SomeText.finished(1),
            try SomeText.received(4), try SomeText.read(2), .left(try SomeText.key(9), true),
        ]
    }

    func path(_ name: String, _ first: Int) -> String {
        "\(folder.path)/\(name)-" + String(repeating: "0", count: 13) + "\(first)"
    }

    private static func segment(_ records: [([UInt8], Bool)], first: Int, isChecked: Bool) -> [UInt8] {
        let salt = [UInt8](repeating: 9, count: 32)
        func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
            withUnsafeBytes(of: value.bigEndian) { Array($0) }
        }
        let info = Array("inkling segment".utf8) + bigEndian(UInt64(first))
        let cipher = CipherKey(bytes: deriveKey(key, salt: salt, info: info))
        var bytes = Array((isChecked ? "inkseg2\n" : "inkseg1\n").utf8) + salt
        for (counter, (record, isNote)) in records.enumerated() {
            let size = UInt32(record.count + 16)
            let check = isChecked ? ((size ^ size >> 10) & 0x3ff ^ 0x6a5) << 20 : 0
            let word = bigEndian(size | check | (isNote ? 1 << 31 : 0))
            bytes += word + cipher.seal(record, counter: UInt64(counter), associatedData: word)
        }
        return bytes
    }
}

@Suite("Logs of earlier builds", .timeLimit(.minutes(2)))
struct EarlierLogsTests {
    private static func log() throws -> TextLogID {
        TextLogID(try Chat("team", secret: Secret("abcdefghijklmnopqrstuvwxya")))
    }

    private static func messages(_ stage: TextStage) async throws -> [String] {
        let messages = try await stage.perform { tables throws(Database.Failure) in
            var messages: [String] = []
            try tables.read(LogName(.history, EarlierStage.history), before: .max, limit: 99) { number, bytes in
                messages.append("\(number) " + String(decoding: bytes, as: UTF8.self))
                return true
            }
            return messages
        }
        return messages ?? []
    }

    @Test("texts and histories are read once, and an earlier program finds no key")
    func once() async throws {
        let earlier = try EarlierStage(texts: Self.log())
        let stage = try await TextStage(in: earlier.folder)
        let expected = SomeText.state(try EarlierStage.records())
        for _ in 0..<2 {
            #expect(try await stage.state().isSame(as: expected))
            #expect(try await stage.state().left.contains(SomeText.key(9)))
            #expect(try await Self.messages(stage) == (8...12).reversed().map { "\($0) message \($0 - 7)" })
            for name in ["texts", "messages"] {
                #expect(stage.folder.text("\(name).key") == "inkling message keys 2\n")
                #expect(access("\(stage.folder.path)/\(name)", F_OK) != 0)
            }
            try await stage.restart()
        }
        #expect(stage.takeFaults().isEmpty)
        #expect(try await stage.append([SomeText.finished(3)]) == nil)
        try await stage.restart()
        #expect(try await stage.state().entries.isEmpty)
    }

    @Test("when the disk dies at any change, the next start reads all, and nothing twice")
    func death() async throws {
        var changes = 0
        while true {
            let earlier = try EarlierStage(texts: Self.log())
            let disk = FaultyDisk(under: earlier.folder.path)
            disk.set { $0.lastChange = changes }
            _ = TextTables(in: earlier.folder.path, limits: .init(), merging: { $0 })
            let isDead = disk.isDead
            disk.set { $0.lastChange = nil }
            let stage = try await TextStage(in: earlier.folder)
            #expect(try await stage.state().isSame(as: SomeText.state(EarlierStage.records())), "\(changes)")
            #expect(try await Self.messages(stage).count == 5, "\(changes)")
            #expect(stage.folder.text("texts.key") == "inkling message keys 2\n")
            #expect(stage.takeFaults().isEmpty, "\(changes)")
            guard isDead else { break }
            changes += 1
        }
        #expect(changes > 10)
    }

    @Test("a damaged segment costs its records, and is kept aside; keys that can't be read stay")
    func damaged() async throws {
        let earlier = try EarlierStage(texts: Self.log())
        let segment = try #require(earlier.paths(in: "\(earlier.folder.path)/texts").first)
        var bytes = earlier.bytes(segment)
        bytes[60] ^= 1
        earlier.put(bytes, at: segment)
        let keys = earlier.bytes("\(earlier.folder.path)/texts.key")
        let stage = try await TextStage(in: earlier.folder)
        #expect(try await stage.state().entries == [3])
        #expect(
            stage.takeFaults() == [
                .damaged(
                    "\(stage.folder.path)/texts.damaged is of an earlier version and damaged, so some messages that "
                        + "waited or were unread are lost. Remove it if you don't need it.")
            ])
        #expect(earlier.paths(in: "\(stage.folder.path)/texts.damaged").count == 3)
        #expect(earlier.bytes("\(stage.folder.path)/texts.damaged/texts.key") == keys)
        try await stage.restart()
        #expect(stage.takeFaults().isEmpty)

        let spoiled = try EarlierStage(texts: Self.log())
        spoiled.put(Array(keys.dropLast()), at: "\(spoiled.folder.path)/texts.key")
        let other = try await TextStage(in: spoiled.folder)
        for _ in 0..<2 {
            guard case .damaged(let text)? = other.takeFaults().first else { throw SystemError("no fault") }
            #expect(text.hasPrefix("\(other.folder.path)/texts.key can't be used: it is damaged."))
            #expect(spoiled.paths(in: "\(other.folder.path)/texts").count == 2)
            #expect(try await other.append([SomeText.waiting(50)]) == nil)
            try await other.restart()
        }
        spoiled.put(keys, at: "\(spoiled.folder.path)/texts.key")
        try await other.restart()
        #expect(Set(try await other.state().entries) == [3, 50])
    }
}
