import Glibc
import InklingService
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
    let host: PageHost
    private(set) var memory: PageMemory
    /// Whether the program finds out why a chat has no people, and who asked meanwhile.
    private var examining: [String: [(String?) -> Void]] = [:]
    let limits: WebLimits
    let rules: RequestRules
    private let eventLoop: any EventLoop
    private let report: (String) -> Void
    private var random = SystemRandomNumberGenerator()
    private var keys = WebKeys()
    private var acceptor: WebAcceptor?
    private var connections: [ObjectIdentifier: WebConnection] = [:]
    /// The connections that have not proved a key.
    private var unproved: Set<ObjectIdentifier> = []
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
        at address: WebAddress, _ access: DaemonAccess, for host: PageHost = PageHost(),
        _ limits: WebLimits = WebLimits(), on eventLoop: any EventLoop, report: @escaping (String) -> Void
    ) {
        self.address = address
        self.access = access
        self.host = host
        memory = host.memory
        self.limits = limits
        self.eventLoop = eventLoop
        self.report = report
        rules = RequestRules(address: address)
    }

    /// Starts to accept connections.
    ///
    /// - Parameter descriptor: A listening socket at the address, which the server closes.
    package func listen(on descriptor: Int32) throws {
        let acceptor = WebAcceptor(descriptor, at: address)
        let server = NIOLoopBound(self, eventLoop: eventLoop)
        let loop = eventLoop
        do {
            try acceptor.start(
                report: { line in loop.execute { server.value.report(line) } },
                accepted: { connection in loop.execute { server.value.serve(connection) } },
                ended: { loop.execute { server.value.stoppedAccepting(on: descriptor) } })
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        self.acceptor = acceptor
    }

    /// Returns the address of the page with a fresh ticket.
    package func link() -> String {
        address.link(ticket: keys.addTicket(until: .now() + limits.ticket, using: &random))
    }

    /// The number of open pages.
    package var pageCount: Int { pages.count }

    /// Closes all connections, and calls back when they are closed.
    package func close(_ completion: @escaping () -> Void) {
        closing.append(completion)
        if !isClosing {
            isClosing = true
            acceptor?.stop()
            for connection in connections.values { connection.close(.ending, "inkling web ends") }
        }
        finishClosing()
    }

    private func stoppedAccepting(on descriptor: Int32) {
        Glibc.close(descriptor)
        acceptor = nil
        finishClosing()
    }

    private func finishClosing() {
        guard isClosing, acceptor == nil, connections.isEmpty else { return }
        for completion in closing { completion() }
        closing = []
    }

    // MARK: Connections

    /// Serves an accepted connection.
    private func serve(_ descriptor: Int32) {
        let server = NIOLoopBound(self, eventLoop: eventLoop)
        ClientBootstrap(group: eventLoop)
            .channelOption(.autoRead, value: false)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try WebPipeline.add(server.value, to: channel) }
            }
            .withConnectedSocket(descriptor)
            .assumeIsolated().whenFailure { _ in self.acceptor?.freePlace() }
    }

    /// Returns the object of a new connection; nil if the server closes.
    func add(_ channel: any Channel) -> WebConnection? {
        guard !isClosing else { return nil }
        let connection = WebConnection(self, channel)
        connections[ObjectIdentifier(connection)] = connection
        unproved.insert(ObjectIdentifier(connection))
        return connection
    }

    private func freePlace(of connection: WebConnection) {
        if unproved.remove(ObjectIdentifier(connection)) != nil { acceptor?.freePlace() }
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
            add(page: connection)
            keys.openPage(session: id)
            return .success(Opening(session: id, answer: #"{"web":1}"#))
        case (.key, .ticket):
            add(page: connection)
            let (session, key) = keys.openPage(ticket: id, using: &random)
            let answer = JSONValue.object([("web", .integer(1)), ("session", .string(key))]).text
            return .success(Opening(session: session, answer: answer))
        }
    }

    func drafts(session id: String) -> PageDrafts { keys.drafts(session: id) }

    /// Remembers the chat that a page shows. The disk gets it when the page closes.
    func remember(shown chat: String?) {
        guard chat?.utf8.count ?? 0 <= WebLimits.name else { return }
        memory.shown = chat
    }

    /// Remembers that the user has chosen a name.
    func rememberName() {
        memory.proposal = nil
        host.store(memory)
    }

    /// Finds out why a chat has no people. Requests for the same chat share one run, and other chats wait for nothing.
    func examine(_ chat: String, _ completion: @escaping (String?) -> Void) {
        guard examining.count < WebLimits.pages || examining[chat] != nil else { return completion(nil) }
        examining[chat, default: []].append(completion)
        guard examining[chat]?.count == 1 else { return }
        host.examine(chat) { [weak self] found in
            for completion in self?.examining.removeValue(forKey: chat) ?? [] { completion(found) }
        }
    }

    private func add(page connection: WebConnection) {
        pages.insert(ObjectIdentifier(connection))
        freePlace(of: connection)
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
        host.store(memory)
    }

    /// Forgets a closed connection.
    func removed(_ connection: WebConnection) {
        connections[ObjectIdentifier(connection)] = nil
        freePlace(of: connection)
        finishClosing()
    }
}
