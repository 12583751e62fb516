import InklingWire
import Testing

@Suite("Vectors of datagrams and frames")
struct WireVectorTests {
    private func datagram(_ vector: Vector) throws -> Datagram {
        switch vector.kind {
        case "initiation":
            .initiation(
                Initiation(
                    senderIndex: try need(vector.senderIndex), check: try number(vector.check),
                    noise: try unhex(vector.noise), cookie: try vector.cookie.map(unhex)))
        case "response":
            .response(Response(receiverIndex: try need(vector.receiverIndex), noise: try unhex(vector.noise)))
        case "sealed":
            .sealed(
                SealedDatagram(
                    receiverIndex: try need(vector.receiverIndex), counter: try need(vector.counter),
                    ciphertext: try unhex(vector.ciphertext)))
        case "retry":
            .retry(Retry(receiverIndex: try need(vector.receiverIndex), cookie: try unhex(vector.cookie)))
        case "ask": .ask(Ask(token: try number(vector.token), check: try number(vector.check)))
        case "tell":
            .tell(
                Tell(
                    token: try number(vector.token), nonce: try number(vector.nonce),
                    sealedKey: try unhex(vector.key)))
        default: throw Missing()
        }
    }

    @Test("W-1, W-13: datagrams, both directions", arguments: try Vector.read("datagrams", "valid"))
    func datagrams(_ vector: Vector) throws {
        let expected = try datagram(vector)
        #expect(try Datagram.parse(unhex(vector.bytes)) == expected)
        #expect(hex(expected.encode()) == vector.bytes)
    }

    @Test("W-12, W-13, W-14: bytes that are no datagram", arguments: try Vector.read("datagrams", "invalid"))
    func invalidDatagrams(_ vector: Vector) throws {
        let error = try need(vector.error.flatMap(DatagramError.init))
        #expect(throws: error) { try Datagram.parse(unhex(vector.bytes)) }
    }

    private func frame(_ fields: Vector.Frame) throws -> Frame {
        func status() throws -> Status {
            Status(
                isTyping: try need(fields.typing), isAway: try need(fields.away),
                isUnheard: try need(fields.unheard))
        }
        switch fields.type {
        case "heartbeat": return .heartbeat(Heartbeat(status: try status(), interval: try need(fields.interval)))
        case "typing": return .typing(try status())
        case "record":
            return .record(
                Record(
                    number: try need(fields.number), type: RecordType(code: try need(fields.recordType)),
                    isFirst: try need(fields.first), isLast: try need(fields.last),
                    body: try unhex(fields.body)))
        case "ack": return .ack(Ack(next: try need(fields.next), bitmap: try need(fields.bitmap)))
        case "ping": return .ping(try need(fields.token))
        case "pong": return .pong(try need(fields.token))
        case "forward": return .forward(try need(fields.next))
        case "bye":
            let reason: ByeReason? =
                switch fields.reason {
                case "quit": .quit
                case "left": .left
                case "suspended": .suspended
                case "lastWill": .lastWill
                case "removed": .removed
                default: nil
                }
            return .bye(try need(reason))
        case "textID":
            let run = try need(fields.run.flatMap { UInt64($0, radix: 16) })
            return .textID(TextID(run: run, number: try need(fields.textNumber), written: try need(fields.written)))
        case "unknown": return .unknown(type: try need(fields.code), body: try unhex(fields.body))
        default: throw Missing()
        }
    }

    @Test(
        "W-24, W-26, W-40, M-80, M-81, X-1, X-2: frames, both directions",
        arguments: try Vector.read("frames", "valid"))
    func frames(_ vector: Vector) throws {
        let frames = try need(vector.frames).map(frame)
        let plaintext = try unhex(vector.bytes)
        #expect(try Frames.parse(plaintext) == frames)
        #expect((Frames.encode(frames) == plaintext) == vector.reencodes)
    }

