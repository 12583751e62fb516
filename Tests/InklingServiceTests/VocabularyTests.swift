import Foundation
import InklingService
import Testing

/// The files in `Protocol` that are made of the definitions of requests, answers and events.
@Suite("The vocabulary of the JSON interface")
struct VocabularyTests {
    private static let folder = URL(filePath: #filePath).appending(path: "../../../Protocol").standardized
    /// Whether the files are written, by `Scripts/protocol lines`, and not compared.
    private static let isWriting = ProcessInfo.processInfo.environment["INKLING_WRITE_PROTOCOL"] != nil

    private static func check(_ name: String, _ text: (String) throws -> String) throws {
        let file = folder.appending(path: name)
        let present = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        let made = try text(present)
        if isWriting { return try made.write(to: file, atomically: true, encoding: .utf8) }
        #expect(present == made, "Protocol/\(name) is not up to date: run Scripts/protocol lines")
    }

    @Test("the schema is that of the definitions")
    func schema() throws {
        try Self.check("driver.schema.json") { _ in Vocabulary.schema }
    }

    @Test("the tables of the API are those of the definitions")
    func tables() throws {
        try Self.check("api.md") { text in
            try Vocabulary.tables.reduce(text) { text, table in
                let mark = "<!-- \(table.key): made by Scripts/protocol lines -->\n"
                let start = try #require(text.range(of: mark)).upperBound
                let end = try #require(text.range(of: "<!-- end -->", range: start..<text.endIndex)).lowerBound
                return text.replacingCharacters(in: start..<end, with: table.value + "\n")
            }
        }
    }
}
