import CTOML

/// Returns a text as a quoted TOML string on one line.
package func tomlString(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": result += "\\\""
        case "\\": result += "\\\\"
        case "\u{0}"..."\u{1F}", "\u{7F}":
            let digits = String(scalar.value, radix: 16)
            result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}

/// A TOML document.
final class TOMLDocument {
    /// The fault in a text that is not TOML.
    struct Failure: Error {
        /// The line, counted from 1; nil if unknown.
        let line: Int?
        let text: String
    }

    private let document: OpaquePointer
    /// The table at the top of the document.
    private let node: OpaquePointer

    init(_ text: String) throws(Failure) {
        var text = text
        guard let document = text.withUTF8({ ctoml_read($0.baseAddress, $0.count) }) else {
            throw Failure(line: nil, text: "memory is short")
        }
        guard let node = ctoml_root(document) else {
            defer { ctoml_free(document) }
            var (line, column): (UInt32, UInt32) = (0, 0)
            let reason = String(ctoml_error(document, &line, &column))
            throw Failure(line: line > 0 ? Int(line) : nil, text: reason)
        }
        (self.document, self.node) = (document, node)
    }

    deinit { ctoml_free(document) }

    var root: TOMLValue { TOMLValue(document: self, node: node) }
}

/// A value in a TOML document. The properties for other types than its own are nil.
struct TOMLValue {
    fileprivate let document: TOMLDocument
    fileprivate let node: OpaquePointer

    var string: String? { ctoml_kind_of(node) == CTOML_STRING ? String(ctoml_string(node)) : nil }
    var boolean: Bool? { ctoml_kind_of(node) == CTOML_BOOLEAN ? ctoml_boolean(node) : nil }
    var elements: [TOMLValue]? { ctoml_kind_of(node) == CTOML_ARRAY ? values.map(\.value) : nil }
    /// The members of a table, in any order.
    var members: [(name: String, value: TOMLValue)]? { ctoml_kind_of(node) == CTOML_TABLE ? values : nil }

    private var values: [(name: String, value: TOMLValue)] {
        typealias Found = [(String, OpaquePointer)]
        var found: Found = []
        withUnsafeMutablePointer(to: &found) { found in
            ctoml_visit(node, found) { context, key, value in
                guard let context, let value else { return }
                context.assumingMemoryBound(to: Found.self).pointee.append((String(key), value))
            }
        }
        return found.map { ($0, TOMLValue(document: document, node: $1)) }
    }
}

extension String {
    fileprivate init(_ text: ctoml_text) {
        let bytes = UnsafeRawBufferPointer(start: text.bytes, count: text.count)
        self = String(decoding: bytes, as: UTF8.self)
    }
}
