import InklingCore
import InklingModel
import Logging
import NIOCore

/// A node on the event loop of its front ends. No other thread lies between a datagram and the sink, or between a
/// request and its datagrams.
///
/// Only that event loop makes, uses and frees the node.
package final class ServedNode: ServiceNode {
    package let node: Node
    private let eventLoop: any EventLoop

    /// Returns the chats that a source means, the best first, under the name that the user gave.
    package func chats(of source: ChatSource, named name: String?) throws(NodeError) -> [Chat] {
        try node.onLoop { node in
            Result { () throws(NodeError) in try node.chats(of: source, named: name) }
        }.get()
    }

    /// Starts a node as `Node.start(_:logger:)` does, on an event loop of SwiftNIO's own. The caller is on that event
    /// loop. The node lives until ``stop(_:)``.
    ///
    /// - Parameter completion: Called on the event loop when the node is up, perhaps before this returns.
    package static func start(
        _ configuration: Configuration, on eventLoop: any EventLoop, logger: Logger,
        completion: @escaping (Result<ServedNode, NodeError>) -> Void
    ) {
        let started = Node.start(configuration, on: eventLoop, logger: logger)
        started.assumeIsolated().whenComplete { result in
            completion(
                result.map { ServedNode($0) }.mapError { $0 as? NodeError ?? .socket("\($0)") })
        }
    }

    init(_ node: Node) {
        self.node = node
        eventLoop = node.eventLoop
    }

    // MARK: Requests

    package var identity: NodeIdentity {
        NodeIdentity(
            user: node.user, key: node.key, name: node.name, port: node.port, isTemporary: node.isTemporary)
    }

    package func attach(_ sink: any EventSink) {
        let sink = NIOLoopBound(sink, eventLoop: eventLoop)
        node.onLoop { $0.connect(sink) }
    }

    package func perform(_ request: ServiceRequest, _ completion: @escaping (ServiceAnswer) -> Void) {
        let completion = NIOLoopBound(completion, eventLoop: eventLoop)
        node.onLoop { node in
            node.perform(request) { completion.value($0) }
            node.deliver()
        }
    }

    @discardableResult
    package func edit(_ request: ServiceRequest) -> Bool {
        node.onLoop { node in
            guard case .done = node.holdingEvents({ $0.answer(request) }) else { return false }
            node.deliver()
            return true
        }
    }

    package func settle() { node.onLoop { $0.deliver() } }

    package func typists(in chat: String) -> [InklingModel.Person] {
        node.onLoop { $0.typingPeople(in: chat) }
    }

    /// Returns whether a text in the input field counts as typing (T-9).
    package static func countsAsTyping(_ text: String) -> Bool { InklingCore.countsAsTyping(text) }

    /// Returns the people who are in a chat or were met there.
    package func peers(in chat: String) -> [Peer] { node.onLoop { $0.peers(in: chat) } }

    /// Returns a person of a chat; nil for a person not met there.
    package func peer(_ user: UserID, in chat: String) -> Peer? { node.onLoop { $0.peer(user, in: chat) } }

    /// Returns how well the user knows a person in a chat.
    package func rank(of user: UserID, in chat: String) -> SenderRank {
        node.onLoop { $0.rank(of: user, in: chat) }
    }

    /// The reason why the identity ends with the node; nil for a kept identity.
    package var temporary: TemporaryIdentity? { node.onLoop { $0.keyStore?.temporary } }

    // MARK: Texts on disk

    /// Keeps texts in a store from now on. The node is in no chat yet.
    ///
    /// - Parameter holds: Whether texts wait in a chat, for chats that differ from the usual.
    package func keepTexts(in store: any TextStore, holds: [String: Bool]) {
        let store = NIOLoopBound(store, eventLoop: eventLoop)
        node.onLoop { $0.keepTexts(in: store, holds: holds) }
    }

    /// The texts that wait, the oldest first.
    package var waitingTexts: [WaitingEntry] { node.onLoop { $0.waitingTexts(in: nil) } }

    /// Returns the unread texts of an earlier run in a chat. Each text comes once.
    package func takeRestoredTexts(in chat: String) -> [TimedEvent] {
        node.onLoop { $0.takeRestoredTexts(in: chat) }
    }

    /// Records that the user has read these messages of a chat.
    package func readTexts(_ numbers: [MessageID], in chat: String) {
        node.onLoop { $0.readTexts(numbers, in: chat) }
    }

    /// The notice that texts are not kept; nil if the last write succeeded.
    package var textFault: Notice? { node.onLoop { $0.texts.fault } }

    /// Forgets whether texts wait in a chat that the node leaves.
    package func forgetHold(_ chat: String) { node.onLoop { $0.texts.holds[chat] = nil } }

    // MARK: Lifecycle

    package func suspend(_ completion: @escaping () -> Void) {
        let completion = NIOLoopBound(completion, eventLoop: eventLoop)
        node.onLoop { $0.suspend { completion.value() } }
    }

    package func resume() { node.onLoop { $0.resume() } }

    /// How well the user knows the people whom the node prefers to strangers.
    package var standings: [PublicKey: Standing] { node.onLoop { $0.knownPeers.standings } }

    /// Stops the node. Calls `completion` about 120 ms later.
    package func stop(_ completion: @escaping () -> Void) {
        let completion = NIOLoopBound(completion, eventLoop: eventLoop)
        node.onLoop { $0.stop { completion.value() } }
    }
}

