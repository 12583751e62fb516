/// The strings of a TXT record, each after its length in one byte.
package enum TXTStrings {
    /// Returns the record with its last string first. Avahi's library hands out records in reverse, and of a repeated
    /// key the first string counts (D-6). A damaged record stays as it is.
    package static func reversed(_ record: [UInt8]) -> [UInt8] {
        var strings: [ArraySlice<UInt8>] = []
        var rest = record[...]
        while let length = rest.first {
            let string = rest.prefix(Int(length) + 1)
            guard string.count == Int(length) + 1 else { return record }
            strings.append(string)
            rest = rest.dropFirst(string.count)
        }
        return Array(strings.reversed().joined())
    }
}
