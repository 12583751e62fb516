/// The reason why bytes are not a datagram of this version. A node sends no answer to them (W-15).
package enum DatagramError: String, Error, CaseIterable, Sendable {
    /// There is no byte (W-12).
    case empty
    /// The high four bits of the first byte are not 2 (W-12).
    case version
    /// The low four bits of the first byte are not a known kind (W-12).
    case kind
    /// The datagram is shorter or longer than its kind permits (W-13).
    case length
    /// The last 48 bytes of an ask are not all zero (W-14).
    case zeros
}

/// One datagram as the network carries it, not authenticated yet.
///
/// The first byte holds the version, 2, in its high four bits and the kind in its low four bits. Numbers are
/// big-endian, and a trailing byte is an error (W-13).
package enum Datagram: Equatable, Sendable {
    /// The first message of a handshake.
    case initiation(Initiation)
    /// The second message of a handshake.
    case response(Response)
    /// A sealed datagram: frames encrypted under the key of a session.
    case sealed(SealedDatagram)
    /// A cookie from a node under load. The initiator must repeat its initiation with the cookie.
    case retry(Retry)
    /// A question for the static key of the node at an address added by hand.
    case ask(Ask)
    /// The answer to an ask, with a sealed key.
    case tell(Tell)

    /// The kind of a datagram, the low four bits of its first byte.
    package enum Kind: UInt8, CaseIterable, Sendable {
        case initiation = 1
        case response
        case sealed
        case retry
        case ask
        case tell

        /// The first byte of a datagram of this kind.
        var firstByte: UInt8 { 0x20 | rawValue }
    }

    /// The kind of the datagram.
    package var kind: Kind {
        switch self {
        case .initiation: .initiation
        case .response: .response
        case .sealed: .sealed
        case .retry: .retry
        case .ask: .ask
        case .tell: .tell
        }
    }

    /// Parses a whole UDP payload.
    package static func parse(_ bytes: [UInt8]) throws(DatagramError) -> Datagram {
        var reader = ByteReader(bytes)
        guard let first = reader.uint8() else { throw .empty }
        guard first >> 4 == 2 else { throw .version }
        guard let kind = Kind(rawValue: first & 0x0F) else { throw .kind }
        switch kind {
        case .initiation: return .initiation(try Initiation(body: &reader))
        case .response: return .response(try Response(body: &reader))
        case .sealed: return .sealed(try SealedDatagram(body: &reader))
        case .retry: return .retry(try Retry(body: &reader))
        case .ask: return .ask(try Ask(body: &reader))
        case .tell: return .tell(try Tell(body: &reader))
        }
    }

    /// Returns the UDP payload, the inverse of ``parse(_:)``.
    package func encode() -> [UInt8] {
        switch self {
        case .initiation(let initiation): initiation.encode()
        case .response(let response): response.encode()
        case .sealed(let sealed): sealed.encode()
        case .retry(let retry): retry.encode()
        case .ask(let ask): ask.encode()
        case .tell(let tell): tell.encode()
        }
    }
}
