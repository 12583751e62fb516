import InklingWire

/// What a chat is registered under.
package struct Advertisement: Hashable, Sendable {
    /// The instance name, at most 63 bytes.
    package let instance: String
    /// The TXT record in its wire form.
    package let txt: [UInt8]

    package init(instance: String, txt: [UInt8]) {
        self.instance = instance
        self.txt = txt
    }

    /// A random name, and the record of a key, under a random nonce in a secret chat (D-2, D-3).
    package static func random(key: PublicKey, keys: ChatKeys) -> Advertisement {
        Advertisement(
            instance: randomHex(16),
            txt: ServiceRecord.encode(key: key, nonce: UInt64.random(in: .min ... .max), for: keys))
    }
}
