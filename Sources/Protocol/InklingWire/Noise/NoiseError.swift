/// The reason why a node refuses a handshake message, a sealed datagram or a sealed key. The error changes no state.
package enum NoiseError: String, Error, CaseIterable, Sendable {
    /// The message is shorter or longer than the Noise pattern permits.
    case length
    /// The tag is wrong: the key or counter differs, or bytes were altered (W-23).
    case authentication
    /// A key is not canonical (W-3), or an X25519 result is 32 zero bytes (W-4).
    case invalidKey
    /// The static key of the initiator is the responder's own (D-7).
    case ownKey
}
