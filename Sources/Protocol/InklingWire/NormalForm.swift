import CUTF8Proc

/// Unicode normal forms, which spell equal-looking texts equally.
package enum NormalForm {
    /// Returns a text in NFC, the form in which names of people and chats are compared and sent (W-2).
    package static func canonical(_ text: some StringProtocol) -> String {
        mapped(text, UTF8PROC_STABLE.rawValue | UTF8PROC_COMPOSE.rawValue)
    }

    /// Returns a text in NFKC, which also unifies variants of a character, such as wide letters.
    package static func compatible(_ text: some StringProtocol) -> String {
        mapped(text, UTF8PROC_STABLE.rawValue | UTF8PROC_COMPOSE.rawValue | UTF8PROC_COMPAT.rawValue)
    }

    /// Returns a text in NFD.
    package static func decomposed(_ text: some StringProtocol) -> String {
        mapped(text, UTF8PROC_STABLE.rawValue | UTF8PROC_DECOMPOSE.rawValue)
    }

    private static func mapped(_ text: some StringProtocol, _ options: UInt32) -> String {
        // ASCII is the same in all forms.
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return String(text) }
        let bytes = Array(text.utf8)
        var result: UnsafeMutablePointer<UInt8>?
        let count = utf8proc_map(bytes, bytes.count, &result, utf8proc_option_t(rawValue: options))
        defer { free(result) }
        // The text is valid, so only a lack of memory can make ICU fail.
        guard count >= 0, let result else { return String(text) }
        return String(decoding: UnsafeBufferPointer(start: result, count: count), as: UTF8.self)
    }
}
