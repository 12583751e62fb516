import Foundation
import Inkling
import InklingConsole
import Logging

/// A node of a command that is in a chat for a while. It shares the identity with a chat that the user has open: for
/// the others both are one person.
@MainActor
struct ToolNode {
    let node: Node
    let chat: Chat
    let settings: SettingsFile
    /// How the chat was named, for another command.
    private let arguments: String

    /// - Parameter isAway: Whether nobody reads here what others say.
    static func start(_ options: NodeOptions, chat name: String?, isAway: Bool) async throws -> ToolNode {
        let settings = try options.settingsOptions.settings()
        let chat = try options.chatToJoin(name, default: settings.chat)
        var logger = Logger(label: "inkling") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = options.logLevel ?? .error
        var configuration = options.configuration(settings, isTool: true)
        configuration.sendsTyping = false
        let node = try await Node.start(configuration, logger: logger)
        await node.setAway(isAway)
        let events = await node.events()
        Task {
            for await timed in events {
                guard case .notice(let code, let text) = timed.event, code != "last-will-off" else { continue }
                Output.error.write(line: "inkling: " + SafeText.line(text))
            }
        }
        try await node.join(chat)
        return ToolNode(
            node: node, chat: chat, settings: settings, arguments: options.arguments(naming: chat, given: name))
    }

    /// Those who are there now.
    func present() async -> [Peer] { await node.peers(in: chat.name).filter { $0.presence != .offline } }

    /// Waits until somebody is there and nobody further has come for half a second, for at most so long.
    func waitForPeers(_ longest: Duration) async -> [Peer] {
        let end = ContinuousClock.now + longest
        var known: [Peer] = []
        var settled = ContinuousClock.now
        while ContinuousClock.now < end {
            let present = await present()
            if present.count != known.count { settled = .now + .milliseconds(500) }
            known = present
            if !known.isEmpty, settled <= .now { break }
            try? await Task.sleep(for: .milliseconds(50))
        }
        return known
    }

    /// What to do when nobody is there.
    var nobodyText: String {
        "nobody else is in \(SafeText.line(chat.name)) now; find out why with: inkling doctor\(SafeText.line(arguments))"
    }
}

extension Peer {
    /// The name as it may be shown.
    var shownName: String { ChatLines.shown(name.precomposedStringWithCanonicalMapping) }

    /// The round trip in milliseconds with three decimals.
    var roundTripValue: JSONValue? {
        roundTrip.map { .raw(String(($0 / .microseconds(1)).rounded() / 1_000)) }
    }
}
