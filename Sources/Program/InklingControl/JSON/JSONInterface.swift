import Inkling
import InklingModel

/// The texts that people read in lines of output, which come from the program.
package struct JSONTexts: Sendable {
    /// The version of the program.
    let version: String
    /// Returns the text that names the people who type.
    let indicator: @Sendable ([Person]) -> String
    let notice: @Sendable (Notice) -> String
    let error: @Sendable (NodeError) -> String

    package init(
        version: String, indicator: @escaping @Sendable ([Person]) -> String,
        notice: @escaping @Sendable (Notice) -> String, error: @escaping @Sendable (NodeError) -> String
    ) {
        self.version = version
        self.indicator = indicator
        self.notice = notice
        self.error = error
    }
}

/// The JSON interface of a node (`Protocol/api.md`), from bytes of input to lines of output.
///
/// The interface performs one request at a time. Until its answer, later lines wait here, and ``wantsInput`` is false.
package final class JSONInterface {
    /// The destination of the lines.
    package enum Stream {
        /// Standard input and output of a program that joins this chat at its start.
        case standard(Chat, isConfirmed: Bool = false)
        /// A connection to a daemon, whose state directory has this device and inode.
        case connection(state: String)
    }

    /// The reason for the end.
    package enum End: Equatable {
        /// The input ended, or asked for the end.
        case input
        /// The first chat can't be joined.
        case start(NodeError)
        /// The node ended.
        case node(ServiceEnd)
    }

    private enum Phase {
        /// The first chat is being joined.
        case beginning
        case running
        /// The input has ended, or a `quit` or `stop` with this ID ended it.
        case leaving(RequestID?)
        case ended
    }

    private let service: any ChatService
    private let stream: Stream
    private let texts: JSONTexts
    private let events: JSONEvents
    private let cache: EventLineCache
    private let write: (String) -> Void
    private let ended: (End) -> Void
    private var splitter = LineSplitter()
    /// The chat of commands that name none.
    private var open: String?
    private var subscription = Subscription()
    private var phase = Phase.beginning
    /// Whether the output has ended.
    private var isSilent = false
    private var hasInputEnded = false
    private var isProceeding = false
    /// Lines that arrived before `ready` was written.
    private var early: [String] = []
    /// Requests without an answer, in their order.
    private var pending: ArraySlice<Pending> = []
    /// Lines of input that wait for the answers to earlier ones.
    private var waiting: ArraySlice<LineSplitter.Piece> = []

    /// A request that was passed on.
    private struct Pending {
        let request: ServiceRequest
        let asked: Asked
        var join: JSONJoin?
    }

    /// The origin of a request.
    private struct Asked {
        /// The number of the line of input; 0 for a request of the interface itself.
        var line = 0
        var id: RequestID?
        var tag: String?
    }

    /// - Parameters:
    ///   - write: Called with each line of output, without its line feed.
    ///   - ended: Called once, after the last line.
    package convenience init(
        _ service: any ChatService, _ stream: Stream, texts: JSONTexts, write: @escaping (String) -> Void,
        ended: @escaping (End) -> Void
    ) {
        self.init(service, stream, texts: texts, cache: EventLineCache(), write: write, ended: ended)
    }

    /// - Parameter cache: Shared by the front ends of one node, on one event loop.
    init(
        _ service: any ChatService, _ stream: Stream, texts: JSONTexts, cache: EventLineCache,
        write: @escaping (String) -> Void, ended: @escaping (End) -> Void
    ) {
        self.service = service
        self.stream = stream
        self.texts = texts
        events = JSONEvents(indicator: texts.indicator, notice: texts.notice)
        self.cache = cache
        self.write = write
        self.ended = ended
    }

    /// Whether requests wait because answers wait to be written. Otherwise a few bytes of input could fill the memory
    /// with answers.
    package var isHeld = false {
        didSet { if !isHeld { proceed() } }
    }

    /// Whether to read the next piece of input.
    package var wantsInput: Bool {
        if case .running = phase { waiting.isEmpty } else { false }
    }

    // MARK: Inputs

    /// Starts the interface. The node is up, and its output goes to ``take(_:)-(ServiceOutput)``.
    package func begin() {
        switch stream {
        case .standard(let chat, let isConfirmed):
            let join = JSONJoin(.named(chat.name, secret: chat.secret?.text), isConfirmed: isConfirmed)
            ask(.join(chat, isConfirmed: isConfirmed), Asked(), join: join)
        case .connection(let state):
            phase = .running
            write(ready([("interface", .integer(interfaceVersion)), ("state", .string(state))]))
        }
    }

    /// Receives bytes of input.
    package func take(_ bytes: [UInt8]) {
        waiting += splitter.feed(bytes)
        proceed()
    }

    /// Receives the end of input.
    package func endOfInput() {
        if let piece = splitter.finish() { waiting.append(piece) }
        hasInputEnded = true
        proceed()
    }

    /// Receives an output of the node.
    package func take(_ output: ServiceOutput) {
        switch output {
        case .event(let timed): tell(cache.text(for: timed, from: events))
        case .waited(let timed): tell(events.line(for: timed, hasWaited: true).text)
        case .own(let message):
            let person = Person(user: service.identity.user, name: service.identity.name)
            tell(events.line(for: message, from: person).text)
        case .user(let user): tell(user.line.text)
        case .answer(let answer, let request):
            guard let index = pending.firstIndex(where: { $0.request == request }) else { return }
            take(answer, to: pending.remove(at: index))
            proceed()
        case .ended(let why): end(.node(why))
        }
    }

    private func tell(_ line: String) {
        if case .beginning = phase { early.append(line) } else { put(line) }
    }

    // MARK: Lines of input

    private func proceed() {
        guard !isProceeding else { return }
        isProceeding = true
        defer { isProceeding = false }
        while case .running = phase, pending.isEmpty, !isHeld, let piece = waiting.popFirst() { take(piece) }
        // Lines that wait come before the end.
        if case .running = phase, hasInputEnded, waiting.isEmpty, pending.isEmpty { phase = .leaving(nil) }
        if case .leaving(let id) = phase {
            if let id { answer(JSONLine(on: "ok"), id) }
            end(.input)
        }
    }

    private func take(_ piece: LineSplitter.Piece) {
        switch piece {
        case .tooLong(let number):
            refuse("bad-command", "the line is longer than \(LineSplitter.longestLine) bytes", Asked(line: number))
        case .line(let bytes, let number):
            // Empty lines are ignored: people write them into files.
            guard bytes.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { return }
            let request = JSONRequest(bytes)
            let asked = Asked(line: number, id: request.id, tag: request.tag)
            do {
                try perform(request.command.get(), asked)
            } catch let refusal as JSONCommand.Refusal {
                refuse("bad-command", refusal.text, asked)
            } catch {
                refuse(error as? NodeError ?? .other(code: "bad-command", text: "\(error)"), asked)
            }
        }
    }

    private func perform(_ command: JSONCommand, _ asked: Asked) throws {
        switch command {
        case .compose(let text, let chat): ask(.compose(text, chat: try resolve(chat)), asked)
        case .send(let text, _, let chat): ask(.send(text, chat: try resolve(chat)), asked)
        case .join(let join): try perform(join, asked)
        case .leave(let chat): ask(.leave(chat: NormalForm.canonical(chat)), asked)
        case .open(let chat): ask(.open(chat: NormalForm.canonical(chat)), asked)
        case .read(let chat): ask(.read(chat: try resolve(chat)), asked)
        case .setAway(let isAway): ask(.setAway(isAway), asked)
        case .nick(let name): ask(.rename(name), asked)
        case .block(let user): ask(.block(try Self.user(user)), asked)
        case .unblock(let user): ask(.unblock(try Self.user(user)), asked)
        case .setBlocked(let isBlocked, let key): ask(.setBlocked(isBlocked, key: key), asked)
        case .setVerified(let isVerified, let key): ask(.setVerified(isVerified, key: key), asked)
        case .who(nil) where open == nil: answer(JSONLine(on: "who", [("peers", .array([]))]), asked.id)
        case .who(let chat): ask(.peers(chat: try resolve(chat)), asked)
        case .people(let areBlocked): ask(areBlocked ? .blockedPeople : .knownPeers, asked)
        case .fingerprint(let key): ask(.fingerprint(key: key), asked)
        case .invite(let chat): ask(.invite(chat: try resolve(chat)), asked)
        case .sightings(let chat): ask(.sightings(chat: try resolve(chat)), asked)
        case .subscribe(let subscription): ask(.subscribe(subscription), asked)
        case .chats: ask(.chats, asked)
        case .status: ask(.status, asked)
        case .identity: answer(service.identity.line, asked.id)
        case .stats: ask(.statistics, asked)
        case .quit: phase = .leaving(asked.id)
        case .stop:
            if case .standard = stream { phase = .leaving(asked.id) } else { ask(.shutDown, asked) }
        }
    }

    private func perform(_ join: JSONJoin, _ asked: Asked) throws {
        let chat: Chat
        switch join.chat {
        case .named(let name, let secret):
            let secret = try secret.map { text throws(NodeError) in try Secret(text) }
            chat = try Chat(name, secret: secret)
        case .invite(let invite):
            // Only people copy blanks along with an invite (W-34).
            guard Blanks.trimmed(invite, lineEnds: true) == invite else { throw NodeError.invite(.scheme) }
            chat = try Chat(invite: invite)
        }
        let isConfirmed = join.isConfirmed
        ask(
            join.isKept ? .keep(chat, isConfirmed: isConfirmed) : .join(chat, isConfirmed: isConfirmed), asked,
            join: join)
    }

    private func ask(_ request: ServiceRequest, _ asked: Asked, join: JSONJoin? = nil) {
        pending.append(Pending(request: request, asked: asked, join: join))
        service.ask(request)
    }

    /// Returns the name of a command's chat, by default that of the open chat.
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

    // MARK: Answers

    private func take(_ answer: ServiceAnswer, to pending: Pending) {
        let (request, asked) = (pending.request, pending.asked)
        switch (answer, request) {
        case (.failed(let error), _):
            if case .beginning = phase { end(.start(error)) } else { refuse(error, asked) }
            return
        case (.joined(let chat, let peers), _):
            joined(chat, peers, pending.join ?? JSONJoin(.named(chat.name, secret: nil)), asked)
            return
        case (.done, .leave(let chat)): if open == chat { open = nil }
        case (.done, .open(let chat)): open = chat
        case (.done, .subscribe(let subscription)): self.subscription = subscription
        default: break
        }
        let line = answer.line(to: request, of: service.identity, version: texts.version, tag: asked.tag)
        if let line {
            self.answer(line, asked.id)
        } else if let id = asked.id {
            self.answer(JSONLine(on: "ok"), id)
        }
    }

    private func joined(_ chat: Chat, _ peers: [Peer], _ join: JSONJoin, _ asked: Asked) {
        if case .beginning = phase {
            phase = .running
            write(ready([("chat", .string(chat.name)), ("interface", .integer(interfaceVersion))]))
        } else if let id = asked.id {
            answer(
                JSONLine(
                    on: "ok",
                    [
                        ("chat", .string(chat.name)), ("peers", .array(peers.map { .peer($0) })),
                        ("invite", chat.invite.map(JSONValue.string)),
                    ]), id)
        } else if subscription.wants(.peer, in: chat.name, isMember: true) {
            // The answer to a join with an ID lists them.
            for peer in peers where peer.presence != .offline {
                let why = peer.presence == .away ? PresenceReason.away : .hello
                write(
                    events.line(
                        for: TimedEvent(at: Node.wallClock(), event: .peer(.init(chat: chat.name, peer, why: why)))))
            }
        }
        if chat.isOpen, subscription.kinds.contains(.notice) { noticeOpen(chat) }
        early.forEach(put)
        early = []
        if open == nil, join.opens { ask(.open(chat: chat.name), Asked()) }
    }

    private func ready(_ further: [(String, JSONValue?)]) -> JSONLine {
        let identity = service.identity
        let members: [(String, JSONValue?)] = [
            ("user", .string(identity.user.description)), ("name", .string(identity.name)),
            ("port", .integer(Int(identity.port))), ("version", .string(texts.version)),
            ("key", .string(identity.key.description)),
        ]
        return JSONLine(on: "ready", members + further)
    }

    private func noticeOpen(_ chat: Chat) {
        let text = "this chat is open: anybody on the network can join and read it"
        write(
            JSONLine(
                on: "notice",
                [("code", .string("open-chat")), ("text", .string(text)), ("chat", .string(chat.name))]))
    }

    private func answer(_ line: JSONLine, _ id: RequestID?) {
        var line = line
        if let id { line.add("id", id.value) }
        write(line)
    }

    private func refuse(_ failure: NodeError, _ asked: Asked) {
        // A failed request of the interface itself, as after the chat was left, is not reported.
        guard asked.line > 0 else { return }
        switch failure {
        case .queueFull(let user):
            refuse(failure.code, texts.error(failure), asked, [("user", .string(user.description))])
        case .messageTooLong(let bytes): refuse(failure.code, texts.error(failure), asked, [("bytes", .integer(bytes))])
        default: refuse(failure.code, texts.error(failure), asked)
        }
    }

    private func refuse(
        _ code: String, _ text: String, _ asked: Asked, _ further: [(String, JSONValue?)] = []
    ) {
        write(
            JSONLine(
                on: "error",
                [
                    ("code", .string(code)), ("text", .string(text)), ("line", .integer(asked.line)),
                    ("tag", asked.tag.map(JSONValue.string)), ("id", asked.id?.value),
                ] + further))
    }

    // MARK: The end

    private func end(_ end: End) {
        if case .ended = phase { return }
        switch (stream, end) {
        // Standard output still gets the events of the node's end.
        case (.standard, .input), (.standard, .node): break
        case (.standard, .start), (.connection, .input), (.connection, .start): isSilent = true
        case (.connection, .node(let why)):
            write(why.line)
            isSilent = true
        }
        phase = .ended
        (pending, waiting, early) = ([], [], [])
        ended(end)
    }

    private func write(_ line: JSONLine) { put(line.text) }

    private func put(_ line: String) {
        if !isSilent { write(line) }
    }
}

extension ServiceEnd {
    /// The last line of a connection.
    var line: JSONLine {
        let (code, text) =
            switch self {
            case .stopped, .lost, .silent: ("stopped", "The node was stopped.")
            case .tooSlow: ("too-slow", "This front end does not read what happens.")
            }
        return JSONLine(on: "error", [("code", .string(code)), ("text", .string(text))])
    }
}
