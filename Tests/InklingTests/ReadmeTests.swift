import Foundation
import Inkling
import InklingText
import Logging
import Testing

/// The example of README.md.
private func readme() async throws {
    let node = try await Node.start(Configuration(name: "Alice"), logger: Logger(label: "chat"))
    let chat = try await node.join("kitchen")
    _ = await node.waitForOthers(in: "kitchen", within: .seconds(30))
    await chat.compose("Hel")  // the others see that Alice types
    try await chat.send("Hello!")  // the message comes, and typing ends
    for await people in chat.typing { print(people.map { SafeText.name($0.name) ?? "Someone" }) }
}

/// The example of Documentation/embedding.md.
private func embedding() async throws {
    let node = try await Node.start(Configuration(name: "Alice"), logger: Logger(label: "chat"))
    let chat = try await node.join("kitchen")
    Task.detached { while let line = readLine() { try await chat.send(line) } }
    Task { for await all in chat.typing { print(IndicatorText.text(names: all.map { SafeText.name($0.name) ?? "" })) } }
    for await case .message(let message) in chat.events.map(\.event) {
        print(SafeText.name(message.sender.name) ?? "Someone", SafeText.message(message.text))
    }
}

@Suite("README")
struct ReadmeTests {
    @Test(
        "the examples for programs in Swift are those that are compiled here",
        arguments: [("readme", "README.md"), ("embedding", "Documentation/embedding.md")])
    func example(function: String, document: String) throws {
        let file = URL(filePath: #filePath)
        let text = try String(
            contentsOf: file.deletingLastPathComponent().appending(path: "../../\(document)"), encoding: .utf8)
        let own = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(own.range(of: "func \(function)() async throws {\n")).upperBound
        let end = try #require(own.range(of: "\n}\n", range: start..<own.endIndex)).lowerBound
        let lines = own[start..<end].split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count + 3 <= 10, "ten lines with the imports")
        let compiled = lines.map { $0.hasPrefix("    ") ? $0.dropFirst(4) : $0 }.joined(separator: "\n")
        #expect(text.contains("```swift\nimport Inkling\nimport InklingText\nimport Logging\n\n\(compiled)\n```\n"))
    }
}
