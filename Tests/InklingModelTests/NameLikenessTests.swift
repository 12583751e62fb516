import InklingModel
import Testing

@Suite("The likeness of names")
struct NameLikenessTests {
    private static func whole(_ name: String) -> String { NameLikeness(of: name).whole }

    @Test(
        "names that could be taken for each other have the same likeness, which is its own",
        arguments: [
            ("Bob", "B0B"), ("Bob", "@Bob"), ("Bob", "Bo\u{200B}b"), ("Bob", "\u{412}\u{43E}\u{432}"), ("Tom", "Torn"),
            ("William", "vvilliam"), ("Bill", "B1|l"), ("Bill", "Bi|l"), ("Bill", "Bi\u{1C0}l"),
            ("Bob", "\u{1C0}Bob||"), ("Billy", "Bi||y"), ("Billy", "Bi\u{1C0}|y"), ("Billy", "Bi|\u{200B}|y"),
            ("Billy", "Bi\u{200B}\u{1C0}\u{200D}ly"), ("Billy", "Bil\u{316}\u{1C0}y"),
        ])
    func alike(_ name: String, _ other: String) {
        #expect(Self.whole(name) == Self.whole(other))
        #expect(Self.whole(Self.whole(other)) == Self.whole(other))
    }

    @Test(
        "other names have another likeness, and a frame is no letter",
        arguments: [
            ("Jose", "José"), ("Bob", "Bobby"), ("|Bob|", "lBobl"), ("Bob | away", "Bob l away"), ("a ||", "a ll"),
        ])
    func different(_ name: String, _ other: String) { #expect(Self.whole(name) != Self.whole(other)) }

    @Test("the words of a name are its parts, alone and side by side, the first ones also without an s")
    func parts() {
        let words = NameLikeness(of: "Bobs Phone2")
        #expect(Set(words.parts) == ["bobs", "bob", "bobsphone", "phone", "phone2", "2"])
        #expect(!words.isLong && words.whole == "bobsphone2")
        #expect(NameLikeness(of: "BobSmith").parts == ["bob", "smlth"])
        let long = NameLikeness(of: "a b c d e f g h i")
        #expect(long.isLong && long.parts.isEmpty && !NameLikeness(of: "a b c d e f g h").isLong)
    }
}
