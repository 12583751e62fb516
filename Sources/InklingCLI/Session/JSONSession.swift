import Glibc
import Inkling
import InklingControl
import InklingModel
import InklingText

/// JSON lines for programs; `Protocol/driver.md` describes them.
final class JSONSession: Session {
    private let host: SessionHost
    private let identity: NodeIdentity
    private let events: JSONEvents
    private var splitter = LineSplitter()
    /// The chat that commands are for that name none.
    private var open: String?
    private var phase = Phase.beginning
    /// What came before the line that says who this is.
    private var early: [TimedEvent] = []
    /// What waits for its answer, in the order of the requests.
    private var pending: ArraySlice<Pending> = []

    private enum Phase {
        /// The first chat is being joined.
        case beginning
        case running
        case ended
    }

    /// A command that was passed on.
    private struct Pending {
        let request: ServiceRequest
        /// Of the input; 0 for what the program began with.
        let line: Int
        var tag: String?
    }

    init(_ host: SessionHost, identity: NodeIdentity) {
        self.host = host
        self.identity = identity
        let style = host.settings.indicator
        events = JSONEvents(
            indicator: { IndicatorText.text(names: $0.map { SafeText.name($0.name) ?? "" }, style: style) },
            notice: \.text)
    }

    func begin() {
        let chat = host.settings.chat
        open = chat.name
        ask(.join(chat), line: 0)
    }

    // MARK: What the node says

    func take(_ output: ServiceOutput) {
        switch output {
        case .event(let timed):
            if case .beginning = phase { early.append(timed) } else { write(events.line(for: timed)) }
        case .waited, .own: break
        case .answer(let answer, let request):
            guard let index = pending.firstIndex(where: { $0.request == request }) else { return }
            take(answer, to: pending.remove(at: index))
        case .ended: end()
        }
    }

    private func take(_ answer: ServiceAnswer, to asked: Pending) {
        switch (asked.request, answer) {
        case (.join, .failed(let error)) where asked.line == 0:
            Output.error.write(line: "inkling: " + SafeText.line(error.text))
            open = nil
            end(status: 1)
        case (_, .failed(let error)): refuse(error, line: asked.line, tag: asked.tag)
        case (.join(let chat), _):
            if asked.line == 0 { begun(chat) }
            if chat.isOpen { noticeOpen(chat) }
            if open == nil || asked.line == 0 {
                // The node has to know, so that opening another one ends typing here (T-10).
                open = chat.name
                ask(.open(chat: chat.name), line: asked.line)
            }
            for timed in early { write(events.line(for: timed)) }
            early = []
        case (.leave(let chat), _): if open == chat { open = nil }
        case (.open(let chat), _): open = chat
        case (_, .statistics(let statistics)): host.output.write(line: statistics.line)
        case (.send(_, let chat), .sent(let message, let recipients)):
            write(
                JSONLine(
                    on: "sent",
                    [
                        ("chat", .string(chat)), ("message", .unsigned(message)),
                        ("tag", asked.tag.map(JSONValue.string)), ("to", .integer(recipients)),
                    ]))
        case (.peers(let chat), .peers(let peers)):
            write(
                JSONLine(
                    on: "who", [("chat", .string(chat)), ("peers", .array(peers.map { JSONValue.peer($0) }))]))
        default: break
        }
    }

    private func begun(_ chat: Chat) {
        phase = .running
        write(
            JSONLine(
                on: "ready",
                [
                    ("user", .string(identity.user.description)), ("name", .string(identity.name)),
                    ("port", .integer(Int(identity.port))), ("chat", .string(chat.name)),
                    ("version", .string(programVersion)), ("key", .string(identity.key)),
                ]))
    }

    // MARK: Input

    func take(_ piece: StandardInput.Piece) {
        switch piece {
        case .bytes(let bytes): splitter.feed(bytes).forEach(take)
        case .end:
            splitter.finish().map(take)
            end()
        }
    }

    private func take(_ piece: LineSplitter.Piece) {
        guard case .running = phase else { return }
        switch piece {
        case .tooLong(let number):
            error("bad-command", "the line is longer than \(LineSplitter.longestLine) bytes", line: number)
        case .line(let bytes, let number):
            // An empty line is nothing, as between the lines of a file that a person wrote.
            guard bytes.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { return }
            do {
                try perform(JSONCommand(bytes), line: number)
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

    private func perform(_ command: JSONCommand, line: Int) throws {
        switch command {
        case .compose(let text, let chat): ask(.compose(text, chat: try resolve(chat)), line: line)
        case .send(let text, let tag, let chat):
            ask(.send(text, chat: try resolve(chat)), line: line, tag: tag)
        case .join(let name, let secret):
            let secret = try secret.map { text throws(NodeError) in try Secret(text) }
            ask(.join(try Chat(NormalForm.canonical(name), secret: secret)), line: line)
        case .leave(let name): ask(.leave(chat: NormalForm.canonical(name)), line: line)
        case .open(let name): ask(.open(chat: NormalForm.canonical(name)), line: line)
        case .setAway(let away): ask(.setAway(away), line: line)
        case .block(let user): ask(.block(try Self.user(user)), line: line)
        case .unblock(let user): ask(.unblock(try Self.user(user)), line: line)
        case .who(let chat):
            if chat == nil, open == nil {
                write(JSONLine(on: "who", [("peers", .array([]))]))
            } else {
                ask(.peers(chat: try resolve(chat)), line: line)
            }
        case .stats: ask(.statistics, line: line)
        case .quit: end()
        }
    }

    private func ask(_ request: ServiceRequest, line: Int, tag: String? = nil) {
        pending.append(Pending(request: request, line: line, tag: tag))
        host.node?.ask(request)
    }

    /// The name of the chat that a command is for: the one it names, else the open one.
    private func resolve(_ name: String?) throws -> String {
        guard let chat = name.map({ NormalForm.canonical($0) }) ?? open else {
            throw JSONCommand.Refusal(text: "no chat is open; name one or open it first")
        }
        return chat
    }

    private static func user(_ text: String) throws -> UserID {
        guard let user = UserID(text) else { throw JSONCommand.Refusal(text: "\"user\" is not a user ID") }
        return user
    }

    // MARK: The rest

    func tick() {}
    func take(log: String) {}
    func outputDrained() {}
    func outputAbandoned() {
        guard let code = host.output.failure, code != EPIPE else { return end() }
        Output.error.write(line: "inkling: " + Output.failureText(code))
        end(status: 1)
    }

    func take(signal: Int32) {
        switch signal {
        case SIGTSTP: host.suspend(wholeJob: false) { _ in }
        case SIGINT, SIGTERM, SIGHUP: end()
        default: break
        }
    }

    var nextTick: Int64? { nil }
    var wantsInput: Bool {
        if case .running = phase { true } else { false }
    }

    private func end(status: Int32 = 0) {
        if case .ended = phase { return }
        phase = .ended
        host.end(status: status)
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

    private func write(_ line: JSONLine) { host.output.write(line: line.text) }
}
