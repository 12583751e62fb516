import InklingWire

/// The check before a link follows its peer to another address. A pong must come from the new address; until then, the
/// node sends little there (L-51, L-72).
struct AddressCheck: Sendable {
    /// The address of the last datagram that did not come from the link's address.
    private var elsewhere: Address?
    /// The bytes of opened datagrams from ``elsewhere``, and the bytes sent there.
    private var received = 0
    private var sent = 0
    /// The source of the newest datagram that counts.
    private var newest: Address?
    /// The earliest time for the next ping.
    private var nextPing: Instant?

    // MARK: Inputs

    /// Counts an opened datagram from an address that is not the link's.
    mutating func received(_ bytes: Int, from source: Address) {
        if source != elsewhere {
            elsewhere = source
            (received, sent) = (0, 0)
        }
        received += bytes
    }

    /// Records the source of the newest datagram, the link's address or another.
    mutating func heard(from source: Address) { newest = source }

    /// Uses up some of the bytes that the node may send to an address that is not the link's.
    ///
    /// - Returns: Whether enough bytes were left.
    mutating func take(_ bytes: Int, to address: Address) -> Bool {
        guard address == elsewhere, sent + bytes <= received * Limits.unconfirmedAddressFactor else { return false }
        sent += bytes
        return true
    }

    /// Returns whether a ping may go to the new source of a datagram. If so, the next ping must wait.
    mutating func mayPing(_ now: Instant) -> Bool {
        if let nextPing, now < nextPing { return false }
        nextPing = now + Limits.checkInterval
        return true
    }

    /// Pauses the check, because a pong with a wrong token came from an address that is not the link's (L-73).
    mutating func end(_ now: Instant) { nextPing = now + Limits.checkPause }

    // MARK: Queries

    /// Returns whether the newest datagram came from an address (L-100).
    func isNewest(_ address: Address) -> Bool { address == newest }
}
