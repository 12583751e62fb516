import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// The handlers of a connection.
enum WebPipeline {
    static func add(_ server: WebServer, to channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        let gate = HeadGate(server)
        let requests = RequestHandler(server, gate)
        try pipeline.addHandler(gate)
        try pipeline.configureHTTPServerPipeline(
            withPipeliningAssistance: false, withServerUpgrade: upgrade(server, gate, requests, on: channel.eventLoop),
            withErrorHandling: false)
        try pipeline.addHandler(requests)
    }

    private static func upgrade(
        _ server: WebServer, _ gate: HeadGate, _ requests: RequestHandler, on eventLoop: any EventLoop
    ) -> NIOHTTPServerUpgradeConfiguration {
        let parts = NIOLoopBound((server, gate, requests), eventLoop: eventLoop)
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: WebLimits.message, automaticErrorHandling: false,
            shouldUpgrade: { channel, head in
                let server = parts.value.0
                guard case .upgrade = server.rules.verdict(head) else {
                    return channel.eventLoop.makeSucceededFuture(nil)
                }
                return channel.eventLoop.makeSucceededFuture(HTTPHeaders(server.address.headers))
            },
            upgradePipelineHandler: { channel, _ in
                let (_, gate, requests) = parts.value
                guard let connection = gate.connection else {
                    return channel.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
                }
                return channel.pipeline.syncOperations.removeHandler(requests).assumeIsolated().flatMapThrowing {
                    try channel.pipeline.syncOperations.addHandler(SocketHandler(connection))
                    gate.pass()
                }.nonisolated()
            })
        return (upgraders: [upgrader], completionHandler: { _ in })
    }
}

/// The first handler of a connection. The gate bounds heads, and passes on one request at a time.
final class HeadGate: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum Phase {
        /// The bytes of a head come in.
        case head
        /// A request waits for its answer.
        case request
        /// A refused request has its answer. The gate discards what follows, because a close would take unread bytes as
        /// a reason to discard the answer.
        case refused
        /// A WebSocket, which may send this many bytes before its proof.
        case unproved(Int)
        case open
    }

    /// The reason for refusing bytes.
    enum Fault: Error {
        case longHead
        /// A WebSocket sent too much before its proof.
        case longProof
    }

    private let server: WebServer
    private(set) var connection: WebConnection?
    private var context: ChannelHandlerContext?
    private var phase = Phase.head
    private var held = ByteBuffer()

    init(_ server: WebServer) {
        self.server = server
    }

    func channelActive(context: ChannelHandlerContext) {
        guard let connection = server.add(context.channel) else { return context.close(promise: nil) }
        self.connection = connection
        self.context = context
        connection.gate = self
        context.fireChannelActive()
        connection.awaitStep()
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard connection != nil else { return }
        var bytes = unwrapInboundIn(data)
        switch phase {
        case .head, .request: held.writeBuffer(&bytes)
        case .refused: break
        case .unproved(let room):
            guard bytes.readableBytes <= room else { return context.fireErrorCaught(Fault.longProof) }
            phase = .unproved(room - bytes.readableBytes)
            context.fireChannelRead(wrapInboundOut(bytes))
        case .open: context.fireChannelRead(data)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        switch phase {
        case .head: proceed(context)
        case .request: break
        case .refused: context.read()
        case .unproved, .open: context.fireChannelReadComplete()
        }
    }

    /// Passes on the next head once it is complete.
    private func proceed(_ context: ChannelHandlerContext) {
        let end = Self.end(of: held)
        guard (end ?? held.readableBytes) <= WebLimits.head else {
            phase = .request
            return context.fireErrorCaught(Fault.longHead)
        }
        guard let end, let head = held.readSlice(length: end) else { return context.read() }
        phase = .request
        connection?.awaitStep()
        context.fireChannelRead(wrapInboundOut(head))
        context.fireChannelReadComplete()
    }

    /// Returns the number of bytes until the empty line after a head; nil if that line is missing.
    private static func end(of bytes: ByteBuffer) -> Int? {
        let view = bytes.readableBytesView
        var matched = 0
        for (index, byte) in view.enumerated() {
            // "\r\n\r\n": each byte continues the match, or starts it again.
            let isReturn = byte == UInt8(ascii: "\r")
            if isReturn ? matched % 2 == 0 : byte == UInt8(ascii: "\n") && matched % 2 == 1 {
                matched += 1
            } else {
                matched = isReturn ? 1 : 0
            }
            if matched == 4 { return index + 1 }
        }
        return nil
    }

    /// Awaits the next request, after the answer to the last one.
    func awaitRequest() {
        guard let context, case .request = phase else { return }
        phase = .head
        connection?.awaitStep()
        // The decoder may still be at work on the last request.
        context.eventLoop.assumeIsolated().execute {
            guard let context = self.context, case .head = self.phase else { return }
            self.proceed(context)
        }
    }

    /// Ends the output after the answer to a refused request. The other end has some time to close the connection.
    func refused() {
        guard let context else { return }
        phase = .refused
        held = ByteBuffer()
        connection?.awaitStep()
        context.close(mode: .output, promise: nil)
        context.read()
    }

    /// Passes all bytes on from now on: first those that came with the request, once all handlers are in place.
    func pass() {
        guard let context else { return }
        let channel = context.channel
        context.eventLoop.assumeIsolated().execute {
            guard let context = self.context, channel.isActive else { return }
            self.phase = .unproved(WebLimits.head)
            let early = self.held
            self.held = ByteBuffer()
            self.connection?.upgraded()
            guard early.readableBytes > 0 else { return }
            self.channelRead(context: context, data: self.wrapInboundOut(early))
            context.fireChannelReadComplete()
        }
    }

    /// Lifts the bound of bytes before the proof.
    func open() { phase = .open }

    func channelInactive(context: ChannelHandlerContext) {
        self.context = nil
        connection?.inactive()
        connection = nil
        context.fireChannelInactive()
    }
}

