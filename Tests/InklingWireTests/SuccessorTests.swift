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

    @Test("a fingerprint differs by chat, and shows neither the chat key nor another key of the chat")
    func fingerprints() {
        let (one, other) = (chat(1), chat(2))
        #expect(one.fingerprint != other.fingerprint && one.fingerprint == chat(1).fingerprint)
        #expect(one.fingerprint.bytes != one.preSharedKey && one.fingerprint.bytes != one.prologueKey)
    }
}
