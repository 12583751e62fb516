import Foundation
import Inkling
import InklingText
import Logging
import Testing

/// The example of README.md, as it stands there.
private func example() async throws {
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
    @Test("the example for programs in Swift is the one that is compiled here")
    func example() throws {
        let file = URL(filePath: #filePath)
        let readme = try String(
            contentsOf: file.deletingLastPathComponent().appending(path: "../../README.md"), encoding: .utf8)
        let own = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(own.range(of: "async throws {\n")).upperBound
        let end = try #require(own.range(of: "\n}\n", range: start..<own.endIndex)).lowerBound
        let lines = own[start..<end].split(separator: "\n", omittingEmptySubsequences: false)
        let compiled = lines.map { $0.hasPrefix("    ") ? $0.dropFirst(4) : $0 }.joined(separator: "\n")
        #expect(readme.contains("```swift\nimport Inkling\nimport InklingText\nimport Logging\n\n\(compiled)\n```\n"))
    }
}
