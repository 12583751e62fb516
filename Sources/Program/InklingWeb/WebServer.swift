import Inkling
import InklingControl
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// The server of the page: HTTP for its files, and a WebSocket for each open page.
///
/// Callers create, use and release the object on its event loop.
package final class WebServer {
    package let address: WebAddress
    let access: DaemonAccess
    let limits: WebLimits
    let rules: RequestRules
    private let eventLoop: any EventLoop
    private let report: (String) -> Void
    private var random = SystemRandomNumberGenerator()
    private var keys = WebKeys()
    private var listener: (any Channel)?
    private var connections: [ObjectIdentifier: WebConnection] = [:]
    /// The connections with an open page.
    private var pages: Set<ObjectIdentifier> = []
    private var closing: [() -> Void] = []
    private var isClosing = false

    /// The reason for refusing a page.
    struct Refusal: Error {
        let code: CloseCode
        let text: String
    }

    /// A page that proved its key.
    struct Opening {
        /// The ID of the page's session key.
        let session: String
        /// The last message of the handshake.
        let answer: String
    }

    /// Makes a server that does not listen yet.
    ///
    /// - Parameter report: Called with each line for the log.
    package init(
        at address: WebAddress, _ access: DaemonAccess, _ limits: WebLimits = WebLimits(), on eventLoop: any EventLoop,
        report: @escaping (String) -> Void
    ) {
        self.address = address
        self.access = access
        self.limits = limits
        self.eventLoop = eventLoop
        self.report = report
        rules = RequestRules(address: address)
    }

    /// Starts to accept connections.
    ///
    /// - Parameters:
    ///   - descriptor: A listening socket at the address, which the server closes.
    ///   - completion: Called on the event loop with the error, or nil.
    package func listen(on descriptor: Int32, completion: @escaping ((any Error)?) -> Void) {
        let server = NIOLoopBound(self, eventLoop: eventLoop)
        ServerBootstrap(group: eventLoop)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try WebPipeline.add(server.value, to: channel) }
            }
            .withBoundSocket(descriptor)
            .assumeIsolated().whenComplete { result in
                switch result {
                case .success(let channel):
                    self.listener = channel
                    completion(nil)
                case .failure(let error): completion(error)
                }
            }
    }

    /// Returns the address of the page with a fresh ticket.
    package func link() -> String {
        address.link(ticket: keys.addTicket(until: .now() + limits.ticket, using: &random))
    }

    /// The number of open pages.
    package var pageCount: Int { pages.count }

    /// Closes all connections, and calls back when they are closed.
    package func close(_ completion: @escaping () -> Void) {
        listener?.close(promise: nil)
        listener = nil
        guard !connections.isEmpty else { return completion() }
        closing.append(completion)
        guard !isClosing else { return }
        isClosing = true
        for connection in connections.values { connection.close(.ending, "inkling web ends") }
    }

    // MARK: Connections

    /// Returns the object of a new connection; nil for a connection that may not use this server.
    func accept(_ channel: any Channel) -> WebConnection? {
        guard !isClosing, connections.count - pages.count < WebLimits.unproved else {
            report("a connection was refused: \(WebLimits.unproved) have not proved a key")
            return nil
        }
        guard let remote = channel.remoteAddress?.end, remote.address >> 24 == 127 else { return nil }
        let user = ConnectionOwner.user(of: remote, to: address.end)
        guard let user, user == geteuid() || user == 0 else {
            report("a connection of another user was refused (\(user.map { "user ID \($0)" } ?? "unknown"))")
            return nil
        }
        let connection = WebConnection(self, channel)
        connections[ObjectIdentifier(connection)] = connection
        return connection
    }

    func receive(_ message: [UInt8], _ handshake: inout Handshake) -> Handshake.Step {
        handshake.receive(message, keys, at: .now(), using: &random)
    }

    /// Opens the page of a connection that proved a key.
    func open(_ connection: WebConnection, _ kind: WebKeys.Kind, _ id: String) -> Result<Opening, Refusal> {
        guard pages.count < WebLimits.pages else {
            return .failure(Refusal(code: .tooManyPages, text: "\(WebLimits.pages) pages are open"))
        }
        // Another connection may have used the ticket, or the session may have ended, since the first message.
        switch (keys.find(kind, id, at: .now()), kind) {
        case (.unknown, _): return .failure(Refusal(code: .unknownKey, text: "the key is unknown"))
        case (.expired, _): return .failure(Refusal(code: .spentTicket, text: "the ticket is too old"))
        case (.used, _):
            reportReuse()
            return .failure(Refusal(code: .spentTicket, text: "the ticket was used before"))
        case (.key, .session):
            pages.insert(ObjectIdentifier(connection))
            keys.openPage(session: id)
            return .success(Opening(session: id, answer: #"{"web":1}"#))
        case (.key, .ticket):
            pages.insert(ObjectIdentifier(connection))
            let (session, key) = keys.openPage(ticket: id, using: &random)
            let answer = JSONValue.object([("web", .integer(1)), ("session", .string(key))]).text
            return .success(Opening(session: session, answer: answer))
        }
    }

    /// Tells all open pages that a ticket was used a second time.
    func reportReuse() {
        report("a ticket was used a second time")
        for page in pages { connections[page]?.reportReuse() }
    }

    /// Frees the place of a page.
    func closed(_ connection: WebConnection, session: String) {
        pages.remove(ObjectIdentifier(connection))
        keys.closePage(session: session)
    }

    /// Forgets a closed connection.
    func removed(_ connection: WebConnection) {
        connections[ObjectIdentifier(connection)] = nil
        guard connections.isEmpty else { return }
        for completion in closing { completion() }
        closing = []
    }
}

extension SocketAddress {
    /// The address and port over IPv4.
    fileprivate var end: ConnectionOwner.End? {
        guard case .v4(let address) = self else { return nil }
        return .init(
            address: UInt32(bigEndian: address.address.sin_addr.s_addr),
            port: UInt16(bigEndian: address.address.sin_port))
    }
}
