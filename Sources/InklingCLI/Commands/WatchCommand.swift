import ArgumentParser
import Glibc
import Inkling
import InklingControl
import InklingText

struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print who is typing, whenever it changes.",
        discussion: """
            Use it in status bars. It prints a line at the start and on each change, empty when nobody is typing. While \
            it runs you are in the chat as away, unless you have it open elsewhere; messages are not shown.

            inkling watch kitchen
            inkling watch kitchen --json | jq --unbuffered -r '.text'
            inkling watch kitchen --once
            """)

    @Argument(help: "The name of the chat, or its invite (default: lobby).")
    var chat: String?

    @Flag(help: "Print one JSON object a line.")
    var json = false

    @Flag(help: "Look for 2 s, print one line, and end.")
    var once = false

    @Option(help: "Choose how several typists are named (default: standard).")
    var indicator: IndicatorStyle?

    @OptionGroup var options: NodeOptions

    private static let onceTime = Duration.seconds(2)
    private static let lookTime = Duration.seconds(1)

    func validate() throws { try options.validate(chat: chat) }

    func run() async throws {
        try await CommandFailure.reporting {
            let queue = SessionEventQueue()
            let signals = SignalWatch(queue)
            let command = try await CommandNode.start(options, chat: chat, isAway: true)
            if once {
                try? await Task.sleep(for: Self.onceTime)
            } else {
                queue.follow(await command.node.events())
            }
            var typing = await command.node.typing(in: command.chat.name).makeAsyncIterator()
            var labels = await command.labels()
            var last = line(await typing.next() ?? [], &labels, command)
            var goesOn = try await show(last, command) && !once
            let lookout = Task { await endWithReader(command) }
            defer { lookout.cancel() }
            var stream = queue.stream.makeAsyncIterator()
            while goesOn, let event = await stream.next() {
                switch event {
                case .signal(SIGTSTP): await suspend(command)
                case .signal(let number): goesOn = !SignalWatch.ending.contains(number)
                case .nodeEnded: goesOn = false
                case .node(let timed):
                    switch timed.event {
                    case .peer(command.chat.name, let person, _, _):
                        // Whoever has left stays: a label doesn't get shorter while somebody looks at it.
                        if let peer = await command.node.peer(person.user, in: command.chat.name) {
                            labels.update(Labels.Person(peer))
                        }
                    case .typing(command.chat.name, let people):
                        let line = line(people, &labels, command)
                        if line != last { goesOn = try await show(line, command) }
                        last = line
                    default: break
                    }
                default: break
                }
            }
            await command.node.stop()
            withExtendedLifetime(signals) {}
        }
    }

    /// Returns false when nobody reads any more.
    @MainActor
    private func show(_ line: String, _ command: CommandNode) async throws -> Bool {
        guard !Output.standard.write(line: line) else { return true }
        let code = errno
        await command.node.stop()
        guard code == EPIPE else { throw Output.failure(code) }
        return false
    }

    /// Ends the node, and the command with it, when whoever read the output has gone, though nothing changes.
    @MainActor
    private func endWithReader(_ command: CommandNode) async {
        while !Task.isCancelled {
            if Output.standard.isAbandoned { return await command.node.stop() }
            try? await Task.sleep(for: Self.lookTime)
        }
    }

    @MainActor
    private func suspend(_ command: CommandNode) async {
        await command.node.suspend()
        raise(SIGSTOP)
        await command.node.resume()
    }

    @MainActor
    private func line(_ people: [Person], _ labels: inout Labels, _ command: CommandNode) -> String {
        for person in people where !labels.contains(person.user.description) { labels.update(Labels.Person(person)) }
        let text = IndicatorText.text(
            people: people.map { labels.label(of: $0.user.description) },
            style: indicator ?? command.settings.indicator ?? .standard)
        guard json else { return text }
        return JSONValue.object([
            ("chat", .string(command.chat.name)), ("text", .string(text)),
            ("users", .array(people.map { .person($0) })),
        ]).text
    }
}
