import InklingConsole
import InklingModel
import InklingText
import Testing

@Suite("Who is called something else")
struct RenameTests {
    private static func named(_ name: String, _ letter: Character, isVerified: Bool = false) -> StagePerson {
        StagePerson(name: name, letter: letter, isVerified: isVerified)
    }

    private static func stage(_ people: [StagePerson]) -> ChatStage {
        var stage = ChatStage.begun(people)
        stage.advance(by: 5_000)
        _ = stage.newLines()
        return stage
    }

    @Test("a change of name is told at once, with what is known of them; the next ones after 10 s, as they are then")
    func told() {
        let mark = Labels.verifiedMark
        var stage = Self.stage([Self.named("Bob", "b", isVerified: true), .dora])
        stage.come(Self.named("Solo", "b", isVerified: true))
        #expect(stage.newLines() == ["12:00 * Bob \(mark) is now called Solo \(mark)"])
        stage.come(Self.named("Duo", "b", isVerified: true))
        stage.come(Self.named("Trio", "b", isVerified: true))
        stage.advance(by: 9_999)
        #expect(stage.newLines().isEmpty)
        stage.advance(by: 1)
        #expect(stage.newLines() == ["12:00 * Solo \(mark) is now called Trio \(mark)"])
        stage.come(Self.named("Duo", "b", isVerified: true))
        stage.come(Self.named("Trio", "b", isVerified: true))
        stage.advance(by: 60_000)
        #expect(stage.newLines().isEmpty, "nothing has changed")
    }

    @Test("whoever speaks under a new name is introduced first")
    func beforeMessage() {
        var stage = Self.stage([.bob, .charlie])
        stage.come(Self.named("Carl", "c"))
        stage.come(Self.named("Bert", "b"))
        #expect(stage.newLines() == ["12:00 * Charlie is now called Carl"])
        stage.receive("hello", from: Self.named("Bert", "b"))
        #expect(stage.newLines() == ["12:00 * Bob is now called Bert", "12:00 Bert: hello"])
        stage.advance(by: 60_000)
        #expect(stage.newLines().isEmpty)
    }

    @Test("many who change their names are one line; of who is muted, nothing is told")
    func many() {
        let people = "cdefghij".map { Self.named("\($0)", $0) }
        var stage = Self.stage([.bob] + people)
        stage.come(Self.named("Bert", "b"))
        _ = stage.enter("/mute c")
        _ = stage.newLines()
        for person in people { stage.come(Self.named("New \(person.name)", person.letter)) }
        stage.come(Self.named("New d", "d"), .offline)
        #expect(stage.newLines() == ["12:00 * d is now called New d"])
        stage.advance(by: 9_000)
        _ = stage.newLines()
        stage.advance(by: 1_000)
        #expect(stage.newLines() == ["12:00 * 6 people have changed their names"])
    }

    @Test("the last name is told in the end, also of who leaves before its time, but not of a flood of them")
    func lastName() {
        var stage = Self.stage([.bob, .charlie])
        stage.come(Self.named("Zoe", "b"))
        stage.advance(by: 4_000)
        stage.come(.bob)
        #expect(stage.newLines() == ["12:00 * Bob is now called Zoe"])
        stage.come(.bob, .offline)
        stage.advance(by: 1_000)
        #expect(stage.newLines() == ["12:00 * Zoe is now called Bob", "12:00 * Bob has left"])
        let people = "efghijkl".map { Self.named("\($0)", $0) }
        for person in people { stage.come(person) }
        stage.advance(by: 60_000)
        _ = stage.newLines()
        stage.come(Self.named("Carl", "c"))
        for person in people { stage.come(Self.named("New \(person.name)", person.letter)) }
        for person in people { stage.come(Self.named("New \(person.name)", person.letter), .offline) }
        #expect(stage.newLines().count == 4)
    }

    @Test(
        "a name is told that an answer of the node brings before the event does, or that changed while the node was gone"
    )
    func otherWays() {
        var stage = ChatStage.begun([.bob, .charlie], place: .daemon)
        stage.node.people[StagePerson.bob.user] = Self.named("Bert", "b")
        _ = stage.enter("/who")
        stage.come(Self.named("Bert", "b"))
        stage.advance(by: 1)
        #expect(stage.newLines() == ["12:00 * Bob is now called Bert"])
        stage.advance(by: 10_000)
        stage.perform(stage.model.receive(.ended(.lost), at: stage.moment))
        stage.perform(stage.model.reattached(ChatStage.identity("Alice"), at: stage.moment))
        _ = stage.newLines()
        stage.come(Self.named("Carl", "c"))
        #expect(stage.newLines() == ["12:00 * Charlie is now called Carl"])
    }
}
