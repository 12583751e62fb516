import ArgumentParser
import Inkling
import InklingControl
import InklingText

struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print who is typing, whenever it changes.",
        discussion: """
            Use it in status bars. It prints a line at the start and on each change, empty when nobody is typing. While \
            it runs you are in the chat as away, unless you have it open elsewhere; messages are not shown.

            inkling watch kitchen
            inkling watch kitchen --json | jq --unbuffered -r '.text'
            inkling watch kitchen --once
            """)

    @Argument(help: "The name of the chat, or its invite (default: lobby).")
    var chat: String?

    @Flag(help: "Print one JSON object a line.")
    var json = false

    @Flag(help: "Look for 2 s, print one line, and end.")
    var once = false

    @Option(help: "Choose how several typists are named (default: standard).")
    var indicator: IndicatorStyle?

    @OptionGroup var options: NodeOptions

    func validate() throws { try options.validate(chat: chat) }

    func run() throws {
        try CommandFailure.reporting {
            let status = try ChatProgram.run(settings()) { host, identity in
                WatchSession(host, identity: identity, asJSON: json, isOnce: once)
            }
            if status != 0 { throw ExitCode(status) }
        }
    }

    private func settings() throws -> ChatSettings {
        let file = try options.settingsOptions.settings()
        let given = chat
        let chat = try options.chatToJoin(given, default: file.chat)
        CommandNode.warn(of: chat)
        var node = options.configuration(file, isCommand: true)
        node.sendsTyping = false
        return ChatSettings(
            node: node, chat: chat, arguments: options.arguments(naming: chat, given: given), mode: .plain,
            indicator: indicator ?? file.indicator ?? .standard, reducedMotion: true, decorated: false,
            logLevel: options.logLevel ?? .error)
    }
}
