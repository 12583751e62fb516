import InklingWire

/// Whether a link may follow its evidence to another address: only after a pong came from there, and until then little
/// goes there (L-51).
struct AddressCheck {
    /// The address other than the link's that something came from last.
    private var elsewhere: Address?
    /// The bytes that came from there, and those that went there.
    private var received = 0
    private var sent = 0
    /// Where the newest evidence came from.
    private var newest: Address?
    /// When the next ping may go out.
    private var nextPing: Instant?

    // MARK: Inputs

    /// A datagram of so many bytes opened that came from an address that is not the link's.
    mutating func received(_ bytes: Int, from source: Address) {
        if source != elsewhere {
            elsewhere = source
            (received, sent) = (0, 0)
        }
        received += bytes
    }

    /// Evidence came from an address, the link's or another.
    mutating func heard(from source: Address) { newest = source }

    /// Takes so many of the bytes that may go to an address that is not the link's.
    ///
    /// - Parameter spare: The bytes that must be left after that.
    /// - Returns: Whether so many are left.
    mutating func take(_ bytes: Int, to address: Address, sparing spare: Int = 0) -> Bool {
        let most = received * Limits.unconfirmedAddressFactor
        guard address == elsewhere, sent + bytes + spare <= most else { return false }
        sent += bytes
        return true
    }

    /// Evidence asks for a ping to where it came from.
    ///
    /// - Returns: Whether the last one is old enough.
    mutating func mayPing(_ now: Instant) -> Bool {
        if let nextPing, now < nextPing { return false }
        nextPing = now + Limits.addressCheckInterval
        return true
    }

    /// A pong came from elsewhere whose token was guessed, or is too old.
    mutating func end(_ now: Instant) { nextPing = now + Limits.addressCheckPause }

    // MARK: Queries

    /// Whether the newest evidence came from that address.
    func isNewest(_ address: Address) -> Bool { address == newest }
}
