import InklingCore
import InklingModel
import Logging
import NIOCore

/// A node on the event loop that its front end runs on too: nothing lies between a datagram and the sink, nor between a
/// request and what goes out for it.
///
/// It is made, used and freed on that event loop alone.
package final class LocalNode: ChatService {
    package let node: Node
    private let eventLoop: any EventLoop
    private let frontEnd: FrontEnd

    /// Starts a node, as `Node.start(_:logger:)` does, on an event loop of SwiftNIO's own, and is called on it. It lives
    /// until ``stop(_:)``.
    ///
    /// - Parameter completion: Called on the event loop when the node is up, perhaps before this returns.
    package static func start(
        _ configuration: Configuration, on eventLoop: any EventLoop, logger: Logger,
        completion: @escaping (Result<LocalNode, NodeError>) -> Void
    ) {
        let started = Node.start(configuration, on: eventLoop, logger: logger)
        started.assumeIsolated().whenComplete { result in
            completion(
                result.map { LocalNode($0) }.mapError { $0 as? NodeError ?? .socket("\($0)") })
        }
    }

    /// The front end of a node that is up, before anybody reads its events.
    init(_ node: Node) {
        self.node = node
        eventLoop = node.eventLoop
        frontEnd = FrontEnd()
        let frontEnd = NIOLoopBound(frontEnd, eventLoop: eventLoop)
        node.assumeIsolated { $0.connect(frontEnd) }
    }

    // MARK: The interface of front ends

    package var identity: NodeIdentity {
        NodeIdentity(
            user: node.user, key: node.key, name: node.name, port: node.port, isTemporary: node.isTemporary)
    }

    package func attach(_ sink: @escaping (ServiceOutput) -> Void) {
        frontEnd.attach(sink)
        deliver()
    }

    package var takesEvents: Bool {
        get { frontEnd.takesEvents }
        set {
            frontEnd.takesEvents = newValue
            if newValue { deliver() }
        }
    }

    package func ask(_ request: ServiceRequest) {
        let place = frontEnd.arrivalCount
        holding { frontEnd.add(answer(request), to: request, before: place) }
        deliver()
    }

    private func deliver() { node.assumeIsolated { $0.deliver() } }

    /// What happens in `body` is told later.
    ///
    /// - Returns: Whether it was held before, so that others see to that.
    @discardableResult
    private func holding(_ body: () -> Void) -> Bool {
        let isHeld = node.assumeIsolated { node in
            defer { node.isDelivering = true }
            return node.isDelivering
        }
        body()
        node.assumeIsolated { $0.isDelivering = isHeld }
        return isHeld
    }

    private func answer(_ request: ServiceRequest) -> ServiceAnswer {
        do throws(NodeError) {
            switch request {
            case .join(let chat):
                try join(chat)
                return .peers(peers(in: chat.name))
            case .leave(let chat): try leave(chat)
            case .compose(let text, let chat): try compose(text, in: chat)
            case .send(let text, let chat):
                let (message, recipients) = try send(text, to: chat)
                return .sent(message: message, recipients: recipients)
            case .setAway(let isAway): try perform { $0.setAway(isAway) }
            case .rename(let name): try perform { node throws(NodeError) in try node.setName(name) }
            case .setVerified(let isVerified, let key):
                try perform { node throws(NodeError) in try node.setVerified(isVerified, key: key) }
            case .setBlocked(let isBlocked, let key):
                try perform { node throws(NodeError) in try node.setBlocked(isBlocked, key: key) }
            case .peers(let chat):
                try perform { node throws(NodeError) in try node.requireMember(chat) }
                return .peers(peers(in: chat))
            case .blockedPeople: return .knownPeers(knownPeers.filter(\.isBlocked))
            case .fingerprint(let key): return .fingerprint(try node.fingerprint(with: key).groups)
            }
            return .done
        } catch {
            return .failed(error)
        }
    }

    // MARK: Commands

    // What they lead to is told in a call of its own, after they have returned.

    /// As `Node.join(_:)`.
    package func join(_ chat: Chat) throws(NodeError) {
        try perform { node throws(NodeError) in try node.join(chat) }
    }

    /// As `Node.leave(_:)`.
    package func leave(_ chat: String) throws(NodeError) {
        try perform { node throws(NodeError) in try node.leave(chat) }
    }

    /// As `Node.compose(_:in:)`.
    ///
    /// - Throws: ``NodeError/unknownChat(_:)``, ``NodeError/stopped``.
    package func compose(_ text: String, in chat: String) throws(NodeError) {
        try perform { node throws(NodeError) in
            try node.requireMember(chat)
            node.compose(text, in: chat)
        }
    }

    /// As `Node.send(_:to:)`.
    package func send(_ text: String, to chat: String) throws(NodeError) -> (message: UInt64, recipients: Int) {
        try perform { node throws(NodeError) in try node.send(text, to: chat) }
    }

    /// As `Node.block(_:)`, for this run alone.
    package func block(_ user: UserID) { command { $0.block(user) } }

    /// As `Node.unblock(_:)`.
    package func unblock(_ user: UserID) { command { $0.unblock(user) } }

    /// As `Node.measureRoundTrips(in:)`.
    package func measureRoundTrips(in chat: String) { command { $0.measureRoundTrips(in: chat) } }

    private func perform<Value: Sendable>(
        _ body: @Sendable (isolated Node) throws(NodeError) -> Value
    ) throws(NodeError) -> Value {
        var result: Result<Value, NodeError>?
        command { node in
            do throws(NodeError) {
                result = .success(try body(node))
            } catch {
                result = .failure(error)
            }
        }
        guard let result else { preconditionFailure("a command is performed at once") }
        return try result.get()
    }

    private func command(_ body: (isolated Node) -> Void) {
        let isHeld = holding { node.assumeIsolated(body) }
        guard !isHeld, frontEnd.arrivalCount > 0 else { return }
        eventLoop.assumeIsolated().execute { self.deliver() }
    }

    // MARK: Questions

    /// The chats that the node is in, in the order in which it joined them.
    package var chats: [Chat] { node.assumeIsolated { $0.chats } }

    /// As `Node.peers(in:)`: empty for a chat that the node is not in.
    package func peers(in chat: String) -> [Peer] { node.assumeIsolated { $0.peers(in: chat) } }

    /// As `Node.peer(_:in:)`.
    package func peer(_ user: UserID, in chat: String) -> Peer? { node.assumeIsolated { $0.peer(user, in: chat) } }

    /// Who is typing in a chat, in the order in which to name them.
    package func typing(in chat: String) -> [InklingModel.Person] { node.assumeIsolated { $0.typingPeople(in: chat) } }

    /// As `Node.allKnownPeers`.
    package var knownPeers: [KnownPeer] { node.assumeIsolated { $0.allKnownPeers } }

    /// As `Node.statistics()`.
    package func statistics() -> Statistics { node.assumeIsolated { $0.statistics() } }

    // MARK: Its life

    /// Says bye to all before the process is stopped.
    ///
    /// - Parameter completion: Called on the event loop when the copies went out as well.
    package func suspend(_ completion: @escaping () -> Void) {
        let completion = NIOLoopBound(completion, eventLoop: eventLoop)
        node.assumeIsolated { $0.suspend { completion.value() } }
    }

    /// Resumes after ``suspend(_:)``.
    package func resume() { node.assumeIsolated { $0.resume() } }

    /// Says goodbye to everybody and closes everything. The sink is told what that does to messages, and at last
    /// ``ServiceOutput/ended``.
    ///
    /// - Parameter completion: Called on the event loop when everything is closed, 120 ms later or a little more.
    package func stop(_ completion: @escaping () -> Void) {
        let completion = NIOLoopBound(completion, eventLoop: eventLoop)
        node.assumeIsolated { $0.stop { completion.value() } }
    }
}
