import InklingModel

/// Waits for programs that send a message and end, such as scripts.
extension Node {
    /// Returns the people who are in a chat now, by name; empty for a chat that the node is not in.
    public func others(in chat: String) -> [Peer] { peers(in: chat).filter { $0.presence != .offline } }

    /// Waits until a person is present in a chat and half a second has passed without another arrival. When a node
    /// joins, it finds the people there within that time of each other.
    ///
    /// - Parameters:
    ///   - chat: The name of a chat that the node is in. In any other chat, the node finds nobody.
    ///   - longest: The longest wait.
    /// - Returns: The people who are present then, by name; empty if nobody came, or if the node was stopped.
    public func waitForOthers(in chat: String, within longest: Duration) async -> [Peer] {
        let start = ContinuousClock.now
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let changes = presenceChanges(in: chat)
        let watching = Task {
            for await _ in changes { continuation.yield() }
            continuation.finish()
        }
        /// Ends the wait, unless it is cancelled.
        func limit(_ wait: ArrivalWait) -> Task<Void, any Error> {
            let end = start + wait.end
            return Task {
                try await Task.sleep(until: end, clock: .continuous)
                continuation.finish()
            }
        }
        var wait = ArrivalWait(longest: longest)
        var limited = limit(wait)
        defer {
            watching.cancel()
            limited.cancel()
        }
        for await _ in stream {
            let present = joinedChat(chat)?.met.values.count(where: \.isThere) ?? 0
            guard wait.take(present: present, after: start.duration(to: .now)) else { continue }
            limited.cancel()
            limited = limit(wait)
        }
        return others(in: chat)
    }

    /// Sends a message to all people who are online in a chat, as ``send(_:to:)`` does, and waits for its outcomes.
    ///
    /// - Parameters:
    ///   - text: 1 to 65,536 bytes of UTF-8.
    ///   - chat: The name of a chat that the node is in.
    ///   - longest: The longest wait for answers. A person who has not answered by then may still get the message
    ///     later.
    /// - Throws: The errors of ``send(_:to:)``.
    public func deliver(
        _ text: String, to chat: String, within longest: Duration
    ) async throws(NodeError) -> DeliveryOutcome {
        var waiting: (id: Int, answers: AsyncStream<Event>, continuation: AsyncStream<Event>.Continuation)?
        let (message, recipients) = try send(text, to: chat) { message, recipients in
            let (answers, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingOldest(recipients))
            waiting = (observers.add(continuation, message: message), answers, continuation)
        }
        var delivery = Delivery(message, to: chat, recipients: recipients, people: peers(in: chat))
        guard let (id, answers, continuation) = waiting else { return delivery.result }
        defer { observers.remove(id) }
        guard recipients > 0 else { return delivery.result }
        let limit = Task {
            try await Task.sleep(for: longest)
            continuation.finish()
        }
        defer { limit.cancel() }
        for await event in answers {
            delivery.take(event)
            if delivery.isComplete { break }
        }
        return delivery.result
    }
}
