import ArgumentParser
import Inkling
import InklingControl
import InklingText

struct PeersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "peers",
        abstract: "List who is in a chat now.",
        discussion: """
            It looks for a few seconds. Meanwhile you appear in the chat as away.

            inkling peers kitchen
            inkling peers kitchen --json | jq -r '.peers[].name'
            inkling peers kitchen --all     also those who were there before
            """)

    @Argument(help: "The name of the chat, or its invite (default: that in the settings, else lobby).")
    var chat: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    @Flag(help: "Also list people who were seen before.")
    var all = false

    @Option(help: ArgumentHelp("Set how long to look.", valueName: "seconds"))
    var wait: Seconds = Seconds(3)

    @OptionGroup var options: ChatOptions

    func validate() throws { try options.validate(chat: chat) }

    func run() throws {
        try CommandFailure.reporting {
            let settings = try options.commandSettings(chat: chat)
            let session = try ChatProgram.runCommand(settings) { host, _ in PeersSession(host, for: wait.duration) }
            guard var (peers, labels) = session.result else { throw ExitCode(1) }
            if !all { peers.removeAll { $0.presence == .offline } }
            if json {
                try Output.standard.answer(
                    json: [
                        ("chat", .string(settings.chat.name)),
                        ("peers", .array(peers.map { .peer($0) })),
                    ])
                return
            }
            if peers.isEmpty { Output.error.write(line: "inkling: " + settings.nobodyText) }
            for peer in peers { try Output.standard.answer(Self.line(peer, labels.marked(peer))) }
        }
    }

    private static func line(_ peer: Peer, _ label: String) -> String {
        let state = PresenceText.text(peer.presence, lastSeen: peer.lastSeen, now: Node.wallClock())
        let time = peer.roundTrip.map { ", \($0.millisecondText)" } ?? ""
        return "\(label) (\(peer.user)): \(state)\(peer.isVerified ? ", verified" : "")\(time)"
    }
}

/// A time on the command line: from 0 to an hour, in seconds.
struct Seconds: ExpressibleByArgument {
    let value: Double

    init(_ value: Double) { self.value = value }

    init?(argument: String) {
        guard let value = Double(argument), (0...3_600).contains(value) else { return nil }
        self.value = value
    }

    var defaultValueDescription: String { value == value.rounded() ? String(Int(value)) : String(value) }
    var duration: Duration { .seconds(value) }
}
