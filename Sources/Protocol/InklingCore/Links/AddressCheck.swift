import InklingWire

/// Whether a link may follow its evidence to another address: only after a pong came from there, and until then little
/// goes there (L-51, L-72).
struct AddressCheck: Sendable {
    /// The address other than the link's that something came from last.
    private var elsewhere: Address?
    /// The bytes that opened from there, and those that went there.
    private var received = 0
    private var sent = 0
    /// Where the newest datagram that counts came from.
    private var newest: Address?
    /// When the next ping may go out.
    private var nextPing: Instant?

    // MARK: Inputs

    /// Counts a datagram that opened and came from an address that is not the link's.
    mutating func received(_ bytes: Int, from source: Address) {
        if source != elsewhere {
            elsewhere = source
            (received, sent) = (0, 0)
        }
        received += bytes
    }

    /// Records where the newest datagram came from, the link's address or another.
    mutating func heard(from source: Address) { newest = source }

    /// Takes so many of the bytes that may go to an address that is not the link's.
    ///
    /// - Returns: Whether so many were left.
    mutating func take(_ bytes: Int, to address: Address) -> Bool {
        guard address == elsewhere, sent + bytes <= received * Limits.unconfirmedAddressFactor else { return false }
        sent += bytes
        return true
    }

    /// Whether a ping may go to where a datagram came from; if so, the next one waits.
    mutating func mayPing(_ now: Instant) -> Bool {
        if let nextPing, now < nextPing { return false }
        nextPing = now + Limits.checkInterval
        return true
    }

    /// Ends the check, because a pong came from elsewhere whose token is not awaited (L-73).
    mutating func end(_ now: Instant) { nextPing = now + Limits.checkPause }

    // MARK: Queries

    /// Whether the newest datagram came from that address (L-100).
    func isNewest(_ address: Address) -> Bool { address == newest }
}
