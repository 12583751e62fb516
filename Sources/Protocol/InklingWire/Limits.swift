/// All limits and times of limits.md. Each constant names its clause.
///
/// Numbers are counts or bytes, and times are `Duration`s. The wire refuses malformed bytes. The node and the core bound
/// their own tables and rates.
package enum Limits {}

// Sizes of datagrams and their parts, in bytes.
extension Limits {
    /// The longest UDP payload, a sealed datagram (W-13).
    package static let maximumDatagramSize = 1_200
    /// The zeros at the end of an ask (W-14).
    package static let askZeros = 48
    /// Noise message 1 with its payload (W-18).
    package static let noiseMessage1Size = 108
    /// Noise message 2 with its payload (W-18).
    package static let noiseMessage2Size = 64
    /// A key (W-9).
    package static let keySize = 32
    /// The secret of a chat (W-9).
    package static let secretSize = 16
    /// A check (W-36).
    package static let checkSize = 8
    /// A static key in its seal (W-10).
    package static let sealedKeySize = 48
    /// A cookie (W-13).
    package static let cookieSize = 16
    /// The bytes of a key's hash that make its user ID, 16 characters (W-5).
    static let userIDSize = 10
}

// Texts.
extension Limits {
    /// The characters of an instance name that count (D-21).
    package static let instanceNameLength = 26
    /// The bytes of UTF-8 of a chat name (W-2).
    package static let chatNameSizes = 1...64
    /// The longest display name, in bytes of UTF-8 (M-25).
    package static let maximumDisplayNameSize = 64
    /// The bytes of UTF-8 of a message (M-1).
    package static let messageSizes = 1...65_536
    /// The longest text of a record, in bytes: the room behind a typing frame (W-28).
    package static let maximumRecordTextSize = 1_167
    /// The longest TXT record that a node publishes, in bytes (D-3).
    package static let maximumTXTSizeSent = 400
    /// The longest TXT record that a node reads, in bytes (D-5).
    package static let maximumTXTSizeRead = 1_300
}

// Counters.
extension Limits {
    /// The last ordinary counter, 2^32 − 3. A link that has used it is forgotten (W-20, L-79).
    package static let lastCounter = UInt32.max - 2
    /// The counter of the last will, 2^32 − 1 (W-21).
    package static let lastWillCounter = UInt32.max
    /// The width of the replay window, in counters (W-22).
    package static let replayWindow = 1_024
    /// The hop limit of datagrams sent, and of initiations that need no cookie (L-56, L-92).
    package static let hopLimit = 255
}
