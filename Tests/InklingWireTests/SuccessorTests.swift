import InklingWire
import Testing

@Suite("Successors")
struct SuccessorTests {
    private static let keys: [PublicKey] = {
        var generator = SeededGenerator(seed: 5)
        return (0..<40).map { _ in KeyPair(using: &generator).publicKey }
    }()

    private func successor(_ generation: UInt32, removed: [PublicKey] = [], seed: UInt64 = 6) -> Successor {
        var generator = SeededGenerator(seed: seed)
        return Successor(
            generation: generation, secret: ChatSecret(using: &generator), owner: Self.keys[0], removed: removed)
    }

    @Test("M-60: of over 32 removed keys the oldest are left out, and the body fits one record")
    func oldest() throws {
        let successor = successor(1, removed: Array(Self.keys[1...]))
        #expect(successor.removed == Array(Self.keys.suffix(32)))
        #expect(successor.body.count == 1_078)
        #expect(successor.body.count <= Limits.maximumRecordTextSize)
        #expect(try Successor(successor.body) == successor)
    }

    @Test("M-60: no shorter part of a body is a successor, and no longer one")
    func truncations() {
        let body = successor(7, removed: Array(Self.keys[1...3])).body
        for count in 0..<body.count {
            #expect(throws: SuccessorError.length) { try Successor(Array(body.prefix(count))) }
        }
        #expect(throws: SuccessorError.length) { try Successor(body + [0]) }
    }

    @Test("M-61: the higher generation ranks higher, and then the lower fingerprint")
    func ranks() {
        let (one, other) = (successor(3, seed: 6), successor(3, seed: 7))
        #expect((one.rank < other.rank) == (one.keys.fingerprint > other.keys.fingerprint))
        #expect(one.rank < successor(4, seed: 6).rank && other.rank < successor(4, seed: 6).rank)
        #expect(ChatRank(generation: 0, one.keys) < other.rank && ChatRank(generation: 0, other.keys) < one.rank)
        #expect(one.rank == ChatRank(generation: 3, one.keys))
        #expect(successor(3, removed: [Self.keys[1]]).rank == one.rank)
    }

    @Test("M-61: the fingerprint depends on secret and owner, and shows neither chat key nor another key of the chat")
    func fingerprints() {
        let one = successor(1)
        let owners = ChatKeys(secret: one.secret, owner: Self.keys[1]).fingerprint
        #expect(Set([one.keys.fingerprint, ChatKeys(secret: one.secret).fingerprint, owners]).count == 3)
        #expect(one.keys.fingerprint.bytes != one.keys.preSharedKey)
        #expect(one.keys.fingerprint.bytes != one.keys.prologueKey)
    }
}
