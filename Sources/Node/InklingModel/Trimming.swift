extension StringProtocol {
    /// Without the white space at both ends: scalars with the property White_Space, line ends included.
    package var trimmed: String {
        // Scalars: a character may begin with a blank and have further scalars.
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
