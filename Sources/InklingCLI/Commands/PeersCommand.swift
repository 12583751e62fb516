import ArgumentParser
import Inkling
import InklingControl
import InklingText

struct PeersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "peers",
        abstract: "List who is in a chat now.",
        discussion: """
            It looks for a few seconds. Meanwhile you appear in the chat as away.

            inkling peers kitchen
            inkling peers kitchen --json | jq -r '.peers[].name'
            inkling peers kitchen --all     also those who were there before
            """)

    @Argument(help: "The name of the chat, or its invite (default: lobby).")
    var chat: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    @Flag(help: "Also list people who were seen before.")
    var all = false

    @Option(help: ArgumentHelp("Set how long to look.", valueName: "seconds"))
    var wait: Seconds = Seconds(3)

    @OptionGroup var options: NodeOptions

    func validate() throws { try options.validate(chat: chat) }

    func run() async throws {
        try await CommandFailure.reporting {
            let command = try await CommandNode.start(options, chat: chat, isAway: true)
            try? await Task.sleep(for: wait.duration * 0.8)
            await command.node.measureRoundTrips(in: command.chat.name)
            try? await Task.sleep(for: wait.duration * 0.2)
            let peers =
                all ? await command.node.peers(in: command.chat.name) : await command.node.others(in: command.chat.name)
            var labels = await command.labels()
            await command.node.stop()
            if json {
                try Output.standard.answer(
                    json: [
                        ("chat", .string(command.chat.name)),
                        ("peers", .array(peers.map { .peer($0, [("verified", .boolean($0.isVerified))]) })),
                    ])
                return
            }
            if peers.isEmpty { Output.error.write(line: "inkling: " + command.nobodyText) }
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
