import Dispatch
@preconcurrency import Glibc
import Inkling
import InklingText
import Logging

/// An app that embeds the library: a node of its own in a chat, which answers questions, and types before it answers.
///
///     swift run inkling-example-embed CHAT [HOST:PORT...]
///
/// Arguments name peers that discovery does not reach, as HOST:PORT. Ctrl-C ends the app.
@main struct Oracle {
    let chat: ChatHandle

    static func main() async {
        guard let name = CommandLine.arguments.dropFirst().first else {
            return end("usage: inkling-example-embed CHAT [HOST:PORT...]", status: 64)
        }
        var configuration = Configuration(name: "Oracle")
        // A lasting identity, different from the user's, by which peers recognize the app.
        configuration.stateDirectory = Configuration.defaultStateDirectory.map { $0 + "-oracle" }
        configuration.peers = Array(CommandLine.arguments.dropFirst(2))
        let logger = Logger(label: "oracle") { StreamLogHandler.standardError(label: $0) }
        do {
            let chat = try Chat(name)
            let node = try await Node.start(configuration, logger: logger)
            // The app reads events before it joins: notices and messages thus reach it.
            let events = await node.events()
            try await Oracle(chat: node.join(chat)).run(events)
        } catch {
            end("\(error)", status: 1)  // What happened, and what to do about it.
        }
    }

    /// Reads events until the node is stopped.
    private func run(_ events: NodeEvents) async {
        let signals = [SIGINT, SIGTERM].map { stop(on: $0) }
        defer { signals.forEach { $0.cancel() } }
        // Answers take time, and the loop reads events meanwhile. The next answer is for the latest question.
        let (questions, asked) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        defer { asked.finish() }
        Task { for await _ in questions { await reply() } }
        for await timed in events {
            switch timed.event {
            case .peer(let change): say("\(shown(change.peer.person)): \(change.peer.presence) (\(change.why))")
            case .typing(_, let people): say(IndicatorText.text(names: people.map(shown)))
            case .message(let message):
                say("\(shown(message.sender)): \(SafeText.line(message.text))")
                if message.text.hasSuffix("?") { asked.yield() }
            case .delivered(let receipt): say("\(receipt.user) has message \(receipt.message)")
            case .waiting(let receipt): say("message \(receipt.message) waits for \(receipt.user)")
            case .failed(let failure): say("\(failure.user) may not have message \(failure.message): \(failure.why)")
            case .notice(let notice): say(SafeText.line(notice.description))
            case .missed(let missed): say("\(missed.messages) messages came too fast")
            }
        }
    }

    private func reply() async {
        // Peers show "Oracle is typing" until the message arrives. An app with an editor would report each edit.
        await chat.node.startTyping(in: chat.name)
        try? await Task.sleep(for: .seconds(1))
        do {
            try await chat.send(["Yes.", "No.", "Ask again later."].randomElement() ?? "")
        } catch {
            say("no answer: \(error.fact)")
        }
    }

    /// Says goodbye to all peers, which ends the events. For a killed process, `inkling-lastwill` says goodbye.
    private func stop(on number: Int32) -> any DispatchSourceSignal {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number)
        source.setEventHandler { Task { await chat.node.stop() } }
        source.resume()
        return source
    }

    /// Returns a safe form of a name, because names come as their owners chose them.
    private func shown(_ person: Person) -> String { SafeText.name(person.name) ?? "Someone" }

    private func say(_ line: String) {
        print(line)
        fflush(nil)
    }

    private static func end(_ text: String, status: Int32) {
        fputs("inkling-example-embed: \(text)\n", stderr)
        exit(status)
    }
}
