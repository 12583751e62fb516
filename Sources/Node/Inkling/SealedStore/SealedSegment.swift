import InklingWire

/// The format of a segment of a sealed log: a header with a random salt, then records.
///
/// Key and salt give each segment a cipher key of its own. The nonce of a record is its place in the segment. A record is
/// a word, and the ciphertext with its tag. The word has the size of the ciphertext, and its highest bit marks a note.
enum SealedSegment {
    /// The form of the words.
    enum Words {
        /// The size has 31 bits. A damaged word can look like a record that was not written whole.
        case plain
        /// The size has 20 bits, and a check of it the others. No single bit makes a word look like another one.
        case checked

        fileprivate var magic: [UInt8] { Array((self == .plain ? "inkseg1\n" : "inkseg2\n").utf8) }

        fileprivate func word(size: Int, isNote: Bool) -> UInt32 {
            let size = UInt32(size)
            precondition(self == .plain || size >> SealedSegment.sizeBits == 0, "a record fits into a checked word")
            let check = self == .plain ? 0 : Self.check(size) << SealedSegment.sizeBits
            return size | check | (isNote ? SealedSegment.noteBit : 0)
        }

        /// Returns the size in a word; nil if the word is damaged.
        fileprivate func size(in word: UInt32) -> Int? {
            let value = word & ~SealedSegment.noteBit
            guard self == .checked else { return Int(value) }
            let size = value & (1 << SealedSegment.sizeBits - 1)
            return value >> SealedSegment.sizeBits == Self.check(size) ? Int(size) : nil
        }

        /// Returns 11 bits. Each bit of the size changes one of them, and zeros are not right.
        private static func check(_ size: UInt32) -> UInt32 { (size ^ size >> 10) & 0x3ff ^ 0x6a5 }
    }

    private static let magicSize = 8
    private static let sizeBits: UInt32 = 20
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
        private let words: Words
        private let key: CipherKey
        private var counter: UInt64 = 0

        /// Begins a segment with a new salt, and so with a key that sealed nothing yet.
        init(key: [UInt8], first: UInt64, words: Words) {
            let salt = (0..<SealedSegment.saltSize).map { _ in UInt8.random(in: .min ... .max) }
            header = words.magic + salt
            self.words = words
            self.key = SealedSegment.cipherKey(key, salt: salt, first: first)
        }

        mutating func seal(_ bytes: [UInt8], isNote: Bool) -> [UInt8] {
            let word = SealedSegment.bigEndian(words.word(size: bytes.count + CipherKey.tagSize, isNote: isNote))
            defer { counter += 1 }
            return word + key.seal(bytes, counter: counter, associatedData: word)
        }
    }

    /// Opens a segment.
    ///
    /// - Parameter first: The number of its first entry.
    static func contents(of bytes: [UInt8], key: [UInt8], first: UInt64, words: Words) -> Contents {
        var contents = Contents()
        let start = magicSize + saltSize
        guard bytes.count >= start, bytes.starts(with: words.magic) else {
            contents.isSound = false
            return contents
        }
        let cipher = cipherKey(key, salt: Array(bytes[magicSize..<start]), first: first)
        var rest = bytes[start...]
        var counter: UInt64 = 0
        while !rest.isEmpty {
            let word = Array(rest.prefix(wordSize))
            let value = word.reduce(0) { $0 << 8 | UInt32($1) }
            guard word.count == wordSize, let size = words.size(in: value), rest.count - wordSize >= size else {
                // Zeros are blocks that were not written before the power failed.
                let isDamaged = word.count == wordSize && words.size(in: value) == nil && rest.contains { $0 != 0 }
                if isDamaged { contents.isSound = false } else { contents.isTorn = true }
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
