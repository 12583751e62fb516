import InklingModel

extension Line {
    /// The number of grapheme clusters of a text that are searched for highlighting: more than a screen holds.
    static let highlighted = 8_192

    /// Returns the line with all matches in bold, from span `first` on.
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
