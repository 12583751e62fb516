import Foundation
import Inkling
import InklingText
import Logging
import Testing

/// The example of README.md.
private func readme() async throws {
    let node = try await Node.start(Configuration(name: "Alice"), logger: Logger(label: "chat"))
    try await node.join(Chat("kitchen"))
    _ = await node.waitForOthers(in: "kitchen", within: .seconds(30))
    await node.compose("Hel", in: "kitchen")  // the others see that Alice types
    _ = try await node.send("Hello!", to: "kitchen")  // the message comes, and typing ends
    for await people in await node.typing(in: "kitchen") { print(people.map { SafeText.name($0.name) ?? "Someone" }) }
}

/// The example of Documentation/embedding.md.
private func embedding() async throws {
    let node = try await Node.start(Configuration(name: "Alice"), logger: Logger(label: "chat"))
    let events = await node.events()
    try await node.join(Chat("kitchen"))

    /// Names and texts come as their authors sent them.
    func shown(_ person: Person) -> String { SafeText.name(person.name) ?? "Someone" }

    for await timed in events {
        switch timed.event {
        case .peer(let chat, let peer, why: .hello):
            await node.compose("Welc", in: chat)  // whatever the input field holds now
            let (message, recipients) = try await node.send("Welcome, \(peer.name)!", to: chat)  // ends the typing
            print("message \(message) to \(recipients)")
        case .peer(_, let peer, let why): print("\(shown(peer.person)): \(peer.presence) (\(why))")
        case .typing(_, let people): print(IndicatorText.text(names: people.map(shown)))
        case .message(_, let author, _, let text): print("\(shown(author)): \(SafeText.message(text))")
        case .delivered(_, let message, let user): print("\(user) has message \(message)")
        case .failed(_, let message, let user, let why): print("\(user) may not have message \(message): \(why)")
        case .notice(let notice): print(SafeText.line(notice.description))
        case .missed(let chat, let messages, _): print("\(messages) messages in \(chat) came too fast")
        }
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
        let compiled = lines.map { $0.hasPrefix("    ") ? $0.dropFirst(4) : $0 }.joined(separator: "\n")
        #expect(text.contains("```swift\nimport Inkling\nimport InklingText\nimport Logging\n\n\(compiled)\n```\n"))
    }
}
