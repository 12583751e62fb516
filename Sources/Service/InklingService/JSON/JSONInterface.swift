import Inkling
import InklingModel
import NIOCore

/// The texts for people in lines of output. The program supplies them.
package struct JSONTexts: Sendable {
    /// The version of the program.
    let version: String
    /// Returns the text that names the people who type.
    let indicator: @Sendable ([Person]) -> String
    let notice: @Sendable (Notice) -> String
    let error: @Sendable (NodeError) -> String
    /// Whether each daemon of this version writes the same texts.
    let isStandard: Bool

    package init(
        version: String, indicator: @escaping @Sendable ([Person]) -> String,
        notice: @escaping @Sendable (Notice) -> String, error: @escaping @Sendable (NodeError) -> String,
        isStandard: Bool = true
    ) {
        self.version = version
        self.indicator = indicator
        self.notice = notice
        self.error = error
        self.isStandard = isStandard
    }
}

/// The JSON interface of a node (`Protocol/api.md`), from bytes of input to lines of output.
///
/// The interface performs one request at a time. Later lines wait for its answer, and ``wantsInput`` is false
/// meanwhile.
package final class JSONInterface {
    /// The destination of the lines.
    package enum Stream {
        /// Standard input and output of a program that joins this chat at its start.
        case standard(Chat, isConfirmed: Bool = false)
        /// A connection to a daemon, whose state directory has this device and inode.
        case connection(state: String, isHolder: Bool = false)
    }

    /// The reason for the end.
    package enum End: Equatable {
        /// The input ended, or a command asked for the end.
        case input
        /// The node can't join the first chat.
        case start(NodeError)
        /// The node ended.
        case node(ServiceEnd)
    }

    private enum Phase {
        /// The node is joining the first chat.
        case beginning
        case running
        /// The input has ended, or a `quit` or `stop` with this ID ended it.
        case leaving(JSONRequestID?)
        case ended
    }

    private let service: any ChatService
    /// The daemon's node; nil for a node in this process.
    private let daemon: AttachedNode?
    private let stream: Stream
    private let texts: JSONTexts
    private let events: JSONEvents
    private let cache: EventLineCache
    private let write: ([UInt8]) -> Void
    private let ended: (End) -> Void
    /// Called with the user's new name, after the answer to a rename.
    package var renamed: (String) -> Void = { _ in }
    private var splitter = LineSplitter()
    /// The chat of commands that name no chat.
    private var open: String?
    private var subscription = Subscription()
    private var phase = Phase.beginning
    /// Whether the output has ended.
    private var isSilent = false
    private var hasInputEnded = false
    private var isProceeding = false
    /// Lines that the interface holds until it has written `ready`.
    private var early: [[UInt8]] = []
    /// The request without an answer. At most one is there at a time.
    private var pending: Pending?
    /// Lines of input that wait for the answers to earlier ones.
    private var waiting = CircularBuffer<LineSplitter.Piece>(initialCapacity: 1)

    /// A request that the interface has passed to the node.
    private struct Pending {
        let id: RequestID
        let request: ServiceRequest
        let asked: Asked
        /// Whether a joined chat becomes the open chat if there is none.
        let opens: Bool
    }

    /// The origin of a request.
    private struct Asked {
        /// The number of the line of input; 0 for a request of the interface itself.
        var line = 0
        var id: JSONRequestID?
        var tag: String?
    }

    /// Makes an interface.
    ///
    /// - Parameters:
    ///   - write: Called with the bytes of each line of output, with its line feed.
    ///   - ended: Called once, after the last line.
    package convenience init(
        _ service: any ChatService, _ stream: Stream, texts: JSONTexts, write: @escaping ([UInt8]) -> Void,
        ended: @escaping (End) -> Void
    ) {
        self.init(service, stream, texts: texts, cache: EventLineCache(), write: write, ended: ended)
    }

    /// Makes an interface.
    ///
    /// - Parameter cache: A cache shared by the front ends of one node, on one event loop.
    init(
        _ service: any ChatService, _ stream: Stream, texts: JSONTexts, cache: EventLineCache,
        write: @escaping ([UInt8]) -> Void, ended: @escaping (End) -> Void
    ) {
        self.service = service
        daemon = service as? AttachedNode
        self.stream = stream
        self.texts = texts
        events = JSONEvents(indicator: texts.indicator, notice: texts.notice)
        self.cache = cache
        self.write = write
        self.ended = ended
        if let daemon, daemon.version == texts.version, texts.isStandard {
            daemon.passEvent = { [weak self] in self?.report($0) }
        }
    }

    /// Whether requests wait until earlier answers are written. Without this, a few bytes of input could fill the
    /// memory with answers.
    package var isHeld = false {
        didSet { if !isHeld { proceed() } }
    }

    /// Whether the caller should read the next piece of input.
    package var wantsInput: Bool {
        if case .running = phase { waiting.isEmpty } else { false }
    }

    // MARK: Inputs

    /// Starts the interface. The node is up, and its output goes to ``receive(_:)-(ServiceOutput)``.
    package func begin() {
        switch stream {
        case .standard(let chat, let isConfirmed):
            ask(.join(chat, isConfirmed: isConfirmed))
        case .connection(let state, let isHolder):
            phase = .running
            write(ready { ($0.state, $0.isHolder) = (state, isHolder) })
        }
    }

    /// Receives bytes of input.
    package func receive(_ bytes: [UInt8]) {
        waiting.append(contentsOf: splitter.feed(bytes))
        proceed()
    }

    /// Receives the end of input.
    package func endOfInput() {
        if let piece = splitter.finish() { waiting.append(piece) }
        hasInputEnded = true
        proceed()
    }

    /// Receives an output of the node.
    package func receive(_ output: ServiceOutput) {
        switch output {
        case .event(let timed): report(cache.line(for: timed, from: events))
        case .unread(let timed): report(events.line(for: timed, isUnread: true).bytes())
        case .own(let message):
            let person = Person(user: service.identity.user, name: service.identity.name)
            report(events.line(for: message, from: person).bytes())
        case .user(var user):
            var line = JSONLine(at: user.at)
            user.members(&line)
            report(line.bytes())
        case .answer(let answer, let id):
            guard let asked = pending, asked.id == id else { return }
            pending = nil
            receive(answer, to: asked)
            proceed()
        case .ended(let why): finish(.node(why))
        }
    }

    private func report(_ line: [UInt8]) {
        if case .beginning = phase { early.append(line) } else { put(line) }
    }

    // MARK: Lines of input

    private func proceed() {
        guard !isProceeding else { return }
        isProceeding = true
        defer { isProceeding = false }
        while case .running = phase, pending == nil, !isHeld, let piece = waiting.popFirst() { receive(piece) }
        // Lines that wait come before the end.
        if case .running = phase, hasInputEnded, waiting.isEmpty, pending == nil { phase = .leaving(nil) }
        if case .leaving(let id) = phase {
            if let id { answer(JSONLine(on: "ok"), id) }
            finish(.input)
        }
    }

    private func receive(_ piece: LineSplitter.Piece) {
        switch piece {
        case .tooLong(let number):
            refuse(
                .badCommand("the line is longer than \(LineSplitter.longestLine) bytes"), Asked(line: number))
        case .line(let bytes, let number):
            if let daemon, open != nil, RelayedLine.isEdit(bytes) { return daemon.pass(edit: bytes) }
            // Empty lines are ignored, because people write them into files.
            guard bytes.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { return }
            let request = JSONRequest(bytes, openChat: open)
            let asked = Asked(line: number, id: request.id, tag: request.tag)
            switch request.asked {
            case .success(let request): perform(request, asked)
            case .failure(let error): refuse(error, asked)
            }
        }
    }

    private func perform(_ request: JSONRequest.Asked, _ asked: Asked) {
        switch (request.request, stream) {
        case (.quit, _), (.shutDown, .standard): phase = .leaving(asked.id)
        default: ask(request.request, asked, opens: request.opens)
        }
    }

    private func ask(_ request: ServiceRequest, _ asked: Asked = Asked(), opens: Bool = true) {
        pending = Pending(id: service.nextRequestID, request: request, asked: asked, opens: opens)
        // The answer to an edit without an ID has no line.
        if asked.id == nil, request.isEdit {
            if service.report(request) { pending = nil }
        } else {
            service.ask(request)
        }
    }

    // MARK: Answers

    private func receive(_ answer: ServiceAnswer, to pending: Pending) {
        let (request, asked) = (pending.request, pending.asked)
        switch (answer, request) {
        case (.failed(let error), _):
            if case .beginning = phase { finish(.start(error)) } else { refuse(error, asked) }
            return
        case (.joined(let chat, let peers), _): return joined(chat, peers, pending)
        case (.done, .leave(let chat)): if open == chat { open = nil }
        case (.done, .open(let chat)): open = chat
        case (.done, .subscribe(let subscription)): self.subscription = subscription
        default: break
        }
        write(answer, to: pending)
        if case (.done, .rename(let name)) = (answer, request) { renamed(name) }
    }

    /// Writes the line of an answer. Without an ID there is no `ok`.
    private func write(_ answer: ServiceAnswer, to pending: Pending) {
        let asked = pending.asked
        if asked.id == nil, answer.isOK { return }
        self.answer(
            answer.line(
                to: pending.request, of: service.identity, version: texts.version, tag: asked.tag,
                at: Node.wallClock()), asked.id)
    }

    private func joined(_ chat: Chat, _ peers: [Peer], _ pending: Pending) {
        if case .beginning = phase {
            phase = .running
            write(ready { $0.chat = chat.name })
        } else if pending.asked.id != nil {
            write(.joined(chat, peers), to: pending)
        } else if subscription.wants(.peer, in: chat.name, isMember: true) {
            // The answer to a join with an ID lists these people.
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
        if open == nil, pending.opens { ask(.open(chat: chat.name)) }
    }

    private func ready(_ complete: (inout ReadyLine) -> Void) -> JSONLine {
        let identity = service.identity
        var ready = ReadyLine()
        (ready.user, ready.name, ready.key) = (identity.user, identity.name, identity.key)
        (ready.port, ready.version, ready.interface) = (identity.port, texts.version, interfaceVersion)
        complete(&ready)
        var line = JSONLine(at: Node.wallClock())
        ready.members(&line)
        return line
    }

    private func noticeOpen(_ chat: Chat) {
        let text = "this chat is open: anybody on the network can join and read it"
        write(
            JSONLine(
                on: "notice",
                [("code", .string("open-chat")), ("text", .string(text)), ("chat", .string(chat.name))]))
    }

    private func answer(_ line: JSONLine, _ id: JSONRequestID?) {
        var line = line
        if let id { line.add("id", id.value) }
        write(line)
    }

    private func refuse(_ error: NodeError, _ asked: Asked) {
        // A failed request of the interface itself, as after the chat was left, is not reported.
        guard asked.line > 0 else { return }
        var line = ErrorLine(
            code: error.code, text: texts.error(error), line: asked.line, tag: asked.tag, id: asked.id)
        switch error {
        case .queueFull(let user): line.user = user
        case .messageTooLong(let bytes): line.bytes = bytes
        default: break
        }
        write(line.outputLine)
    }

    // MARK: The end

    private func finish(_ end: End) {
        if case .ended = phase { return }
        switch (stream, end) {
        // Standard output still gets the events that the node's end causes.
        case (.standard, .input), (.standard, .node): break
        case (.standard, .start), (.connection, .input), (.connection, .start): isSilent = true
        case (.connection, .node(let why)):
            write(why.line)
            isSilent = true
        }
        phase = .ended
        (pending, waiting, early) = (nil, [], [])
        ended(end)
    }

    private func write(_ line: JSONLine) { put(line.bytes()) }

    private func put(_ line: [UInt8]) {
        if !isSilent { write(line) }
    }
}

extension ServiceEnd {
    /// The last line of a connection, with the reason for its end.
    var line: JSONLine {
        let (code, text) =
            switch self {
            case .stopped, .lost, .silent: ("stopped", "The node was stopped.")
            case .tooSlow: ("too-slow", "This front end does not read what happens.")
            }
        return ErrorLine(code: code, text: text).outputLine
    }
}

extension JSONLine {
    /// An output of the present time.
    package init(on kind: String, _ members: [(StaticString, JSONValue?)] = []) {
        self.init(at: Node.wallClock())
        begin(kind, "")
        for (name, value) in members { if let value { add(name, value) } }
    }
}

extension ErrorLine {
    /// The line of the present time.
    var outputLine: JSONLine {
        var (line, value) = (JSONLine(at: Node.wallClock()), self)
        value.members(&line)
        return line
    }
}
