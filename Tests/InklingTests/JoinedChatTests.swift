import Inkling
import InklingCore
import InklingTestSupport
import InklingWire
import Testing

@Suite("A chat that a node is in")
struct JoinedChatTests {
    @Test("for 3 s after a chat was joined others may not have been found (A-35)")
    func looking() throws {
        let chat = try Chat("lobby")
        let entry = JoinedChat(chat, keys: VirtualLAN.lobby, instance: "x", at: .at(5_000))
        #expect(entry.isLooking(at: .at(5_000)) && entry.isLooking(at: .at(7_999)))
        #expect(!entry.isLooking(at: .at(8_000)) && !entry.isLooking(at: .at(60_000)))
    }
}
