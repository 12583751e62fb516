import InklingWire

// Received frames and records.
extension Peer {
    /// Returns the datagrams received since an instant.
    package func received(since start: Duration) -> [ReceivedFrames] { received.filter { $0.at >= start } }

    package var records: [(at: Duration, value: Record)] {
        received.compactMap { datagram in datagram.record.map { (datagram.at, $0) } }
    }

    /// The received text records.
    package var texts: [(at: Duration, value: Record)] { records.filter { $0.value.type == .text } }

    /// The received name records.
    package var names: [(at: Duration, value: Record)] { records.filter { $0.value.type == .name } }

    package var acks: [(at: Duration, value: Ack)] {
        received.compactMap { datagram in datagram.ack.map { (datagram.at, $0) } }
    }

    package var byes: [(at: Duration, value: ByeReason)] {
        received.compactMap { datagram in datagram.bye.map { (datagram.at, $0) } }
    }

    /// Waits for a sealed datagram that arrived after `start` and fulfils the condition.
    @discardableResult
    package func await(
        _ expected: String, within limit: Duration = .seconds(3), since start: Duration? = nil,
        where fits: (ReceivedFrames) -> Bool
    ) throws -> ReceivedFrames {
        let start = start ?? trial.now
        return try trial.wait(
            limit, for: expected, actual: { self.summary(since: start) },
            until: { received.first { $0.at >= start && fits($0) } })
    }

    /// Describes the received datagrams since an instant in a few words.
    package func summary(since start: Duration) -> String {
        let recent = received(since: start)
        guard !recent.isEmpty else { return "no sealed datagram came" }
        let words = recent.suffix(6).map { "\($0.frames.map(\.word).joined(separator: "+")) at \($0.at.text)" }
        return "\(recent.count) sealed datagrams came, the last: " + words.joined(separator: ", ")
    }

    /// The different text records received in the newest state, by number.
    package var distinctTexts: [Record] {
        var records: [UInt32: Record] = [:]
        for datagram in received where datagram.session.state === state {
            if let record = datagram.text, records[record.number] == nil { records[record.number] = record }
        }
        return records.keys.sorted().compactMap { records[$0] }
    }
}

extension Frame {
    /// A short word for the frame, for reports.
    package var word: String {
        switch self {
        case .heartbeat(let heartbeat): "heartbeat" + heartbeat.status.word
        case .typing(let status): "typing" + status.word
        case .record(let record): "record(\(record.number), type \(record.type.code))"
        case .ack(let ack): "ack(next \(ack.next), bitmap \(ack.bitmap))"
        case .ping(let token): "ping(\(token))"
        case .pong(let token): "pong(\(token))"
        case .bye(let reason): "bye(\(reason))"
        case .forward(let next): "forward(\(next))"
        case .textID(let id): "text ID(\(id.number))"
        case .unknown(let type, let body): "frame 0x\(String(type, radix: 16)) of \(body.count) bytes"
        }
    }
}

extension Status {
    fileprivate var word: String {
        let words = [(isTyping, "typing"), (isAway, "away"), (isUnheard, "unheard")].compactMap { $0 ? $1 : nil }
        return words.isEmpty ? "" : "(\(words.joined(separator: ", ")))"
    }
}

extension Record {
    /// A record of text.
    package init(number: UInt32, isFirst: Bool = true, isLast: Bool = true, text: String) {
        self.init(number: number, type: .text, isFirst: isFirst, isLast: isLast, body: Array(text.utf8))
    }
}

extension Frame {
    /// An "unheard" heartbeat (L-44).
    package static let unheard = Frame.heartbeat(Heartbeat(status: Status(isUnheard: true), interval: 10))
}
