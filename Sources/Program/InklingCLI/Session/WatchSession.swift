import ArgumentParser
import Glibc
import Inkling
import InklingConsole
import InklingService
import InklingModel
import InklingText
import NIOCore

/// Prints a line for each change of the people who type, and messages on request. The session ends with a signal, or
/// when standard output is closed.
final class WatchSession: Session {
    /// The length of the search for people who type with `--once`, in milliseconds.
    private static let onceTime: Int64 = 2_000

    /// The output that the user wants.
    struct Wishes {
        var asJSON = false
        var isOnce = false
        var showsMessages = false
    }

    private let host: SessionHost
    private let wishes: Wishes
    private var onceAt: Int64?
    /// Whether the node was in the chat before; nil until the answer to the join.
    private var wasThere: Bool?
    private var joinID: RequestID?
    private var people: [Person] = []
    private var labels: WatchedLabels
    private var last: String?
    private let began: Int64
    private var hasEnded = false
    private var notices = NoticePrinter()

    init(_ host: SessionHost, identity: NodeIdentity, _ wishes: Wishes) {
        self.host = host
        labels = WatchedLabels(ownName: identity.name)
        self.wishes = wishes
        began = host.now.steady
    }

    func begin() {
        // This command must not set the user of a shared node away.
        if !host.isAttached { host.node?.ask(.setAway(true)) }
        if host.isAttached, wishes.isOnce { host.node?.ask(.chats) }
        joinID = host.node?.nextRequestID
        host.node?.ask(host.settings.join)
    }

    func reattached(_ identity: NodeIdentity, in place: NodePlace) {
        labels.setOwnName(identity.name)
        begin()
    }

    func receive(_ output: ServiceOutput) {
        switch output {
        case .event(let timed): receive(timed)
        case .own(let message):
            guard wishes.showsMessages, message.chat == chat, let identity = host.node?.identity else { return }
            show(message.text, from: Person(user: identity.user, name: identity.name), label: "You", at: message.at)
        case .answer(.failed(let error), to: joinID):
            finish(status: 1, SafeText.line(error.text))
        case .answer(.joined(let chat, let peers), _):
            host.warn(of: chat)
            labels.join(peers, now: host.now.wall)
            if wishes.isOnce { onceAt = began + Self.onceTime } else { show() }
            // Events of people who are known already come before the next answer. So that answer ends the search.
            if wasThere == true { host.node?.ask(.chats) }
        case .answer(.chats, _) where wasThere == true: onceAt = host.now.steady
        case .answer(.chats(let chats), _): wasThere = chats.contains { $0.name == chat }
        case .unread, .user, .answer: break
        case .ended where host.isAttached && !wishes.isOnce:
            people = []
            show()
            if host.node != nil { host.reattach() }
        case .ended(let why): finish(status: 1, why.text(isHolder: host.isHolder))
        }
    }

    private func finish(status: Int32, _ complaint: String? = nil) {
        guard !hasEnded else { return }
        hasEnded = true
        if let complaint { Output.error.write(line: "inkling: " + complaint) }
        host.finish(status: status)
    }

    private var chat: String { host.settings.chat.name }

    private func receive(_ timed: TimedEvent) {
        switch timed.event {
        case .peer(let change) where change.chat == chat: labels.update(change.peer, now: host.now.wall)
        case .typing(chat, let people):
            self.people = people
            for person in people { labels.meet(person) }
            if !wishes.isOnce { show() }
        case .message(let message) where message.chat == chat:
            guard wishes.showsMessages else { return }
            labels.meet(message.sender)
            show(
                message.text, from: message.sender, label: labels.label(of: message.sender.user).marked, at: timed.at,
                isDelayed: timed.isDelayed)
        case .missed(let missed) where missed.chat == chat:
            guard wishes.showsMessages, missed.messages > 0 else { return }
            Output.error.write(line: "inkling: messages were left out, as nobody took them in time: \(missed.messages)")
        case .notice(let notice): notices.print(notice)
        case .peer, .typing, .message, .delivered, .failed, .waiting, .missed: break
        }
    }

    private func show() {
        let line = line
        guard line != last else { return }
        last = line
        host.output.write(line: line)
    }

    private var line: String {
        let text = IndicatorText.text(
            people: people.map { labels.label(of: $0.user) }, style: host.settings.indicator)
        guard wishes.asJSON else { return text }
        return JSONValue.object([
            ("chat", .string(chat)), ("text", .string(text)), ("users", .array(people.map { .person($0) })),
        ]).text
    }

