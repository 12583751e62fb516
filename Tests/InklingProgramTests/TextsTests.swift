import Foundation
import Inkling
import InklingCLI
import Testing

@Suite("Texts that commands are given, and give")
struct TextsTests {
    @Test(
        "a word for a shell stands in quotes where it has to",
        arguments: [
            ("kitchen", "kitchen"), ("Küche", "Küche"), ("a/b.txt", "a/b.txt"), ("two words", "'two words'"),
            ("", "''"), ("it's", #"'it'\''s'"#), ("$(x)", "'$(x)'"), ("~", "'~'"), ("#1", "'#1'"),
            ("'\u{301};x", "''\\''\u{301};x'"), ("\u{D4E};x", "'\u{D4E};x'"), ("\u{D4E}'", "'\u{D4E}'\\'''"),
        ])
    func word(_ text: String, _ quoted: String) {
        #expect(Shell.word(text) == quoted)
    }

    @Test("a command is told of an open chat by its name, and of a secret one by its invite, which stays unsaid")
    func chatArguments() throws {
        let secret = "abcdefghijklmnopqrstuvwxya"
        #expect(Shell.arguments(naming: try Chat("kitchen")) == " kitchen")
        #expect(Shell.arguments(naming: try Chat("x; rm -r y")) == " 'x; rm -r y'")
        #expect(Shell.arguments(naming: try Chat("-x")) == " -- -x")
        #expect(Shell.arguments(naming: try Chat(invite: "inkling:x%3B%20rm#\(secret)")) == " --invite INVITE")
    }

    @Test("too many events that wait are told, but not once the session ends by itself")
    func backlog() {
        let backlog = Backlog()
        for _ in 0..<Backlog.limit where !backlog.grow() { Issue.record("within the limit") }
        #expect(!backlog.grow())
        backlog.shrink()
        backlog.shrink()
        #expect(backlog.grow() && !backlog.grow())
        backlog.liftLimit()
        #expect(backlog.grow())
    }

    @Test("the name of the last chat is kept for its owner alone, and read again")
    func lastName() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(LastName.read(in: folder.path) == nil)
        for name in ["Älice", "Bob"] {
            LastName.keep(name, in: folder.path)
            #expect(LastName.read(in: folder.path) == name)
        }
        let file = folder.appendingPathComponent("name")
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["name"])
        for text in ["", "Bob", " \n", "a\u{1B}b\n", "a\nb\n", String(repeating: "x", count: 65) + "\n"] {
            try Data(text.utf8).write(to: file)
            #expect(LastName.read(in: folder.path) == nil, "\(text)")
        }
        LastName.keep("Carol", in: folder.appendingPathComponent("missing").path)
        LastName.keep("Carol", in: nil)
    }

    @Test("a small file is read whole, from a pipe too, and not beyond its limit")
    func smallFile() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { unlink(path) }
        func reading(_ text: [UInt8]) throws -> String {
            try Data(text).write(to: URL(fileURLWithPath: path))
            return try SmallFile.text(path, maximumBytes: 4)
        }
        #expect(try reading([]) == "")
        #expect(try reading(Array("four".utf8)) == "four")
        #expect(throws: SmallFile.Failure.tooLong) { try reading(Array("fives".utf8)) }
        #expect(throws: SmallFile.Failure.noText) { try reading([0xFF]) }
        #expect(throws: SmallFile.Failure.unreadable) { try SmallFile.text("/", maximumBytes: 4) }
        #expect(throws: SmallFile.Failure.unreadable) { try SmallFile.text("/nowhere", maximumBytes: 4) }
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data("pipe".utf8))
        try pipe.fileHandleForWriting.close()
        let end = "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)"
        #expect(try SmallFile.text(end, maximumBytes: 4) == "pipe")
    }
}
