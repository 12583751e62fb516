import InklingModel
import InklingText

/// The module of the page about names that readers could take for the program's own words, and about outcomes. The
/// prompt has the same signs and words (`NameSigns`, `Labels`, `FailureReason`).
package enum NamesModule {
    /// `MARKS` matches the signs that no shown name has. `DOUBTFUL` matches a name that needs a piece of the user ID. Such
    /// a name has a sign, a word of the program, a user ID, or a cut end. `WHY` has the words for the reasons of failures.
    package static let text = """
        export const MARKS = /[\(ranges(NameSigns.isMark))]/gu;
        export const DOUBTFUL = RegExp([
        	/[^\\p{L}\\p{M}\\p{N}\\p{ExtPict} .'\\u2019_@#&+!?\\/\\n-]/u,
        	/[\(ranges(NameSigns.isSign))]/u,
        	/['\\u2019](?!\\p{Alphabetic})/u,
        	/\\b(\(Labels.ownWords.joined(separator: "|")))\\b/u,
        	/(?=[a-z]*\\d+[a-z])[a-z2-7]{16}/u,
        	/\\.{3}$/u,
        ].map(({source}) => source).join("|"), "imu");
        export const WHY = {\(reasons)};

        """

    private static let reasons = FailureReason.allCases.map { "\"\($0.rawValue)\": \"\($0.words)\"" }
        .joined(separator: ", ")

    /// Returns the scalars with a property as ranges of a regular expression. No later plane has signs.
    private static func ranges(_ isIn: (Unicode.Scalar) -> Bool) -> String {
        var ranges: [ClosedRange<UInt32>] = []
        for value in 0x20...UInt32(0x1FFFF) {
            guard let scalar = Unicode.Scalar(value), isIn(scalar) else { continue }
            if let last = ranges.last, last.upperBound == value - 1 {
                ranges[ranges.count - 1] = last.lowerBound...value
            } else {
                ranges.append(value...value)
            }
        }
        return ranges.map { range in
            let ends = [range.lowerBound, range.upperBound].map { "\\u{\(String($0, radix: 16))}" }
            return range.count > 1 ? ends.joined(separator: "-") : ends[0]
        }.joined()
    }
}
