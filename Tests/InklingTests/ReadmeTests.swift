import Foundation
import Inkling
import InklingText
import Logging
import Testing

/// The example of README.md, as it stands there.
private func example() async throws {
    let node = try await Node.start(Configuration(name: "Alice"), logger: Logger(label: "chat"))
    let chat = try await node.join("kitchen")
    Task.detached { while let line = readLine() { try await chat.send(line) } }
    Task { for await all in chat.typing { print(IndicatorText.text(names: all.map { SafeText.name($0.name) ?? "" })) } }
    for await case .message(_, let author, _, let text) in chat.events.map(\.event) {
        print(SafeText.name(author.name) ?? "Someone", SafeText.message(text))
    }
}

@Suite("README")
struct ReadmeTests {
    @Test("the example for programs in Swift is the one that is compiled here")
    func example() throws {
        let file = URL(filePath: #filePath)
        let readme = try String(
            contentsOf: file.deletingLastPathComponent().appending(path: "../../README.md"), encoding: .utf8)
        let own = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(own.range(of: "async throws {\n")).upperBound
        let end = try #require(own.range(of: "\n}\n", range: start..<own.endIndex)).lowerBound
        let lines = own[start..<end].split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count + 3 <= 10, "ten lines with the imports")
        let compiled = lines.map { $0.hasPrefix("    ") ? $0.dropFirst(4) : $0 }.joined(separator: "\n")
        #expect(readme.contains("```swift\nimport Inkling\nimport InklingText\nimport Logging\n\n\(compiled)\n```\n"))
    }
}
