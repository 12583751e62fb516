import InklingWire
import Testing

extension DatagramVectors.Valid {
    /// The datagram that the case's fields describe.
    func datagram() throws -> Datagram {
        func array(_ hex: String?) throws -> [UInt8] { try unhex(need(hex)) }
        func chatTag() throws -> ChatTag { try need(ChatTag(hex: need(tag))) }
        switch kind {
        case "initiation":
            return try .initiation(
                Initiation(
                    senderIndex: need(senderIndex), tag: chatTag(), noise: array(noise),
                    cookie: cookie.map { try unhex($0) }))
        case "response":
            return try .response(Response(receiverIndex: need(receiverIndex), noise: array(noise)))
        case "sealed":
            return try .sealed(
                SealedDatagram(
                    receiverIndex: need(receiverIndex), counter: need(counter),
                    ciphertext: array(ciphertext)))
        case "retry": return try .retry(Retry(receiverIndex: need(receiverIndex), cookie: array(cookie)))
        case "ask": return try .ask(Ask(tag: chatTag(), token: need(token)))
        default:
            try #require(kind == "tell")
            let number = try need(UInt64(need(nonce), radix: 16))
            return try .tell(Tell(token: need(token), nonce: number, key: array(key)))
        }
    }
}

extension FrameVectors.FrameFields {
    /// The frame that the fields describe.
    func frame() throws -> Frame {
        func status() throws -> Status { try Status(isTyping: need(typing), isAway: need(away)) }
        switch type {
        case "heartbeat": return try .heartbeat(Heartbeat(status: status(), interval: need(interval)))
        case "typing": return try .typing(status())
        case "hello":
            return try .hello(
                Hello(
                    run: need(UInt64(need(run), radix: 16)), stream: need(stream),
                    heldStream: need(held), nextRecord: need(next), name: need(name)))
        case "message":
            return try .message(
                Record(
                    stream: need(stream), number: need(record), isFirst: need(first),
                    isLast: need(last), text: need(text)))
        case "ack":
            return try .ack(Ack(stream: need(stream), next: need(next), bitmap: need(bitmap)))
        case "ping": return try .ping(need(token))
        case "pong": return try .pong(need(token))
        case "bye":
            let reasons: [String: ByeReason] = [
                "quit": .quit, "left": .left, "suspended": .suspended, "lastWill": .lastWill, "removed": .removed,
                "unheard": .unheard,
            ]
            return try .bye(need(reasons[need(reason)]))
        default:
            try #require(type == "unknown")
            return try .unknown(type: need(code), body: unhex(need(body)))
        }
    }
}

@Suite("Vectors of datagrams, frames, sealing and replay")
struct WireVectorTests {
    @Test("datagrams", arguments: try vectors("datagrams", as: DatagramVectors.self).valid)
    func datagram(_ vector: DatagramVectors.Valid) throws {
        let datagram = try vector.datagram()
        #expect(try Datagram.parse(unhex(vector.bytes)) == datagram)
        #expect(hex(datagram.encode()) == vector.bytes)
    }

    @Test("bytes that are no datagram", arguments: try vectors("datagrams", as: DatagramVectors.self).invalid)
    func noDatagram(_ vector: DatagramVectors.Invalid) throws {
        let error = try need(DatagramError(rawValue: vector.error))
        #expect(throws: error) { try Datagram.parse(unhex(vector.bytes)) }
    }

    @Test("frames", arguments: try vectors("frames", as: FrameVectors.self).valid)
    func frames(_ vector: FrameVectors.Valid) throws {
        let frames = try vector.frames.map { try $0.frame() }
        #expect(try Frames.parse(unhex(vector.bytes)) == frames)
        // Equal texts may differ in bytes; their encodings may not.
        #expect((hex(Frames.encode(frames)) == vector.bytes) == (vector.reencodes ?? true))
    }

    @Test("bytes that are no frames", arguments: try vectors("frames", as: FrameVectors.self).invalid)
    func noFrames(_ vector: FrameVectors.Invalid) throws {
        let error = FrameError(
            reason: try need(FrameError.Reason(rawValue: vector.error)), offset: vector.offset)
        #expect(throws: error) { try Frames.parse(unhex(vector.bytes)) }
    }

    @Test("sealed datagrams", arguments: try vectors("sealed", as: SealedVectors.self).valid)
    func sealed(_ vector: SealedVectors.Valid) throws {
        let key = CipherKey(bytes: try unhex(vector.key))
        let plaintext = try unhex(vector.plaintext)
        let header = SealedDatagram.header(receiverIndex: vector.receiverIndex, counter: vector.counter)
        let sealed = SealedDatagram(
            receiverIndex: vector.receiverIndex, counter: vector.counter,
            ciphertext: key.seal(plaintext, counter: UInt64(vector.counter), associatedData: header))
        #expect(hex(sealed.encode()) == vector.bytes)
        #expect(try Datagram.parse(unhex(vector.bytes)) == .sealed(sealed))
        let opened = try key.open(
            sealed.ciphertext, counter: UInt64(sealed.counter), associatedData: sealed.header)
        #expect(opened == plaintext)
        #expect(try Frames.encode(Frames.parse(opened)) == plaintext)
    }

    @Test("sealed datagrams that are dropped", arguments: try vectors("sealed", as: SealedVectors.self).invalid)
    func droppedSealed(_ vector: SealedVectors.Invalid) throws {
        #expect(try reasonToDrop(unhex(vector.bytes), key: CipherKey(bytes: unhex(vector.key))) == vector.error)
    }

    /// The first of the rules that a sealed datagram breaks, in the words of the vectors.
    private func reasonToDrop(_ bytes: [UInt8], key: CipherKey) -> String? {
        do {
            guard case .sealed(let sealed) = try Datagram.parse(bytes) else { return "kind" }
            let counter = UInt64(sealed.counter)
            // W-20, W-21: which counters are for what is the session's to know; the limits name them.
            if counter > Limits.highestOrdinaryCounter, counter != Limits.lastWillCounter { return "counter" }
            let frames = try Frames.parse(
                key.open(sealed.ciphertext, counter: counter, associatedData: sealed.header))
            guard counter == Limits.lastWillCounter else { return nil }
            if case .bye = frames[0], frames.count == 1 { return nil }
            return "lastWill"
        } catch let error as DatagramError {
            return error.rawValue
        } catch let error as NoiseError {
            return error.rawValue
        } catch {
            return error is FrameError ? "frames" : nil
        }
    }

    @Test("W-22: replayed counters", arguments: try vectors("replay", as: ReplayVectors.self).sequences)
    func replay(_ vector: ReplayVectors.Sequence) {
        var window = ReplayWindow()
        for (index, step) in vector.counters.enumerated() {
            #expect(window.accepts(step.counter) == step.accept, "step \(index), counter \(step.counter)")
            if step.accept { window.mark(step.counter) }
        }
    }
}
