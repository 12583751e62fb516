import ArgumentParser
import Inkling
import InklingService
import InklingModel
import InklingText

/// Sends one message to all people in the chat, and waits for the outcome.
final class SendSession: CommandSession {
    /// The longest wait for acknowledgements, in milliseconds.
    private static let longestDelivery: Int64 = 10_000

    let host: SessionHost
    private let text: String
    private let began: Int64
    private var wait: ArrivalWait
    /// The keys of the people in the chat.
    private var present: Set<PublicKey> = []
    private var notices = NoticePrinter()
    /// Whether the node was in the chat before, and so has found all people already.
    private var wasThere = false
    /// Whether the node keeps messages to the chat for people who are offline.
    private var keepsTexts = false
    private var joinID: RequestID?
    private var sendID: RequestID?
    private var phase = Phase.joining
    /// The result; nil before the end, or without a result.
    private(set) var result: Result?

    struct Result {
        /// The outcome; nil if the chat was empty.
        var outcome: DeliveryOutcome?
        /// The labels of the people.
        var labels: Labels
    }

    private enum Phase {
        case joining
        /// The node still looks for people.
        case waiting
        /// The session waits for the list of people, and then for the request to send.
        case asking([Peer])
        case delivering(Delivery, until: Int64)
        /// The session only waits for the labels.
        case naming(DeliveryOutcome?)
        case over
    }

    /// Makes a session.
    ///
    /// - Parameter longestWait: the longest wait for a person.
    init(_ host: SessionHost, text: String, longestWait: Duration) {
        self.host = host
        self.text = text
        began = host.now.steady
        wait = ArrivalWait(longest: longestWait)
    }

    private var chat: String { host.settings.chat.name }

    func begin() {
        if host.isAttached { host.node?.ask(.chats) }
        joinID = host.node?.nextRequestID
        host.node?.ask(host.settings.join)
    }

    // MARK: Output of the node

    func receive(_ output: ServiceOutput) {
        switch output {
        case .event(let timed): receive(timed.event)
        case .answer(.failed(let error), to: joinID), .answer(.failed(let error), to: sendID):
            fail(SafeText.line(error.text))
        case .answer(let answer, _): receive(answer)
        case .unread, .own, .user: break
        case .ended(let end): fail("\(end.text(isHolder: host.isHolder)), and what became of the message is unknown")
        }
    }

    private func receive(_ event: Event) {
        switch event {
        case .peer(let change) where change.chat == chat: apply(change.peer)
        case .notice(let notice): notices.print(notice)
        default: break
        }
        guard case .delivering(var delivery, let end) = phase else { return }
        delivery.take(event)
        if delivery.isComplete { return conclude(delivery.result) }
        phase = .delivering(delivery, until: end)
    }

    private func receive(_ answer: ServiceAnswer) {
        switch (phase, answer) {
        case (.joining, .chats(let chats)):
            wasThere = chats.contains { $0.name == chat && !$0.isLooking }
            keepsTexts = chats.contains { $0.name == chat && $0.holdsTexts }
        case (.joining, .joined(let chat, let peers)):
            host.warn(of: chat)
            phase = .waiting
            peers.forEach(apply)
            if wasThere, !present.isEmpty { send() }
        case (.asking, .peers(let peers)): phase = .asking(peers)
        case (.asking(let people), .sent(let message, let recipients)):
            let delivery = Delivery(message, to: chat, recipients: recipients, people: people)
            if delivery.isComplete { return conclude(delivery.result) }
            phase = .delivering(delivery, until: host.now.steady + Self.longestDelivery)
        case (.naming(let outcome), .peers(let peers)):
            result = Result(outcome: outcome, labels: Labels(ownName: host.node?.identity.name ?? "", peers))
            finish(status: 0)
        default: break
        }
    }

    private func apply(_ peer: Peer) {
        if peer.presence == .offline { present.remove(peer.key) } else { present.insert(peer.key) }
        _ = wait.take(present: present.count, after: .milliseconds(host.now.steady - began))
    }

    // MARK: Time

    var nextTick: Int64? {
        switch phase {
        case .waiting: began + Int64((wait.end / .milliseconds(1)).rounded(.up))
        case .delivering(_, let end): end
        case .joining, .asking, .naming, .over: nil
        }
    }

    func tick() {
        guard let time = nextTick, time <= host.now.steady else { return }
        switch phase {
        case .waiting where present.isEmpty && !keepsTexts: conclude(nil)
        case .waiting: send()
        case .delivering(let delivery, _): conclude(delivery.result)
        case .joining, .asking, .naming, .over: break
        }
    }

    private func send() {
        phase = .asking([])
        host.node?.ask(.peers(chat: chat))
        sendID = host.node?.nextRequestID
        host.node?.ask(.send(text, chat: chat))
    }

