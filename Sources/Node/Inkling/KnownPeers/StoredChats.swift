import InklingModel
import InklingWire

extension Chat {
    /// The chat's name in the file of known peers, 16 hex digits. This hash reveals neither the chat's name nor its
    /// secret.
    ///
    /// Version 0.2 wrote the same form, so its files stay valid. No node sends this name.
    package var storedName: String {
        let (label, data): (String, [UInt8]) =
            if let secret { ("inkling/1 secret chat tag", secret.wire.bytes + (owner?.bytes ?? [])) } else {
                ("inkling/1 open chat tag", Array(name.utf8))
            }
        let hash = SHA256.hash(Array(label.utf8) + [0] + data)
        return hash.prefix(8).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count < 2 ? "0" + digits : digits
        }.joined()
    }
}
