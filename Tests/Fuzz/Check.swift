/// Ends the process with a message, which the fuzzer reports as a finding, unless a condition holds.
@inline(__always)
func check(
    _ condition: Bool, _ message: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) {
    if !condition { fatalError(message(), file: file, line: line) }
}

/// A run of bytes as the fuzzer hands it over.
@inline(__always)
func input(_ data: UnsafePointer<UInt8>?, _ count: Int) -> [UInt8] {
    Array(UnsafeBufferPointer(start: data, count: count))
}

/// Whether two texts have the same bytes: `==` takes different spellings of a character for the same.
func areIdentical(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
