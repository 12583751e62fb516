import Foundation
import InklingModel
import Testing

/// A case of `Protocol/vectors/derivations.json` that concerns names and invites.
struct InviteCase: Decodable, Sendable, CustomTestStringConvertible {
    let name: String
    let clauses: [String]
    let text: String?
    let chatName: String?
    let secret: String?
    let canonical: Bool?

    var testDescription: String { "\(name) (\(clauses.joined(separator: ", ")))" }
}

private struct InviteVectors: Decodable {
    let invites: [InviteCase]
    let invalidInvites: [InviteCase]
    let invalidChatNames: [InviteCase]

    static let all: InviteVectors? = {
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Protocol/vectors/derivations.json")
        return try? JSONDecoder().decode(InviteVectors.self, from: Data(contentsOf: path))
    }()
}

@Suite("Chats and invites")
struct InviteTests {
    private static let secret = "abcdefghijklmnopqrstuvwxya"

    @Test("the vectors of invites are there")
    func vectorsExist() throws {
        let vectors = try #require(InviteVectors.all)
        #expect(vectors.invites.count > 5 && vectors.invalidInvites.count > 5 && vectors.invalidChatNames.count > 2)
    }

    // W-2, W-7, W-11
    @Test("an invite names its chat and secret", arguments: InviteVectors.all?.invites ?? [])
    func invite(_ row: InviteCase) throws {
        let chat = try Chat(invite: row.text ?? "")
        #expect(chat.name == row.chatName)
        #expect(chat.secret?.text == row.secret)
        if row.canonical == true { #expect(chat.invite == row.text) }
        #expect(try Chat(invite: chat.invite ?? "") == chat)
    }

    // W-11
    @Test("what is no invite is refused with a reason", arguments: InviteVectors.all?.invalidInvites ?? [])
    func noInvite(_ row: InviteCase) {
        #expect(throws: NodeError.self) { try Chat(invite: row.text ?? "") }
    }

    @Test(
        "an invite is known as one, whatever stands around it and however its scheme is written",
        arguments: ["inkling:kitchen#", " inkling:kitchen#", "\n\tINKLING:kitchen#", "Inkling:kitchen#"])
    func spelling(_ start: String) throws {
        let text = start + Self.secret + " \r\n"
        #expect(Chat.isInvite(text))
        #expect(try Chat(invite: text) == Chat("kitchen", secret: Secret(Self.secret)))
        #expect(throws: NodeError.self) { try Chat(text) }
    }

    @Test("a name is no invite", arguments: ["", "inkling", "kitchen", "kitchen inkling:", "inkling;", "ink ling:"])
    func name(_ name: String) { #expect(!Chat.isInvite(name)) }

    @Test("an invite hides behind no character that joins the last of its scheme")
    func joinedScheme() throws {
        let invite = "inkling:\u{301}x#" + Self.secret
        #expect(Chat.isInvite(invite))
        #expect(try Chat(invite: invite).name == "\u{301}x")
        #expect(throws: NodeError.self) { try Chat(invite) }
    }

    // W-11
    @Test("a chat that others named like an invite can be joined by one")
    func nameLikeAnInvite() throws {
        let chat = try Chat(invite: "inkling:inkling%3Ax#" + Self.secret)
        #expect(chat.name == "inkling:x")
        #expect(chat.invite == "inkling:inkling%3Ax#" + Self.secret)
    }

    // W-2
    @Test("what is no chat name is refused", arguments: InviteVectors.all?.invalidChatNames ?? [])
    func noChatName(_ row: InviteCase) {
        #expect(throws: NodeError.self) { try Chat(row.chatName ?? "") }
    }

    @Test("a passphrase is no secret, and the refusal says what to do")
    func passphrase() {
        do {
            _ = try Secret("correct horse battery staple")
            Issue.record("it was taken")
        } catch {
            #expect(error == .secret(.length(28)))
            #expect(error.description.contains("26 random characters"))
            #expect(!error.description.contains("horse"), "a secret is never repeated")
        }
    }

    @Test("two random secrets differ, and each can be read back")
    func random() throws {
        var generator = SystemRandomNumberGenerator()
        let secret = Secret(using: &generator)
        #expect(secret != Secret(using: &generator))
        #expect(try Secret(secret.text) == secret)
    }

    @Test("a name in decomposed form is the same chat as composed (W-2)")
    func composed() throws {
        #expect(try Chat("cafe\u{301}") == Chat("caf\u{E9}"))
        #expect(try Chat("cafe\u{301}").name.unicodeScalars.count == 4)
    }
}
