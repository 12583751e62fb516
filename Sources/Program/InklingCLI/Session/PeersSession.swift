import ArgumentParser
import Inkling
import InklingService
import InklingModel
import InklingText

/// Looks for the people in a chat for ``duration``.
final class PeersSession: CommandSession {
    let host: SessionHost
    private let began: Int64
    private let duration: Duration
    private var notices = NoticePrinter()
    private var phase = Phase.looking
    /// Whether the node was in the chat before, and so has found all people already.
    private var wasThere = false
    private var joinID: RequestID?
    /// All people ever met in the chat, by name, and their labels; nil until the answer comes, or without one.
    private(set) var result: (peers: [Peer], labels: Labels)?

    private enum Phase {
        /// The node looks for people.
        case looking
        /// The node measures the round trips.
        case measuring
        /// The session waits for the list of people.
        case asking
        case over
    }

    /// - Parameter duration: the length of the search.
    init(_ host: SessionHost, for duration: Duration) {
        self.host = host
        self.duration = duration
        began = host.now.steady
    }

    private var chat: String { host.settings.chat.name }

    func begin() {
        // A shared node may know the people already. This command must not set the user of a shared node away.
        host.node?.ask(host.isAttached ? .chats : .setAway(true))
        joinID = host.node?.nextRequestID
        host.node?.ask(host.settings.join)
    }

    func receive(_ output: ServiceOutput) {
        switch output {
        case .event(let timed): if case .notice(let notice) = timed.event { notices.print(notice) }
        case .answer(.failed(let error), to: joinID): fail(SafeText.line(error.text))
        case .answer(.joined(let chat, _), _):
            host.warn(of: chat)
            if wasThere { ask() }
        case .answer(.chats(let chats), _): wasThere = chats.contains { $0.name == chat && !$0.isLooking }
        case .answer(.peers(let peers), _):
            result = (peers, Labels(ownName: host.node?.identity.name ?? "", peers))
            finish(status: 0)
        case .unread, .own, .user, .answer: break
        case .ended(let end): fail(end.text(isHolder: host.isHolder))
        }
    }

    var nextTick: Int64? {
        switch phase {
        case .looking: began + Int64(duration * 0.8 / .milliseconds(1))
        case .measuring: began + Int64(duration / .milliseconds(1))
        case .asking, .over: nil
        }
    }

    func tick() {
        guard let time = nextTick, time <= host.now.steady else { return }
        switch phase {
        case .looking:
            host.node?.ask(.measureRoundTrips(chat: chat))
            phase = .measuring
        case .measuring:
            ask()
        case .asking, .over: break
        }
    }

    private func ask() {
        phase = .asking
        host.node?.ask(.peers(chat: chat))
    }

    private func fail(_ text: String) {
        if case .over = phase { return }
        Output.error.write(line: "inkling: " + text)
        finish(status: 1)
    }

    private func finish(status: Int32) {
        phase = .over
        host.finish(status: status)
    }

    func abandon() { phase = .over }
}

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
