import Foundation

/// Invites as people hand them on: with blanks and line ends around them, and the scheme in any letters.
package enum InviteText {
    private static let scheme = "inkling:"

    /// The invite that a text is; nil if it is something else, such as the name of a chat.
    package static func invite(_ text: String) -> String? {
        let bytes = text.trimmingCharacters(in: .whitespacesAndNewlines).utf8
        let count = scheme.utf8.count
        guard String(decoding: bytes.prefix(count), as: UTF8.self).lowercased() == scheme else { return nil }
        return scheme + String(decoding: bytes.dropFirst(count), as: UTF8.self)
    }
}