    /// Shows a message.
    ///
    /// - Parameters:
    ///   - time: the time of the message.
    ///   - isDelayed: whether the text may be much older.
    private func show(_ text: String, from person: Person, label: String, at time: Timestamp, isDelayed: Bool = false) {
        guard wishes.asJSON else {
            let isOwn = person.user == host.node?.identity.user
            let name = isOwn ? ChatLines.shown(person.name) : nil
            return host.output.write(line: ChatLines.line(text, by: label, orDoneBy: name))
        }
        host.output.write(
            line: JSONValue.object(
                [
                    ("chat", .string(chat)), ("from", .person(person)), ("message", .string(text)),
                    ("at", .seconds(time)),
                ] + (isDelayed ? [("delayed", .boolean(true))] : [])
            ).text)
    }

    func tick() {
        guard let onceAt, onceAt <= host.now.steady else { return }
        show()
        finish(status: 0)
    }

    func receive(signal: Int32) {
        switch signal {
        case SIGTSTP: host.suspend(wholeJob: false) { _ in }
        case SIGINT, SIGTERM, SIGHUP: finish(status: 0)
        default: break
        }
    }

    func outputAbandoned() {
        guard let code = host.output.failure, code != EPIPE else { return finish(status: 0) }
        finish(status: 1, Output.failureText(code))
    }

    var longestAnswer: TimeAmount? { wishes.isOnce ? SessionHost.longestAnswer : nil }
    var attachesAgain: Bool { !wishes.isOnce }
    var nextTick: Int64? { onceAt }
}

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

/// The labels of `watch`, which may run for months. There are labels for people who are present, verified or met
/// before, and for the last strangers who left.
package struct WatchedLabels {
    /// The most strangers who have left and still have a label.
    package static let strangers = 256
    /// The most people met before who have left and still have a label.
    package static let met = 1_024
    /// The age from which a key counts as met.
    private static let acquainted = Duration.seconds(86_400)

    private enum Standing {
        case stranger, met, verified
    }

    private var labels: Labels
    private var present: [UserID: Standing] = [:]
    /// The strangers who left, the earliest first.
    private var goneStrangers: [UserID] = []
    private var goneMet: [UserID] = []

    package init(ownName: String) { labels = Labels(ownName: ownName) }

    package mutating func setOwnName(_ name: String) { labels.setOwnName(name) }

    /// Returns the label of a person; "Someone" for a person without one.
    package func label(of user: UserID) -> Labels.Label { labels.label(of: user.description) }

    /// Replaces the people present. A node that joined again reports all of them.
    package mutating func join(_ peers: [Peer], now: Timestamp) {
        let gone = Set(present.keys).subtracting(peers.filter { $0.presence != .offline }.map(\.user))
        for user in gone.sorted(by: { $0.description < $1.description }) { leave(user, present[user] ?? .stranger) }
        for peer in peers { update(peer, now: now) }
    }

    /// Applies the presence and the name of a person.
    package mutating func update(_ peer: Peer, now: Timestamp) {
        labels.update(Labels.Person(peer))
        let isMet = peer.firstSeen.map { $0 <= now - Self.acquainted } ?? false
        let standing: Standing = peer.isVerified ? .verified : isMet ? .met : .stranger
        if peer.presence == .offline { return leave(peer.user, standing) }
        forget(peer.user)
        present[peer.user] = standing
    }

    /// Makes a label for a person about whom the node reports nothing else.
    package mutating func meet(_ person: Person) {
        guard !labels.contains(person.user.description) else { return }
        labels.update(Labels.Person(person))
        leave(person.user, .stranger)
    }

    private mutating func forget(_ user: UserID) {
        goneStrangers.removeAll { $0 == user }
        goneMet.removeAll { $0 == user }
    }

    private mutating func leave(_ user: UserID, _ standing: Standing) {
        present[user] = nil
        forget(user)
        switch standing {
        case .verified: break
        case .met:
            goneMet.append(user)
            if goneMet.count > Self.met { labels.remove(goneMet.removeFirst().description) }
        case .stranger:
            goneStrangers.append(user)
            if goneStrangers.count > Self.strangers { labels.remove(goneStrangers.removeFirst().description) }
        }
    }
}
