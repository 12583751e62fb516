import InklingCLI
import InklingModel
import Testing

@Suite("The labels of a watch")
struct WatchedLabelsTests {
    private static let now: Timestamp = 1_000_000

    private static func user(_ number: Int) throws -> UserID {
        let letters = Array("abcdefghijklmnopqrstuvwxyz")
        let text = (0..<16).reduce(into: ("", number)) { result, _ in
            result.0.append(letters[result.1 % 26])
            result.1 /= 26
        }
        return try #require(UserID(text.0))
    }

    private static func peer(
        _ number: Int, _ presence: Presence, firstSeen: Timestamp = now, isVerified: Bool = false
    ) throws -> Peer {
        Peer(
            user: try user(number), name: "P\(number)x", presence: presence,
            key: try #require(PublicKey(String(repeating: "B", count: 42) + "A")), firstSeen: firstSeen,
            isVerified: isVerified)
    }

    @Test("people present, verified and met keep their labels, and of the others the last 256 who left")
    func rooms() throws {
        var labels = WatchedLabels(ownName: "Alice")
        labels.update(try Self.peer(1, .online), now: Self.now)
        labels.update(try Self.peer(2, .offline, isVerified: true), now: Self.now)
        labels.update(try Self.peer(3, .offline, firstSeen: Self.now - .seconds(90_000)), now: Self.now)
        let first = 100
        for number in first..<first + 1_000 {
            labels.update(try Self.peer(number, .online), now: Self.now)
            labels.update(try Self.peer(number, .offline), now: Self.now)
        }
        func name(_ number: Int) throws -> String { labels.label(of: try Self.user(number)).name }
        #expect(try (1...3).map(name) == ["P1x", "P2x", "P3x"])
        let kept = try (first..<first + 1_000).filter { try name($0) != "Someone" }
        #expect(kept == Array(first + 1_000 - WatchedLabels.strangers..<first + 1_000))
        for number in 0..<WatchedLabels.met {
            labels.update(try Self.peer(5_000 + number, .offline, firstSeen: 0), now: Self.now)
        }
        #expect(try name(3) == "Someone", "also of people met the number is limited")
        #expect(try name(2) == "P2x")
    }

    @Test("people who left while no node was there count as gone, and one who returns is present again")
    func joined() throws {
        var labels = WatchedLabels(ownName: "Alice")
        labels.update(try Self.peer(1, .online), now: Self.now)
        labels.update(try Self.peer(2, .offline), now: Self.now)
        labels.join([try Self.peer(2, .away)], now: Self.now)
        for number in 100..<100 + WatchedLabels.strangers {
            labels.meet(Person(user: try Self.user(number), name: "Bob\(number)"))
        }
        #expect(labels.label(of: try Self.user(1)).name == "Someone")
        #expect(labels.label(of: try Self.user(2)).name == "P2x")
    }
}
