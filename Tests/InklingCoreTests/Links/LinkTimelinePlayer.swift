import InklingCore
import InklingTestSupport
import InklingWire
import Testing

/// Plays a timeline of links against one node, and notes what that sends and tells.
final class LinkTimelinePlayer {
    /// An input that no timeline can have.
    struct Unknown: Error { let input: String }

    private(set) var seen: [LinkTimeline.Seen] = []
    private let timeline: LinkTimeline
    private let lan = lonely()
    private let peer: ScriptedPeer
    private let addresses = ["A": VirtualLAN.address(100), "B": VirtualLAN.address(101)]
    private var openings: [String: ScriptedPeer.Opening] = [:]
    private var sessions: [String: ScriptedPeer.Session] = [:]
    /// The initiations of the node, and its streams: i1 and s1 are the first.
    private var initiations: [Initiation] = []
    private var streams: [UInt32] = []
    private var askToken: UInt32 = 0
    private var lastSequence = 0

    init(_ timeline: LinkTimeline) throws {
        self.timeline = timeline
        guard ["smaller", "larger"].contains(timeline.key) else { throw Unknown(input: timeline.key) }
        // The node has the identity 5.
        peer = ScriptedPeer(lan, identity: timeline.key == "smaller" ? 8 : 2)
    }

    func play() throws {
        for input in timeline.inputs {
            lan.run(until: .at(input.at))
            try look()
            try perform(input)
            try look()
        }
        lan.run(until: .at(timeline.until))
        try look()
    }

    /// What the node told its user.
    var events: [LinkTimeline.Event] {
        lan.hosts[0].log.compactMap { entry in
            let at = entry.at.milliseconds
            return switch entry.output {
            case .presence(_, _, let presence, let why):
                .init(at: at, event: "peer", presence: presence.rawValue, why: why.rawValue)
            case .typing(_, let people): .init(at: at, event: "typing", shown: !people.isEmpty)
            case .message(_, _, _, let text): .init(at: at, event: "message", text: text)
            case .delivered: .init(at: at, event: "delivered")
            case .failed(_, _, _, let why): .init(at: at, event: "failed", why: why.rawValue)
            case .send, .keepWill, .dropWill, .peerIsOneself: nil
            }
        }
    }

    // MARK: Inputs

