import InklingCore
import InklingModel

/// What became of a message.
public struct DeliveryOutcome: Hashable, Sendable {
    /// The number of the message, as events report it.
    public let message: UInt64
    /// How many people it was sent to. 0 if nobody was there: then it is lost, as messages are not kept.
    public let recipients: Int
    /// Who has acknowledged it whole, in the order of their answers.
    public fileprivate(set) var delivered: [Peer] = []
    /// Who doesn't have it, or may not have it, in the order in which that became known.
    public fileprivate(set) var failed: [Failure] = []
    /// Who did not answer in time.
    public fileprivate(set) var unanswered: [Peer] = []

    /// Somebody who may not have the message.
    public struct Failure: Hashable, Sendable {
        /// Who it is, as they were known when the message was sent.
        public let peer: Peer
        /// Why they may not have it.
        public let why: InklingModel.FailureReason
    }

    /// Whether somebody was there, and all of them have it.
    public var reachedAll: Bool { recipients > 0 && delivered.count == recipients }
}

/// What programs that send a message and end, such as scripts, wait for.
extension Node {
    /// Who is in a chat now, by name; empty for a chat that the node is not in.
    public func others(in chat: String) -> [Peer] { peers(in: chat).filter { $0.presence != .offline } }

    /// Waits until somebody else is in a chat and nobody new has come for half a second. People who are there
    /// already when the node joins are found within that time, one after the other.
    ///
    /// - Parameters:
    ///   - chat: The name of a chat that the node is in; in any other, nobody is found.
    ///   - longest: How long to wait at most.
    /// - Returns: Those who are there then, by name; empty if nobody came, or if the node was stopped.
    public func waitForOthers(in chat: String, within longest: Duration) async -> [Peer] {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let changes = presenceChanges(in: chat)
        let watching = Task {
            for await _ in changes { continuation.yield() }
            continuation.finish()
        }
        let limit = Task {
            try await Task.sleep(for: longest)
            continuation.finish()
        }
        defer {
            watching.cancel()
            limit.cancel()
        }
        var known = 0
        var settling: Task<Void, any Error>?
        defer { settling?.cancel() }
        for await _ in stream {
            let present = joinedChat(chat)?.met.values.count(where: \.isThere) ?? 0
            guard present != known else { continue }
            known = present
            settling?.cancel()
            settling = nil
            guard present > 0 else { continue }
            settling = Task {
                try await Task.sleep(for: NodeLimits.settling)
                continuation.finish()
            }
        }
        return others(in: chat)
    }

    /// Sends a message to all who are online in a chat, as ``send(_:to:)`` does, and waits for what becomes of it.
    ///
    /// - Parameters:
    ///   - text: 1 to 65,536 bytes of UTF-8.
    ///   - chat: The name of a chat that the node is in.
    ///   - longest: How long to wait for answers. Whoever has not answered by then may still have the message later.
    /// - Throws: What ``send(_:to:)`` throws.
    public func deliver(
        _ text: String, to chat: String, within longest: Duration
    ) async throws(NodeError) -> DeliveryOutcome {
        var waiting: (id: Int, answers: AsyncStream<Event>, continuation: AsyncStream<Event>.Continuation)?
        let (message, recipients) = try send(text, to: chat) { message, recipients in
            let (answers, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingOldest(recipients))
            waiting = (observers.add(continuation, message: message), answers, continuation)
        }
        var outcome = DeliveryOutcome(message: message, recipients: recipients)
        guard let (id, answers, continuation) = waiting else { return outcome }
        defer { observers.remove(id) }
        guard recipients > 0 else { return outcome }
        // This includes people without a link when it was sent: their answers tell them apart.
        let people = peers(in: chat)
        var open = Set(others(in: chat).map(\.user))
        let limit = Task {
            try await Task.sleep(for: longest)
            continuation.finish()
        }
        defer { limit.cancel() }
        for await event in answers {
            switch event {
            case .delivered(chat, message, let user):
                outcome.delivered += people.filter { $0.user == user }.prefix(1)
                open.remove(user)
            case .failed(chat, message, let user, let why):
                outcome.failed += people.filter { $0.user == user }.prefix(1).map { .init(peer: $0, why: why) }
                open.remove(user)
            default: break
            }
            if outcome.delivered.count + outcome.failed.count >= recipients { return outcome }
        }
        outcome.unanswered = people.filter { open.contains($0.user) }
        return outcome
    }
}
