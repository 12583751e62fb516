import Foundation
import InklingModel
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

    /// The lines of the interface in the texts, each with the request that the line answers.
    private static func examples() throws -> [(line: String, request: ServiceRequest?)] {
        var examples: [(String, ServiceRequest?)] = []
        for name in ["api.md", "README.md", "../Documentation/daemon.md", "../Documentation/embedding.md"] {
            var asked: [Int: ServiceRequest] = [1: .join(try Chat("kitchen")), 2: .send("", chat: "kitchen")]
            for row in try String(contentsOf: folder.appending(path: name), encoding: .utf8).split(separator: "\n") {
                let line = row.hasPrefix("> ") || row.hasPrefix("< ") ? String(row.dropFirst(2)) : String(row)
                guard line.hasPrefix(#"{"do":"#) || line.hasPrefix(#"{"on":"#) else { continue }
                let id = try Self.members(line)["id"] as? Int
                if line.hasPrefix(#"{"do":"#) {
                    let request = try JSONRequest(Array(line.utf8), openChat: "kitchen").asked.get().request
                    if let id { asked[id] = request }
                    examples.append((line, request))
                } else {
                    examples.append((line, id.flatMap { asked[$0] }))
                }
            }
        }
        return examples
    }

    private static func members(_ line: String) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    @Test("each example in the texts is read, and stays as it is when it is written again")
    func examples() throws {
        let examples = try Self.examples()
        #expect(examples.count > 6)
        for (line, request) in examples {
            var given = try Self.members(line)
            // A front end has no use for these, or takes them from elsewhere.
            if given["code"] as? String == "open-chat" { continue }
            given["at"] = nil
            given["id"] = nil
            let isRequest = given["do"] != nil
            let written =
                isRequest
                ? request?.line?.text
                : Vocabulary.rewritten(Array(line.utf8), to: request).map { String(decoding: $0, as: UTF8.self) }
            var read = try Self.members(try #require(written, "\(line) is not read"))
            read["at"] = nil
            // The program supplies the text, and the user of own messages is the node's.
            let others: Set = ["messages", given["on"] as? String == "typing" ? "text" : ""]
            // A request names the current chat when it is written again.
            let names = isRequest ? Set(given.keys) : Set(given.keys).union(read.keys)
            for name in names.subtracting(others) {
                #expect(given[name] as? NSObject == read[name] as? NSObject, "\(name) in \(line)")
            }
        }
    }
}
