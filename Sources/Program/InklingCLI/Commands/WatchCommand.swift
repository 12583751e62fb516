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
            it runs you are in the chat as away, unless you have it open elsewhere. With --messages it also prints \
            what is said, each message on a line; it counts as unread all the same.

            inkling watch kitchen
            inkling watch kitchen --json | jq --unbuffered -r '.text'
            inkling watch kitchen --once
            inkling watch kitchen --messages
            """)

    @Argument(help: "The name of the chat, or its invite (default: that in the settings, else lobby).")
    var chat: String?

    @Flag(help: "Print one JSON object a line.")
    var json = false

    @Flag(help: "Look for 2 s, print one line, and end.")
    var once = false

    @Flag(help: "Print messages too.")
    var messages = false

    @Option(help: ArgumentHelp("Choose how several typists are named (default: standard).", valueName: "style"))
    var indicator: IndicatorStyle?

    @OptionGroup var options: ChatOptions

    func validate() throws {
        guard !(once && messages) else { throw ValidationError("--once and --messages are mutually exclusive.") }
        try options.validate(chat: chat)
    }

    func run() throws {
        try CommandFailure.reporting {
            let settings = try options.commandSettings(chat: chat, indicator: indicator)
            try ChatProgram.run(settings) { host, node in
                WatchSession(
                    host, identity: node.identity, .init(asJSON: json, isOnce: once, showsMessages: messages))
            }
        }
    }
}
