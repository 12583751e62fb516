import CDesktop

/// A value in a message of D-Bus. The library writes and reads its bytes.
enum BusValue: Equatable {
    case byte(UInt8)
    /// An array of bytes, such as a picture.
    case bytes([UInt8])
    case boolean(Bool)
    case int32(Int32)
    case uint32(UInt32)
    case string(String)
    case path(String)
    /// An array of values of this signature.
    case array(String, [BusValue])
    case structure([BusValue])
    indirect case entry(BusValue, BusValue)
    indirect case variant(BusValue)
    /// A value that no part of this program reads, or one that is nested too deep.
    case other

    /// The deepest nesting that this program reads: a variant in a structure in an array.
    private static let depth = 5

    /// A table of named values, `a{sv}`.
    static func table(_ entries: [(String, BusValue)]) -> BusValue {
        .array("{sv}", entries.map { .entry(.string($0), .variant($1)) })
    }

    static func strings(_ texts: [String]) -> BusValue { .array("s", texts.map { .string($0) }) }

    var text: String? { if case .string(let text) = self { text } else { nil } }
    var number: Int? {
        switch self {
        case .int32(let number): Int(number)
        case .uint32(let number): Int(number)
        case .byte, .bytes, .boolean, .string, .path, .array, .structure, .entry, .variant, .other: nil
        }
    }
    var flag: Bool? { if case .boolean(let flag) = self { flag } else { nil } }
    var elements: [BusValue]? {
        switch self {
        case .array(_, let elements), .structure(let elements): elements
        case .byte, .bytes, .boolean, .int32, .uint32, .string, .path, .entry, .variant, .other: nil
        }
    }
    /// The texts of an array of texts; nil for any other value.
    var texts: [String]? {
        guard case .array(_, let elements) = self else { return nil }
        let texts = elements.compactMap { $0.text }
        return texts.count == elements.count ? texts : nil
    }

    private var signature: String {
        switch self {
        case .byte: "y"
        case .bytes: "ay"
        case .boolean: "b"
        case .int32: "i"
        case .uint32: "u"
        case .string: "s"
        case .path: "o"
        case .array(let element, _): "a" + element
        case .structure(let parts): "(" + parts.map { $0.signature }.joined() + ")"
        case .entry(let key, let value): "{" + key.signature + value.signature + "}"
        case .variant: "v"
        case .other: preconditionFailure("a value that can't be written")
        }
    }

    private var kind: Int32 {
        switch self {
        case .structure: Self.code("r")
        case .entry: Self.code("e")
        default: Self.code(Unicode.Scalar(signature.utf8.first ?? 0))
        }
    }

    private static func code(_ letter: Unicode.Scalar) -> Int32 { Int32(letter.value) }

    // MARK: Writing

    /// Appends the value to a message.
    func append(to place: inout DBusMessageIter) {
        switch self {
        case .byte(let value): Self.append(value, kind, to: &place)
        case .boolean(let value): Self.append(dbus_bool_t(value ? 1 : 0), kind, to: &place)
        case .int32(let value): Self.append(value, kind, to: &place)
        case .uint32(let value): Self.append(value, kind, to: &place)
        case .string(let text), .path(let text):
            text.withCString { Self.append(Optional($0), kind, to: &place) }
        case .bytes(let bytes):
            appendInside("y", to: &place) { inner in
                bytes.withUnsafeBufferPointer { buffer in
                    var start = buffer.baseAddress
                    return buffer.isEmpty
                        || dbus_message_iter_append_fixed_array(&inner, Self.code("y"), &start, Int32(buffer.count))
                            != 0
                }
            }
        case .array(let element, let values): appendInside(values, element, to: &place)
        case .structure(let parts): appendInside(parts, nil, to: &place)
        case .entry(let key, let value): appendInside([key, value], nil, to: &place)
        case .variant(let value): appendInside([value], value.signature, to: &place)
        case .other: preconditionFailure("a value that can't be written")
        }
    }

    private static func append<Value>(_ value: Value, _ kind: Int32, to place: inout DBusMessageIter) {
        withUnsafePointer(to: value) { pointer in
            precondition(dbus_message_iter_append_basic(&place, kind, pointer) != 0, "no memory for a message")
        }
    }

    private func appendInside(_ values: [BusValue], _ signature: String?, to place: inout DBusMessageIter) {
        appendInside(signature, to: &place) { inner in
            for value in values { value.append(to: &inner) }
            return true
        }
    }

    private func appendInside(
        _ signature: String?, to place: inout DBusMessageIter, _ body: (inout DBusMessageIter) -> Bool
    ) {
        var inner = DBusMessageIter()
        precondition(
            dbus_message_iter_open_container(&place, kind, signature, &inner) != 0 && body(&inner)
                && dbus_message_iter_close_container(&place, &inner) != 0, "no memory for a message")
    }

    // MARK: Reading

    /// Reads the values from a place in a message to the end.
    static func read(from place: inout DBusMessageIter, depth: Int = depth) -> [BusValue] {
        var values: [BusValue] = []
        while true {
            let kind = dbus_message_iter_get_arg_type(&place)
            guard kind != 0 else { return values }
            values.append(value(kind, at: &place, depth: depth))
            _ = dbus_message_iter_next(&place)
        }
    }

    private static func value(_ kind: Int32, at place: inout DBusMessageIter, depth: Int) -> BusValue {
        switch kind {
        case code("y"): return .byte(basic(0, at: &place))
        case code("b"): return .boolean(basic(dbus_bool_t(0), at: &place) != 0)
        case code("i"): return .int32(basic(0, at: &place))
        case code("u"): return .uint32(basic(0, at: &place))
        case code("s"): return .string(string(at: &place))
        case code("o"): return .path(string(at: &place))
        case code("a"), code("r"), code("v"), code("e"):
            guard depth > 0 else { return .other }
            var inner = DBusMessageIter()
            dbus_message_iter_recurse(&place, &inner)
            let parts = read(from: &inner, depth: depth - 1)
            switch kind {
            case code("a"): return .array("", parts)
            case code("r"): return .structure(parts)
            case code("v"): return parts.first.map { .variant($0) } ?? .other
            default: return parts.count == 2 ? .entry(parts[0], parts[1]) : .other
            }
        default: return .other
        }
    }

    private static func basic<Value>(_ blank: Value, at place: inout DBusMessageIter) -> Value {
        var value = blank
        withUnsafeMutablePointer(to: &value) { dbus_message_iter_get_basic(&place, $0) }
        return value
    }

    private static func string(at place: inout DBusMessageIter) -> String {
        basic(UnsafePointer<CChar>?.none, at: &place).map { String(cString: $0) } ?? ""
    }
}
