import InklingWire

/// Where the peer of a link is, and when the link follows it to another address (L-24, L-51).
extension Link {
    private static let pongSize = SealedDatagram.size(
        of: [.heartbeat(Heartbeat(status: Status(isTyping: false, isAway: false), interval: 0)), .pong(0)])

    /// A datagram came from an address: evidence from one that is not the link's draws a ping there (L-51).
    mutating func noteSource(
        _ source: Address, of opened: Session.Opened, _ surroundings: Surroundings, _ directory: PeerDirectory,
        _ effects: inout Effects, now: Instant
    ) {
        let isElsewhere = source != address
        if isElsewhere { addressCheck.received(opened.size, from: source) }
        guard opened.isEvidence, !surroundings.isBehind else { return }
        addressCheck.heard(from: source)
        guard isElsewhere, mayFollow(to: source, surroundings, directory), addressCheck.mayPing(now) else { return }
        let ping = [Frame.ping(pings.next(to: [source], &effects, now: now))]
        // A peer that has moved since it opened may have no hello of ours, and then it answers no ping. The pong that it
        // may have asked for comes first.
        if sessions.sending?.hello.isOutstanding == true,
            send(ping + [.hello(hello(surroundings))], .ping, toUnconfirmed: source, sparing: Link.pongSize, &effects)
        {
            return
        }
        send(ping, .ping, toUnconfirmed: source, &effects)
    }

    /// A pong came: if it answers a ping to where the newest evidence came from, the link's address is there.
    mutating func receivePong(
        _ token: UInt16, from source: Address, _ surroundings: Surroundings, _ directory: PeerDirectory,
        _ effects: inout Effects, now: Instant
    ) {
        let answer = pings.pong(token, from: source, now: now)
        guard source != address, !surroundings.isBehind else { return }
        switch answer {
        case .answered: return
        case .unexpected:
            pings.endChecks()
            addressCheck.end(now)
        case .confirmed:
            guard addressCheck.isNewest(source), mayFollow(to: source, surroundings, directory) else { return }
            move(to: source, surroundings)
            sessions.move(to: source)
            handOverWill(surroundings, &effects)
        }
    }

    /// Sends just those frames to an address that is not the link's, if the bytes that came from there allow it (L-28,
    /// L-51).
    ///
    /// - Parameter spare: The bytes that must then be left for others.
    /// - Returns: Whether they went out.
    @discardableResult
    mutating func send(
        _ frames: [Frame], _ kind: DatagramKind, toUnconfirmed destination: Address, sparing spare: Int = 0,
        _ effects: inout Effects
    ) -> Bool {
        let size = SealedDatagram.size(of: frames)
        guard addressCheck.take(size, to: destination, sparing: spare), sessions.sending != nil,
            let bytes = sessions[.sending].seal(frames)
        else { return false }
        effects.send(bytes, to: destination, kind)
        return true
    }

    /// Whether the link may have that address: unless it covers one added by hand, from on-link only to on-link (L-24).
    private func mayFollow(
        to source: Address, _ surroundings: Surroundings, _ directory: PeerDirectory
    ) -> Bool {
        guard !surroundings.isOneself(source) else { return false }
        return surroundings.isOnLink(source) || !surroundings.isOnLink(address) || directory.coversByHand(self)
    }
}
