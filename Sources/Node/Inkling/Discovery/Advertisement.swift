import InklingWire

/// The instance name and the TXT record of a registration.
package struct Advertisement: Hashable, Sendable {
    /// The instance name, at most 63 bytes.
    package let instance: String
    /// The TXT record in its wire form.
    package let txt: [UInt8]

    package init(instance: String, txt: [UInt8]) {
        self.instance = instance
        self.txt = txt
    }

    /// Returns the name and the record of a key in a chat, with a random nonce (D-2, D-3).
    package static func random(key: PublicKey, keys: ChatKeys) -> Advertisement {
        let nonce = UInt64.random(in: .min ... .max)
        return Advertisement(
            instance: keys.instanceName(nonce: nonce), txt: ServiceRecord.encode(key: key, nonce: nonce, for: keys))
    }
}
