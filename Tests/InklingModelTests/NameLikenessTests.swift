import InklingModel
import Testing

@Suite("The likeness of names")
struct NameLikenessTests {
    private static func whole(_ name: String) -> String { NameLikeness(of: name).whole }

    /// The folded spellings among keys.
    private static func texts(_ keys: [String]) -> Set<String> {
        Set(keys.filter { $0.hasPrefix("t:") }.map { String($0.dropFirst(2)) })
    }

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

    @Test(
        "R42: names are alike if they share a skeleton, before or after folding, and not if only a folded skeleton does",
        arguments: [
            ("Ian", "Ian", true), ("Ian", "lan", true), ("Ian", "Lan", false), ("IAN", "LAN", false),
            ("Alice", "AIice", true), ("Bob", "\u{10301}0b", true), ("Torn", "Tom", true), ("Kai", "Kal", false),
            ("Bill", "B1ll", true), ("Max", "Ma\u{D7}", true), ("Tom", "T\u{ED0}m", true), ("", "---", true),
            ("José", "Jose", false),
        ])
    func skeletons(_ name: String, _ other: String, _ isAlike: Bool) {
        #expect(NameLikeness(of: name).isAlike(NameLikeness(of: other)) == isAlike)
        #expect(NameLikeness(of: other).isAlike(NameLikeness(of: name, withParts: false)) == isAlike)
    }

    @Test("the words of a name are its parts, alone and side by side, the first ones also without an s")
    func parts() {
        let words = NameLikeness(of: "Bobs Phone2")
        #expect(Self.texts(words.parts) == ["bobs", "bob", "bobsphone", "phone", "2", "phone2"])
        #expect(!words.isLong && words.whole == "bobsphone2" && Self.texts(words.keys) == ["bobsphone2"])
        #expect(Self.texts(NameLikeness(of: "BobSmith").parts) == ["bob", "smith"])
        #expect(NameLikeness(of: "BobSmith", withParts: false).parts.isEmpty)
        let long = NameLikeness(of: "a b c d e f g h i")
        #expect(long.isLong && long.parts.isEmpty && !NameLikeness(of: "a b c d e f g h").isLong)
    }
}
