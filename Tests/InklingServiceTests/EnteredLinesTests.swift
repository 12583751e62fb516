import Foundation
import InklingService
import Testing

/// The lines that prompts keep of the user's input.
@Suite("Entered lines")
struct EnteredLinesTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lines-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    private var file: String { folder.appendingPathComponent(EnteredLines.fileName).path }
    private var mode: Int? {
        (try? FileManager.default.attributesOfItem(atPath: file))?[.posixPermissions] as? Int
    }

    @Test("lines of several prompts are there after a restart, whole, in a file for the user alone")
    func kept() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        var (first, second) = (EnteredLines(in: folder.path), EnteredLines(in: folder.path))
        #expect(first.read.isEmpty)
        let lines = ["one", "two\nrows \\ and a \\n", "/who"]
        first.add(lines[0])
        second.add(lines[1])
        first.add(lines[2])
        first.add(lines[2])
        #expect(EnteredLines(in: folder.path).read == lines)
        #expect(mode == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        second.add("four")
        #expect(mode == 0o600)
    }

    @Test("the file is bounded: the latest lines stay, and no long one comes into it")
    func bounded() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        var lines = EnteredLines(in: folder.path)
        lines.add(String(repeating: "x", count: EnteredLines.longestLine + 1))
        for number in 1...5 * EnteredLines.most { lines.add("\(number)") }
        #expect(EnteredLines(in: folder.path).read.last == "\(5 * EnteredLines.most)")
        #expect(EnteredLines(in: folder.path).read.count == EnteredLines.most)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.split(separator: "\n").count < 2 * EnteredLines.most)
    }

    @Test("what is no such file is neither read nor written")
    func foreign() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let other = folder.appendingPathComponent("other")
        try "stays\n".write(to: other, atomically: true, encoding: .utf8)
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: other.path)
        var lines = EnteredLines(in: folder.path)
        lines.add("line")
        #expect(lines.read.isEmpty)
        #expect(try String(contentsOf: other, encoding: .utf8) == "stays\n")
        try FileManager.default.removeItem(atPath: file)
        try Data([0x6F, 0x6B, 0x0A, 0xFF, 0x0A]).write(to: URL(filePath: file))
        #expect(EnteredLines(in: folder.path).read == ["ok"])
    }
}
