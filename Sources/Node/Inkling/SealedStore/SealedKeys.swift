import InklingModel
import InklingWire

/// The keys of logs, as the text of their file: a line with the version, then one with ID and key for each log.
struct SealedKeys {
    private static let label = "inkling message keys 1"

    var keys: [String: [UInt8]]

    init(keys: [String: [UInt8]]) { self.keys = keys }

    init?(text: [UInt8]) {
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.first?[...] == Self.label[...], lines.last?.isEmpty == true else { return nil }
        keys = [:]
        for line in lines.dropFirst().dropLast() {
            let parts = line.split(separator: " ", omittingEmptySubsequences: false)
            guard parts.count == 2, Self.isID(parts[0]), parts[1].utf8.count == 64 else { return nil }
            let digits = parts[1].utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            guard digits.count == 64 else { return nil }
            keys[String(parts[0])] = stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
        }
    }

    var text: [UInt8] {
        let lines = keys.sorted { $0.key < $1.key }.map { "\($0.key) \(hexadecimal($0.value))\n" }
        return Array((Self.label + "\n" + lines.joined()).utf8)
    }

    static func isID(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 32 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

extension Chat {
    /// The ID of the chat's log in a ``SealedStore``. Nobody can compute it without the secret.
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
