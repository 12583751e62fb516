import InklingWire

extension Peer {
    func open(
        _ sealed: SealedDatagram, bytes: [UInt8], from source: UDPAddress, to destination: UDPAddress, at: Duration
    ) {
        guard
            let session = sessions.last(where: { $0.localIndex == sealed.receiverIndex }),
            let plaintext = try? session.keys.receive.open(
                sealed.ciphertext, counter: UInt64(sealed.counter), associatedData: sealed.header)
        else {
            unreadable.append((at, bytes, source))
            return
        }
        let isFirst = !session.isConfirmed
        session.isConfirmed = true
        let frames = (try? Frames.parse(plaintext)) ?? []
        received.append(
            ReceivedFrames(
                at: at, session: session, counter: sealed.counter, plaintext: plaintext, frames: frames, bytes: bytes,
                source: source, destination: destination))
        for frame in frames { take(frame, on: session) }
        if isFirst, session.role == .responder {
            if habits.saysHello, session.lastHelloSent == nil { sendHello(on: session) }
            restartHeartbeats()
        }
    }

    private func take(_ frame: Frame, on session: PeerSession) {
        switch frame {
        case .hello(let hello): take(hello, on: session)
        case .message(let record): take(record, on: session)
        case .ping(let token):
            if habits.answersPings { send([heartbeatFrame, .pong(token)], on: session) }
        case .bye: session.ended = true
        case .heartbeat, .typing, .ack, .pong, .unknown: break
        }
    }

    private func take(_ hello: Hello, on session: PeerSession) {
        session.hasHello = true
        let isNews = hello.stream != heldStream
        if isNews, habits.saysHello { (heldStream, nextRecord, beyond) = (hello.stream, 0, []) }
        guard habits.saysHello else { return }
        // L-17, without its count: an answer if it says something new, and against a lost hello now and then.
        let isOld = session.lastHelloSent.map { trial.now - $0 >= .milliseconds(200) } ?? true
        if isNews || hello.heldStream != stream && isOld { sendHello(on: session) }
    }

    private func take(_ record: Record, on session: PeerSession) {
        guard habits.acknowledges, record.stream == heldStream else { return }
        if record.number >= nextRecord, record.number - nextRecord < 16 { beyond.insert(record.number) }
        while beyond.remove(nextRecord) != nil { nextRecord += 1 }
        sendAck(on: session)
    }

    /// Acknowledges what has come.
    package func sendAck(on session: PeerSession? = nil) {
        var bitmap: UInt16 = 0
        for bit in 0..<16 where beyond.contains(nextRecord + 1 + UInt32(bit)) { bitmap |= 1 << UInt16(bit) }
        send([.ack(Ack(stream: heldStream, next: nextRecord, bitmap: bitmap))], on: session)
    }
}