    // MARK: End

    private func conclude(_ outcome: DeliveryOutcome?) {
        phase = .naming(outcome)
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

struct SendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send one message, and wait for its delivery.",
        discussion: """
            Use it in scripts. The message goes to everybody who is in the chat now; it is not kept for later. \
            The exit status is 0 if it was delivered to all of them, and 1 if not, or if nobody else is there.

            inkling send kitchen "Tea is ready"
            inkling send --invite-file kitchen.invite "Tea is ready"
            make 2>&1 | tail -n 5 | inkling send builds - --wait 30
            """)

    @Argument(help: "The name of the chat, or its invite; left out where an option gives the invite.")
    var chat: String

    @Argument(help: "The message; - reads it from standard input.")
    var text: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    @Option(help: ArgumentHelp("Set how long to wait for somebody to be there.", valueName: "seconds"))
    var wait: Seconds = Seconds(5)

    @OptionGroup var options: ChatOptions

    private static let maximumBytes = 64 << 10

    /// The chat and the message. If an invite names the chat, the only argument is the message.
    private var given: (chat: String?, text: String) {
        if let text { return (chat, text) }
        return (nil, chat)
    }

    /// The text of the message as the user typed it.
    var message: String { given.text }

    func validate() throws {
        guard text != nil || options.secrets.namesInvite && !Chat.isInvite(chat) else {
            throw ValidationError("There is no message. Give the chat and the text: inkling send CHAT TEXT")
        }
        guard given.text != "-" || !options.secrets.readsStandardInput else {
            throw ValidationError("Standard input can't be both the message and the secret or invite.")
        }
        try options.validate(chat: given.chat)
    }

    func run() throws {
        try CommandFailure.reporting {
            let (chat, text) = given
            let message = try text == "-" ? Self.input() : text
            guard !message.allSatisfy(\.isWhitespace) else {
                throw CommandFailure(text: "there is nothing to send: the message is blank", status: 64)
            }
            let settings = try options.commandSettings(chat: chat)
            let session = try ChatProgram.runCommand(settings) { host, _ in
                SendSession(host, text: message, longestWait: wait.duration)
            }
            guard let result = session.result else { throw ExitCode(1) }
            guard let outcome = result.outcome, outcome.recipients > 0 else {
                if json { try report(settings.chat, [], [], [], result.labels) }
                throw CommandFailure(text: "not sent: " + settings.nobodyText)
            }
            // People without an answer count as failed, because this node stops now and will get no more answers.
            let missed = outcome.failed.map { ($0.peer, $0.why) } + outcome.unanswered.map { ($0, .quit) }
            try report(settings.chat, outcome.delivered, missed, outcome.waiting, result.labels)
            if !outcome.isKeptForAll { throw ExitCode(1) }
        }
    }

    private func report(
        _ chat: Chat, _ delivered: [Peer], _ missed: [(peer: Peer, why: FailureReason)], _ waiting: [Peer],
        _ labels: Labels
    ) throws {
        var labels = labels
        for missed in missed {
            Output.error.write(
                line: "inkling: may not have reached \(labels.marked(missed.peer)) (\(Self.reason(missed.why))); "
                    + "ask them before you send it again")
        }
        if json {
            try Output.standard.answer(
                json: [
                    ("chat", .string(chat.name)), ("delivered", .array(delivered.map { .person($0.person) })),
                    (
                        "missed",
                        .array(
                            missed.map { peer, why in
                                .object([
                                    ("user", .string(peer.user.description)), ("name", .string(peer.name)),
                                    ("why", .string(why.rawValue)),
                                ])
                            })
                    ),
                ] + (waiting.isEmpty ? [] : [("waiting", .array(waiting.map { .person($0.person) }))]))
        } else {
            for (words, people) in [("Delivered to", delivered), ("Waiting for", waiting)] where !people.isEmpty {
                try Output.standard.answer("\(words) \(people.map { labels.marked($0) }.joined(separator: ", "))")
            }
        }
    }

    /// The command itself ends the wait for an answer.
    private static func reason(_ why: FailureReason) -> String { why == .quit ? "no answer" : why.words }

    private static func input() throws -> String {
        do throws(SmallFile.Failure) {
            let text = try SmallFile.text("-", maximumBytes: maximumBytes)
            return text.hasSuffix("\n") ? String(text.dropLast()) : text
        } catch {
            let reason =
                switch error {
                case .unreadable: "standard input can't be read"
                case .tooLong:
                    "standard input is longer than a message may be (\(maximumBytes) bytes); send it in parts"
                case .noText: "standard input is not text: it has bytes that are not UTF-8"
                }
            throw CommandFailure(text: reason, status: 64)
        }
    }
}
