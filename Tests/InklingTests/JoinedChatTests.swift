import Inkling
import InklingCore
import InklingWire
import Testing

@Suite("A chat that a node is in")
struct JoinedChatTests {
    @Test("for 3 s after a chat was joined others may not have been found (A-35)")
    func looking() throws {
        let chat = try Chat("lobby")
        let joined = Instant.zero + .seconds(5)
        let entry = JoinedChat(chat, keys: chat.keys, instance: "x", at: joined)
        #expect(entry.isLooking(at: joined) && entry.isLooking(at: joined + .milliseconds(2_999)))
        #expect(!entry.isLooking(at: joined + .seconds(3)) && !entry.isLooking(at: joined + .seconds(55)))
    }
}
