/// One key press, or one paste.
package enum Key: Hashable, Sendable {
    /// Typed text: one Unicode scalar that is not a control character.
    case text(Unicode.Scalar)
    /// Text that was pasted in one piece, unchanged, including control characters.
    case paste(String)
    /// A letter (lower case) or one of `@[\]^_` with Ctrl.
    case control(Unicode.Scalar)
    /// A character with Alt, or after Escape.
    case alt(Unicode.Scalar)
    case enter
    case altEnter
    case tab
    case backTab
    case backspace
    case altBackspace
    case delete
    case escape
    case up
    case down
    case left
    case right
    case wordLeft
    case wordRight
    case home
    case end
    /// A key that the prompt does not use.
    case unknown
}
