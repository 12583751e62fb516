/// Why a TXT record names no peer: the first of these that applies. The instance that published it is ignored.
package enum ServiceRecordError: String, Error, CaseIterable, Sendable {
    /// The record is longer than a node reads.
    case length
    /// A string of the record reaches beyond its end.
    case format
    /// `txtvers` is missing or is not 1.
    case version
    /// The chat is secret, and `n` is missing or is not 16 lower-case hex digits.
    case nonce
    /// `k` is missing, or it is not the canonical text of a canonical key.
    case key
}

/// The TXT record of a node's registration in one chat: `txtvers=1`, the key `k` and in a secret chat the nonce `n`.
///
/// On the wire it is a row of strings, each after its length in one byte. Names of values are ASCII and compared
/// without case, the first of equal ones counts, and unknown ones are ignored (D-3, D-5, D-6).
package enum ServiceRecord {
    /// The record that publishes `key` in a chat.
    ///
    /// - Parameter nonce: a number that is random for each registration; in an open chat it is not used.
    package static func encode(key: PublicKey, nonce: UInt64, for chat: ChatKeys) -> [UInt8] {
        var strings = ["txtvers=1", "k=" + TextEncoding.base64url.encode(chat.masked(key, nonce: nonce))]
        if !chat.isOpen {
            strings.append("n=" + TextEncoding.hex.encode(nonce.bigEndianBytes))
        }
        var writer = ByteWriter(capacity: 80)
        for string in strings {
            writer.append(UInt8(string.utf8.count))
            writer.append(string.utf8)
        }
        return writer.bytes
    }

    /// The key that a record publishes to the members of a chat.
    package static func parse(_ txt: [UInt8], for chat: ChatKeys) throws(ServiceRecordError) -> PublicKey {
        let values = try values(of: txt)
        guard values.version == Array("1".utf8) else { throw .version }
        var nonce: UInt64 = 0
        if !chat.isOpen {
            guard
                let digits = values.nonce,
                let number = TextEncoding.hex.decode(digits, count: 8).flatMap(UInt64.init(bigEndianBytes:))
            else { throw .nonce }
            nonce = number
        }
        guard
            let text = values.key, let bytes = TextEncoding.base64url.decode(text, count: 32),
            let key = chat.unmasked(bytes, nonce: nonce)
        else { throw .key }
        return key
    }

    private struct Values {
        var version: [UInt8]?
        var key: [UInt8]?
        var nonce: [UInt8]?
    }

    private static func values(of txt: [UInt8]) throws(ServiceRecordError) -> Values {
        guard txt.count <= Limits.maximumTXTSizeRead else { throw .length }
        var values = Values()
        var seen: Set<[UInt8]> = []
        var reader = ByteReader(txt)
        while let length = reader.uint8() {
            guard let string = reader.take(Int(length)) else { throw .format }
            let name = string.prefix { $0 != 0x3D }.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
            guard !name.isEmpty, seen.insert(name).inserted else { continue }
            // A name without "=" has no value, which is not the same as an empty one; here both are of no use.
            let value = Array(string.dropFirst(name.count + 1))
            switch String(decoding: name, as: UTF8.self) {
            case "txtvers": values.version = value
            case "k": values.key = value
            case "n": values.nonce = value
            default: break
            }
        }
        return values
    }
}
