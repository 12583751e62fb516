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

/// The first datagram of a handshake: 121 bytes, or 137 with the cookie of a retry.
package struct Initiation: Hashable, Sendable {
    /// The index by which the initiator will recognise the response and later sealed datagrams.
    package let senderIndex: UInt32
    /// The check of a chat, computed over the index and the Noise message (W-36).
    package let check: UInt64
    /// The bytes that the check covers, 113: first byte, index and Noise message. They form one array, because a node
    /// checks each initiation of a flood for each of its chats.
    let checked: [UInt8]
    /// The 16-byte cookie from a retry, or nil in a first initiation.
    package var cookie: [UInt8]? {
        didSet { precondition(Initiation.isCookie(cookie), "a cookie has 16 bytes") }
    }

    /// Makes an initiation. Noise has 108 bytes and a cookie 16; other counts are the caller's bug.
    package init(senderIndex: UInt32, check: UInt64, noise: [UInt8], cookie: [UInt8]? = nil) {
        precondition(noise.count == Limits.noiseMessage1Size, "Noise message 1 has 108 bytes")
        precondition(Initiation.isCookie(cookie), "a cookie has 16 bytes")
        self.senderIndex = senderIndex
        self.check = check
        checked = Initiation.checked(senderIndex, noise)
        self.cookie = cookie
    }

    init(body reader: inout ByteReader) throws(DatagramError) {
        guard
            let senderIndex = reader.uint32(), let check = reader.uint64(),
            let noise = reader.take(Limits.noiseMessage1Size),
            reader.remaining == 0 || reader.remaining == Limits.cookieSize
        else { throw .length }
        self.senderIndex = senderIndex
        self.check = check
        checked = Initiation.checked(senderIndex, noise)
        cookie = reader.take(Limits.cookieSize)
    }

    /// Noise message 1, 108 bytes.
    package var noise: [UInt8] { Array(checked.suffix(Limits.noiseMessage1Size)) }

    /// The initiator's ephemeral key, the first 32 bytes of Noise message 1.
    package var ephemeralKey: ArraySlice<UInt8> { checked.dropFirst(5).prefix(Limits.keySize) }

    /// Returns the UDP payload.
    package func encode() -> [UInt8] {
        checked.prefix(5) + check.bigEndianBytes + checked.dropFirst(5) + (cookie ?? [])
    }

    static func checked(_ senderIndex: UInt32, _ noise: [UInt8]) -> [UInt8] {
        [Datagram.Kind.initiation.firstByte] + senderIndex.bigEndianBytes + noise
    }

    private static func isCookie(_ bytes: [UInt8]?) -> Bool {
        bytes.map { $0.count == Limits.cookieSize } ?? true
    }
}

/// The second datagram of a handshake, 69 bytes.
package struct Response: Hashable, Sendable {
    /// The index that the initiator chose.
    package let receiverIndex: UInt32
    /// Noise message 2, 64 bytes.
    package let noise: [UInt8]

    /// Makes a response. Noise has 64 bytes; another count is the caller's bug.
    package init(receiverIndex: UInt32, noise: [UInt8]) {
        precondition(noise.count == Limits.noiseMessage2Size, "Noise message 2 has 64 bytes")
        self.receiverIndex = receiverIndex
        self.noise = noise
    }

    init(body reader: inout ByteReader) throws(DatagramError) {
        guard let index = reader.uint32(), let noise = reader.take(Limits.noiseMessage2Size), reader.remaining == 0
        else { throw .length }
        receiverIndex = index
        self.noise = noise
    }

    /// Returns the UDP payload.
    package func encode() -> [UInt8] {
        [Datagram.Kind.response.firstByte] + receiverIndex.bigEndianBytes + noise
    }
}

