import InklingWire
import Testing

@Suite("Successors")
struct SuccessorTests {
    private static let keys: [PublicKey] = {
        var generator = SeededGenerator(seed: 5)
        return (0..<40).map { _ in KeyPair(using: &generator).publicKey }
    }()

    private func successor(removed: [PublicKey] = [], seed: UInt64 = 6) -> Successor {
        var generator = SeededGenerator(seed: seed)
        return Successor(seed: SuccessorSeed(using: &generator), owner: Self.keys[0], removed: removed)
    }

    private func chat(_ seed: UInt64) -> ChatKeys {
        var generator = SeededGenerator(seed: seed)
        return ChatKeys(secret: ChatSecret(using: &generator), owner: Self.keys[0])
    }

    @Test("M-89: of over 32 removed keys the oldest are left out, and the body fits one record")
    func oldest() throws {
        let successor = successor(removed: Array(Self.keys[1...]))
        #expect(successor.removed == Array(Self.keys.suffix(32)))
        #expect(successor.body.count == 1_074)
        #expect(successor.body.count <= Limits.maximumRecordTextSize)
        #expect(try Successor(successor.body) == successor)
    }

    @Test("M-89: no shorter part of a body is a successor, and no longer one")
    func truncations() {
        let body = successor(removed: Array(Self.keys[1...3])).body
        for count in 0..<body.count {
            #expect(throws: SuccessorError.length) { try Successor(Array(body.prefix(count))) }
        }
        #expect(throws: SuccessorError.length) { try Successor(body + [0]) }
    }

    @Test("M-89: a body that removes its owner is none, at each place of the list", arguments: 0..<3)
    func ownerRemoved(_ place: Int) {
        var removed = Array(Self.keys[1...3])
        removed[place] = Self.keys[0]
        #expect(throws: SuccessorError.ownerRemoved) { try Successor(successor(removed: removed).body) }
    }

    @Test("W-42: the old chat's key and each byte of the body decide on the secret")
    func secrets() throws {
        let successor = successor(removed: Array(Self.keys[1...2]))
        let secret = successor.secret(in: chat(1))
        #expect(successor.secret(in: chat(1)) == secret && successor.secret(in: chat(2)) != secret)
        #expect(successor.keys(in: chat(1)) == ChatKeys(secret: secret, owner: Self.keys[0]))
        #expect(self.successor(removed: Array(Self.keys[1...2]), seed: 7).secret(in: chat(1)) != secret)
        #expect(self.successor(removed: [Self.keys[2], Self.keys[1]]).secret(in: chat(1)) != secret)
        #expect(self.successor(removed: [Self.keys[1]]).secret(in: chat(1)) != secret)
        let other = Successor(seed: successor.seed, owner: Self.keys[3], removed: successor.removed)
        #expect(other.secret(in: chat(1)) != secret)
    }

    @Test("a fingerprint differs by chat, and shows neither the chat key nor another key of the chat")
    func fingerprints() {
        let (one, other) = (chat(1), chat(2))
        #expect(one.fingerprint != other.fingerprint && one.fingerprint == chat(1).fingerprint)
        #expect(one.fingerprint.bytes != one.preSharedKey && one.fingerprint.bytes != one.prologueKey)
    }
}
