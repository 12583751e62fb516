import CUTF8Proc

/// Unicode normal forms, which spell equal-looking texts equally.
package enum NormalForm {
    /// A text in NFC, as names of people and chats are compared and sent (W-2).
    package static func canonical(_ text: some StringProtocol) -> String {
        mapped(text, UTF8PROC_STABLE.rawValue | UTF8PROC_COMPOSE.rawValue)
    }

    /// A text in NFKC, which removes differences of form alone.
    package static func compatible(_ text: some StringProtocol) -> String {
        mapped(text, UTF8PROC_STABLE.rawValue | UTF8PROC_COMPOSE.rawValue | UTF8PROC_COMPAT.rawValue)
    }

    /// A text in NFD.
    static func decomposed(_ text: some StringProtocol) -> String {
        mapped(text, UTF8PROC_STABLE.rawValue | UTF8PROC_DECOMPOSE.rawValue)
    }

    private static func mapped(_ text: some StringProtocol, _ options: UInt32) -> String {
        // ASCII is the same in all forms.
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return String(text) }
        let bytes = Array(text.utf8)
        var result: UnsafeMutablePointer<UInt8>?
        let count = utf8proc_map(bytes, bytes.count, &result, utf8proc_option_t(rawValue: options))
        defer { free(result) }
        // On valid text, ICU can fail only for lack of memory.
        guard count >= 0, let result else { return String(text) }
        return String(decoding: UnsafeBufferPointer(start: result, count: count), as: UTF8.self)
    }
}
