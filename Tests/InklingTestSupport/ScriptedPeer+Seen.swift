import InklingCore
import InklingWire

/// A peer that looks at all that comes, millisecond by millisecond, and answers as it was told to.
extension ScriptedPeer {
    package var now: Int { lan.now.milliseconds }

    /// Runs the network for so many milliseconds.
    package func run(for milliseconds: Int) { run(until: now + milliseconds) }

    package func run(until end: Int) {
        poll()
        while now < end {
            lan.run(for: .milliseconds(1))
            poll()
            if let sign, now % 500 == 0 { send(sign) }
        }
    }

    /// Lets a while pass and forgets what was seen.
    package func settle() {
        run(for: 500)
        forget()
    }

    /// Opens what the node has sent to it since it last looked.
    package func poll() {
        for packet in arrived() {
            guard let received = sessions.lazy.flatMap({ self.open([packet], on: $0) }).first else { continue }
            seen.append(received)
            for frame in received.frames { take(frame) }
        }
    }

    private func take(_ frame: Frame) {
        switch frame {
        case .hello(let hello):
            if hello.stream != heldStream { (heldStream, nextRecord, beyond) = (hello.stream, 0, []) }
        case .message(let record) where acknowledges && record.stream == heldStream:
            if record.number >= nextRecord { beyond.insert(record.number) }
            while beyond.remove(nextRecord) != nil { nextRecord += 1 }
            let bits = (0..<16).filter { beyond.contains(nextRecord + 1 + UInt32($0)) }
            send([.ack(Ack(stream: heldStream, next: nextRecord, bitmap: bits.reduce(0) { $0 | 1 << UInt16($1) }))])
        default:
            break
        }
    }

    /// Forgets what it saw itself.
    package func clear() {
        poll()
        seen = []
    }

    package func forget() {
        clear()
        lan.forget()
    }

    /// The typing frames seen: when, what they said, and whether they stood before a message.
    package var typingFrames: [(at: Int, typing: Bool, away: Bool, withMessage: Bool)] {
        seen.compactMap { seen in
            for frame in seen.frames {
                guard case .typing(let status) = frame else { continue }
                let withMessage = if case .message? = seen.frames.last { true } else { false }
                return (seen.at.milliseconds, status.isTyping, status.isAway, withMessage)
            }
            return nil
        }
    }

    package var heartbeats: [(at: Int, heartbeat: Heartbeat)] {
        seen.compactMap { seen in seen.heartbeat.map { (seen.at.milliseconds, $0) } }
    }

    package var records: [(at: Int, record: Record)] {
        seen.compactMap { seen in
            guard case .message(let record)? = seen.frames.last else { return nil }
            return (seen.at.milliseconds, record)
        }
    }

    package var acks: [Ack] {
        seen.flatMap(\.frames).compactMap { if case .ack(let ack) = $0 { ack } else { nil } }
    }

    package var hellos: [Hello] {
        seen.flatMap(\.frames).compactMap { if case .hello(let hello) = $0 { hello } else { nil } }
    }

    package var byes: [(at: Int, reason: ByeReason)] {
        seen.flatMap { seen in
            seen.frames.compactMap { if case .bye(let reason) = $0 { (seen.at.milliseconds, reason) } else { nil } }
        }
    }

    package var pings: [Int] { seen.filter { $0.ping != nil }.map(\.at.milliseconds) }

    /// Whether the node was told to show it as typing, each time that this changed.
    package var shown: [(at: Int, shown: Bool)] {
        var changes: [(at: Int, shown: Bool)] = []
        for entry in lan.hosts[node].log {
            guard case .typing(chat.tag, let people) = entry.output else { continue }
            let isShown = people.contains { $0.key == identity.publicKey }
            if changes.last?.shown ?? false != isShown { changes.append((entry.at.milliseconds, isShown)) }
        }
        return changes
    }
}

extension ScriptedPeer.Received {
    package var heartbeat: Heartbeat? { first { if case .heartbeat(let value) = $0 { value } else { nil } } }
    package var hello: Hello? { first { if case .hello(let value) = $0 { value } else { nil } } }
    package var ping: UInt16? { first { if case .ping(let value) = $0 { value } else { nil } } }
    package var pong: UInt16? { first { if case .pong(let value) = $0 { value } else { nil } } }
    package var bye: ByeReason? { first { if case .bye(let value) = $0 { value } else { nil } } }

    private func first<Value>(_ value: (Frame) -> Value?) -> Value? { frames.lazy.compactMap(value).first }
}

extension Frame {
    package var isMessage: Bool { if case .message = self { true } else { false } }
    package var isHeartbeat: Bool { if case .heartbeat = self { true } else { false } }
    /// The status that it bears.
    package var status: Status? {
        switch self {
        case .heartbeat(let heartbeat): heartbeat.status
        case .typing(let status): status
        default: nil
        }
    }
}
