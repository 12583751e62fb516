/// The reason why a TXT record yields no key (D-5). A node ignores the record's instance.
package enum ServiceRecordError: String, Error, CaseIterable, Sendable {
    /// The record is over 1,300 bytes long.
    case length
    /// A string is cut off at the end.
    case format
    /// The record lacks `txtvers=2`.
    case version
    /// `k` is missing or does not decode.
    case text
    /// `k` does not open (W-37).
    case seal
    /// `k` holds a key that breaks W-3.
    case key
}

/// The TXT record of an instance: a list of strings. A byte before each string gives its length.
package enum ServiceRecord {
    private static let version = Array("2".utf8)

    /// Returns the record that publishes a key in a chat (D-3).
    ///
    /// - Parameter nonce: the nonce in the instance's name.
    package static func encode(key: PublicKey, nonce: UInt64, for chat: ChatKeys) -> [UInt8] {
        let text = TextEncoding.base64url.encode(chat.instanceKey(of: key, nonce: nonce))
        let record = ["txtvers=2", "k=" + text].flatMap { [UInt8($0.utf8.count)] + $0.utf8 }
        assert(record.count <= Limits.maximumTXTSizeSent)
        return record
    }

    /// Returns the key that a record publishes to the members of a chat (D-5, D-6).
    ///
    /// - Parameter nonce: the nonce in the instance's name.
    package static func parse(
        _ record: [UInt8], nonce: UInt64, for chat: ChatKeys
    ) throws(ServiceRecordError) -> PublicKey {
        let values = try values(of: record)
        guard values[Array("txtvers".utf8)] == version else { throw .version }
        guard
            let text = values[[UInt8(ascii: "k")]],
            let sealed = try? TextEncoding.base64url.decode(text, count: Limits.sealedKeySize)
        else { throw .text }
        do {
            return try chat.open(instanceKey: sealed, nonce: nonce)
        } catch {
            switch error {
            case .seal: throw .seal
            case .key: throw .key
            }
        }
    }

    /// Returns the first value of each key, by the key in lower case (D-6). A key without `=` has an empty value.
    private static func values(of record: [UInt8]) throws(ServiceRecordError) -> [[UInt8]: [UInt8]] {
        guard record.count <= Limits.maximumTXTSizeRead else { throw .length }
        var values: [[UInt8]: [UInt8]] = [:]
        var reader = ByteReader(record)
        while let length = reader.uint8() {
            guard let string = reader.take(Int(length)) else { throw .format }
            let key = string.prefix { $0 != UInt8(ascii: "=") }
            guard !key.isEmpty else { continue }
            let name = key.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
            guard values[name] == nil else { continue }
            values[name] = Array(string.dropFirst(key.count + 1))
        }
        return values
    }
}