extension Node {
    fileprivate func rank(of user: UserID, in chat: String) -> SenderRank {
        let keys = joinedChat(chat)?.met.filter { $0.value.user == user }.map(\.key) ?? []
        let ranks = keys.map { key -> SenderRank in
            switch endpoint.standings[key] {
            case .verified: .verified
            case .met: .met
            case .stranger, nil: .stranger
            }
        }
        return ranks.min() ?? .stranger
    }

    /// Runs `body`, and delivers its events only afterwards.
    func holdingEvents<Result>(_ body: (isolated Node) -> Result) -> Result {
        let isHeld = isDelivering
        isDelivering = true
        defer { isDelivering = isHeld }
        return body(self)
    }

    /// Performs a request. The answer comes before the events that the request causes.
    ///
    /// - Parameter completion: Called with the answer, perhaps after a wait for the disk.
    fileprivate func perform(_ request: ServiceRequest, _ completion: @escaping @Sendable (ServiceAnswer) -> Void) {
        if let move = ServiceMove(request) {
            return holdingEvents { node in
                node.perform(move) { answer in
                    completion(answer)
                    node.onLoop { $0.deliver() }
                }
            }
        }
        let answer = holdingEvents { $0.answer(request) }
        switch (request, answer) {
        case (.setVerified, .done), (.setBlocked(_, .key), .done):
            // The disk has the user's decision before the answer goes out.
            saveKnownPeers { completion(answer) }
        case (.hold, .done), (.forget, .done):
            performTexts(request) { reason in
                let failure = reason.map { ServiceAnswer.failed(.other(code: "not-kept", text: $0)) }
                completion(failure ?? answer)
            }
        // An earlier invite leads to the newest chat of its chain only as long as the user has not left that.
        case (.join, .joined), (.leave, .done): afterMoves { completion(answer) }
        default: completion(answer)
        }
    }

    /// Answers a request.
    fileprivate func answer(_ request: ServiceRequest) -> ServiceAnswer {
        do throws(NodeError) {
            if let answer = try perform(request) { return answer }
            return try answer(question: request)
        } catch {
            return .failed(error)
        }
    }

