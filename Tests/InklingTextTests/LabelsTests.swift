import Foundation
import InklingModel
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
        // The order in which people became known makes no difference.
        let reversed = Self.labels(row.people.reversed())
        #expect(row.people.map { reversed.label(of: $0.user).text } == row.texts)
    }

    @Test("a label changes when a clash appears, and back when the clash is over")
    func stable() {
        var labels = Self.labels([Person(user: "mfrg2", name: "Bob")])
        #expect(labels.label(of: "mfrg2").text == "Bob")
        let changed = labels.update(Person(user: "abcd2", name: "bob"))
        #expect(changed.map(\.text) == ["bob ~abcd", "Bob ~mfrg"])
        #expect(labels.update(Person(user: "abcd2", name: "bob", acquaintance: .known)).isEmpty)
        #expect(labels.update(Person(user: "abcd2", name: "Ben")).map(\.text) == ["Ben", "Bob"])
        #expect(labels.update(Person(user: "xyz22", name: "Dora")).map(\.text) == ["Dora"])
        #expect(labels.all.map(\.text) == ["Ben", "Bob", "Dora"])
        labels.setOwnName("Dora")
        #expect(labels.label(of: "xyz22").text == "Dora ~xyz2")
        labels.setOwnName("Alice")
        #expect(labels.label(of: "xyz22").text == "Dora")
    }

    @Test("a suffix goes with the last reason for it, and never because somebody left")
    func lastReason() {
        var labels = Self.labels([
            Person(user: "mfrg2", name: "Bob"), Person(user: "abcd2", name: "Bob"), Person(user: "xyz22", name: "Bob"),
            Person(user: "qrst2", name: "Bob's laptop"),
        ])
        labels.update(Person(user: "abcd2", name: "Ann"))
        #expect(labels.label(of: "mfrg2").text == "Bob ~mfrg" && labels.label(of: "xyz22").text == "Bob ~xyz2")
        labels.update(Person(user: "xyz22", name: "Eve"))
        #expect(labels.label(of: "mfrg2").text == "Bob" && labels.label(of: "qrst2").text == "Bob's laptop ~qrst")
        labels.update(Person(user: "mfrg2", name: "Robert"))
        #expect(labels.label(of: "qrst2").text == "Bob's laptop")
        labels.update(Person(user: "mfrg2", name: "Eve", isVerified: true))
        #expect(labels.label(of: "xyz22").text == "Eve ~xyz2")
        labels.remove("mfrg2")
        #expect(labels.label(of: "xyz22").text == "Eve ~xyz2")
        var verified = Self.labels([
            Person(user: "mfrg2", name: "Bob", isVerified: true), Person(user: "abcd2", name: "Bob", isVerified: true),
            Person(user: "xyz22", name: "Ann"), Person(user: "qrst2", name: "Ann Smith", isVerified: true),
        ])
        #expect(verified.label(of: "mfrg2").text == "Bob ~mfrg" && verified.label(of: "xyz22").text == "Ann ~xyz2")
        verified.update(Person(user: "abcd2", name: "Eve", isVerified: true))
        verified.update(Person(user: "qrst2", name: "Dora", isVerified: true))
        #expect(verified.label(of: "mfrg2").text == "Bob" && verified.label(of: "xyz22").text == "Ann")
    }

    @Test("an earlier label still finds its person, unless somebody else is called so now")
    func formerLabels() {
        var labels = Self.labels([Person(user: "mfrg2", name: "Bob"), Person(user: "abcd2", name: "Bob")])
        labels.update(Person(user: "mfrg2", name: "Bob", isVerified: true))
        #expect(labels.label(of: "mfrg2").text == "Bob")
        #expect(labels.find("Bob ~mfrg") == .one("mfrg2") && labels.find("@bob ~mfrg \u{2713}") == .one("mfrg2"))
        labels.update(Person(user: "mfrg2", name: "Robert"))
        #expect(labels.find("Bob ~mfrg") == .one("mfrg2") && labels.find("Bob ~abcd") == .one("abcd2"))
        #expect(labels.find("Bob") == .one("abcd2"))
        labels.update(Person(user: "abcd2", name: "Ann"))
        #expect(labels.find("bob") == .several(["Ann", "Robert"]))
        for number in 0..<40 { labels.update(Person(user: "abcd2", name: "Ann \(number)")) }
        #expect(labels.find("Ann 1") == .nobody && labels.find("Ann 30") == .one("abcd2"))
    }

    private static let bob = "nfxg62dfoj3xs2lk"
    private static let mallory = "mallorymallory22"

    @Test("a name that dresses up as another, or as what the program says, has the suffix", arguments: DressedNames.all)
    func dressed(_ row: DressedNames.Row) {
        let stranger = Person(user: Self.mallory, name: row.name)
        #expect(Self.labels([stranger]).label(of: Self.mallory).marked == Self.quoted(row.withoutBob))
        for isVerified in [true, false] {
            let bob = Person(user: Self.bob, name: "Bob", acquaintance: .known, isVerified: isVerified)
            for people in [[bob, stranger], [stranger, bob]] {
                let labels = Self.labels(people)
                #expect(labels.label(of: Self.mallory).marked == Self.quoted(row.besideBob))
                let expected = isVerified ? "Bob \u{2713}" : row.looksLikeBob ? "Bob ~nfxg" : "Bob"
                #expect(labels.label(of: Self.bob).marked == expected)
            }
        }
    }

    /// A label as it is shown, whose name is in quotes if it could be read as two.
    private static func quoted(_ label: String) -> String {
        let isTwo = label.contains { ",;\"\u{3001}\u{60C}\u{FF0C}".contains($0) } || label.contains(" and ")
        guard isTwo else { return label }
        let parts = label.components(separatedBy: " ~mall")
        return "\"" + parts[0].replacingOccurrences(of: "\"", with: "'") + "\" ~mall"
    }

    @Test("one's own name is refused where others could not be shown it, or if it has a user ID in it")
    func ownName() {
        for (name, fault) in [
            ("", NameFault.empty), ("🦊", .unreadable), ("---", .unreadable), ("\u{200B}", .unreadable),
            ("✓", .unreadable),
            ("Bob (mfrggzdfmztwq2lk)", .userID), ("MFRGGZDFMZTWQ2LK", .userID), ("ｍfrggzdfmztwq2lk", .userID),
            ("a\u{1B}b", .controlCharacter), (String(repeating: "x", count: 65), .tooLong(bytes: 65, maximum: 64)),
        ] {
            #expect(NameFault(ofOwnName: name) == fault, "\(name)")
        }
        for name in ["Bob", "Zoe 🦊", "Bob (work)", "christophersmith2", "Christopherjones", "日本", "7"] {
            #expect(NameFault(ofOwnName: name) == nil, "\(name)")
        }
    }

    @Test("there are more than 300 names that dress up, or don't, each once")
    func size() {
        #expect(Set(DressedNames.all.map { Array($0.name.unicodeScalars) }).count == DressedNames.all.count)
        #expect(DressedNames.all.count > 307)
        // Each rule has something to say, and something to leave alone.
        #expect(DressedNames.all.count { $0.withoutBob.hasSuffix("~mall") } > 100)
        #expect(DressedNames.all.count { $0.besideBob != $0.withoutBob } > 100)
        #expect(DressedNames.all.count { !$0.besideBob.hasSuffix("~mall") } > 80)
    }

    @Test("of two names of which one is part of the other the longer one has the suffix, unless it alone is verified")
    func parts() {
        func labels(_ short: Bool, _ long: Bool) -> [String] {
            let people = [
                Person(user: "mfrg2", name: "Bob", isVerified: short),
                Person(user: "abcd2", name: "Bob Smith", isVerified: long),
                Person(user: "xyz22", name: "Bob Jones"), Person(user: "qrst2", name: "Ann Smith"),
            ]
            let orders = [people, people.reversed(), [people[1], people[0], people[3], people[2]]].map {
                Self.labels($0)
            }
            let texts = orders.map { labels in people.map { labels.label(of: $0.user).marked } }
            #expect(texts.allSatisfy { $0 == texts[0] })
            return texts[0]
        }
        #expect(labels(false, false) == ["Bob", "Bob Smith ~abcd", "Bob Jones ~xyz2", "Ann Smith"])
        #expect(labels(true, false) == ["Bob \u{2713}", "Bob Smith ~abcd", "Bob Jones ~xyz2", "Ann Smith"])
        #expect(labels(false, true) == ["Bob ~mfrg", "Bob Smith \u{2713}", "Bob Jones ~xyz2", "Ann Smith"])
        #expect(labels(true, true) == ["Bob \u{2713}", "Bob Smith \u{2713}", "Bob Jones ~xyz2", "Ann Smith"])
        let smiths = Self.labels([Person(user: "abcd2", name: "Bob Smith"), Person(user: "xyz22", name: "Bob Jones")])
        #expect(smiths.all.map(\.text) == ["Bob Jones", "Bob Smith"])
    }

    @Test("who is verified has a mark instead of the suffix; two of one name who are have both")
    func verified() {
        var labels = Self.labels([Person(user: "mfrg2", name: "Bob"), Person(user: "abcd2", name: "bob")])
        #expect(labels.update(Person(user: "mfrg2", name: "Bob", isVerified: true)).map(\.marked) == ["Bob \u{2713}"])
        #expect(labels.label(of: "abcd2").marked == "bob ~abcd")
        #expect(labels.find("Bob") == .one("mfrg2") && labels.find("Bob \u{2713}") == .one("mfrg2"))
        #expect(
            labels.update(Person(user: "abcd2", name: "bob", isVerified: true)).map(\.marked)
                == ["bob ~abcd \u{2713}", "Bob ~mfrg \u{2713}"])
        labels.update(Person(user: "abcd2", name: "bob"))
        #expect(labels.update(Person(user: "mfrg2", name: "Bob")).map(\.marked) == ["Bob ~mfrg"])
        let people = labels.all + Self.labels([Person(user: "xyz22", name: "Eve", isVerified: true)]).all
        #expect(IndicatorText.text(people: people) == "Bob ~mfrg, bob ~abcd, and Eve \u{2713} are typing")
        #expect(PresenceLine(labels: people, change: .left).text == "Bob ~mfrg, bob ~abcd and Eve \u{2713} have left")
    }

    @Test("whoever is removed leaves nothing behind that others are compared with")
    func nothingBehind() {
        var labels = Self.labels([])
        for number in 0..<50 {
            labels.update(Person(user: "user\(number)", name: "Bob the \(number)", isVerified: number % 3 == 0))
            labels.update(Person(user: "user\(number)", name: "Bob a \(number)", isVerified: number % 2 == 0))
        }
        for number in 0..<50 { labels.remove("user\(number)") }
        for name in ["Bob", "the", "Bob a 7"] {
            #expect(labels.update(Person(user: "mfrg2", name: name)).map(\.marked) == [name])
        }
    }

    @Test("a crowd whose names contain one that comes and goes costs as much as it is large")
    func floodOfParts() {
        var labels = Self.labels([])
        let clock = ContinuousClock()
        func names(_ count: Int) -> Duration {
            clock.measure {
                for number in 0..<count {
                    labels.update(Person(user: "user\(number)", name: "Bob x\(number) y z a b c"))
                    labels.update(Person(user: "mfrg2", name: number % 2 == 0 ? "Bob" : "Eve"))
                }
            }
        }
        let (small, large) = (names(200), names(4_000))
        #expect(large < small * 200, "\(small), \(large)")
        #expect(labels.label(of: "user7").text == "Bob x7 y z a b c ~user")
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
