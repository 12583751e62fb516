/// The shapes of letters: the skeletons of Unicode's UTS 39, with the data of ICU.
///
/// The table is in Confusables.swift, which `Scripts/protocol confusables` makes.
package enum Skeleton {
    /// Returns the skeleton of a text in NFKC. Texts that look alike have the same skeleton.
    static func of(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in NormalForm.decomposed(text).unicodeScalars {
            if let target = table[scalar] {
                result.append(contentsOf: target.unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    /// Returns the ASCII letter or digit with the shape of another scalar, if there is one.
    package static func shape(of scalar: Unicode.Scalar) -> Unicode.Scalar? {
        guard !scalar.isASCII, let target = table[scalar]?.unicodeScalars, let first = target.first, target.count == 1,
            first.isASCII, first.properties.isAlphabetic || first.properties.numericType != nil
        else { return nil }
        return first
    }

    private static let table: [Unicode.Scalar: String] = {
        var table: [Unicode.Scalar: String] = [:]
        var target = String.UnicodeScalarView()
        var value: UInt32 = 0
        var isTargetBegun = false
        confusables.withUTF8Buffer { bytes in
            for byte in bytes + [UInt8(ascii: " ")] {
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(byte - UInt8(ascii: "0"))
                case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt32(byte - UInt8(ascii: "A") + 10)
                case UInt8(ascii: "+"), UInt8(ascii: "="):
                    if !isTargetBegun { target = String.UnicodeScalarView() }
                    isTargetBegun = byte == UInt8(ascii: "+")
                    if let scalar = Unicode.Scalar(value) { target.append(scalar) }
                    value = 0
                default:
                    if value > 0, let scalar = Unicode.Scalar(value) { table[scalar] = String(target) }
                    value = 0
                }
            }
        }
        return table
    }()
}
