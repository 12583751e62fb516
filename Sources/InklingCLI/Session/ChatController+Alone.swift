import Inkling
import InklingConsole
import InklingText

/// What to do where nobody shows.
extension ChatController {
    /// What there is to say to somebody who is still alone after a while; nothing to anybody else.
    func alone() -> [Line] {
        guard let open, !metAnybody else { return [] }
        let name = SafeText.line(open.chat.name)
        let networks = Self.networks(settings.node)
        let checked =
            if !settings.node.discovery {
                "Discovery is off, so others can't find this computer. Its port is \(node.port)."
            } else if networks.isEmpty {
                "This computer has no usable network."
            } else {
                "This computer can be found on \(networks.joined(separator: ", ")), port \(node.port)."
            }
        let invitation =
            open.chat.isOpen ? "inkling chat" + ShellQuoting.argument(open.chat.name) : "the invite that /invite shows"
        return [
            ChatLines.notice("Still alone in \(name). \(checked)"),
            ChatLines.notice("Others on the same network join with \(invitation)."),
            ChatLines.notice("If they have joined but don't appear: \(doctor(for: open.chat))"),
        ]
    }

    /// The command that finds out why somebody does not show.
    func doctor(for chat: Chat) -> String {
        "inkling doctor" + (chat == settings.chat ? settings.arguments : ShellQuoting.arguments(naming: chat))
    }

    private static func networks(_ configuration: Configuration) -> [String] {
        if let address = configuration.bindAddress { return [SafeText.line(address)] }
        return (try? Node.interfaceNames(configuration)) ?? []
    }
}
