import Glibc
import InklingWire

/// The kinds of rows in `texts.db`. The rows of a log are read in this order.
package enum RowKind: Int64, Sendable {
    case highestEntry = 1
    case left, waiting, unread, seen
    /// A message of a history.
    case message = 10
}

/// The seal of all rows of one log, by ChaCha20-Poly1305.
///
/// A sealed row is a salt, a counter, and the ciphertext with its tag. Salt and key of the log give a cipher key, whose
/// nonce is the counter. A salt has random bytes and the time of day, and lasts for a minute at most. So no nonce comes
/// twice when the system restores an older state of the disk. Nor does one on a machine that was restored from a
/// snapshot, once its clock is right. Kind and entry of the row are the associated data.
struct RowSeal {
    private static let saltSize = 16
    private static let headerSize = saltSize + 8
    /// The number of rows under one salt.
    private static let rowsPerSalt: UInt64 = 1_024
    /// The longest time for which a salt is used, in nanoseconds.
    private static let saltTime: UInt64 = 60_000_000_000

    /// The number that stands for the key in the rows. This number reveals nothing about the key.
    let id: Int64
    private let key: [UInt8]
    private var own: (salt: [UInt8], cipher: CipherKey, counter: UInt64, since: UInt64)?
    /// The cipher of the last opened row. Rows of one run mostly follow each other.
    private var last: (salt: [UInt8], cipher: CipherKey)?

    init(key: [UInt8]) {
        self.key = key
        id = Self.id(of: key)
    }

    static func id(of key: [UInt8]) -> Int64 {
        let name = deriveKey(key, salt: [], info: Array("inkling key name".utf8))
        return Int64(bitPattern: name.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    mutating func seal(_ bytes: [UInt8], _ kind: RowKind, _ entry: Int64) -> [UInt8] {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let now = UInt64(clamping: time.tv_sec) &* 1_000_000_000 &+ UInt64(clamping: time.tv_nsec)
        // A clock that goes back gives another salt too.
        if own.map({ $0.counter >= Self.rowsPerSalt || now &- $0.since >= Self.saltTime }) ?? true {
            let salt = Self.bigEndian(.random(in: 0 ... .max)) + Self.bigEndian(now)
            own = (salt, cipher(salt), 0, now)
        }
        guard let (salt, cipher, counter, _) = own else { return [] }
        own?.counter += 1
        return salt + Self.bigEndian(counter)
            + cipher.seal(bytes, counter: counter, associatedData: Self.place(kind.rawValue, entry))
    }

    /// Opens a row; nil if its bytes are damaged.
    mutating func open(_ sealed: [UInt8], _ kind: RowKind, _ entry: Int64) -> [UInt8]? {
        guard sealed.count >= Self.headerSize else { return nil }
        let salt = Array(sealed[..<Self.saltSize])
        if last?.salt != salt { last = (salt, cipher(salt)) }
        let counter = sealed[Self.saltSize..<Self.headerSize].reduce(0) { $0 << 8 | UInt64($1) }
        return try? last?.cipher.open(
            Array(sealed[Self.headerSize...]), counter: counter, associatedData: Self.place(kind.rawValue, entry))
    }

    private func cipher(_ salt: [UInt8]) -> CipherKey {
        CipherKey(bytes: deriveKey(key, salt: salt, info: Array("inkling row".utf8)))
    }

    private static func place(_ kind: Int64, _ entry: Int64) -> [UInt8] {
        bigEndian(UInt64(bitPattern: kind)) + bigEndian(UInt64(bitPattern: entry))
    }

    private static func bigEndian(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
}