/// The answers to requests for files.
final class RequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let server: WebServer
    private let gate: HeadGate
    /// The file of the request.
    private var file: PageFile?
    private var hasRefused = false

    init(_ server: WebServer, _ gate: HeadGate) {
        self.server = server
        self.gate = gate
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            switch server.rules.verdict(head) {
            case .file(let file): self.file = file
            // The upgrader has refused it.
            case .upgrade: refuse(context, .badRequest, "This is a WebSocket of version 13.")
            case .refuse(let status, let text): refuse(context, status, text)
            }
        case .body: break
        case .end:
            guard let file else { return }
            self.file = nil
            write(context, .ok, type: file.type, file.bytes, closes: false)
                .assumeIsolated().whenSuccess { self.gate.awaitRequest() }
        }
    }

    private func refuse(_ context: ChannelHandlerContext, _ status: HTTPResponseStatus, _ text: String) {
        guard !hasRefused else { return }
        hasRefused = true
        write(context, status, type: "text/plain; charset=utf-8", Array((text + "\n").utf8), closes: true)
            .assumeIsolated().whenSuccess { self.gate.refused() }
    }

    private func write(
        _ context: ChannelHandlerContext, _ status: HTTPResponseStatus, type: String, _ bytes: [UInt8], closes: Bool
    ) -> EventLoopFuture<Void> {
        var headers = HTTPHeaders(server.address.headers)
        headers.add(name: "Content-Type", value: type)
        headers.add(name: "Content-Length", value: String(bytes.count))
        if status == .methodNotAllowed { headers.add(name: "Allow", value: "GET") }
        if status == .upgradeRequired { headers.add(name: "Upgrade", value: "websocket") }
        if closes { headers.add(name: "Connection", value: "close") }
        context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: bytes)))), promise: nil)
        return context.writeAndFlush(wrapOutboundOut(.end(nil)))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case HeadGate.Fault.longHead:
            refuse(context, .requestHeaderFieldsTooLarge, "The head is longer than \(WebLimits.head) bytes.")
        case is HTTPParserError: refuse(context, .badRequest, "The request has a wrong form.")
        // The request comes next, and gets its answer.
        case is NIOWebSocketUpgradeError: break
        default: context.close(promise: nil)
        }
    }
}

/// The frames of a WebSocket.
final class SocketHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private let connection: WebConnection

    init(_ connection: WebConnection) {
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { connection.receive(unwrapInboundIn(data)) }

    func channelReadComplete(context: ChannelHandlerContext) { connection.readCompleted() }

    func channelWritabilityChanged(context: ChannelHandlerContext) { connection.writabilityChanged() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { connection.failed(error) }
}
