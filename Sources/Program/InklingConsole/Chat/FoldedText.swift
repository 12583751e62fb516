import InklingModel
import InklingText

/// Finds a text within others however it is spelled: after NFKC and case folding.
struct FoldedText: Sendable {
    /// The text, folded.
    private let wanted: [Unicode.Scalar]
    /// Whether it counts only where it is a word of its own.
    private let isWord: Bool

    /// - Parameter asWord: whether it counts only where no letter or digit is beside it.
    init(_ text: String, asWord: Bool = false) {
        wanted = Self.folded(text)
        isWord = asWord
    }

    /// - Parameter longest: how many grapheme clusters are looked at.
    func occurs(in text: String, longest: Int = .max) -> Bool {
        !ranges(in: Array(text.prefix(longest)), limit: 1).isEmpty
    }

    /// Where it occurs in a text, as whole grapheme clusters, from the left, without overlaps.
    func ranges(in characters: [Character], limit: Int = .max) -> [Range<Int>] {
        guard !wanted.isEmpty else { return [] }
        var scalars: [Unicode.Scalar] = []
        // Which cluster a scalar is of.
        var places: [Int] = []
        for (index, character) in characters.enumerated() {
            if let ascii = character.asciiValue {
                scalars.append(Unicode.Scalar((0x41...0x5A).contains(ascii) ? ascii + 0x20 : ascii))
                places.append(index)
                continue
            }
            for scalar in Self.folded(String(character)) {
                scalars.append(scalar)
                places.append(index)
            }
        }
        var found: [Range<Int>] = []
        var start = 0
        while start + wanted.count <= scalars.count, found.count < limit {
            let end = start + wanted.count
            guard scalars[start] == wanted[0], scalars[start..<end].elementsEqual(wanted),
                start == 0 || places[start - 1] != places[start],
                end == scalars.count || places[end] != places[end - 1],
                !isWord || Self.parts(scalars, at: start) && Self.parts(scalars, at: end)
            else {
                start += 1
                continue
            }
            found.append(places[start]..<places[end - 1] + 1)
            start = end
        }
        return found
    }

    private static func folded(_ text: String) -> [Unicode.Scalar] {
        let text = NameIsolation.removed(from: text)
        return Array(NormalForm.compatible(NormalForm.compatible(text).uppercased().lowercased()).unicodeScalars)
    }

    /// Whether one word ends there and another begins, or could.
    private static func parts(_ scalars: [Unicode.Scalar], at index: Int) -> Bool {
        guard index > 0, index < scalars.count else { return true }
        let (left, right) = (scalars[index - 1], scalars[index])
        return !belongsToWord(left) || !belongsToWord(right) || isWrittenWithoutBlanks(left)
            || isWrittenWithoutBlanks(right)
    }

    private static func belongsToWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber, .otherNumber, .nonspacingMark, .spacingMark:
            true
        default: scalar == "_"
        }
    }

    /// Scripts in which words follow each other without a blank: Thai to Khmer, kana, Hangul with its endings, and
    /// ideographs.
    private static func isWrittenWithoutBlanks(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0xE00...0xEFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3040...0x31FF, 0xAC00...0xD7A3: true
        default: scalar.properties.isIdeographic
        }
    }
}

extension Line {
    /// How far into a text it is searched for what to highlight, in grapheme clusters: more than a screen holds.
    static let highlighted = 8_192

    /// Returns the line with what is found in the spans from one on in bold.
    func highlighting(_ text: FoldedText, from first: Int) -> Line {
        var line = self
        line.spans = Array(spans.prefix(first))
        for span in spans.dropFirst(first) {
            let characters = Array(span.text)
            var end = 0
            for range in text.ranges(in: Array(characters.prefix(Self.highlighted))) {
                line.append(characters[end..<range.lowerBound], span.emphasis)
                line.append(characters[range], .bold)
                end = range.upperBound
            }
            line.append(characters[end...], span.emphasis)
        }
        return line
    }

    private mutating func append(_ characters: ArraySlice<Character>, _ emphasis: Emphasis) {
        if !characters.isEmpty { spans.append(Span(text: String(characters), emphasis: emphasis)) }
    }
}
