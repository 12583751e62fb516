/// Finds a text in others regardless of its spelling: after NFKC and case folding.
package struct FoldedText: Sendable {
    /// The folded scalars of the text.
    private let wanted: [Unicode.Scalar]
    /// Whether the text must be a whole word.
    private let isWord: Bool

    /// Folds a text.
    ///
    /// - Parameter asWord: whether a match must have no letter or digit beside it.
    package init(_ text: String, asWord: Bool = false) {
        wanted = Self.folded(text)
        isWord = asWord
    }

    /// Returns whether a text contains this text.
    ///
    /// - Parameter longest: the number of grapheme clusters to search.
    package func occurs(in text: String, longest: Int = .max) -> Bool {
        !ranges(in: Array(text.prefix(longest)), limit: 1).isEmpty
    }

    /// Returns the matches in a text, as ranges of whole grapheme clusters, from the left, without overlaps.
    package func ranges(in characters: [Character], limit: Int = .max) -> [Range<Int>] {
        guard !wanted.isEmpty else { return [] }
        var scalars: [Unicode.Scalar] = []
        // The index of each scalar's cluster.
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
        // The isolates of names are no part of what a reader sees.
        let shown = text.unicodeScalars.filter { !(0x2066...0x2069).contains($0.value) }
        let text = String(String.UnicodeScalarView(shown))
        return Array(NormalForm.compatible(NormalForm.compatible(text).uppercased().lowercased()).unicodeScalars)
    }

    /// Returns whether one word ends at an index and another one may begin there.
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

    /// Returns whether a scalar belongs to a script without blanks between words: Thai to Khmer, kana, Hangul with its
    /// endings, and ideographs.
    private static func isWrittenWithoutBlanks(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0xE00...0xEFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3040...0x31FF, 0xAC00...0xD7A3: true
        default: scalar.properties.isIdeographic
        }
    }
}
