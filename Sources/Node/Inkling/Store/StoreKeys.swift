import Glibc
import InklingModel
import InklingWire

/// The name of a log in `texts.db`.
package struct LogName: Hashable, Sendable {
    package enum Kind: String, Sendable {
        /// The messages of a chat whose user wants a history.
        case history
        /// The texts of a chat that wait or are unread, and the IDs seen.
        case texts
    }

    package let kind: Kind
    /// 32 lower-case hexadecimal digits.
    package let id: String

    package init(_ kind: Kind, _ id: String) {
        precondition(Self.isID(id), "the ID of a log has 32 digits")
        (self.kind, self.id) = (kind, id)
    }

    static func isID(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 32 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

/// The keys of the logs, as the text of the file `keys`. The first line has the version, and the second one the counter. Each
/// further line has kind, ID and key of a log.
struct StoreKeys: Equatable {
    static let fileName = "keys"
    private static let name = "inkling keys "
    private static let version = "1"
    /// The number in a counter that stands for ``isUncertain``.
    private static let uncertain: Int64 = 1_000_000_000_000_000

    enum Fault: Error {
        case damaged
        /// A later version wrote the text.
        case newer
    }

    /// The number of the last change of the file. The database has the same number, so an older copy of either is noticed.
    var counter: Int64 = 0
    /// Whether the database may lack the last change, because the disk failed.
    var isUncertain = false
    /// The keys of each log, the newest one at the end. A log has two while its rows get another key.
    var keys: [LogName: [[UInt8]]] = [:]

    init() {}

    init(text: [UInt8]) throws(Fault) {
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.first, first.hasPrefix(Self.name) else { throw .damaged }
        guard first.dropFirst(Self.name.utf8.count) == Self.version else { throw .newer }
        guard lines.count >= 3, lines.last?.isEmpty == true, lines[1].hasPrefix("counter "),
            let counter = Int64(lines[1].dropFirst(8)), (0..<2 * Self.uncertain).contains(counter)
        else { throw .damaged }
        (self.counter, isUncertain) = (counter % Self.uncertain, counter >= Self.uncertain)
        for line in lines[2..<lines.count - 1] {
            let parts = line.split(separator: " ", omittingEmptySubsequences: false)
            guard parts.count == 3, let kind = LogName.Kind(rawValue: String(parts[0])), LogName.isID(parts[1]),
                let key = Self.key(parts[2])
            else { throw .damaged }
            // An erased key.
            if key.contains(where: { $0 != 0 }) { keys[LogName(kind, String(parts[1])), default: []].append(key) }
        }
    }

    /// Returns a key of 64 hexadecimal digits.
    static func key(_ digits: Substring) -> [UInt8]? {
        let values = digits.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard values.count == 64, digits.utf8.count == 64 else { return nil }
        return stride(from: 0, to: 64, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }

    var text: [UInt8] {
        let logs = keys.sorted { ($0.key.kind.rawValue, $0.key.id) < ($1.key.kind.rawValue, $1.key.id) }
        let lines = logs.flatMap { log, keys in
            keys.map { "\(log.kind.rawValue) \(log.id) \(hexadecimal($0))\n" }
        }
        return Array("\(Self.name)\(Self.version)\n\(Self.counterText(counter))\n\(lines.joined())".utf8)
    }

    static func newKey() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: .min ... .max) } }

    /// Overwrites keys and the counter in the file, which takes no room on the disk.
    ///
    /// - Returns: Whether the file has the keys no longer.
    static func erase(_ keys: [[UInt8]], counter: Int64, in directory: String) -> Bool {
        let file = open("\(directory)/\(fileName)", O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return false }
        defer { close(file) }
        guard let text = try? StateFile(directory: directory, name: fileName, newName: "").read() else { return false }
        func write(_ bytes: [UInt8], at place: Int) -> Bool {
            pwrite(file, bytes, bytes.count, off_t(place)) == bytes.count
        }
        for key in keys {
            let digits = Array(hexadecimal(key).utf8)
            guard let place = text.indices.first(where: { text[$0...].starts(with: digits) }) else { continue }
            guard write(Array(repeating: UInt8(ascii: "0"), count: digits.count), at: place) else { return false }
        }
        return write(Array(counterText(counter + uncertain).utf8), at: name.utf8.count + version.utf8.count + 1)
            && fsync(file) == 0
    }

    /// Returns the line of a counter, which always has the same length.
    private static func counterText(_ counter: Int64) -> String {
        let digits = String(counter)
        return "counter " + String(repeating: "0", count: max(16 - digits.utf8.count, 0)) + digits
    }
}

extension Chat {
    /// The ID of the chat's history. Nobody can compute it without the secret.
    package var logID: String { logID(of: "inkling log") }

    /// The ID of the chat's log of one kind.
    func logID(of label: String) -> String {
        let parts = [label, name, secret?.text ?? "", owner?.description ?? ""]
        return hexadecimal(SHA256.hash(Array(parts.joined(separator: "\n").utf8)).prefix(16))
    }
}

/// Returns the digits of bytes, in lower case.
func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