    @Test("W-24, W-25, W-27, W-28, W-40: bytes that are no frames", arguments: try Vector.read("frames", "invalid"))
    func invalidFrames(_ vector: Vector) throws {
        let reason = try need(vector.error.flatMap(FrameError.Reason.init))
        #expect(throws: FrameError(reason: reason, offset: try need(vector.offset))) {
            try Frames.parse(unhex(vector.bytes))
        }
    }

    @Test("M-25: display names", arguments: try Vector.read("frames", "names"))
    func names(_ vector: Vector) throws {
        let record = Record(number: 0, type: .name, body: try unhex(vector.body))
        #expect(Array(record.displayName.utf8) == Array(try need(vector.displayName).utf8))
    }

    @Test("M-46: invite records by their body and sender", arguments: try Vector.read("frames", "invites"))
    func invites(_ vector: Vector) throws {
        let body = try unhex(vector.body)
        let sender = try PublicKey(base64url: need(vector.sender))
        let invite = String(validating: body, as: UTF8.self).flatMap { try? Invite($0) }
        let isInvite = invite.map { $0.owner == nil || $0.owner == sender } ?? false
        #expect((body.isEmpty ? "knock" : isInvite ? "invite" : "nothing") == vector.takes)
    }

    @Test("W-19, W-20, W-21: sealed datagrams, both directions", arguments: try Vector.read("sealed", "valid"))
    func sealed(_ vector: Vector) throws {
        let key = CipherKey(bytes: try unhex(vector.key))
        let keys = TransportKeys(send: key, receive: key, handshakeHash: [])
        guard case .sealed(let datagram) = try Datagram.parse(unhex(vector.bytes)) else { throw Missing() }
        #expect(datagram.receiverIndex == vector.receiverIndex)
        #expect(datagram.counter == vector.counter)
        let plaintext = try keys.open(datagram)
        #expect(hex(plaintext) == vector.plaintext)
        let frames = try Frames.parse(plaintext, counter: datagram.counter)
        guard datagram.counter == Limits.lastWillCounter else {
            let sealed = keys.seal(frames, receiverIndex: datagram.receiverIndex, counter: datagram.counter)
            #expect(hex(sealed.encode()) == vector.bytes)
            return
        }
        #expect(frames == [.bye(.lastWill)])
        let will = keys.sealLastWill(receiverIndex: datagram.receiverIndex)
        #expect((hex(will.encode()) == vector.bytes) == (vector.plaintext == "0803"))
    }

    @Test("W-13, W-19 to W-24: sealed datagrams that are refused", arguments: try Vector.read("sealed", "invalid"))
    func invalidSealed(_ vector: Vector) throws {
        let bytes = try unhex(vector.bytes)
        guard vector.error != "length" else {
            #expect(throws: DatagramError.length) { try Datagram.parse(bytes) }
            return
        }
        guard case .sealed(let datagram) = try Datagram.parse(bytes) else { throw Missing() }
        let key = CipherKey(bytes: try unhex(vector.key))
        let keys = TransportKeys(send: key, receive: key, handshakeHash: [])
        guard vector.error != "authentication" else {
            #expect(throws: NoiseError.authentication) { try keys.open(datagram) }
            return
        }
        let plaintext = try keys.open(datagram)
        switch vector.error {
        case "counter": #expect(ReplayWindow().place(of: datagram.counter) == .reserved)
        case "lastWill":
            #expect(throws: FrameError(reason: .lastWill, offset: 0)) {
                try Frames.parse(plaintext, counter: datagram.counter)
            }
        default:
            #expect(vector.error == "frames")
            #expect(throws: FrameError.self) { try Frames.parse(plaintext, counter: datagram.counter) }
        }
    }

    @Test("W-22, W-23, W-39: datagrams of one state in their order", arguments: try Vector.read("replay", "sequences"))
    func replays(_ vector: Vector) throws {
        var window = ReplayWindow()
        var complete: Set = ["a"]
        for step in try need(vector.steps) {
            let (counter, session, completes) = try (need(step.counter), need(step.session), need(step.completes))
            let isWill = counter == Limits.lastWillCounter
            let isComplete = complete.contains(session)
            // W-23 checks the counter first, W-39 authenticates first.
            let isRead = !isComplete || isWill || window.place(of: counter).passes
            let opens = isRead && step.datagram != "altered"
            #expect((opens && !isComplete && !isWill) == completes, "\(step)")
            guard opens else {
                #expect(step.outcome == "drop", "\(step)")
                continue
            }
            if completes { complete.insert(session) }
            let place = window.mark(counter)
            let outcome =
                place.passes && step.datagram == "good"
                ? "accept" : completes && place == .marked ? "forget" : "drop"
            #expect(outcome == step.outcome, "\(step)")
        }
    }
}
