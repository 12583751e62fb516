import Crypto
import InklingModel

extension Chat {
    /// What the file of known peers calls this chat, 16 hex digits: a hash that does not reveal its name or secret.
    ///
    /// It is what version 0.2 wrote, so that files from before are understood. It goes over no network.
    package var storedName: String {
        let (label, data): (String, [UInt8]) =
            if let secret { ("inkling/1 secret chat tag", secret.wire.bytes + (owner?.bytes ?? [])) } else {
                ("inkling/1 open chat tag", Array(name.utf8))
            }
        let hash = SHA256.hash(data: Array(label.utf8) + [0] + data)
        return hash.prefix(8).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count < 2 ? "0" + digits : digits
        }.joined()
    }
}
