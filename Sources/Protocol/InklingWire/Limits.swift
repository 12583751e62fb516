/// All limits and times of limits.md. Each constant names its clause.
///
/// Numbers are counts or bytes, and times are `Duration`s. This module refuses malformed bytes. The node and the core
/// limit their own tables and rates.
package enum Limits {}

// Sizes of datagrams and their parts, in bytes.
extension Limits {
    /// The longest UDP payload, a sealed datagram (W-13).
    package static let maximumDatagramSize = 1_200
    /// The number of zero bytes at the end of an ask (W-14).
    package static let askZeros = 48
    /// The size of Noise message 1 with its payload (W-18).
    package static let noiseMessage1Size = 108
    /// The size of Noise message 2 with its payload (W-18).
    package static let noiseMessage2Size = 64
    /// The size of a public, private or chat key (W-9).
    package static let keySize = 32
    /// The size of a chat's secret (W-9).
    package static let secretSize = 16
    /// The size of a chat's fingerprint, with which a node recognises a chat that it left (M-91).
    package static let fingerprintSize = 32
    /// The size of a check, which ties bytes to a chat (W-36).
    package static let checkSize = 8
    /// The size of a sealed static key (W-10).
    package static let sealedKeySize = 48
    /// The size of a cookie (W-13).
    package static let cookieSize = 16
    /// The number of bytes of a key's hash in its user ID, which has 16 characters (W-5).
    static let userIDSize = 10
}

// Sizes of texts.
extension Limits {
    /// The number of characters of an instance name that a node reads (D-21).
    package static let instanceNameLength = 26
    /// The permitted sizes of a chat name, in bytes of UTF-8 (W-2).
    package static let chatNameSizes = 1...64
    /// The longest display name, in bytes of UTF-8 (M-25).
    package static let maximumDisplayNameSize = 64
    /// The permitted sizes of a message, in bytes of UTF-8 (M-1).
    package static let messageSizes = 1...65_536
    /// The longest text of a record, in bytes: the room in a datagram after a typing frame (W-28).
    package static let maximumRecordTextSize = 1_167
    /// The size of the body of a text ID (M-80).
    package static let textIDSize = 24
    /// The longest text of a first record beside a text ID, in bytes (M-80).
    package static let maximumIdentifiedTextSize = maximumRecordTextSize - 3 - textIDSize
    /// The most removed keys in a successor, so that it fits one record (M-89).
    package static let removedKeys = 32
    /// The most moves of a chain of chats in a row (M-88).
    package static let moveBurst = 8
    /// The longest TXT record that a node publishes, in bytes (D-3).
    package static let maximumTXTSizeSent = 400
    /// The longest TXT record that a node reads, in bytes (D-5).
    package static let maximumTXTSizeRead = 1_300
}

// Counters of sealed datagrams, and their hop limit.
extension Limits {
    /// The last counter of ordinary datagrams, 2^32 − 3. A node forgets a link that has used it (W-20, L-79).
    package static let lastCounter = UInt32.max - 2
    /// The counter of the last will, 2^32 − 1 (W-21).
    package static let lastWillCounter = UInt32.max
    /// The width of the replay window, in counters (W-22).
    package static let replayWindow = 1_024
    /// The hop limit of all datagrams that a node sends. An initiation with this hop limit needs no cookie (L-56,
    /// L-92).
    package static let hopLimit = 255
}
