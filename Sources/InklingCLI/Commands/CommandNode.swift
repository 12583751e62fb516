import Inkling
import InklingText
import Logging

/// A node of a command that is in a chat for a while. It shares the identity with a chat that the user has open: for
/// the others both are one person.
@MainActor
struct CommandNode {
    let node: Node
    let chat: Chat
    let settings: SettingsFile
    /// How the chat was named, for another command.
    private let arguments: String

    /// How many warnings about known names with different keys are shown one by one.
    private static let mostKeyWarnings = 3

    /// - Parameter isAway: Whether nobody reads here what others say.
    static func start(_ options: NodeOptions, chat name: String?, isAway: Bool) async throws -> CommandNode {
        let settings = try options.settingsOptions.settings()
        let chat = try options.chatToJoin(name, default: settings.chat)
        warn(of: chat)
        var logger = Logger(label: "inkling") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = options.logLevel ?? .error
        var configuration = options.configuration(settings, isCommand: true)
        configuration.sendsTyping = false
        let node = try await Node.start(configuration, logger: logger)
        await node.setAway(isAway)
        let events = await node.events()
        Task {
            var keyWarnings = 0
            for await timed in events {
                guard case .notice(let notice) = timed.event else { continue }
                switch notice {
                // It ends soon, and says goodbye itself.
                case .lastWillOff: continue
                case .keyChanged:
                    keyWarnings += 1
                    if keyWarnings == mostKeyWarnings + 1 {
                        Output.error.write(
                            line: "inkling: more people use names you know, but their keys are different")
                    }
                    guard keyWarnings <= mostKeyWarnings else { continue }
                default: break
                }
                Output.error.write(line: "inkling: " + SafeText.line(notice.text))
            }
        }
        try await node.join(chat)
        return CommandNode(
            node: node, chat: chat, settings: settings, arguments: options.arguments(naming: chat, given: name))
    }

    /// Says what an open chat does not give (S-4).
    nonisolated static func warn(of chat: Chat) {
        guard chat.isOpen else { return }
        Output.error.write(
            line: "inkling: \(SafeText.line(chat.name)) is an open chat: anybody on this network can join and read it")
    }

    /// What to do when nobody is there.
    var nobodyText: String {
        "nobody else is in \(SafeText.line(chat.name)) now; find out why with: inkling doctor\(SafeText.line(arguments))"
    }
}

extension CommandNode {
    /// What the people in the chat are called, those who were met there before included: as at the prompt.
    func labels() async -> Labels {
        var labels = Labels(ownName: node.name)
        for peer in await node.peers(in: chat.name) { labels.update(Labels.Person(peer)) }
        return labels
    }
}

extension Labels {
    /// The label of somebody who may have come since.
    mutating func marked(_ peer: Peer) -> String {
        update(Person(peer))
        return label(of: peer.user.description).marked
    }
}