/// Frames sealed under the key of a session, 27 to 1,200 bytes with the header.
package struct SealedDatagram: Hashable, Sendable {
    /// The number of bytes before the ciphertext.
    package static let headerSize = 9
    /// The permitted sizes of the plaintext: 2 to 1,175 bytes of frames.
    package static let plaintextSizes = 2...(Limits.maximumDatagramSize - headerSize - CipherKey.tagSize)

    /// The index that the receiver chose for the session.
    package let receiverIndex: UInt32
    /// The sender's counter in this state, which is also the nonce (W-19).
    package let counter: UInt32
    /// The UDP payload: header, encrypted frames, and the tag of 16 bytes.
    private let bytes: [UInt8]

    /// Makes a sealed datagram. The ciphertext has 18 to 1,191 bytes; another count is the caller's bug.
    package init(receiverIndex: UInt32, counter: UInt32, ciphertext: [UInt8]) {
        precondition(SealedDatagram.isCiphertext(ciphertext.count), "a ciphertext has 18 to 1,191 bytes")
        self.receiverIndex = receiverIndex
        self.counter = counter
        var writer = SealedDatagram.header(receiverIndex, counter, capacity: ciphertext.count)
        writer.append(ciphertext)
        bytes = writer.finish()
    }

    /// Seals frames (W-19).
    init(_ frames: [Frame], with key: CipherKey, receiverIndex: UInt32, counter: UInt32) {
        self.receiverIndex = receiverIndex
        self.counter = counter
        var isLarge = false
        if case .record = frames.last { isLarge = true }
        var writer = SealedDatagram.header(receiverIndex, counter, capacity: isLarge ? Limits.maximumDatagramSize : 64)
        Frames.append(frames, to: &writer)
        bytes = key.seal(writer.finish(), from: SealedDatagram.headerSize, counter: UInt64(counter))
    }

    init(body reader: inout ByteReader) throws(DatagramError) {
        guard
            let index = reader.uint32(), let counter = reader.uint32(), SealedDatagram.isCiphertext(reader.remaining)
        else { throw .length }
        receiverIndex = index
        self.counter = counter
        bytes = reader.bytes
    }

    /// The size of the UDP payload, in bytes.
    package var size: Int { bytes.count }

    /// The encrypted frames and the tag of 16 bytes.
    package var ciphertext: [UInt8] { Array(bytes.dropFirst(SealedDatagram.headerSize)) }

    /// The size of a datagram with these frames, in bytes.
    package static func size(of frames: [Frame]) -> Int {
        headerSize + Frames.encode(frames).count + CipherKey.tagSize
    }

    /// Writes the 9 bytes before the ciphertext, which are its associated data (W-19).
    private static func header(_ receiverIndex: UInt32, _ counter: UInt32, capacity: Int) -> ByteWriter {
        var writer = ByteWriter(capacity: headerSize + capacity)
        writer.append(Datagram.Kind.sealed.firstByte)
        writer.append(receiverIndex)
        writer.append(counter)
        return writer
    }

    /// Returns the plaintext; throws `authentication` if another key sealed the datagram (W-23).
    func open(with key: CipherKey) throws(NoiseError) -> [UInt8] {
        try key.open(bytes, from: SealedDatagram.headerSize, counter: UInt64(counter))
    }

    /// Returns the UDP payload.
    package func encode() -> [UInt8] { bytes }

    private static func isCiphertext(_ count: Int) -> Bool { plaintextSizes.contains(count - CipherKey.tagSize) }
}

/// The answer of a node under load, 21 bytes. The initiator must repeat its initiation with this cookie.
package struct Retry: Hashable, Sendable {
    /// The index that the initiator chose.
    package let receiverIndex: UInt32
    /// The 16-byte cookie to repeat.
    package let cookie: [UInt8]

    /// Makes a retry. A cookie has 16 bytes; another count is the caller's bug.
    package init(receiverIndex: UInt32, cookie: [UInt8]) {
        precondition(cookie.count == Limits.cookieSize, "a cookie has 16 bytes")
        self.receiverIndex = receiverIndex
        self.cookie = cookie
    }

    init(body reader: inout ByteReader) throws(DatagramError) {
        guard let index = reader.uint32(), let cookie = reader.take(Limits.cookieSize), reader.remaining == 0
        else { throw .length }
        receiverIndex = index
        self.cookie = cookie
    }

    /// Returns the UDP payload.
    package func encode() -> [UInt8] {
        [Datagram.Kind.retry.firstByte] + receiverIndex.bigEndianBytes + cookie
    }
}

/// The question for the static key of the node at an address added by hand, 65 bytes (D-11).
package struct Ask: Hashable, Sendable {
    /// The random token that the tell repeats.
    package let token: UInt64
    /// The check of a chat, computed over the token (W-36).
    package let check: UInt64

    /// Makes an ask. ``ChatKeys/ask(token:)`` computes the check.
    package init(token: UInt64, check: UInt64) {
        self.token = token
        self.check = check
    }

    init(body reader: inout ByteReader) throws(DatagramError) {
        guard
            let token = reader.uint64(), let check = reader.uint64(), let zeros = reader.take(Limits.askZeros),
            reader.remaining == 0
        else { throw .length }
        guard zeros.allSatisfy({ $0 == 0 }) else { throw .zeros }
        self.token = token
        self.check = check
    }

    /// Returns the UDP payload.
    package func encode() -> [UInt8] {
        [Datagram.Kind.ask.firstByte] + token.bigEndianBytes + check.bigEndianBytes
            + Array(repeating: 0, count: Limits.askZeros)
    }
}

