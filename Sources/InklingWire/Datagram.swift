/// Why bytes are not a datagram of this version. Nothing is ever sent in answer to such bytes (W-15).
package enum DatagramError: String, Error, CaseIterable, Sendable {
    /// There are none (W-12).
    case empty
    /// The high four bits of the first byte are not 1 (W-12).
    case version
    /// The low four bits of the first byte are not a known kind (W-12).
    case kind
    /// The datagram is shorter or longer than its kind (W-13).
    case length
    /// A byte that must be zero is not (W-14).
    case padding
}

/// One datagram as the network carries it: before any key was applied, so nothing in it is authentic.
///
/// The first byte holds version 1 in its high and the kind in its low four bits, numbers are big-endian, and lengths
/// are exact: trailing bytes are an error.
package enum Datagram: Equatable, Sendable {
    /// A handshake begins.
    case initiation(Initiation)
    /// The handshake is answered.
    case response(Response)
    /// Frames under a session's key.
    case sealed(SealedDatagram)
    /// A node under load wants the initiation again, with this cookie.
    case retry(Retry)
    /// The static key of a peer is asked for that was added by hand.
    case ask(Ask)
    /// The answer to an ask.
    case tell(Tell)

    /// The kinds, as the low four bits of the first byte.
    package enum Kind: UInt8, CaseIterable, Sendable {
        case initiation = 1
        case response
        case sealed
        case retry
        case ask
        case tell

        /// The first byte of a datagram of this kind.
        var firstByte: UInt8 { 0x10 | rawValue }
    }

    /// Which of the six kinds it is.
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

    /// The datagram that `bytes` are.
    package static func parse(_ bytes: [UInt8]) throws(DatagramError) -> Datagram {
        var reader = ByteReader(bytes)
        guard let first = reader.uint8() else { throw .empty }
        guard first >> 4 == 1 else { throw .version }
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

    /// The bytes of the datagram: `parse` gives it back from them.
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

/// The first datagram of a handshake, 109 bytes, or 125 with the cookie of a retry.
package struct Initiation: Hashable, Sendable {
    /// The size of a cookie, in bytes.
    package static let cookieSize = 16
    /// The size of Noise message 1 with an empty payload, in bytes.
    package static let noiseSize = 96

    /// The index under which the initiator wants the answer, and later the sealed datagrams.
    package let senderIndex: UInt32
    /// The chat that the session is for.
    package let tag: ChatTag
    /// Noise message 1, 96 bytes; the first 32 are the ephemeral key.
    package let noise: [UInt8]
    /// The 16 bytes of a retry; nil when none came.
    package var cookie: [UInt8]? {
        didSet { precondition(cookie.map { $0.count == Initiation.cookieSize } ?? true, "a cookie has 16 bytes") }
    }

    /// An initiation of 96 bytes of Noise and, behind a retry, 16 of cookie: other counts are the caller's bug.
    package init(senderIndex: UInt32, tag: ChatTag, noise: [UInt8], cookie: [UInt8]? = nil) {
        precondition(noise.count == Initiation.noiseSize, "Noise message 1 has 96 bytes")
        precondition(cookie.map { $0.count == Initiation.cookieSize } ?? true, "a cookie has 16 bytes")
        self.senderIndex = senderIndex
        self.tag = tag
        self.noise = noise
        self.cookie = cookie
    }

    fileprivate init(body reader: inout ByteReader) throws(DatagramError) {
        guard
            let senderIndex = reader.uint32(), let tag = reader.uint64(),
            let noise = reader.take(Initiation.noiseSize),
            reader.remaining == 0 || reader.remaining == Initiation.cookieSize
        else { throw .length }
        self.senderIndex = senderIndex
        self.tag = ChatTag(tag)
        self.noise = noise
        cookie = reader.take(Initiation.cookieSize)
    }

    /// The 13 bytes before the Noise message, which the prologue binds.
    package var header: [UInt8] {
        [Datagram.Kind.initiation.firstByte] + senderIndex.bigEndianBytes + tag.value.bigEndianBytes
    }

    /// The Noise prologue of this handshake: a label, a zero byte and the header (W-17).
    package var prologue: [UInt8] { Initiation.prologue(senderIndex: senderIndex, tag: tag) }

    /// The Noise prologue of the handshake that an initiation with this index and tag begins.
    package static func prologue(senderIndex: UInt32, tag: ChatTag) -> [UInt8] {
        Array("inkling/1".utf8) + [0, Datagram.Kind.initiation.firstByte] + senderIndex.bigEndianBytes
            + tag.value.bigEndianBytes
    }

    /// The datagram's bytes.
    package func encode() -> [UInt8] { header + noise + (cookie ?? []) }
}

/// The answer to an initiation, 57 bytes.
package struct Response: Hashable, Sendable {
    /// The size of Noise message 2 with its payload of 4 bytes, the responder's index.
    package static let noiseSize = 52

    /// The initiator's index.
    package let receiverIndex: UInt32
    /// Noise message 2, 52 bytes.
    package let noise: [UInt8]

    /// A response of 52 bytes of Noise: another count is the caller's bug.
    package init(receiverIndex: UInt32, noise: [UInt8]) {
        precondition(noise.count == Response.noiseSize, "Noise message 2 has 52 bytes")
        self.receiverIndex = receiverIndex
        self.noise = noise
    }

    fileprivate init(body reader: inout ByteReader) throws(DatagramError) {
        guard let index = reader.uint32(), let noise = reader.take(Response.noiseSize), reader.remaining == 0
        else { throw .length }
        receiverIndex = index
        self.noise = noise
    }

    /// The datagram's bytes.
    package func encode() -> [UInt8] {
        [Datagram.Kind.response.firstByte] + receiverIndex.bigEndianBytes + noise
    }
}

/// Frames under a session's key, 27 to 1,200 bytes.
package struct SealedDatagram: Hashable, Sendable {
    /// The bytes before the ciphertext.
    package static let headerSize = 9
    /// The sizes that a ciphertext can have, its tag of 16 bytes included: at least 2 bytes of frames.
    package static let ciphertextSizes = 18...(Limits.maximumDatagramSize - headerSize)

    /// The index that the receiver gave the session.
    package let receiverIndex: UInt32
    /// The number that the ciphertext was sealed under.
    package let counter: UInt32
    /// The sealed frames and the tag of 16 bytes.
    package let ciphertext: [UInt8]

    /// A sealed datagram of 18 to 1,191 bytes of ciphertext: another count is the caller's bug.
    package init(receiverIndex: UInt32, counter: UInt32, ciphertext: [UInt8]) {
        precondition(SealedDatagram.ciphertextSizes.contains(ciphertext.count), "a ciphertext has 18 to 1,191 bytes")
        self.receiverIndex = receiverIndex
        self.counter = counter
        self.ciphertext = ciphertext
    }

    /// The length of the datagram, in bytes.
    package var size: Int { SealedDatagram.headerSize + ciphertext.count }

    /// The length of a datagram with those frames, in bytes.
    package static func size(of frames: [Frame]) -> Int {
        headerSize + Frames.encode(frames).count + CipherKey.tagSize
    }

    fileprivate init(body reader: inout ByteReader) throws(DatagramError) {
        guard
            let index = reader.uint32(), let counter = reader.uint32(),
            SealedDatagram.ciphertextSizes.contains(reader.remaining)
        else { throw .length }
        receiverIndex = index
        self.counter = counter
        ciphertext = reader.rest()
    }

    /// The 9 bytes before the ciphertext, which are its associated data (W-19).
    package var header: [UInt8] { SealedDatagram.header(receiverIndex: receiverIndex, counter: counter) }

    /// The header of a datagram that is yet to be sealed.
    package static func header(receiverIndex: UInt32, counter: UInt32) -> [UInt8] {
        var writer = ByteWriter(capacity: headerSize)
        writer.append(Datagram.Kind.sealed.firstByte)
        writer.append(receiverIndex)
        writer.append(counter)
        return writer.bytes
    }

    /// The datagram's bytes.
    package func encode() -> [UInt8] { header + ciphertext }
}

/// A node under load wants the initiation again, with this cookie: 21 bytes.
package struct Retry: Hashable, Sendable {
    /// The initiator's index.
    package let receiverIndex: UInt32
    /// The 16 bytes to repeat.
    package let cookie: [UInt8]

    /// A retry of 16 bytes of cookie: another count is the caller's bug.
    package init(receiverIndex: UInt32, cookie: [UInt8]) {
        precondition(cookie.count == Initiation.cookieSize, "a cookie has 16 bytes")
        self.receiverIndex = receiverIndex
        self.cookie = cookie
    }

    fileprivate init(body reader: inout ByteReader) throws(DatagramError) {
        guard let index = reader.uint32(), let cookie = reader.take(Initiation.cookieSize), reader.remaining == 0
        else { throw .length }
        receiverIndex = index
        self.cookie = cookie
    }

    /// The datagram's bytes.
    package func encode() -> [UInt8] {
        [Datagram.Kind.retry.firstByte] + receiverIndex.bigEndianBytes + cookie
    }
}

/// The static key of a peer that was added by hand is asked for: 45 bytes, as long as the answer.
package struct Ask: Hashable, Sendable {
    /// The zero bytes that make an ask as long as its answer.
    private static let paddingSize = 32

    /// The chat that the key is wanted for.
    package let tag: ChatTag
    /// The number that the answer must repeat.
    package let token: UInt32

    /// An ask for the key of a member of the chat.
    package init(tag: ChatTag, token: UInt32) {
        self.tag = tag
        self.token = token
    }

    fileprivate init(body reader: inout ByteReader) throws(DatagramError) {
        guard
            let tag = reader.uint64(), let token = reader.uint32(), let padding = reader.take(Ask.paddingSize),
            reader.remaining == 0
        else { throw .length }
        guard padding.allSatisfy({ $0 == 0 }) else { throw .padding }
        self.tag = ChatTag(tag)
        self.token = token
    }

    /// The datagram's bytes.
    package func encode() -> [UInt8] {
        [Datagram.Kind.ask.firstByte] + tag.value.bigEndianBytes + token.bigEndianBytes
            + Array(repeating: 0, count: Ask.paddingSize)
    }
}

/// The answer to an ask, 45 bytes.
package struct Tell: Hashable, Sendable {
    /// The number of the ask.
    package let token: UInt32
    /// What the key is masked with; 0, and without meaning, in an open chat.
    package let nonce: UInt64
    /// The 32 bytes that `ChatKeys.unmasked` turns into the key.
    package let key: [UInt8]

    /// A tell of 32 bytes of key, masked already: another count is the caller's bug.
    package init(token: UInt32, nonce: UInt64, key: [UInt8]) {
        precondition(key.count == 32, "a key has 32 bytes")
        self.token = token
        self.nonce = nonce
        self.key = key
    }

    fileprivate init(body reader: inout ByteReader) throws(DatagramError) {
        guard
            let token = reader.uint32(), let nonce = reader.uint64(), let key = reader.take(32),
            reader.remaining == 0
        else { throw .length }
        self.token = token
        self.nonce = nonce
        self.key = key
    }

    /// The datagram's bytes.
    package func encode() -> [UInt8] {
        [Datagram.Kind.tell.firstByte] + token.bigEndianBytes + nonce.bigEndianBytes + key
    }
}
