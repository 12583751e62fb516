/// A reader of JSON, from the front of a line that is valid UTF-8.
struct JSONScanner {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Returns whether a line is valid UTF-8.
    static func isUTF8(_ line: [UInt8]) -> Bool {
        // ASCII needs no copy.
        line.allSatisfy { $0 < 0x80 } || String(validating: line, as: UTF8.self) != nil
    }

    var isAtEnd: Bool { offset == bytes.count }
    var isAtObject: Bool { next == UInt8(ascii: "{") }

    /// The failure at the current offset.
    var failure: JSONMembers.Failure { .unexpected(at: offset) }

    private var next: UInt8? { isAtEnd ? nil : bytes[offset] }

    mutating func consume(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    /// Consumes a part of a line, and blanks before the part.
    mutating func consume(part: StaticString) -> Bool {
        skipBlanks()
        let count = part.utf8CodeUnitCount
        guard bytes.count - offset >= count else { return false }
        let isThere = part.withUTF8Buffer { part in part.indices.allSatisfy { part[$0] == bytes[offset + $0] } }
        if isThere { offset += count }
        return isThere
    }

    /// Skips the characters of a string up to its end, an escape or an invalid character.
    mutating func skipPlain() {
        while offset < bytes.count, bytes[offset] >= 0x20, bytes[offset] != UInt8(ascii: "\""),
            bytes[offset] != UInt8(ascii: "\\")
        {
            offset += 1
        }
    }

    mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { offset += 1 }
    }

    /// Reads a member's name and the colon after it.
    mutating func name() throws(JSONMembers.Failure) -> String {
        skipBlanks()
        let name = try string()
        skipBlanks()
        guard consume(":") else { throw failure }
        return name
    }

