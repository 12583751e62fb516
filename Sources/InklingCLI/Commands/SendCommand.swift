import ArgumentParser
import Foundation
import Inkling
import InklingConsole

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send one message, and wait for its delivery.",
        discussion: """
            For scripts. It goes to all who are in the chat now: messages are not kept for those who come later. \
            The exit status is 0 if it was delivered to all of them, and 1 if not, or if nobody is there.

            inkling send kitchen "Tea is ready"
            make 2>&1 | tail -n 5 | inkling send builds - --wait 30
            """)

    @Argument(help: "The name of the chat, or its invite.")
    var chat: String

    @Argument(help: "The message; - reads it from standard input.")
    var text: String

    @Flag(help: "Print one JSON object.")
    var json = false

    @Option(help: ArgumentHelp("How long to wait for somebody to be there.", valueName: "seconds"))
    var wait: Seconds = Seconds(5)

    @OptionGroup var options: NodeOptions

    /// How long the others may take to acknowledge.
    private static let longestDelivery = Duration.seconds(10)
    private static let maximumBytes = 64 << 10

    func validate() throws {
        guard text != "-" || !options.readsStandardInput else {
            throw ValidationError("Standard input can't be both the message and the secret or invite.")
        }
        try options.validate(chat: chat)
    }

    func run() async throws {
        try await StartFailure.reporting {
            let message = try text == "-" ? Self.input() : text
            guard !message.allSatisfy(\.isWhitespace) else {
                throw StartFailure(text: "there is nothing to send: the message is blank", status: 64)
            }
            let tool = try await ToolNode.start(options, chat: chat, isAway: false)
            let present = await tool.waitForPeers(wait.duration)
            guard !present.isEmpty else {
                await tool.node.stop()
                if json { try report(tool.chat, [], []) }
                throw StartFailure(text: "not sent: " + tool.nobodyText)
            }
            guard let (delivered, missed) = try await Self.deliver(message, with: tool) else {
                if json { try report(tool.chat, [], []) }
                throw StartFailure(text: "not sent: " + tool.nobodyText)
            }
            try report(tool.chat, delivered, missed)
            if !missed.isEmpty || delivered.isEmpty { throw ExitCode(1) }
        }
    }

    private struct Missed {
        let peer: Peer
        let why: String
    }

    /// Sends and waits for the answers of all, or for their time to be over; `nil` if nobody is there any more.
    @MainActor
    private static func deliver(_ text: String, with tool: ToolNode) async throws -> ([Peer], [Missed])? {
        let node = tool.node
        let events = await node.events()
        let (number, recipients) = try await node.send(text, to: tool.chat.name)
        guard recipients > 0 else {
            await node.stop()
            return nil
        }
        let people = await node.peers(in: tool.chat.name)
        // Stopping tells of all that is still open that it failed.
        let timer = Task {
            try await Task.sleep(for: longestDelivery)
            await node.stop()
        }
        var delivered: [Peer] = []
        var missed: [Missed] = []
        for await timed in events {
            switch timed.event {
            case .delivered(tool.chat.name, number, let user):
                delivered += people.filter { $0.user == user }
            case .failed(tool.chat.name, number, let user, let why):
                missed += people.filter { $0.user == user }.map { Missed(peer: $0, why: why) }
            default: break
            }
            if delivered.count + missed.count >= recipients { break }
        }
        timer.cancel()
        _ = await timer.result
        await node.stop()
        return (delivered, missed)
    }

    private func report(_ chat: Chat, _ delivered: [Peer], _ missed: [Missed]) throws {
        func members(_ peer: Peer) -> [(String, JSONValue)] {
            [("user", .string(peer.user.description)), ("name", .string(peer.name))]
        }
        for missed in missed {
            Output.error.write(
                line: "inkling: not delivered to \(missed.peer.shownName) (\(Self.reason(missed.why))); "
                    + "send it again when they are there")
        }
        if json {
            try Output.standard.answer(
                json: [
                    ("chat", .string(chat.name)), ("delivered", .array(delivered.map { .object(members($0)) })),
                    ("missed", .array(missed.map { .object(members($0.peer) + [("why", .string($0.why))]) })),
                ])
        } else if !delivered.isEmpty {
            try Output.standard.answer("Delivered to \(delivered.map(\.shownName).joined(separator: ", "))")
        }
    }

    private static func reason(_ why: String) -> String {
        switch why {
        case "silence": "out of reach"
        case "quit", "stalled": "no answer"
        case "lost-state", "replaced": "started anew"
        default: "left"
        }
    }

    private static func input() throws -> String {
        do throws(SmallFile.Failure) {
            let text = try SmallFile.text("-", maximumBytes: maximumBytes)
            return text.hasSuffix("\n") ? String(text.dropLast()) : text
        } catch {
            let reason =
                switch error {
                case .unreadable: "standard input can't be read"
                case .tooLong:
                    "standard input is longer than \(maximumBytes) bytes, which a message may have; send it in parts"
                case .noText: "standard input is no text: it has bytes that are not UTF-8"
                }
            throw StartFailure(text: reason, status: 64)
        }
    }
}
