import Inkling
import InklingModel
import Testing

@Suite("Names of chats in the file of known people")
struct StoredChatsTests {
    // Files of version 0.2 stay valid, because it stored the same names. They reveal neither a chat's name nor its
    // secret.
    @Test(
        "a chat has the name that version 0.2 wrote",
        arguments: [
            ("lobby", nil, "47d3a0a411d88d58"), ("Team Lunch", nil, "414eda9310e516cb"),
            ("lobby", "aaaqeayeaudaocajbifqydiob4", "79c51863194dc842"),
            ("kitchen", "aaaqeayeaudaocajbifqydiob4", "79c51863194dc842"),
        ])
    func storedName(_ name: String, _ secret: String?, _ stored: String) throws {
        let secret = try secret.map { try Secret($0) }
        #expect(try Chat(name, secret: secret).storedName == stored)
    }

    // W-9
    @Test("another owner makes another chat")
    func owner() throws {
        let invite = "inkling:lobby#aaaqeayeaudaocajbifqydiob4"
        let owned = try Chat(invite: invite + "@zEQ4EaeBoq0nuAbKAJVpbKa4s4sXP4MxwehdbjanFiE")
        #expect(owned.storedName != (try Chat(invite: invite).storedName))
    }
}
