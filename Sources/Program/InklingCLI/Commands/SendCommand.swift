import ArgumentParser
import Inkling
import InklingControl
import InklingText

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
                            missed.map {
                                .object(
                                    JSONValue.members(of: $0.peer.person) + [("why", .string($0.why.rawValue))])
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
