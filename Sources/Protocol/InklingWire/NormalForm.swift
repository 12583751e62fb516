import CUTF8Proc

/// Unicode's Normalization Form C (NFC).
package enum NormalForm {
    /// Converts a text to NFC. Chat names are compared and hashed in NFC (W-2).
    package static func canonical(_ text: String) -> String {
        // ASCII text is always in NFC.
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return text }
        let bytes = Array(text.utf8)
        let options = utf8proc_option_t(rawValue: UTF8PROC_STABLE.rawValue | UTF8PROC_COMPOSE.rawValue)
        var result: UnsafeMutablePointer<UInt8>?
        let count = utf8proc_map(bytes, bytes.count, &result, options)
        defer { free(result) }
        // The input is valid Unicode, so only a lack of memory can cause a failure.
        guard count >= 0, let result else { return text }
        return String(decoding: UnsafeBufferPointer(start: result, count: count), as: UTF8.self)
    }
}