/// The answer to an ask, 65 bytes (D-13).
package struct Tell: Hashable, Sendable {
    /// The token of the ask that this datagram answers.
    package let token: UInt64
    /// The random nonce of the seal.
    package let nonce: UInt64
    /// The sealed static key, 48 bytes, which ``ChatKeys/open(_:)`` opens.
    package let sealedKey: [UInt8]

    /// Makes a tell. A sealed key has 48 bytes; another count is the caller's bug.
    package init(token: UInt64, nonce: UInt64, sealedKey: [UInt8]) {
        precondition(sealedKey.count == Limits.sealedKeySize, "a sealed key has 48 bytes")
        self.token = token
        self.nonce = nonce
        self.sealedKey = sealedKey
    }

    init(body reader: inout ByteReader) throws(DatagramError) {
        guard
            let token = reader.uint64(), let nonce = reader.uint64(), let key = reader.take(Limits.sealedKeySize),
            reader.remaining == 0
        else { throw .length }
        self.token = token
        self.nonce = nonce
        sealedKey = key
    }

    /// Returns the UDP payload.
    package func encode() -> [UInt8] {
        [Datagram.Kind.tell.firstByte] + token.bigEndianBytes + nonce.bigEndianBytes + sealedKey
    }
}

/// The random key that makes a node's cookies. A cookie proves that the sender of an initiation can receive at its
/// address (L-9).
///
/// The node draws a new key every 120 s, and accepts the cookies of the previous one (L-11).
package struct CookieKey: Sendable {
    private let key: HMACKey

    /// A new key of 32 bytes from `generator`, which must be unpredictable (S-6).
    package init(using generator: inout some RandomNumberGenerator) {
        key = HMACKey(randomBytes(32, using: &generator))
    }

    /// Returns the cookie of an initiation, 16 bytes (L-11).
    ///
    /// - Parameters:
    ///   - address: the 16 bytes of the IPv6 address of the source, IPv4 mapped.
    ///   - port: the UDP port of the source.
    package func cookie(for initiation: Initiation, address: [UInt8], port: UInt16) -> [UInt8] {
        precondition(address.count == 16, "an address has 16 bytes")
        let data = address + port.bigEndianBytes + initiation.senderIndex.bigEndianBytes + initiation.ephemeralKey
        return Array(key.code(data).prefix(Limits.cookieSize))
    }

    /// Returns whether an initiation carries the cookie of this key and this source.
    package func fits(_ initiation: Initiation, address: [UInt8], port: UInt16) -> Bool {
        guard let cookie = initiation.cookie else { return false }
        return equalInConstantTime(cookie, self.cookie(for: initiation, address: address, port: port))
    }
}

/// Reserved frames and records that a node under test adds at random. They reveal a peer that fails on
/// unknown types.
package enum Greasing {
    /// The frame types that will never be assigned.
    package static let frameTypes: [UInt8] = [0x5A, 0x9A, 0xDA]
    /// The record type that will never be assigned.
    package static let recordType = RecordType.unknown(14)

    /// Returns the frames of a datagram. In 1 of 100 cases the first one is an added frame of a reserved type.
    ///
    /// A datagram with a bye, or without room for the added frame, stays unchanged.
    package static func grease(_ frames: [Frame], using generator: inout some RandomNumberGenerator) -> [Frame] {
        let hasBye = frames.contains { if case .bye = $0 { true } else { false } }
        guard !hasBye, generator.next(upperBound: Limits.greasingRarity) == 0 else { return frames }
        let type = frameTypes[Int(generator.next(upperBound: UInt64(frameTypes.count)))]
        let greased = [.unknown(type: type, body: body(using: &generator))] + frames
        return SealedDatagram.size(of: greased) <= Limits.maximumDatagramSize ? greased : frames
    }

    /// Returns, in 1 of 100 cases, a reserved record for the node to send before a message.
    package static func record(number: UInt32, using generator: inout some RandomNumberGenerator) -> Record? {
        guard generator.next(upperBound: Limits.greasingRarity) == 0 else { return nil }
        return Record(number: number, type: recordType, body: body(using: &generator))
    }

    private static func body(using generator: inout some RandomNumberGenerator) -> [UInt8] {
        randomBytes(Int.random(in: Limits.greasingSizes, using: &generator), using: &generator)
    }
}
