import InklingText
import InklingWeb
import Testing

@Suite("The page's names")
struct NamesModuleTests {
    /// Returns the scalars of the class in brackets that follows a text.
    private static func scalars(after text: String) throws -> Set<Unicode.Scalar> {
        let pattern = try #require(NamesModule.text.firstRange(of: text))
        let rest = NamesModule.text[pattern.upperBound...]
        var scalars: Set<Unicode.Scalar> = []
        for match in rest[..<(try #require(rest.firstIndex(of: "]")))].matches(
            of: /\\u\{([0-9a-f]+)\}(?:-\\u\{([0-9a-f]+)\})?/)
        {
            let first = try #require(UInt32(match.1, radix: 16))
            let last = match.2.flatMap { UInt32($0, radix: 16) } ?? first
            scalars.formUnion((first...last).compactMap(Unicode.Scalar.init))
        }
        return scalars
    }

    @Test("the page has exactly the signs of the prompt")
    func signs() throws {
        let all = (UInt32(0)...0x10FFFF).compactMap(Unicode.Scalar.init)
        #expect(try Self.scalars(after: "MARKS = /[") == Set(all.filter(NameSigns.isMark)))
        #expect(try Self.scalars(after: "-]/u,\n\t/[") == Set(all.filter(NameSigns.isSign)))
        for sign in "\u{2713}\u{1F6E1}".unicodeScalars { #expect(NameSigns.isMark(sign)) }
        for sign in "\u{1F50F}\u{1F530}\u{1F511}\u{2694}\u{26A0},(\u{2605}".unicodeScalars {
            #expect(NameSigns.isSign(sign), "\(sign)")
        }
    }
}
