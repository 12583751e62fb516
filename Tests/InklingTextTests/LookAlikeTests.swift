import InklingText
import Testing

@Suite("Look-alike names")
struct LookAlikeTests {
    private typealias Person = Labels.Person

    /// Whether a stranger's label has the suffix beside somebody known.
    private static func isMarked(_ pair: LookAlikeNames.Pair, isVerified: Bool) -> Bool {
        var labels = Labels(ownName: "Quentin")
        labels.update(Person(user: "nfxg62dfoj3xs2lk", name: pair.known, acquaintance: .known, isVerified: isVerified))
        labels.update(Person(user: "mallorymallory22", name: pair.other))
        return !labels.label(of: "mallorymallory22").suffix.isEmpty
    }

    @Test("R42: of the look-alikes of a known name at least 95 % are marked", arguments: [true, false])
    func alike(isVerified: Bool) {
        let missed = LookAlikeNames.alike.filter { !Self.isMarked($0, isVerified: isVerified) }
        let count = LookAlikeNames.alike.count
        #expect(count >= 118 && Set(LookAlikeNames.alike).count == count)
        print("\(count - missed.count) of \(count) look-alikes are marked; missed: \(missed.map(\.testDescription))")
        #expect(missed.count * 20 <= count)
    }

    @Test("R42: an honest name is never marked, beside a known one or as one", arguments: [true, false])
    func honest(isVerified: Bool) {
        let both = LookAlikeNames.honest.flatMap { [$0, .init(known: $0.other, other: $0.known)] }
        let marked = both.filter { Self.isMarked($0, isVerified: isVerified) }
        #expect(LookAlikeNames.honest.count >= 60)
        #expect(marked.isEmpty, "\(marked.count): \(marked.map(\.testDescription))")
    }
}
