import Foundation
import InklingText
import Testing

@Suite("Labels")
struct LabelsTests {
    typealias Person = Labels.Person

    static func labels(_ people: [Person], ownName: String = "Alice") -> Labels {
        var labels = Labels(ownName: ownName)
        for person in people { labels.update(person) }
        return labels
    }

    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        let people: [Person]
        let texts: [String]
        var testDescription: String { name }
    }

    @Test(
        "a name stands alone unless it could mislead",
        arguments: [
            Row(
                name: "different names",
                people: [Person(user: "mfrg2", name: "Bob"), Person(user: "abcd2", name: "Charlie")],
                texts: ["Bob", "Charlie"]),
            Row(
                name: "known and verified",
                people: [
                    Person(user: "mfrg2", name: "Bob", acquaintance: .known),
                    Person(user: "abcd2", name: "Dora", acquaintance: .known, isVerified: true),
                ], texts: ["Bob", "Dora"]),
            Row(
                name: "the same name",
                people: [Person(user: "mfrg2", name: "Bob"), Person(user: "abcd2", name: "Bob")],
                texts: ["Bob ~mfrg", "Bob ~abcd"]),
            Row(
                name: "another case", people: [Person(user: "mfrg2", name: "Bob"), Person(user: "abcd2", name: "BOB")],
                texts: ["Bob ~mfrg", "BOB ~abcd"]),
            Row(
                name: "the same after NFKC",
                people: [Person(user: "mfrg2", name: "Bob"), Person(user: "abcd2", name: "Ｂｏｂ")],
                texts: ["Bob ~mfrg", "Ｂｏｂ ~abcd"]),
            Row(
                name: "all Cyrillic and all Latin",
                people: [Person(user: "mfrg2", name: "Cocoa"), Person(user: "abcd2", name: "Сосоа")],
                texts: ["Cocoa ~mfrg", "Сосоа ~abcd"]),
            Row(
                name: "digits for letters",
                people: [Person(user: "mfrg2", name: "Leo"), Person(user: "abcd2", name: "1e0")],
                texts: ["Leo ~mfrg", "1e0 ~abcd"]),
            Row(
                name: "two narrow letters",
                people: [Person(user: "mfrg2", name: "Tom"), Person(user: "abcd2", name: "Torn")],
                texts: ["Tom ~mfrg", "Torn ~abcd"]),
            Row(
                name: "case folding of more than one letter",
                people: [Person(user: "mfrg2", name: "Strauß"), Person(user: "abcd2", name: "STRAUSS")],
                texts: ["Strauß ~mfrg", "STRAUSS ~abcd"]),
            Row(
                name: "accents differ",
                people: [Person(user: "mfrg2", name: "Jose"), Person(user: "abcd2", name: "José")],
                texts: ["Jose", "José"]),
            Row(
                name: "mixed scripts",
                people: [
                    Person(user: "mfrg2", name: "Bоris"), Person(user: "abcd2", name: "Αdam"),
                    Person(user: "xyz22", name: "Борис"),
                ],
                texts: ["Bоris ~mfrg", "Αdam ~abcd", "Борис"]),
            Row(
                name: "Latin beside scripts of other shapes",
                people: [Person(user: "mfrg2", name: "Bob 日本"), Person(user: "abcd2", name: "Zoe עברית")],
                texts: ["Bob 日本", "Zoe עברית"]),
            Row(
                name: "another key than before",
                people: [Person(user: "mfrg2", name: "Bob", acquaintance: .changedKey)],
                texts: ["Bob ~mfrg"]),
            Row(
                name: "another key that was compared",
                people: [Person(user: "mfrg2", name: "Bob", acquaintance: .changedKey, isVerified: true)],
                texts: ["Bob"]),
            Row(
                name: "the own name, the own word",
                people: [
                    Person(user: "mfrg2", name: "alice"), Person(user: "abcd2", name: "YOU"),
                    Person(user: "xyz22", name: "Someone"),
                ],
                texts: ["alice ~mfrg", "YOU ~abcd", "Someone ~xyz2"]),
            Row(
                name: "names that can't be shown",
                people: [
                    Person(user: "mfrg2", name: "\u{1B}[2J"), Person(user: "abcd2", name: ""),
                    Person(user: "xyz22", name: "🦊"),
                ],
                texts: ["Someone ~mfrg", "Someone ~abcd", "Someone ~xyz2"]),
            Row(
                name: "names like lines",
                people: [
                    Person(user: "mfrg2", name: "* Bob has left"), Person(user: "abcd2", name: "Bob: hi"),
                    Person(user: "xyz22", name: "--- x"), Person(user: "qrst2", name: "Bob ~mfrg"),
                ],
                texts: ["Bob has left ~mfrg", "Bob. hi ~abcd", "x ~xyz2", "Bob ~mfrg ~qrst"]),
            Row(
                name: "names as given",
                people: [Person(user: "mfrg2", name: "O'Neill 🦊"), Person(user: "abcd2", name: "'t Hooft")],
                texts: ["O'Neill 🦊", "'t Hooft"]),
            Row(
                name: "the same beginning of the identity",
                people: [
                    Person(user: "mfrgaa", name: "Bob"), Person(user: "mfrgab", name: "Bob"),
                    Person(user: "mfrhab", name: "Bob"),
                ],
                texts: ["Bob ~mfrgaa", "Bob ~mfrgab", "Bob ~mfrh"]),
            Row(
                name: "long names that differ where they are cut off",
                people: [
                    Person(user: "mfrg2", name: String(repeating: "x", count: 40) + "a"),
                    Person(user: "abcd2", name: String(repeating: "x", count: 40) + "b"),
                ],
                texts: [String(repeating: "x", count: 32) + " ~mfrg", String(repeating: "x", count: 32) + " ~abcd"]),
        ])
    func texts(_ row: Row) {
        let labels = Self.labels(row.people)
        #expect(row.people.map { labels.label(of: $0.user).text } == row.texts)
        // Whoever was known first makes no difference.
        let reversed = Self.labels(row.people.reversed())
        #expect(row.people.map { reversed.label(of: $0.user).text } == row.texts)
    }

    @Test("a label changes when a clash appears, and stays then")
    func stable() {
        var labels = Self.labels([Person(user: "mfrg2", name: "Bob")])
        #expect(labels.label(of: "mfrg2").text == "Bob")
        let changed = labels.update(Person(user: "abcd2", name: "bob"))
        #expect(changed.map(\.text) == ["bob ~abcd", "Bob ~mfrg"])
        #expect(labels.update(Person(user: "abcd2", name: "bob", acquaintance: .known)).isEmpty)
        #expect(labels.update(Person(user: "abcd2", name: "Ben")).map(\.text) == ["Ben"])
        #expect(labels.label(of: "mfrg2").text == "Bob ~mfrg")
        #expect(labels.update(Person(user: "xyz22", name: "Dora")).map(\.text) == ["Dora"])
        #expect(labels.all.map(\.text) == ["Ben", "Bob ~mfrg", "Dora"])
        labels.setOwnName("Dora")
        #expect(labels.label(of: "xyz22").text == "Dora ~xyz2")
    }

    @Test("who is removed clashes with nobody any more")
    func removed() {
        var labels = Self.labels([Person(user: "mfrg2", name: "Bob")])
        labels.remove("mfrg2")
        labels.remove("abcd2")
        #expect(labels.update(Person(user: "abcd2", name: "Bob")).map(\.text) == ["Bob"])
        #expect(labels.all.map(\.user) == ["abcd2"])
    }

    @Test("in a crowd of one name each has the shortest suffix that nobody else's identity begins with")
    func crowd() {
        // Identities that share long beginnings, in an order that is none.
        let users = (0..<256).map { number in
            String((0..<8).map { number * 73 % 256 & 1 << $0 == 0 ? "a" : "b" })
        }
        let labels = Self.labels(users.map { Person(user: $0, name: "Bob") })
        for user in users {
            let shared = users.filter { $0 != user }.map { zip($0, user).prefix { $0 == $1 }.count }.max() ?? 0
            #expect(labels.label(of: user).suffix == "~" + user.prefix(max(4, shared + 1)))
        }
        let few = ["bbbbaaaa", "aabbaaaa", "aabbabaa", "aababaaa"]
        let sparse = Self.labels(few.map { Person(user: $0, name: "Bob") })
        #expect(few.map { sparse.label(of: $0).suffix } == ["~bbbb", "~aabbaa", "~aabbab", "~aaba"])
    }

    @Test("somebody unknown is someone, told apart by the identity")
    func unknown() {
        #expect(Self.labels([]).label(of: "mfrg2222").text == "Someone ~mfrg")
    }

    @Test("a text finds whom it names, and asks back where it names several")
    func find() {
        let labels = Self.labels([
            Person(user: "mfrg2", name: "Bob"), Person(user: "abcd2", name: "bob"),
            Person(user: "xyz22", name: "Anna Maria"),
        ])
        #expect(labels.find("Anna Maria") == .one("xyz22"))
        #expect(labels.find(" @anna maria ") == .one("xyz22"))
        #expect(labels.find("Ａnna Maria") == .one("xyz22"))
        #expect(labels.find("xyz22") == .one("xyz22"))
        #expect(labels.find("bob") == .several(["Bob ~mfrg", "bob ~abcd"]))
        #expect(labels.find("Bob ~mfrg") == .one("mfrg2"))
        #expect(labels.find("~abcd") == .one("abcd2"))
        #expect(labels.find("Anna") == .nobody)
        #expect(labels.find("") == .nobody)
        #expect(labels.find("@") == .nobody)
    }

    @Test("R19: the indicator shortens names and keeps what tells them apart")
    func indicator() {
        let labels = Self.labels([
            Person(user: "mfrg2", name: "Bartholomew the Great"), Person(user: "abcd2", name: "bartholomew the great"),
            Person(user: "xyz22", name: ""),
        ])
        let people = ["mfrg2", "abcd2", "xyz22"].map(labels.label)
        #expect(
            IndicatorText.text(people: people)
                == "Bartholomew the... ~mfrg, bartholomew the... ~abcd, and Someone ~xyz2 are typing")
        #expect(IndicatorText.text(people: [people[0]], style: .short) == "Bartholomew the... ~mfrg is typing")
        #expect(IndicatorText.text(people: []) == "")
    }
}
