import Glibc
import InklingWire

/// The logs of one kind that builds of 0.3.0 before this store wrote: a file of keys, and a folder of segments.
///
/// A segment has a header with a random salt, then records. The name of its file has the number of its first entry. Key and
/// salt give each segment a cipher key. The nonce of a record is its place. A record is a word with the size of the
/// ciphertext, and the ciphertext with its tag. The word's highest bit marks a note about an earlier entry.
package struct EarlierLogs {
    /// A record of a log.
    package struct Record: Sendable {
        /// The number of the entry, or of the entry before the note.
        package var number: UInt64
        package var isNote: Bool
        package var bytes: [UInt8]

        package init(number: UInt64, isNote: Bool, bytes: [UInt8]) {
            (self.number, self.isNote, self.bytes) = (number, isNote, bytes)
        }
    }

    enum Reading {
        case unusable(String)
        /// The records of each log, and whether some don't open.
        case logs([String: [Record]], isDamaged: Bool)
    }

    static let texts = EarlierLogs(
        kind: .texts, keyFile: "texts.key", folder: "texts", magic: "inkseg2\n", sizeBits: 20)
    static let history = EarlierLogs(
        kind: .history, keyFile: "messages.key", folder: "messages", magic: "inkseg1\n", sizeBits: 31)

    private static let label = "inkling message keys 1"
    /// The text that takes the place of the keys. An earlier build writes nothing beside it.
    private static let stub = Array("inkling message keys 2\n".utf8)
    private static let headerSize = 40
    private static let wordSize = 4
    private static let noteBit: UInt32 = 1 << 31

    let kind: LogName.Kind
    private let keyFile, folder, magic: String
    /// The bits of the size in a word. The others, except the highest, are a check.
    private let sizeBits: UInt32

    func keyPath(in directory: String) -> String { "\(directory)/\(keyFile)" }

    private func file(in directory: String) -> StateFile {
        StateFile(directory: directory, name: keyFile, newName: "\(keyFile).new")
    }

    /// Returns whether there are logs that were not read.
    func isPresent(in directory: String) -> Bool {
        do throws(StateFile.Failure) {
            return try file(in: directory).read() != Self.stub
        } catch {
            return error != .missing
        }
    }

    func read(in directory: String) -> Reading {
        let text: [UInt8]
        do throws(StateFile.Failure) {
            text = try file(in: directory).read()
        } catch {
            guard case .unreadable(let reason) = error else { return .unusable("it is damaged") }
            return .unusable(reason)
        }
        guard let keys = Self.keys(text) else { return .unusable("it is damaged") }
        let names = Self.names(in: "\(directory)/\(folder)")
        var logs: [String: [Record]] = [:]
        var isDamaged = false
        for (id, key) in keys {
            logs[id] = records(of: id, key: key, in: "\(directory)/\(folder)", names, &isDamaged)
        }
        return .logs(logs, isDamaged: isDamaged)
    }

    private static func keys(_ text: [UInt8]) -> [String: [UInt8]]? {
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.first?[...] == label[...], lines.last?.isEmpty == true else { return nil }
        var keys: [String: [UInt8]] = [:]
        for line in lines.dropFirst().dropLast() {
            let parts = line.split(separator: " ", omittingEmptySubsequences: false)
            guard parts.count == 2, LogName.isID(parts[0]), let key = StoreKeys.key(parts[1]) else { return nil }
            keys[String(parts[0])] = key
        }
        return keys
    }

    private func records(
        of id: String, key: [UInt8], in folder: String, _ names: [String], _ isDamaged: inout Bool
    ) -> [Record] {
        let name = deriveKey(key, salt: [], info: Array("inkling log name".utf8))
        let prefix = (kind == .texts ? hexadecimal(name.prefix(16)) : id) + "-"
        let segments = names.filter { $0.hasPrefix(prefix) && $0.utf8.count == prefix.utf8.count + 14 }
            .compactMap { UInt64($0.dropFirst(prefix.utf8.count), radix: 16) }.sorted()
        var records: [Record] = []
        // Texts have a first segment from their beginning, and a history loses its oldest ones.
        var expected = kind == .texts ? 1 : segments.first
        for first in segments {
            let digits = String(first, radix: 16)
            let name = prefix + String(repeating: "0", count: 14 - digits.count) + digits
            let file = StateFile(directory: folder, name: name, newName: "")
            let (found, next) = self.records((try? file.read()) ?? [], key: key, first: first, &isDamaged)
            if let expected, first > expected { isDamaged = true }
            records += found
            expected = next
        }
        if segments.isEmpty, kind == .texts { isDamaged = true }
        return records
    }

    /// Returns the records of a segment, and the number behind its last entry.
    private func records(
        _ bytes: [UInt8], key: [UInt8], first: UInt64, _ isDamaged: inout Bool
    ) -> (records: [Record], next: UInt64) {
        guard bytes.count >= Self.headerSize, bytes.starts(with: magic.utf8) else {
            isDamaged = true
            return ([], first)
        }
        let info = Array("inkling segment".utf8) + withUnsafeBytes(of: first.bigEndian) { Array($0) }
        let salt = Array(bytes[magic.utf8.count..<Self.headerSize])
        let cipher = CipherKey(bytes: deriveKey(key, salt: salt, info: info))
        var records: [Record] = []
        var rest = bytes[Self.headerSize...]
        var (counter, next) = (UInt64(0), first)
        while !rest.isEmpty {
            let word = Array(rest.prefix(Self.wordSize))
            let value = word.reduce(0) { $0 << 8 | UInt32($1) }
            guard word.count == Self.wordSize, let size = size(in: value), rest.count - Self.wordSize >= size else {
                // A kill leaves a part of a record, and a power failure leaves zeros.
                if word.count == Self.wordSize, size(in: value) == nil, rest.contains(where: { $0 != 0 }) {
                    isDamaged = true
                }
                break
            }
            let isNote = value & Self.noteBit != 0
            if let bytes = try? cipher.open(
                Array(rest.dropFirst(Self.wordSize).prefix(size)), counter: counter, associatedData: word)
            {
                records.append(Record(number: isNote ? next &- 1 : next, isNote: isNote, bytes: bytes))
            } else {
                isDamaged = true
            }
            if !isNote { next &+= 1 }
            rest = rest.dropFirst(Self.wordSize + size)
            counter += 1
        }
        return (records, next)
    }

    /// Returns the size in a word; nil if the word is damaged.
    private func size(in word: UInt32) -> Int? {
        let value = word & ~Self.noteBit
        let size = value & (1 << sizeBits - 1)
        let check = sizeBits == 31 ? 0 : (size ^ size >> 10) & 0x3ff ^ 0x6a5
        return value >> sizeBits == check ? Int(size) : nil
    }

    /// Removes the logs. Damaged ones move aside with their keys.
    ///
    /// - Returns: Whether the logs are gone, and where damaged ones are now.
    func remove(in directory: String) -> (isDone: Bool, aside: String?) {
        let path = "\(directory)/\(folder)"
        var aside: String?
        if case .logs(_, isDamaged: true) = read(in: directory) {
            let damaged = "\(path).damaged"
            guard rename(path, damaged) == 0 || mkdir(damaged, 0o700) == 0 || errno == EEXIST,
                let keys = try? file(in: directory).read(),
                StateFile(directory: damaged, name: keyFile, newName: "\(keyFile).new").write(keys) == nil
            else { return (false, nil) }
            aside = damaged
        }
        return (forget(in: directory) == nil, aside)
    }

    /// Removes the logs, their keys first.
    ///
    /// - Returns: The reason for a failure.
    func forget(in directory: String) -> String? {
        let path = "\(directory)/\(folder)"
        if let reason = file(in: directory).write(Self.stub) { return reason }
        for name in Self.names(in: path) { unlink("\(path)/\(name)") }
        rmdir(path)
        return nil
    }

    /// Returns the names of the files in a folder.
    static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
