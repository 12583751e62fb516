import NIOCore
import NIOWebSocket

/// One connection of the page's server, from its first byte to its end.
final class WebConnection {
    private enum Phase {
        /// Requests and their answers.
        case requests
        case proving(Handshake)
        case page(WebPage, session: String)
        /// The server has sent its close, and waits for the other's.
        case closing
        case closed
    }

    private let server: WebServer
    private let channel: any Channel
    weak var gate: HeadGate?
    private var phase = Phase.requests
    private var assembler = MessageAssembler()
    private var isReading = false
    private var timer: Scheduled<Void>?
    private var pingTimer: Scheduled<Void>?
    /// The time of the first ping without an answer.
    private var unanswered: NIODeadline?

    init(_ server: WebServer, _ channel: any Channel) {
        self.server = server
        self.channel = channel
    }

    var isWritable: Bool { channel.isWritable }

    // MARK: Requests

    /// Gives the other end some time for its next step.
    func awaitStep() {
        timer?.cancel()
        timer = channel.eventLoop.assumeIsolated().scheduleTask(in: server.limits.patience) { [weak self] in
            self?.runOut()
        }
    }

    private func runOut() {
        switch phase {
        case .requests: abort()
        case .proving: close(.handshake, "the proof is late")
        case .page, .closing, .closed: break
        }
    }

    // MARK: The WebSocket

    func upgraded() {
        phase = .proving(Handshake())
        awaitStep()
        read()
    }

    func read() {
        let wants =
            switch phase {
            case .proving, .closing: true
            case .page(let page, _): channel.isWritable && page.wantsInput
            case .requests, .closed: false
            }
        guard wants, !isReading else { return }
        isReading = true
        channel.read()
    }

    func readCompleted() {
        isReading = false
        read()
    }

    func receive(_ frame: WebSocketFrame) {
        switch phase {
        case .proving, .page: break
        case .closing:
            if frame.opcode == .connectionClose { abort() }
            return
        case .requests, .closed: return
        }
        if let fault = MessageAssembler.fault(of: frame) { return close(.protocolError, fault) }
        switch frame.opcode {
        case .connectionClose: close(answering: frame)
        case .ping: send(.pong, frame.unmaskedData)
        case .pong: unanswered = nil
        default:
            switch assembler.receive(frame) {
            case .more: break
            case .message(let message): receive(message)
            case .fault(let code, let text): close(code, text)
            }
        }
    }

    private func receive(_ message: [UInt8]) {
        switch phase {
        case .proving(var handshake):
            let step = server.receive(message, &handshake)
            phase = .proving(handshake)
            switch step {
            case .reply(let text):
                write(line: Array(text.utf8))
                flush()
            case .proved(let kind, let id): prove(kind, id)
            case .reused:
                server.reportReuse()
                close(.spentTicket, "the ticket was used before")
            case .refuse(let code, let text): close(code, text)
            }
        case .page(let page, _): page.receive(message)
        case .requests, .closing, .closed: break
        }
    }

    private func prove(_ kind: WebKeys.Kind, _ id: String) {
        switch server.open(self, kind, id) {
        case .failure(let refusal): close(refusal.code, refusal.text)
        case .success(let opening):
            timer?.cancel()
            gate?.open()
            write(line: Array(opening.answer.utf8))
            flush()
            schedulePing()
            let drafts = server.drafts(session: opening.session)
            let page = WebPage(self, server, drafts, on: channel.eventLoop)
            // The page may have closed this connection already.
            guard case .proving = phase else {
                page.close()
                return server.closed(self, session: opening.session)
            }
            phase = .page(page, session: opening.session)
            page.follow(isWritable: channel.isWritable)
            read()
        }
    }

    func reportReuse() {
        if case .page(let page, _) = phase { page.reportReuse() }
    }

    func failed(_ error: any Error) {
        switch (phase, error) {
        case (.proving, HeadGate.Fault.longProof), (.proving, NIOWebSocketError.invalidFrameLength):
            close(.handshake, "the message is too long")
        case (.page, NIOWebSocketError.invalidFrameLength): close(.message, "the message is too long")
        case (.proving, is NIOWebSocketError), (.page, is NIOWebSocketError):
            close(.protocolError, "a control frame has a wrong form")
        case (.closing, is NIOWebSocketError), (.closing, is ByteToMessageDecoderError),
            (.closing, is HeadGate.Fault):
            break
        default: abort()
        }
    }

    // MARK: Output

    func write(line: [UInt8]) {
        guard channel.isActive else { return }
        var data = channel.allocator.buffer(capacity: line.count)
        data.writeBytes(line)
        channel.write(WebSocketFrame(fin: true, opcode: .text, data: data), promise: nil)
    }

    func flush() { channel.flush() }

    private func send(_ opcode: WebSocketOpcode, _ data: ByteBuffer) {
        channel.writeAndFlush(WebSocketFrame(fin: true, opcode: opcode, data: data), promise: nil)
    }

    func writabilityChanged() {
        if case .page(let page, _) = phase { page.follow(isWritable: channel.isWritable) }
        read()
    }

    private func schedulePing() {
        pingTimer = channel.eventLoop.assumeIsolated().scheduleTask(in: server.limits.ping) { [weak self] in
            self?.ping()
        }
    }

    private func ping() {
        guard case .page(let page, _) = phase else { return }
        // An answer may wait behind lines for which the daemon has no room.
        if !page.wantsInput { unanswered = nil }
        if let unanswered, NIODeadline.now() - unanswered >= server.limits.silence { return abort() }
        unanswered = unanswered ?? .now()
        if channel.isWritable { send(.ping, ByteBuffer()) }
        schedulePing()
    }

    // MARK: The end

    /// Closes the WebSocket with a code.
    func close(_ code: CloseCode, _ reason: String) {
        var data = channel.allocator.buffer(capacity: 2 + reason.utf8.count)
        data.writeInteger(code.rawValue)
        data.writeString(reason)
        close(data, isAnswer: false)
    }

    /// Closes the WebSocket because the other end has asked for it.
    private func close(answering frame: WebSocketFrame) {
        var data = frame.unmaskedData
        close(data.readSlice(length: 2) ?? ByteBuffer(), isAnswer: true)
    }

    private func close(_ data: ByteBuffer, isAnswer: Bool) {
        switch phase {
        case .proving, .page: break
        case .requests: return abort()
        case .closing, .closed: return
        }
        endPage()
        phase = .closing
        timer?.cancel()
        timer = channel.eventLoop.assumeIsolated().scheduleTask(in: server.limits.closing) { [weak self] in
            self?.abort()
        }
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: data)
        channel.writeAndFlush(frame).assumeIsolated().whenComplete { [weak self] _ in
            if isAnswer { self?.abort() }
        }
        read()
    }

    private func endPage() {
        pingTimer?.cancel()
        guard case .page(let page, let session) = phase else { return }
        page.close()
        server.closed(self, session: session)
    }

    func abort() { channel.close(promise: nil) }

    func inactive() {
        timer?.cancel()
        endPage()
        phase = .closed
        server.removed(self)
    }
}