    /// Reads a value of any kind. Values nested deeper than `depth` are checked, but not stored.
    mutating func value(depth: Int) throws(JSONMembers.Failure) -> JSONElement {
        skipBlanks()
        switch next {
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "["): return depth > 0 ? .array(try elements(depth: depth - 1)) : try skipped()
        case UInt8(ascii: "{"): return depth > 0 ? .object(try members(depth: depth - 1)) : try skipped()
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
            let word = next
            try skipScalar()
            return word == UInt8(ascii: "n") ? .null : .boolean(word == UInt8(ascii: "t"))
        default:
            let start = offset
            try skipNumber()
            return .number(String(decoding: bytes[start..<offset], as: UTF8.self))
        }
    }

    private mutating func elements(depth: Int) throws(JSONMembers.Failure) -> [JSONElement] {
        var elements: [JSONElement] = []
        _ = consume("[")
        skipBlanks()
        guard !consume("]") else { return elements }
        repeat {
            elements.append(try value(depth: depth))
            skipBlanks()
        } while consume(",")
        guard consume("]") else { throw failure }
        return elements
    }

    private mutating func members(depth: Int) throws(JSONMembers.Failure) -> JSONMembers {
        var members = JSONMembers()
        try readMembers { scanner, name throws(JSONMembers.Failure) in
            members.add(try scanner.value(depth: depth), name)
        }
        return members
    }

    /// Reads an object. The closure reads the value of a member.
    mutating func readMembers(
        _ body: (inout JSONScanner, String) throws(JSONMembers.Failure) -> Void
    ) throws(JSONMembers.Failure) {
        _ = consume("{")
        skipBlanks()
        guard !consume("}") else { return }
        repeat {
            let name = try name()
            try body(&self, name)
            skipBlanks()
        } while consume(",")
        guard consume("}") else { throw failure }
    }

    /// Checks a value and discards it. The method uses no recursion, because nesting is limited only by the length of
    /// the line.
    mutating func skipped() throws(JSONMembers.Failure) -> JSONElement {
        // The objects (true) and arrays (false) that are still open.
        var open: [Bool] = []
        repeat {
            skipBlanks()
            let isObject = next == UInt8(ascii: "{")
            if consume("{") || consume("[") {
                skipBlanks()
                if !consume(isObject ? "}" : "]") {
                    open.append(isObject)
                    if isObject { _ = try name() }
                    continue
                }
            } else {
                try skipScalar()
            }
            try close(&open)
        } while !open.isEmpty
        return .skipped
    }

    /// Reads the brackets that close after a value, or the comma before the next value.
    private mutating func close(_ open: inout [Bool]) throws(JSONMembers.Failure) {
        while let isObject = open.last {
            skipBlanks()
            if consume(",") {
                if isObject { _ = try name() }
                return
            }
            guard consume(isObject ? "}" : "]") else { throw failure }
            open.removeLast()
        }
    }

    private mutating func skipScalar() throws(JSONMembers.Failure) {
        switch next {
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "t"): try skip("true")
        case UInt8(ascii: "f"): try skip("false")
        case UInt8(ascii: "n"): try skip("null")
        default: try skipNumber()
        }
    }

    private mutating func skip(_ word: String) throws(JSONMembers.Failure) {
        for scalar in word.unicodeScalars {
            guard consume(scalar) else { throw failure }
        }
    }

    private mutating func skipNumber() throws(JSONMembers.Failure) {
        _ = consume("-")
        if !consume("0") { try skipDigits() }
        if consume(".") { try skipDigits() }
        if consume("e") || consume("E") {
            _ = consume("+") || consume("-")
            try skipDigits()
        }
    }

    /// Skips one or more digits; throws if there is none.
    private mutating func skipDigits() throws(JSONMembers.Failure) {
        let start = offset
        while let byte = next, (0x30...0x39).contains(byte) { offset += 1 }
        guard offset > start else { throw failure }
    }

    private mutating func string() throws(JSONMembers.Failure) -> String {
        guard consume("\"") else { throw failure }
        let start = offset
        skipPlain()
        // Most strings have no escape.
        if consume("\"") { return String(decoding: bytes[start..<(offset - 1)], as: UTF8.self) }
        var text = Array(bytes[start..<offset])
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                offset += 1
                // The line is UTF-8, and each escape adds a whole scalar.
                return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                offset += 1
                text.append(contentsOf: Character(try escaped()).utf8)
            case 0x00...0x1F: throw failure
            default:
                text.append(byte)
                offset += 1
            }
        }
        throw failure
    }

    /// Reads an escape after its backslash, and returns its character.
    private mutating func escaped() throws(JSONMembers.Failure) -> Unicode.Scalar {
        guard let byte = next else { throw failure }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"):
            offset += 1
            return Unicode.Scalar(byte)
        case UInt8(ascii: "u"): return try escapedScalar()
        default:
            guard let scalar = JSONScanner.controls[byte] else { throw failure }
            offset += 1
            return scalar
        }
    }

    private static let controls: [UInt8: Unicode.Scalar] = [
        UInt8(ascii: "b"): "\u{8}", UInt8(ascii: "f"): "\u{C}", UInt8(ascii: "n"): "\n", UInt8(ascii: "r"): "\r",
        UInt8(ascii: "t"): "\t",
    ]

    /// Reads the digits of a `u` escape, or two such escapes that form a surrogate pair, and returns the scalar.
    private mutating func escapedScalar() throws(JSONMembers.Failure) -> Unicode.Scalar {
        let start = offset
        let first = try codeUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        if first < 0xDC00, consume("\\"), next == UInt8(ascii: "u") {
            let second = try codeUnit()
            if (0xDC00...0xDFFF).contains(second) {
                let number = 0x1_0000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
                if let scalar = Unicode.Scalar(number) { return scalar }
            }
        }
        throw .unexpected(at: start)
    }

    private mutating func codeUnit() throws(JSONMembers.Failure) -> UInt16 {
        guard consume("u") else { throw failure }
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw failure }
            unit = unit << 4 | UInt16(digit)
            offset += 1
        }
        return unit
    }
}
