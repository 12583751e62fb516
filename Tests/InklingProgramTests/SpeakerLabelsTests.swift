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

    private static func peer(
        _ number: Int, _ name: String, _ presence: Presence = .offline, namesakes: [UserID] = [],
        isVerified: Bool = false
    ) throws -> Peer {
        Peer(
            user: try person(number, name).user, name: name, presence: presence,
            key: try #require(PublicKey(String(repeating: "B", count: 42) + "A")), firstSeen: 1,
            isVerified: isVerified, namesakes: namesakes)
    }

    // R40
    @Test("an impostor is not called like the friend who has said nothing, whether present, verified or away")
    func impostor() throws {
        for (presence, isVerified) in [(Presence.online, false), (.offline, false), (.offline, true)] {
            var speakers = SpeakerLabels()
            let friend = try Self.peer(1, "Bob", presence, isVerified: isVerified)
            let impostor = try Self.peer(2, "B0b", .online)
            let label = speakers.label(
                of: try Self.person(2, "B0b"), impostor, in: "kitchen", ownName: "Alice", at: 0
            ) { [friend, impostor] }
            #expect(label.hasPrefix("B0b ~"))
        }
        var speakers = SpeakerLabels()
        let own = try Self.person(3, "Carol")
        #expect(speakers.label(of: own, nil, in: "garden", ownName: "Carol", at: 0) { [] }.hasPrefix("Carol ~"))
        #expect(
            speakers.label(of: try Self.person(1, "Bob"), nil, in: "garden", ownName: "Carol", at: 0) { [] } == "Bob")
    }

    @Test("the people of a chat are asked for once in 2 s, and the one who speaks each time")
    func cost() throws {
        var (speakers, count) = (SpeakerLabels(), 0)
        let friend = try Self.peer(1, "Bob")
        for time in 0..<100 {
            _ = speakers.label(
                of: try Self.person(2, "Eve"), try Self.peer(2, "Eve"), in: "kitchen", ownName: "Alice",
                at: Int64(time) * 40
            ) {
                count += 1
                return [friend]
            }
        }
        #expect(count == 2)
        let label = speakers.label(
            of: try Self.person(2, "Bob"), try Self.peer(2, "Bob"), in: "kitchen", ownName: "Alice", at: 3_990
        ) { [] }
        #expect(label.hasPrefix("Bob ~"), "one who took another name meanwhile")
    }
}
