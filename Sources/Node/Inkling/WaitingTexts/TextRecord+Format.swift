import InklingCore
import InklingModel
import InklingWire

/// The form on disk: a byte for the kind, then the members in the order of their declaration. Numbers are big-endian,
/// and a time is the pattern of its bits. Two bytes before a name have its size. A text takes the rest. An age is in
/// milliseconds, and comes after the entry.
extension TextRecord {
    private enum Kind: UInt8 {
        /// Earlier builds wrote a waiting text without its age.
        case waitingWithoutAge = 1
        case finished, received, read, seen, highestEntry, left, waiting
    }

    /// The bytes of the record.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 128)
        switch self {
        case .waiting(let text):
            writer.append(Kind.waiting.rawValue)
            writer.append(text.entry)
            writer.append(UInt64(bitPattern: text.since.milliseconds))
            Self.append(text.key, text.name, text.id, text.at, text.text, to: &writer)
        case .finished(let key, let id):
            writer.append(Kind.finished.rawValue)
            Self.append(key, id, to: &writer)
        case .received(let text):
            writer.append(Kind.received.rawValue)
            Self.append(text.key, text.name, text.id, text.at, text.text, to: &writer)
        case .read(let key, let id):
            writer.append(Kind.read.rawValue)
            Self.append(key, id, to: &writer)
        case .left(let key, let hasLeft):
            writer.append(Kind.left.rawValue)
            writer.append(key.bytes)
            writer.append(UInt8(hasLeft ? 1 : 0))
        case .seen(let key, let seen):
            writer.append(Kind.seen.rawValue)
            writer.append(key.bytes)
            for run in seen.runs {
                writer.append(run.run)
                writer.append(run.highest)
                writer.append(run.below)
            }
        case .highestEntry(let entry):
            writer.append(Kind.highestEntry.rawValue)
            writer.append(entry)
        }
        return writer.bytes
    }

    private static func append(_ key: PublicKey, _ id: TextID, to writer: inout ByteWriter) {
        writer.append(key.bytes)
        writer.append(id.run)
        writer.append(id.number)
        writer.append(id.written)
    }

    private static func append(
        _ key: PublicKey, _ name: String, _ id: TextID, _ at: Timestamp, _ text: String, to writer: inout ByteWriter
    ) {
        append(key, id, to: &writer)
        writer.append(at.rawValue.bitPattern)
        // A name has 64 bytes at most; a longer one would make the record unreadable.
        let name = Array(name.utf8.prefix(Int(UInt16.max)))
        writer.append(UInt16(name.count))
        writer.append(name)
        writer.append(text.utf8)
    }

    /// Parses a record; nil for one of a later version, or with an entry that no version writes.
    package init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let kind = reader.uint8().flatMap(Kind.init) else { return nil }
        switch kind {
        case .waiting, .waitingWithoutAge:
            guard let entry = Self.entry(&reader),
                let since = kind == .waitingWithoutAge ? .zero : Self.age(&reader), let text = Self.text(&reader)
            else { return nil }
            self = .waiting(
                WaitingText(
                    entry: entry, key: text.key, name: text.name, id: text.id, at: text.at, since: since,
                    text: text.text))
        case .received:
            guard let text = Self.text(&reader) else { return nil }
            self = .received(text)
        case .finished, .read:
            guard let (key, id) = Self.name(&reader), reader.remaining == 0 else { return nil }
            self = kind == .read ? .read(key, id) : .finished(key, id)
        case .left:
            guard let key = reader.take(Limits.keySize).flatMap(PublicKey.init), let flag = reader.uint8(),
                reader.remaining == 0, flag < 2
            else { return nil }
            self = .left(key, flag == 1)
        case .seen:
            guard let key = reader.take(Limits.keySize).flatMap(PublicKey.init) else { return nil }
            var runs: [SeenTexts.Run] = []
            while reader.remaining > 0 {
                guard let run = reader.uint64(), let highest = reader.uint64(), let below = reader.uint64() else {
                    return nil
                }
                runs.append(SeenTexts.Run(run: run, highest: highest, below: below))
            }
            self = .seen(key, SeenTexts(runs: runs))
        case .highestEntry:
            guard let entry = Self.entry(&reader), reader.remaining == 0 else { return nil }
            self = .highestEntry(entry)
        }
    }

    /// Reads an entry of at most 2^53 − 1, the highest that a request can name.
    private static func entry(_ reader: inout ByteReader) -> UInt64? {
        reader.uint64().flatMap { $0 < 1 << 53 ? $0 : nil }
    }

    private static func age(_ reader: inout ByteReader) -> Age? {
        reader.uint64().flatMap { Age(milliseconds: Int64(bitPattern: $0)) }
    }

    private static func name(_ reader: inout ByteReader) -> (PublicKey, TextID)? {
        guard let key = reader.take(Limits.keySize).flatMap(PublicKey.init), let run = reader.uint64(),
            let number = reader.uint64(), let written = reader.uint64()
        else { return nil }
        return (key, TextID(run: run, number: number, written: written))
    }

    private static func text(_ reader: inout ByteReader) -> KeptText? {
        guard let (key, id) = name(&reader), let at = reader.uint64(), let size = reader.uint16(),
            let name = reader.take(Int(size))
        else { return nil }
        return KeptText(
            key: key, name: String(decoding: name, as: UTF8.self), id: id,
            at: Timestamp(rawValue: Double(bitPattern: at)), text: String(decoding: reader.rest(), as: UTF8.self))
    }
}
