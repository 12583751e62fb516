extension StringProtocol {
    /// The text without white space at both ends: scalars with the property White_Space, including line ends.
    package var trimmed: String {
        // Scalars, because a character may consist of a blank and further scalars.
        let isBlank = { (scalar: Unicode.Scalar) in scalar.properties.isWhitespace }
        let scalars = unicodeScalars
        guard let first = scalars.firstIndex(where: { !isBlank($0) }),
            let last = scalars.lastIndex(where: { !isBlank($0) })
        else { return "" }
        var result = ""
        result.unicodeScalars.append(contentsOf: scalars[first...last])
        return result
    }
}
