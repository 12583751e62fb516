import InklingWire

/// The format of a segment of a sealed log: a header with a random salt, then records.
///
/// Key and salt give each segment a cipher key of its own. The nonce of a record is its place in the segment. A record is
/// a word, and the ciphertext with its tag. The word has the size of the ciphertext, and its highest bit marks a note.
enum SealedSegment {
    private static let magic = Array("inkseg1\n".utf8)
    private static let saltSize = 32
    private static let wordSize = 4
    private static let noteBit: UInt32 = 1 << 31

    /// A record that opened.
    struct Record: Equatable {
        var bytes: [UInt8]
        var isNote: Bool
        /// The number of entries before it in the segment.
        var place: Int
    }

    /// The records of a segment that open.
    struct Contents {
        var records: [Record] = []
        /// The number of entries, also of those that did not open.
        var entries = 0
        /// Whether everything opened, except perhaps a record at the end that was not written whole.
        var isSound = true
        /// Whether the segment ends within a record, as after a kill.
        var isTorn = false
    }

    /// The cipher of a segment that records are appended to.
    struct Sealer {
        /// The bytes with which the segment begins.
        let header: [UInt8]
        private let key: CipherKey
        private var counter: UInt64 = 0

        /// Begins a segment with a new salt, and so with a key that sealed nothing yet.
        init(key: [UInt8], first: UInt64) {
            let salt = (0..<SealedSegment.saltSize).map { _ in UInt8.random(in: .min ... .max) }
            header = SealedSegment.magic + salt
            self.key = SealedSegment.cipherKey(key, salt: salt, first: first)
        }

        mutating func seal(_ bytes: [UInt8], isNote: Bool) -> [UInt8] {
            let size = UInt32(bytes.count + CipherKey.tagSize) | (isNote ? SealedSegment.noteBit : 0)
            let word = SealedSegment.bigEndian(size)
            defer { counter += 1 }
            return word + key.seal(bytes, counter: counter, associatedData: word)
        }
    }

    /// Opens a segment.
    ///
    /// - Parameter first: The number of its first entry.
    static func contents(of bytes: [UInt8], key: [UInt8], first: UInt64) -> Contents {
        var contents = Contents()
        let start = magic.count + saltSize
        guard bytes.count >= start, bytes.starts(with: magic) else {
            contents.isSound = false
            return contents
        }
        let cipher = cipherKey(key, salt: Array(bytes[magic.count..<start]), first: first)
        var rest = bytes[start...]
        var counter: UInt64 = 0
        while !rest.isEmpty {
            let word = Array(rest.prefix(wordSize))
            let value = word.reduce(0) { $0 << 8 | UInt32($1) }
            let size = Int(value & ~noteBit)
            guard word.count == wordSize, rest.count - wordSize >= size else {
                contents.isTorn = true
                return contents
            }
            let isNote = value & noteBit != 0
            let ciphertext = Array(rest.dropFirst(wordSize).prefix(size))
            if let opened = try? cipher.open(ciphertext, counter: counter, associatedData: word) {
                contents.records.append(Record(bytes: opened, isNote: isNote, place: contents.entries))
            } else {
                contents.isSound = false
            }
            if !isNote { contents.entries += 1 }
            rest = rest.dropFirst(wordSize + size)
            counter += 1
        }
        return contents
    }

    private static func cipherKey(_ key: [UInt8], salt: [UInt8], first: UInt64) -> CipherKey {
        CipherKey(bytes: deriveKey(key, salt: salt, info: Array("inkling segment".utf8) + bigEndian(first)))
    }

    private static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }
}
