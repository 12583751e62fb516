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
    /// The encrypted frames and the tag of 16 bytes.
    package let ciphertext: [UInt8]

    /// Makes a sealed datagram. The ciphertext has 18 to 1,191 bytes; another count is the caller's bug.
    package init(receiverIndex: UInt32, counter: UInt32, ciphertext: [UInt8]) {
        precondition(SealedDatagram.isCiphertext(ciphertext.count), "a ciphertext has 18 to 1,191 bytes")
        self.receiverIndex = receiverIndex
        self.counter = counter
        self.ciphertext = ciphertext
    }

    init(body reader: inout ByteReader) throws(DatagramError) {
        guard
            let index = reader.uint32(), let counter = reader.uint32(), SealedDatagram.isCiphertext(reader.remaining)
        else { throw .length }
        receiverIndex = index
        self.counter = counter
        ciphertext = reader.rest()
    }

    /// The size of the UDP payload, in bytes.
    package var size: Int { SealedDatagram.headerSize + ciphertext.count }

    /// The size of a datagram with these frames, in bytes.
    package static func size(of frames: [Frame]) -> Int {
        headerSize + Frames.encode(frames).count + CipherKey.tagSize
    }

    /// The 9 bytes before the ciphertext, which are its associated data (W-19).
    package var header: [UInt8] { SealedDatagram.header(receiverIndex: receiverIndex, counter: counter) }

    static func header(receiverIndex: UInt32, counter: UInt32) -> [UInt8] {
        var writer = ByteWriter(capacity: headerSize)
        writer.append(Datagram.Kind.sealed.firstByte)
        writer.append(receiverIndex)
        writer.append(counter)
        return writer.bytes
    }

    /// Returns the UDP payload.
    package func encode() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size)
        bytes += header
        bytes += ciphertext
        return bytes
    }

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
