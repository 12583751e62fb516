import InklingWire

extension Trial {
    /// Fails unless an event came `expected` after its cause, within the tolerance.
    package func judge(
        _ what: String, at: Duration, after cause: Duration, is expected: Duration,
        early: Duration? = nil, late: Duration? = nil
    ) throws {
        let (delay, early, late) = (at - cause, early ?? self.early, late ?? self.late)
        guard delay >= expected - early, delay <= expected + late else {
            throw Finding(
                expected: "\(what) after \(expected.text), within −\(early.text) and +\(late.text)",
                actual: "it came after \(delay.text)")
        }
    }
}

extension Duration {
    /// The time after a link came up from which an "unheard" datagram has its effect (L-45).
    static let settled = Duration.milliseconds(3_100)
}

extension Peer {
    /// Makes the peer send nothing more.
    ///
    /// - Returns: The time of the peer's last evidence.
    package func fallSilent() throws -> Duration {
        habits = .none
        let last = trial.now
        let token = trial.token()
        send([.ping(token)])
        try self.await("a pong to the last ping") { $0.pong == token }
        return last
    }

    /// Makes the peer send no more heartbeats by itself. It still answers pings.
    package func stopHeartbeats() { habits.heartbeat = nil }

    /// Returns the datagrams with a status that arrived on a session since an instant, in the order of their counters.
    package func statuses(since start: Duration, on session: PeerSession? = nil) -> [ReceivedFrames] {
        let session = session ?? sending
        return received(since: start).filter { $0.session === session && $0.status != nil }
            .sorted { $0.counter < $1.counter }
    }

    /// Returns the datagrams with a typing frame and no message that arrived since an instant, in the order of their
    /// counters.
    package func edges(since start: Duration) -> [ReceivedFrames] {
        statuses(since: start).filter { $0.typing != nil && $0.record == nil }
    }

    /// Waits for a status that reports whether the program's user types.
    @discardableResult
    package func awaitTyping(
        _ isTyping: Bool, within limit: Duration = .seconds(3), since start: Duration? = nil
    ) throws -> ReceivedFrames {
        let words = isTyping ? "a status that says typing" : "a status that does not say typing"
        return try self.await(words, within: limit, since: start) { $0.status?.isTyping == isTyping }
    }

    /// Sends text records within the window, and repeats them until all are acknowledged.
    package func deliver(_ records: [(text: String, first: Bool, last: Bool)]) throws {
        let state = state
        let base = state.nextOwnRecord
        let end = base + UInt32(records.count)
        state.nextOwnRecord = end
        var attempts = 0
        while state.acknowledged < end {
            let low = max(base, state.acknowledged)
            let high = min(end, low + 8)
            for number in low..<high {
                let record = records[Int(number - base)]
                sendRecord(number, record.text, first: record.first, last: record.last)
            }
            let limit = trial.now + .milliseconds(400)
            while state.acknowledged < high, trial.now < limit {
                trial.pump(until: min(limit, trial.now + .milliseconds(5)))
            }
            attempts = state.acknowledged > low ? 0 : attempts + 1
            guard attempts < 8 else {
                throw Finding(
                    expected: "an ack of record \(low), which was sent \(attempts) times",
                    actual: acks.isEmpty ? "no ack came" : "the highest ack says that \(low) is expected next")
            }
        }
    }
}

extension Program {
    /// Waits until the program shows a person as typing, or stops showing it.
    ///
    /// - Returns: The time of the program's report.
    @discardableResult
    package func awaitTyping(
        _ isShown: Bool, of user: String, within limit: Duration = .seconds(5), in chat: String? = nil
    ) throws -> Duration {
        let words = isShown ? "shows" : "no longer shows"
        return try trial.wait(
            limit, for: "`typing` \(words) \(user)",
            actual: { "the last `typing` is \(self.events("typing").last.map { self.describe($0.value) } ?? "none")" },
            until: { shows(typing: user, in: chat) == isShown ? events("typing").last?.at ?? trial.now : nil })
    }

    /// Returns the outcomes of messages in order: the kind, `delivered` or `failed`, the message's number and the
    /// reason.
    package func outcomes(for user: String) -> [(kind: String, message: Int?, why: String?)] {
        lines.compactMap { line in
            guard let kind = line.kind, kind == "delivered" || kind == "failed", let value = line.value,
                value["user"]?.string == user
            else { return nil }
            return (kind, value["message"]?.integer, value["why"]?.string)
        }
    }

    /// Waits until a message to a person has failed. Fails unless the reason is the expected one.
    @discardableResult
    package func awaitFailure(
        _ why: String, for user: String, within limit: Duration = .seconds(5), since start: Duration = .zero
    ) throws -> (at: Duration, value: JSONValue) {
        let event = try self.await(
            "failed", within: limit, since: start, "`failed` with the reason `\(why)`",
            where: { $0["user"]?.string == user })
        guard event.value["why"]?.string == why else {
            throw Finding(expected: "`failed` with the reason `\(why)`", actual: describe(event.value))
        }
        return event
    }

    /// Fails unless `count` messages to a person have been delivered.
    package func awaitDelivered(
        _ count: Int = 1, to user: String, within limit: Duration = .seconds(5)
    ) throws {
        let end = trial.now + limit
        // Counting thousands of lines takes time, so the loop does not count after each line.
        while true {
            let delivered = outcomes(for: user).count { $0.kind == "delivered" }
            if delivered >= count { return }
            guard trial.now < end else {
                throw Finding(
                    expected: "`delivered` of \(count) messages to \(user) within \(limit.text)",
                    actual: "there are \(delivered)")
            }
            trial.run(for: .milliseconds(10))
        }
    }
}