    /// Performs a request that changes something.
    ///
    /// - Returns: Nil for a request that only asks.
    private func perform(_ request: ServiceRequest) throws(NodeError) -> ServiceAnswer? {
        switch request {
        case .join(_, isKept: true, _), .enter:
            throw .other(code: "unsupported", text: "This node ends with its front end, and keeps no chat.")
        case .join(let chat, _, _):
            var chat = chat
            // A talk can be joined again, which knocks again.
            if chat.partner == nil || joinedChat(chat.name)?.chat != chat { chat = try join(chat).chat }
            if let partner = chat.partner { knock(partner) }
            return .joined(chat, peers(in: chat.name))
        case .knock(let key): knock(key)
        case .invite(let chat, let key?):
            let (message, via) = try invite(key, to: chat)
            return .invited(message: message, via: via)
        case .decline(let number): try decline(number)
        // The other `perform` does these, because their answers wait for the disk.
        case .move, .admit: break
        case .leave(let chat): try leave(chat)
        case .open(let chat?), .read(let chat): try requireMember(chat)
        case .compose(let text, let chat):
            try requireMember(chat)
            compose(text, in: chat)
        case .startTyping(let chat):
            try requireMember(chat)
            startTyping(in: chat)
        case .stopTyping(let chat):
            try requireMember(chat)
            stopTyping(in: chat)
        case .send(let text, let chat):
            let (message, recipients) = try send(text, to: chat)
            return .sent(message: message, recipients: recipients)
        case .measureRoundTrips(let chat):
            try requireMember(chat)
            measureRoundTrips(in: chat)
        case .setAway(let isAway): setAway(isAway)
        case .rename(let name): try setName(name)
        case .setVerified(let isVerified, let key): try decideVerified(isVerified, key: key)
        case .setBlocked(let isBlocked, .key(let key)): try decideBlocked(isBlocked, key: key)
        case .setBlocked(true, .user(let user)): block(user)
        case .setBlocked(false, .user(let user)): unblock(user)
        case .messages:
            throw .other(code: "unsupported", text: "This node ends with its program, and holds no messages.")
        case .hold(_, let chat):
            try requireMember(chat)
            guard texts.store != nil else { throw Self.keepsNoTexts }
        case .forget(let chat, let entry): try requireTexts(chat, entry)
        case .history:
            throw .other(code: "unsupported", text: "This node ends with its program, and keeps no history.")
        // These are for the service.
        case .subscribe, .open(nil), .quit: break
        case .shutDown: stop {}
        case .waitingTexts(let chat):
            try requireTexts(chat, nil)
            return .waitingTexts(waitingTexts(in: chat))
        case .peers, .knownPeers, .invitations, .identity, .fingerprint, .invite, .sightings, .chats, .status,
            .statistics:
            return nil
        }
        return .done
    }

    private func answer(question: ServiceRequest) throws(NodeError) -> ServiceAnswer {
        switch question {
        case .peers(let chat?):
            try requireMember(chat)
            return .peers(peers(in: chat))
        case .peers(nil): return .peers([])
        case .knownPeers(let areBlocked): return .knownPeers(allKnownPeers.filter { $0.isBlocked || !areBlocked })
        case .fingerprint(let key): return .fingerprint(fingerprint(with: key).groups)
        case .invite(let chat, _):
            try requireMember(chat)
            guard joinedChat(chat)?.chat.partner == nil else { throw .noInvite(chat, .talk) }
            return .invite(joinedChat(chat)?.chat.invite)
        case .invitations: return .invitations(invitations)
        case .sightings(let chat):
            try requireMember(chat)
            return .sightings(instance: discovery == nil ? nil : instance(in: chat), sightings(in: chat))
        case .chats: return .chats(chatStatuses)
        case .statistics: return .statistics(statistics())
        default: return .status(NodeStatus(since: started, isAway: false, frontEnds: 1, chats: chatStatuses))
        }
    }

    /// The chats that the node is in, in the order in which it joined them.
    private var chatStatuses: [ChatStatus] {
        joined.map { entry in
            var status = ChatStatus(
                entry.name, hasSecret: !entry.chat.isOpen, present: entry.present.count,
                isLooking: entry.isLooking(at: clock.now), owner: entry.chat.owner, partner: entry.chat.partner)
            status.holdsTexts = entry.texts != nil
            return status
        }
    }
}
