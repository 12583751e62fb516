import InklingConsole
import InklingModel
import Testing

@Suite("The own name in messages")
struct MentionTests {
    @Test(
        "it counts as a word of its own, in any case and spelling",
        arguments: [
            ("Alice", "alice", "[alice]"), ("Alice", "ALICE, hi", "[ALICE], hi"), ("Alice", "malice", "malice"),
            ("Alice", "Alices", "Alices"), ("Alice", "@Alice!", "@[Alice]!"), ("Alice", "Alice's", "[Alice]'s"),
            ("Alice", "alice_x", "alice_x"), ("Alice", "Ａｌｉｃｅ", "[Ａｌｉｃｅ]"), ("Alice", "alice alice", "[alice] [alice]"),
            ("Zoé", "zoe\u{301}?", "[zoe\u{301}]?"), ("Zoé", "Zoe", "Zoe"), ("Zoe", "Zoe\u{301}", "Zoe\u{301}"),
            ("Weiß", "WEISS", "[WEISS]"), ("Anna Maria", "ask anna maria", "ask [anna maria]"),
            ("田中", "田中さん", "[田中]さん"), ("ﬁ", "fi", "[fi]"), ("R2", "R2D2 r2", "R2D2 [r2]"),
            ("Bob", "Bob\nbob", "[Bob]\n[bob]"), ("🙂", "🙂", "🙂"),
        ])
    func found(name: String, text: String, shown: String) {
        var stage = ChatStage.begun([.dora], as: name)
        stage.receive(text, from: .dora)
        let spans = stage.lines.last?.spans.dropFirst(2) ?? []
        #expect(
            spans.map { $0.emphasis == .bold ? "[\($0.text)]" : $0.text }.joined() == " " + shown)
    }

    @Test("it is looked for in the first 8,192 characters of a message, which are more than a screen holds")
    func large() {
        for (count, isFound) in [(8_186, true), (8_187, false)] {
            var stage = ChatStage.begun([.dora], rings: true)
            stage.receive(String(repeating: "é", count: count) + " Alice", from: .dora)
            #expect(stage.newEffects() == (isFound ? [.bell] : []))
        }
    }
}
