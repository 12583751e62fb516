/// Why a handshake message or a sealed datagram is refused. What was there before is as it was.
package enum NoiseError: String, Error, CaseIterable, Sendable {
    /// The message is shorter than its pattern.
    case length
    /// A tag does not fit: another key, another number, or altered bytes.
    case authentication
    /// A key is not canonical, or X25519 with it gives all zeroes, as a low-order point does (W-3, W-4).
    case invalidKey
}
