import Foundation
import Inkling
import InklingControl
import InklingModel
import InklingText

/// The node without a terminal: JSON lines in, JSON lines out.
@MainActor
final class JSONSession {
    private let context: SessionContext
    private var node: Node { context.node }
    private let events: JSONEvents
    private var splitter = LineSplitter()
    private var open: String?
    private var readerIsGone = false
    private var quitting = false
    private var eventsEnded = false

    init(_ context: SessionContext) {
        self.context = context
        open = context.settings.chat.name
        let style = context.settings.indicator
        events = JSONEvents(
            indicator: { IndicatorText.text(names: $0.map { SafeText.name($0.name) ?? "" }, style: style) },
            notice: \.text)
    }

    func run() async -> Int32 {
        let chat = context.settings.chat
        write(
            JSONLine(
                on: "ready",
                [
                    ("user", .string(node.user.description)), ("name", .string(node.name)),
                    ("port", .integer(Int(node.port))), ("chat", .string(chat.name)),
                    ("version", .string(programVersion)), ("key", .string(node.key)),
                ]))
        if chat.isOpen {
            noticeOpen(chat)
        }
        var events = context.queue.stream.makeAsyncIterator()
        while !quitting, !readerIsGone, let event = await events.next() { await handle(event) }
        await context.end()
        await node.stopObserving()
        // What the end itself did to messages is reported too.
        while !readerIsGone, !eventsEnded, let event = await events.next() {
            if case .nodeEnded = event { eventsEnded = true }
            if case .node(let event) = event { tell(event) }
        }
        return 0
    }

    private func handle(_ event: SessionEvent) async {
        switch event {
        case .input(let bytes):
            for piece in splitter.feed(bytes) where !quitting { await take(piece) }
            context.input.proceed()
        case .endOfInput:
            if let piece = splitter.finish() { await take(piece) }
            quitting = true
        case .signal(SIGTSTP): await context.suspendProgram(wholeJob: false)
        case .signal(let number): quitting = quitting || SignalWatch.ending.contains(number)
        case .node(let event): tell(event)
        case .nodeEnded: (quitting, eventsEnded) = (true, true)
        case .log, .time: break
        }
    }

    private func take(_ piece: LineSplitter.Piece) async {
        switch piece {
        case .tooLong(let number):
            error("bad-command", "the line is longer than \(LineSplitter.longestLine) bytes", line: number)
        case .line(let bytes, let number):
            // An empty line is nothing, as between the lines of a file that a person wrote.
            guard bytes.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { return }
            do {
                try await perform(JSONCommand(bytes))
            } catch {
                refuse(error, line: number, tag: JSONCommand.tag(of: bytes))
            }
        }
    }

    private func refuse(_ failure: any Error, line: Int, tag: String?) {
        switch failure {
        case let refusal as JSONCommand.Refusal: error("bad-command", refusal.text, line: line, tag: tag)
        case let failure as NodeError: error(failure.code, failure.text, line: line, tag: tag)
        default: error("bad-command", "\(failure)", line: line, tag: tag)
        }
    }

    private func perform(_ command: JSONCommand) async throws {
        switch command {
        case .compose(let text, let chat):
            await node.compose(text, in: try await joined(chat))
        case .send(let text, let tag, let chat):
            let chat = try await joined(chat)
            let (message, recipients) = try await node.send(text, to: chat)
            write(
                JSONLine(
                    on: "sent",
                    [
                        ("chat", .string(chat)), ("message", .unsigned(message)), ("tag", tag.map(JSONValue.string)),
                        ("to", .integer(recipients)),
                    ]))
        case .join(let name, let secret):
            let chat = try Chat(NormalForm.canonical(name), secret: try secret.map { text in try Secret(text) })
            try await node.join(chat)
            if chat.isOpen { noticeOpen(chat) }
            if open == nil { open = chat.name }
        case .leave(let name):
            let name = NormalForm.canonical(name)
            try await node.leave(name)
            if open == name { open = nil }
        case .open(let name):
            let chat = try await joined(name)
            if let open, open != chat { await node.compose("", in: open) }
            open = chat
        case .setAway(let away): await node.setAway(away)
        case .block(let user): await node.block(try Self.user(user))
        case .unblock(let user): await node.unblock(try Self.user(user))
        case .who(let chat):
            if chat == nil, open == nil {
                write(JSONLine(on: "who", [("peers", .array([]))]))
            } else {
                await who(try await joined(chat))
            }
        case .stats: write(text: await node.statistics().line[...])
        case .quit: quitting = true
        }
    }

    /// The chat that a command is for: the one it names, else the open one.
    private func joined(_ name: String?) async throws -> String {
        guard let chat = name.map({ NormalForm.canonical($0) }) ?? open else {
            throw JSONCommand.Refusal(text: "no chat is open; name one or open it first")
        }
        guard await node.chats.contains(where: { $0.name == chat }) else { throw NodeError.unknownChat(chat) }
        return chat
    }

    private static func user(_ text: String) throws -> UserID {
        guard let user = UserID(text) else { throw JSONCommand.Refusal(text: "\"user\" is not a user ID") }
        return user
    }

    private func who(_ chat: String) async {
        let peers = await node.peers(in: chat).map { JSONValue.peer($0) }
        write(JSONLine(on: "who", [("chat", .string(chat)), ("peers", .array(peers))]))
    }

    private func tell(_ timed: TimedEvent) {
        write(events.line(for: timed))
    }

    private func noticeOpen(_ chat: Chat) {
        let text = "this chat is open: anybody on the network can join and read it"
        write(
            JSONLine(
                on: "notice",
                [("code", .string("open-chat")), ("text", .string(text)), ("chat", .string(chat.name))]))
    }

    private func error(_ code: String, _ text: String, line: Int, tag: String? = nil) {
        write(
            JSONLine(
                on: "error",
                [
                    ("code", .string(code)), ("text", .string(text)), ("line", .integer(line)),
                    ("tag", tag.map(JSONValue.string)),
                ]))
    }

    private func write(_ line: JSONLine) { write(text: line.text[...]) }

    private func write(text: Substring) {
        if !Output.standard.write(line: String(text)) { readerIsGone = true }
    }
}
