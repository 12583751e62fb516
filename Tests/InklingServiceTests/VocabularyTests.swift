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
}
