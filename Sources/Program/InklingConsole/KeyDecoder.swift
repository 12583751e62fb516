/// Decodes the bytes of a terminal into keys. The bytes may arrive in pieces of any size.
package struct KeyDecoder: Sendable {
    /// The longest paste, in bytes. The rest of a longer paste is dropped.
    package static let pasteLimit = 1 << 20
    private static let parameterLimit = 32
    private static let pasteEnd = Array("\u{1B}[201~".utf8)

    private enum State {
        case ground
        case utf8(bytes: [UInt8], length: Int)
        case escape
        case control(parameters: [UInt8])
        /// The sequence `ESC [ [` of a function key on the Linux console. One more byte follows.
        case linuxFunction
        case single
        /// The last bytes were the first `matched` bytes of the end marker. `pasted` has the bytes before them.
        case paste(matched: Int)
    }

    private var state = State.ground
    private var keys: [Key] = []
    private var pasted: [UInt8] = []

    package init() {}

    /// Whether incomplete bytes wait. If no more bytes follow soon, the caller must call `flush()`.
    package var isWaiting: Bool {
        switch state {
        case .escape, .single: true
        case .control(let parameters): parameters.isEmpty
        case .ground, .utf8, .linuxFunction, .paste: false
        }
    }

    /// Whether a paste has begun and not ended. If its end was lost, `endPaste()` ends it.
    package var isPasting: Bool {
        if case .paste = state { true } else { false }
    }

    /// Decodes the next bytes, and returns the keys that they complete.
    package mutating func feed(_ bytes: some Sequence<UInt8>) -> [Key] {
        for byte in bytes { decode(byte) }
        return drain()
    }

    /// Reports that no byte followed for a while. A single Escape is then the Escape key.
    package mutating func flush() -> [Key] {
        switch state {
        case .escape:
            keys.append(.escape)
            state = .ground
        case .single:
            keys.append(.alt("O"))
            state = .ground
        case .control(let parameters) where parameters.isEmpty:
            keys.append(.alt("["))
            state = .ground
        case .control, .ground, .utf8, .linuxFunction, .paste:
            break
        }
        return drain()
    }

    /// Ends a paste whose end marker was lost. The bytes so far are the paste.
    package mutating func endPaste() -> [Key] {
        guard case .paste(let matched) = state else { return [] }
        keys.append(.paste(String(decoding: pasted + Self.pasteEnd[..<matched], as: UTF8.self)))
        pasted = []
        state = .ground
        return drain()
    }

    private mutating func drain() -> [Key] {
        defer { keys = [] }
        return keys
    }

    private mutating func decode(_ byte: UInt8) {
        switch state {
        case .ground: decodeGround(byte, alt: false)
        case .utf8(let bytes, let length): decodeContinuation(byte, bytes, length)
        case .escape: decodeEscaped(byte)
        case .control(let parameters): decodeControl(byte, parameters)
        case .linuxFunction:
            state = .ground
            keys.append(.unknown)
        case .single: decodeSingle(byte)
        case .paste(let matched): decodePasted(byte, matched)
        }
    }

    private mutating func decodeGround(_ byte: UInt8, alt: Bool) {
        state = .ground
        switch byte {
        case 0x1B: state = .escape
        case 0x0D, 0x0A: keys.append(alt ? .altEnter : .enter)
        case 0x09: keys.append(alt ? .unknown : .tab)
        case 0x7F, 0x08: keys.append(alt ? .altBackspace : .backspace)
        case 0x00..<0x20:
            keys.append(alt ? .unknown : .control(Unicode.Scalar(byte == 0 || byte > 26 ? byte + 0x40 : byte + 0x60)))
        case 0x20..<0x7F: keys.append(alt ? .alt(Unicode.Scalar(byte)) : .text(Unicode.Scalar(byte)))
        case 0xC2...0xDF: state = .utf8(bytes: [byte], length: 2)
        case 0xE0...0xEF: state = .utf8(bytes: [byte], length: 3)
        case 0xF0...0xF4: state = .utf8(bytes: [byte], length: 4)
        default: keys.append(.text("\u{FFFD}"))
        }
    }

    private mutating func decodeContinuation(_ byte: UInt8, _ bytes: [UInt8], _ length: Int) {
        guard (0x80...0xBF).contains(byte) else {
            keys.append(.text("\u{FFFD}"))
            decodeGround(byte, alt: false)
            return
        }
        let bytes = bytes + [byte]
        guard bytes.count == length else {
            state = .utf8(bytes: bytes, length: length)
            return
        }
        state = .ground
        guard let text = String(validating: bytes, as: UTF8.self), let scalar = text.unicodeScalars.first else {
            keys.append(.text("\u{FFFD}"))
            return
        }
        keys.append(scalar.properties.generalCategory == .control ? .unknown : .text(scalar))
    }

    private mutating func decodeEscaped(_ byte: UInt8) {
        switch byte {
        case 0x1B: keys.append(.escape)
        case UInt8(ascii: "["): state = .control(parameters: [])
        case UInt8(ascii: "O"): state = .single
        default: decodeGround(byte, alt: true)
        }
    }

    private mutating func decodeControl(_ byte: UInt8, _ parameters: [UInt8]) {
        switch byte {
        case 0x1B:
            state = .escape
        case UInt8(ascii: "[") where parameters.isEmpty:
            state = .linuxFunction
        case 0x20..<0x40:
            // Beyond the limit, the sequence is still read to its end, but has no meaning.
            state = .control(parameters: parameters.count < Self.parameterLimit ? parameters + [byte] : parameters)
        case 0x40...0x7E:
            state = .ground
            finishControl(byte, String(decoding: parameters, as: UTF8.self))
        default:
            decodeGround(byte, alt: false)
        }
    }

    private mutating func finishControl(_ final: UInt8, _ parameters: String) {
        guard parameters.utf8.count < Self.parameterLimit else { return keys.append(.unknown) }
        // No key has higher numbers.
        let numbers = parameters.split(separator: ";", omittingEmptySubsequences: false)
            .map { Int($0).map { min(max($0, 0), 9_999) } }
        let first = numbers.first.flatMap { $0 } ?? 1
        let modifiers = max((numbers.count > 1 ? numbers[1] ?? 1 : 1) - 1, 0)
        let byWord = modifiers & 0b110 != 0
        switch (final, first) {
        case (UInt8(ascii: "~"), 200): state = .paste(matched: 0)
        case (UInt8(ascii: "~"), 1), (UInt8(ascii: "~"), 7): keys.append(.home)
        case (UInt8(ascii: "~"), 4), (UInt8(ascii: "~"), 8): keys.append(.end)
        case (UInt8(ascii: "~"), 3): keys.append(byWord ? .alt("d") : .delete)
        case (UInt8(ascii: "u"), 13): keys.append(modifiers == 0 ? .enter : .altEnter)
        case (UInt8(ascii: "u"), 27): keys.append(.escape)
        case (UInt8(ascii: "u"), 127): keys.append(byWord ? .altBackspace : .backspace)
        default: keys.append(Self.arrow(final, byWord: byWord))
        }
    }

    private mutating func decodeSingle(_ byte: UInt8) {
        switch byte {
        case 0x1B: state = .escape
        case UInt8(ascii: "M"):
            state = .ground
            keys.append(.enter)
        case 0x40...0x7E:
            state = .ground
            keys.append(Self.arrow(byte, byWord: false))
        default: decodeGround(byte, alt: false)
        }
    }

    private static func arrow(_ final: UInt8, byWord: Bool) -> Key {
        switch final {
        case UInt8(ascii: "A"): .up
        case UInt8(ascii: "B"): .down
        case UInt8(ascii: "C"): byWord ? .wordRight : .right
        case UInt8(ascii: "D"): byWord ? .wordLeft : .left
        case UInt8(ascii: "H"): .home
        case UInt8(ascii: "F"): .end
        case UInt8(ascii: "Z"): .backTab
        default: .unknown
        }
    }

    /// Decodes a byte of a paste. Only the first byte of the end marker is an Escape. So after a mismatch, a new match
    /// can begin only with the current byte.
    private mutating func decodePasted(_ byte: UInt8, _ matched: Int) {
        if byte == Self.pasteEnd[matched] {
            guard matched + 1 == Self.pasteEnd.count else {
                state = .paste(matched: matched + 1)
                return
            }
            keys.append(.paste(String(decoding: pasted, as: UTF8.self)))
            pasted = []
            state = .ground
            return
        }
        let text = byte == 0x1B ? Self.pasteEnd[..<matched] : Self.pasteEnd[..<matched] + [byte]
        pasted.append(contentsOf: text.prefix(max(Self.pasteLimit - pasted.count, 0)))
        state = .paste(matched: byte == 0x1B ? 1 : 0)
    }
}

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
