/// The reason why a handshake message, a sealed datagram or a sealed key is refused. Nothing has changed then.
package enum NoiseError: String, Error, CaseIterable, Sendable {
    /// The message is shorter or longer than its pattern.
    case length
    /// The tag does not fit: another key, another counter, or altered bytes (W-23).
    case authentication
    /// A key is not canonical (W-3), or an X25519 result is 32 zero bytes (W-4).
    case invalidKey
    /// The static key of the initiator is the responder's own (D-7).
    case ownKey
}
