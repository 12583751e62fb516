import Inkling
import InklingCore
import InklingModel
import InklingWire
import SeededRandom
import Testing

/// One member with many keys, against the people for whom the user's texts wait.
@Suite("Waiting texts and throwaway keys")
struct WaitingFloodTests {
    private static let day: Double = 86_400

    /// A private chat as a node keeps it: the people met there, and the memory of people beyond it.
    private struct Stage {
        var known = KnownPeersTable()
        let entry: JoinedChat
        private var generator = SeededGenerator(seed: 3)

        init() throws {
            let chat = try Chat("team", secret: Secret("aaaaaaaaaaaaaaaaaaaaaaaaaa"))
            entry = JoinedChat(chat, keys: chat.keys, instance: "x", at: .zero)
        }

        mutating func key() -> PublicKey { KeyPair(using: &generator).publicKey }

        /// Lets a person come for some time and go, and returns their key.
        @discardableResult
        mutating func visit(_ key: PublicKey? = nil, at time: Double, for length: Duration = .seconds(1)) -> PublicKey {
            let key = key ?? self.key()
            let person = InklingCore.Person(key: key, name: "x")
            _ = entry.note(person, .online, at: Timestamp(rawValue: time), age: .zero + .seconds(time))
            known.met(key, at: time, for: length)
            let end = time + length / .seconds(1)
            _ = entry.note(person, .offline, at: Timestamp(rawValue: end), age: .zero + .seconds(end))
            known.seen(key, at: end)
            entry.forgetSome(in: known.peers)
            return key
        }

        var people: Set<PublicKey> { Set(entry.met.keys) }
    }

    //
    @Test("1,063 throwaway keys displace no verified person, nobody met on two days, and no friend of an hour")
    func flood() throws {
        var stage = try Stage()
        let verified = stage.visit(at: 0)
        stage.known.verify(verified)
        let regulars = (0..<20).map { _ in stage.visit(at: 0) }
        for regular in regulars { stage.visit(regular, at: Self.day) }
        let newcomers = (0..<20).map { _ in stage.visit(at: Self.day, for: .seconds(3_600)) }
        for number in 0..<1_063 { stage.visit(at: 2 * Self.day + Double(number)) }
        #expect(stage.people.contains(verified))
        #expect(stage.people.isSuperset(of: regulars))
        #expect(stage.people.isSuperset(of: newcomers))
        #expect(stage.people.count == 1 + 20 + 256, "newcomers have a quarter of the places")
        // Keys that come again on another day are many days late.
        let late = stage.visit(at: 3 * Self.day, for: .seconds(60))
        #expect(stage.people.contains(late), "somebody who comes afterwards has a place")
    }

    //
    @Test("of those met on several days, the people met on the fewest go first, and a verified one never")
    func patience() throws {
        var stage = try Stage()
        let friends = (0..<10).map { _ in stage.key() }
        for day in 0..<5 {
            for friend in friends { stage.visit(friend, at: Double(day) * Self.day, for: .seconds(600)) }
        }
        let verified = stage.visit(at: 0)
        stage.known.verify(verified)
        let keys = (0..<900).map { _ in stage.key() }
        for day in 5..<7 { for key in keys { stage.visit(key, at: Double(day) * Self.day, for: .seconds(600)) } }
        #expect(stage.people.isSuperset(of: friends) && stage.people.contains(verified))
        let regulars = stage.people.count { stage.known.peers.standings[$0] == .met }
        #expect(regulars <= 768 && regulars > 500)
    }

    //
    @Test("beside 256 throwaway keys each message waits for a friend, over a restart, and little room is lost")
    func places() async throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: 9)
        func key() -> PublicKey { KeyPair(using: &random).publicKey }
        let now = Node.wallClock().rawValue
        let chat = try #require(TextNode.chat)
        let (friend, regular) = (key(), key())
        var table = KnownPeersTable()
        let stored = chat.storedName
        table.met(friend, name: "Bob", chat: stored, at: now - 100)
        table.verify(friend)
        table.met(regular, name: "Carol", chat: stored, at: now - 3 * Self.day)
        table.met(regular, name: "Carol", chat: stored, at: now - 100)
        for _ in 0..<256 { table.met(key(), name: "Eve", chat: stored, at: now - 50) }
        var state = StateContents()
        state.people = table.peers
        state.write(in: folder.path)
        let alice = try await TextNode("Alice", in: folder.path)
        for number in 1...6 { try await alice.send("text \(number)") }
        for user in [friend.userID, regular.userID] {
            try await alice.wait("all wait") { node in
                try await node.events.count {
                    if case .waiting(let receipt) = $0 { receipt.user == user } else { false }
                } == 6
            }
        }
        let refused = try await alice.events.compactMap { event -> UserID? in
            if case .failed(let failure) = event, failure.why == .noRoom { failure.user } else { nil }
        }
        let least = 6 * 256 - 126
        #expect(refused.count >= least, "newcomers have an eighth of the places")
        #expect(!refused.contains(friend.userID) && !refused.contains(regular.userID))
        try await alice.stop()
        withExtendedLifetime(folder) {}
    }
}
