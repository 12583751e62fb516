import InklingWire

/// Where the peer of a link is, and when the link follows it to another address (L-24, L-51).
extension Link {
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
        let token = pings.next(to: [source], &effects, now: now)
        send([.ping(token)], .ping, toUnconfirmed: source, &effects)
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
            address = source
            sessions.move(to: source)
            handOverWill(surroundings, &effects)
        }
    }

    /// Sends frames to an address that is not the link's, without our hello, if the bytes that came from there allow it
    /// (L-28, L-51).
    mutating func send(
        _ frames: [Frame], _ kind: DatagramKind, toUnconfirmed destination: Address, _ effects: inout Effects
    ) {
        guard addressCheck.take(SealedDatagram.size(of: frames), to: destination), sessions.sending != nil,
            let bytes = sessions[.sending].seal(frames)
        else { return }
        effects.send(bytes, to: destination, kind)
    }

    /// Whether the link may have that address: unless it covers one added by hand, from on-link only to on-link (L-24).
    private func mayFollow(
        to source: Address, _ surroundings: Surroundings, _ directory: PeerDirectory
    ) -> Bool {
        guard !surroundings.isOneself(source) else { return false }
        return surroundings.isOnLink(source) || !surroundings.isOnLink(address) || directory.coversByHand(self)
    }
}
