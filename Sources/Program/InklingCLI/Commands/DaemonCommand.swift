import ArgumentParser
import Inkling
import InklingConsole
import InklingText
import Logging

struct DaemonCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "daemon",
        abstract: "Run one node all day, for all your other commands.",
        discussion: """
            It stays in the foreground, for a service manager or a terminal. While it runs, "inkling chat", "send", \
            "peers" and "watch" use its node: to others you are one person, who is there also when no chat is open. \
            SIGTERM says goodbye and ends it.

            These settings in config.toml are for the daemon alone: \
            on-message = ["COMMAND", "ARGUMENT"] starts a command for messages that come while no chat is open, with \
            INKLING_CHAT, INKLING_NAME, INKLING_TEXT, INKLING_USER and INKLING_VERIFIED in its environment; the last \
            one is 1 if you have verified the sender, else empty; \
            auto-away = false under [privacy] keeps you from being away while no chat is open. \
            SIGHUP reads them and your name again; other settings take effect at the next start.

            inkling daemon
            inkling daemon --name Alice --port 40123
            inkling join kitchen                      to stay in a chat
            """)

    @OptionGroup var node: NodeOptions

    func validate() throws {
        if let name = node.name, let fault = NameFault(ofOwnName: NormalForm.canonical(name)) {
            throw ValidationError(SafeText.line(NodeError.name(fault).text))
        }
    }

    func run() throws {
        try CommandFailure.reporting {
            let settings = try node.settingsOptions.settings()
            guard let path = SocketPath.path(stateDirectory: node.stateDir) else {
                throw CommandFailure(text: "there is no place for the socket; name one with --state-dir DIR")
            }
            var configuration = node.configuration(settings, isCommand: false)
            configuration.sendsTyping = settings.sendsTyping ?? true
            configuration.showsTyping = settings.showsTyping ?? true
            try DaemonProgram.run(configuration, settings, at: path, node) { try node.settingsOptions.settings() }
        }
    }
}
