import InklingCLI
import InklingModel
import Testing

@Suite("What those are called who speak while nobody looks")
struct SpeakerLabelsTests {
    private static func person(_ number: Int, _ name: String) throws -> Person {
        let letters = Array("abcdefghijklmnopqrstuvwxyz")
        var (text, rest) = ("", number)
        for _ in 0..<16 {
            text.append(letters[rest % 26])
            rest /= 26
        }
        return Person(user: try #require(UserID(text)), name: name)
    }

    @Test("people of one name are told apart, and so is whoever is called as the user")
    func labels() throws {
        var speakers = SpeakerLabels()
        #expect(speakers.label(of: try Self.person(1, "Bob"), in: "kitchen", ownName: "Alice") == "Bob")
        #expect(speakers.label(of: try Self.person(2, "Bob"), in: "kitchen", ownName: "Alice").hasPrefix("Bob ~"))
        #expect(speakers.label(of: try Self.person(2, "Bob"), in: "garden", ownName: "Alice") == "Bob")
        #expect(speakers.label(of: try Self.person(3, "Carol"), in: "garden", ownName: "Carol").hasPrefix("Carol ~"))
    }

    @Test("thousands of strangers, and of chats, take no more room than a few")
    func room() throws {
        var speakers = SpeakerLabels()
        for number in 0..<1_000 {
            _ = speakers.label(of: try Self.person(number, "Bob \(number)"), in: "kitchen", ownName: "Alice")
        }
        #expect(speakers.count == SpeakerLabels.mostPeople)
        #expect(speakers.label(of: try Self.person(0, "Bob 0"), in: "kitchen", ownName: "Alice") == "Bob 0")
        for number in 0..<1_000 {
            _ = speakers.label(of: try Self.person(1, "Bob"), in: "chat \(number)", ownName: "Alice")
        }
        #expect(speakers.count <= SpeakerLabels.mostPeople + SpeakerLabels.mostChats)
    }
}