    private func perform(_ input: LinkTimeline.Input) throws {
        let user = peer.identity.publicKey.userID
        switch input.do {
        case "found":
            lan.find(
                try #require(input.instance), key: peer.identity.publicKey,
                at: try #require(input.addresses).map(address))
        case "addPeer":
            let address = try address(input.address)
            lan.perform(0) { $0.addPeer(address, now: $1) }
        case "tell":
            let tell = Tell(token: askToken, nonce: 0, key: peer.chat.masked(peer.identity.publicKey, nonce: 0))
            inject(Datagram.tell(tell).encode(), from: try address(input.from))
        case "initiation":
            let name = try #require(input.session)
            let opening = try openings[name] ?? peer.initiation()
            openings[name] = opening
            inject(opening.bytes, from: try address(input.from))
        case "response":
            let number = try #require(input.to.flatMap { Int($0.dropFirst()) })
            try #require((1...initiations.count).contains(number), "\(number) was sent before it is answered")
            let (session, response) = try peer.answer(initiations[number - 1])
            sessions[try #require(input.session)] = session
            inject(response, from: try address(input.from))
        case "sealed":
            try seal(input)
        case "send": lan.send(0, try #require(input.text))
        case "quit": lan.perform(0) { $0.quit(now: $1) }
        case "block": lan.perform(0) { $0.block(user, now: $1) }
        case "sleep":
            lan.stop(0)
            lan.run(until: .at(try #require(input.until)))
            lan.resume(0)
        default: throw Unknown(input: input.do)
        }
    }

    private func seal(_ input: LinkTimeline.Input) throws {
        let name = try #require(input.session)
        let session = try #require(sessions[name], "\(name) was answered")
        let plaintext =
            try input.plaintext.map(bytes(hex:)) ?? Frames.encode(try #require(input.frames).map(frame))
        inject(peer.seal(plaintext: plaintext, on: session, counter: input.counter), from: try address(input.from))
    }

    private func inject(_ bytes: [UInt8], from source: Address) { lan.inject(bytes, into: 0, from: source) }

    private func address(_ name: String?) throws -> Address { try #require(addresses[name ?? ""]) }

    private func bytes(hex: String) throws -> [UInt8] {
        let digits = Array(hex)
        return try stride(from: 0, to: digits.count, by: 2).map { index in
            try #require(UInt8(String(digits[index..<index + 2]), radix: 16))
        }
    }

    private func frame(_ fields: LinkTimeline.Fields) throws -> Frame {
        func text(_ key: String) throws -> String { try #require(fields[key]?.text, "\(key) of \(fields)") }
        func number<Number: FixedWidthInteger>(_ key: String) throws -> Number {
            try #require(Number(try text(key)), "\(key) of \(fields)")
        }
        func status() throws -> Status {
            Status(isTyping: try text("typing") == "true", isAway: try text("away") == "true")
        }
        func stream(_ key: String) throws -> UInt32 {
            guard try text(key).first == "s" else { return try number(key) }
            let index = try #require(Int(try text(key).dropFirst()))
            try #require((1...streams.count).contains(index), "\(index) was named before it is held")
            return streams[index - 1]
        }
        switch try text("type") {
        case "heartbeat": return .heartbeat(Heartbeat(status: try status(), interval: try number("interval")))
        case "typing": return .typing(try status())
        case "hello":
            return .hello(
                Hello(
                    run: try #require(UInt64(try text("run"), radix: 16)), stream: try stream("stream"),
                    heldStream: try stream("held"), nextRecord: try number("next"), name: try text("name")))
        case "message":
            return .message(
                Record(
                    stream: try stream("stream"), number: try number("record"), isFirst: try text("first") == "true",
                    isLast: try text("last") == "true", text: try text("text")))
        case "ack":
            return .ack(Ack(stream: try stream("stream"), next: try number("next"), bitmap: try number("bitmap")))
        case "ping": return .ping(try number("token"))
        case "pong": return .pong(try number("token"))
        case "bye":
            let reason = try text("reason")
            return .bye(try #require(Self.reasons.first { $0.name == reason }).reason)
        default: throw Unknown(input: "\(fields)")
        }
    }

    private static let reasons: [(reason: ByeReason, name: String)] = [
        (.quit, "quit"), (.left, "left"), (.suspended, "suspended"), (.lastWill, "lastWill"), (.removed, "removed"),
        (.unheard, "unheard"),
    ]

    // MARK: What the node sent

    private func look() throws {
        let sent = lan.hosts[0].sent.filter { $0.sequence > lastSequence }
        lastSequence = sent.last?.sequence ?? lastSequence
        for packet in sent { seen.append(try datagram(packet)) }
    }

    private func datagram(_ packet: VirtualLAN.Packet) throws -> LinkTimeline.Seen {
        let destination = addresses.first { $0.value == packet.destination }?.key ?? "elsewhere"
        func seen(
            _ kind: String, initiation: String? = nil, session: String? = nil, frames: [LinkTimeline.Fields] = []
        ) -> LinkTimeline.Seen {
            .init(
                at: packet.at.milliseconds, to: destination, kind: kind, initiation: initiation, session: session,
                frames: frames, bytes: packet.bytes)
        }
        switch try Datagram.parse(packet.bytes) {
        case .initiation(let initiation):
            let known = initiations.firstIndex { $0.encode() == initiation.encode() }
            if known == nil { initiations.append(initiation) }
            return seen("initiation", initiation: "i\((known ?? initiations.count - 1) + 1)")
        case .response(let response):
            let opening = openings.first { $0.value.initiation.senderIndex == response.receiverIndex }
            let name = try #require(opening?.key)
            if sessions[name] == nil { sessions[name] = opening.flatMap { peer.finish($0.value, response) } }
            return seen("response", session: name)
        case .sealed(let sealed):
            let session = try #require(sessions.first { $0.value.localIndex == sealed.receiverIndex })
            let plaintext = try session.value.keys.receive.open(
                sealed.ciphertext, counter: UInt64(sealed.counter), associatedData: sealed.header)
            return seen("sealed", session: session.key, frames: try Frames.parse(plaintext).map(fields))
        case .ask(let ask):
            askToken = ask.token
            return seen("ask")
        case .retry: return seen("retry")
        case .tell: return seen("tell")
        }
    }

    private func fields(_ frame: Frame) -> LinkTimeline.Fields {
        func name(_ stream: UInt32) -> LinkTimeline.Scalar {
            streams.firstIndex(of: stream).map { .init("s\($0 + 1)") } ?? .init(stream)
        }
        switch frame {
        case .heartbeat(let heartbeat):
            return [
                "type": "heartbeat", "typing": .init(heartbeat.status.isTyping),
                "away": .init(heartbeat.status.isAway),
            ]
        case .typing(let status):
            return ["type": "typing", "typing": .init(status.isTyping), "away": .init(status.isAway)]
        case .hello(let hello):
            if !streams.contains(hello.stream) { streams.append(hello.stream) }
            return [
                "type": "hello", "stream": name(hello.stream), "held": .init(hello.heldStream),
                "next": .init(hello.nextRecord),
            ]
        case .message(let record):
            return [
                "type": "message", "stream": name(record.stream), "record": .init(record.number),
                "text": .init(record.text),
            ]
        case .ack(let ack):
            return ["type": "ack", "stream": .init(ack.stream), "next": .init(ack.next), "bitmap": .init(ack.bitmap)]
        case .ping(let token): return ["type": "ping", "token": .init(token)]
        case .pong(let token): return ["type": "pong", "token": .init(token)]
        case .bye(let reason):
            let name = Self.reasons.first { $0.reason == reason }?.name ?? "unassigned"
            return ["type": "bye", "reason": .init(name)]
        case .unknown: return ["type": "unknown"]
        }
    }
}
