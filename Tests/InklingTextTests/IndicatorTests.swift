import InklingText
import Testing

@Suite("Indicator text")
struct IndicatorTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let style: IndicatorStyle
        let names: [String]
        let text: String
        var testDescription: String { "\(style) \(names)" }
    }

    static let many = ["Alice", "Bob", "Charlie", "Dora", "Eve", "Fay", "Gus", "Hal", "Ida", "Jo", "Kim", "Lee"]

    @Test(
        "R17: each style names the typists in its own way",
        arguments: [
            Row(style: .standard, names: [], text: ""),
            Row(style: .standard, names: ["Alice"], text: "Alice is typing"),
            Row(style: .standard, names: ["Alice", "Bob"], text: "Alice and Bob are typing"),
            Row(style: .standard, names: Array(many[..<3]), text: "Alice, Bob, and Charlie are typing"),
            Row(style: .standard, names: Array(many[..<4]), text: "Alice, Bob, and 2 others are typing"),
            Row(style: .standard, names: Array(many[..<5]), text: "Alice, Bob, and 3 others are typing"),
            Row(style: .standard, names: many, text: "Alice, Bob, and 10 others are typing"),
            Row(style: .short, names: [], text: ""),
            Row(style: .short, names: ["Alice"], text: "Alice is typing"),
            Row(style: .short, names: ["Alice", "Bob"], text: "Alice and Bob are typing"),
            Row(style: .short, names: Array(many[..<3]), text: "Alice and 2 others are typing"),
            Row(style: .short, names: many, text: "Alice and 11 others are typing"),
            Row(style: .list, names: [], text: ""),
            Row(style: .list, names: ["Alice"], text: "Alice is typing"),
            Row(style: .list, names: ["Alice", "Bob"], text: "Alice and Bob are typing"),
            Row(style: .list, names: Array(many[..<3]), text: "Alice, Bob, and 1 more are typing"),
            Row(style: .list, names: many, text: "Alice, Bob, and 10 more are typing"),
        ])
    func styles(_ row: Row) {
        #expect(IndicatorText.text(names: row.names, style: row.style) == row.text)
    }

    @Test("R18: the names come in the order given, whoever is first")
    func order() {
        #expect(IndicatorText.text(names: ["Bob", "Alice"]) == "Bob and Alice are typing")
    }

    @Test(
        "R19: long, empty and unknown names",
        arguments: [
            Row(style: .standard, names: ["Fifteen letters"], text: "Fifteen letters is typing"),
            Row(style: .standard, names: ["Sixteen letters!"], text: "Sixteen letters... is typing"),
            Row(
                style: .standard, names: [String(repeating: "👨‍👩‍👧", count: 16)],
                text: String(repeating: "👨‍👩‍👧", count: 15) + "... is typing"),
            Row(
                style: .standard, names: [String(repeating: "e\u{301}", count: 15)],
                text: String(repeating: "e\u{301}", count: 15) + " is typing"),
            Row(style: .standard, names: [""], text: "Someone is typing"),
            Row(style: .standard, names: ["Alice", ""], text: "Alice and Someone are typing"),
            Row(style: .standard, names: ["Alice", "Bob", ""], text: "Alice, Bob, and Someone are typing"),
            Row(style: .standard, names: ["", "", ""], text: "3 people are typing"),
            Row(style: .short, names: ["", ""], text: "2 people are typing"),
            Row(style: .list, names: ["", "", "", ""], text: "4 people are typing"),
        ])
    func names(_ row: Row) {
        #expect(IndicatorText.text(names: row.names, style: row.style) == row.text)
    }

    @Test("R20: one to three dots in turn, or three that stand still")
    func dots() {
        #expect(
            (0..<7).map { IndicatorText.dots(step: $0, reducedMotion: false) } == [
                ".", "..", "...", ".", "..", "...", ".",
            ])
        #expect((0..<7).allSatisfy { IndicatorText.dots(step: $0, reducedMotion: true) == "..." })
        #expect(IndicatorText.dots(step: -1, reducedMotion: false) == "...")
    }
}

@Suite("Presence text")
struct PresenceTextTests {
    @Test(
        "R23: last seen, from one limit to the next",
        arguments: [
            (0, "Last seen just now"), (59, "Last seen just now"), (60, "1m ago"), (179, "2m ago"), (180, "3m ago"),
            (299, "4m ago"), (300, "Active recently"), (3_599, "Active recently"), (3_600, "Last seen today"),
            (86_399, "Last seen today"), (86_400, "Last seen recently"), (10_000_000, "Last seen recently"),
            (-5, "Last seen just now"), (-59, "Last seen just now"), (-60, "Last seen recently"),
            (-7_200, "Last seen recently"),
        ])
    func lastSeen(seconds: Int, text: String) {
        #expect(PresenceText.lastSeen(age: .seconds(seconds)) == text)
    }

    @Test("R23: online, and nobody knows when")
    func others() {
        #expect(PresenceText.online == "Active now")
        #expect(PresenceText.lastSeen(age: nil) == "Last seen recently")
    }
}
