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
            let settings = try options.commandSettings(chat: chat, indicator: indicator)
            try ChatProgram.run(settings) { host, node in
                WatchSession(host, identity: node.identity, asJSON: json, isOnce: once)
            }
        }
    }
}
