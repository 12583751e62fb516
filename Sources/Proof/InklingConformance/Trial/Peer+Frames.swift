import InklingWire

extension Peer {
    func open(
        _ sealed: SealedDatagram, bytes: [UInt8], from source: UDPAddress, to destination: UDPAddress, at: Duration
    ) {
        guard
            let session = sessions.last(where: { $0.localIndex == sealed.receiverIndex }),
            let plaintext = try? session.keys.open(sealed)
        else {
            unreadable.append((at, bytes, source))
            return
        }
        let isFirst = !session.isComplete
        session.isComplete = true
        let frames = (try? Frames.parse(plaintext, counter: sealed.counter)) ?? []
        received.append(
            ReceivedFrames(
                at: at, session: session, counter: sealed.counter, plaintext: plaintext, frames: frames, bytes: bytes,
                source: source, destination: destination))
        for frame in Frames.inOrder(frames) { take(frame, on: session, from: source) }
        if isFirst, session.role == .responder, !session.ended { join(session) }
    }

    private func take(_ frame: Frame, on session: PeerSession, from source: UDPAddress) {
        let state = session.state
        switch frame {
        case .record(let record): take(record, on: session)
        case .ping(let token):
            guard habits.answersPings else { return }
            let destination = session.destination
            session.destination = source
            send([heartbeat(on: session), .pong(token)], on: session)
            session.destination = destination
        case .pong(let token):
            let isAwaited = state.awaitedPings.remove(token) != nil
            if isAwaited, !state.isUp { comeUp(on: session) }
        case .ack(let ack): state.acknowledged = max(state.acknowledged, ack.next)
        case .forward(let next):
            guard habits.acknowledges else { return }
            if next > state.nextRecord {
                state.nextRecord = next
                state.beyond = state.beyond.filter { $0 >= next }
            }
            sendAck(on: session)
        case .bye: if state === states.last { forget() } else { state.ended = true }
        case .heartbeat, .typing, .textID, .unknown: break
        }
    }

    private func take(_ record: Record, on session: PeerSession) {
        let state = session.state
        if record.number == 0, record.type == .name { state.hasName = true }
        guard habits.acknowledges else { return }
        if record.number >= state.nextRecord, record.number - state.nextRecord < 16 {
            state.beyond.insert(record.number)
        }
        while state.beyond.remove(state.nextRecord) != nil { state.nextRecord += 1 }
        sendAck(on: session)
    }

    /// Acknowledges all received records.
    package func sendAck(on session: PeerSession? = nil) {
        let state = session?.state ?? self.state
        var bitmap: UInt16 = 0
        for bit in 0..<16 where state.beyond.contains(state.nextRecord + 1 + UInt32(bit)) { bitmap |= 1 << UInt16(bit) }
        send([.ack(Ack(next: state.nextRecord, bitmap: bitmap))], on: session)
    }
}
