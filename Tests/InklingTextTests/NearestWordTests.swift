import InklingText
import Testing

@Suite("The word that somebody meant")
struct NearestWordTests {
    @Test(
        "a word with a mistake in three letters is found, one with more or of another length is not",
        arguments: [
            ("kichen", "kitchen"), ("KITCHEN", "kitchen"), ("kitchne", "kitchen"), ("kitxhen", "kitchen"),
            ("Crol", "Carol"), ("garden", nil), ("k", nil), ("", nil), ("kit", nil),
            (String(repeating: "k", count: 100_000), nil),
        ])
    func find(_ typed: String, _ meant: String?) {
        #expect(NearestWord.find(typed, among: ["Carol", "kitchen", String(repeating: "x", count: 100_000)]) == meant)
    }

    @Test("a caller may allow more mistakes, but never as many as there are letters")
    func mistakes() {
        #expect(NearestWord.find("per", among: ["peers"]) == nil)
        #expect(NearestWord.find("per", among: ["peers"], mistakes: 2) == "peers")
        #expect(NearestWord.find("xy", among: ["ab"], mistakes: 2) == nil)
    }
}
