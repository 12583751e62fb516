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
    let owner: String?
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
    @Test("an invite names its chat, secret and owner", arguments: InviteVectors.all?.invites ?? [])
    func invite(_ row: InviteCase) throws {
        let chat = try Chat(invite: row.text ?? "")
        #expect(chat.name == row.chatName)
        #expect(chat.secret?.text == row.secret)
        #expect(chat.owner?.base64url == row.owner)
        if row.canonical == true { #expect(chat.invite == row.text) }
        #expect(try Chat(invite: chat.invite ?? "") == chat)
    }

    // W-34. People copy blanks along, which count for programs alone: see JSONInterfaceTests.
    @Test("what is no invite is refused with a reason", arguments: InviteVectors.all?.invalidInvites ?? [])
    func noInvite(_ row: InviteCase) throws {
        let text = try #require(row.text)
        guard Blanks.trimmed(text, lineEnds: true) == text else { return #expect(row.name.contains("a blank")) }
        #expect(throws: NodeError.self) { try Chat(invite: text) }
    }

    // W-34
    @Test(
        "the reason says what is wrong, and never repeats the secret",
        arguments: [
            ("lobby#SECRET", NodeError.invite(.scheme), "does not begin with \"inkling:\""),
            ("inkling:lobby", .invite(.separator), "no \"#\""),
            ("inkling:%zz#SECRET", .invite(.encoding), "percent-encoded"),
            ("inkling:lobby#SECRET@", .invite(.owner), "public key"),
            ("inkling:lobby#SECRET@SECRET", .invite(.owner), "public key"),
            ("inkling:lobby#@SECRET", .secret(.length(0)), "26"),
            ("inkling:#SECRET", .chatName(.empty), "empty"),
        ])
    func fault(_ invite: String, _ error: NodeError, _ part: String) {
        #expect(throws: error) { try Chat(invite: invite.replacing("SECRET", with: Self.secret)) }
        #expect(error.description.contains(part) && !error.description.contains(Self.secret), "\(error)")
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

    // W-35
    @Test("no chat is named like an invite", arguments: ["inkling:x", "INKLING:", "inkling:\u{301}x"])
    func nameLikeAnInvite(_ name: String) {
        #expect(throws: NodeError.chatName(.invite)) { try Chat(name) }
        #expect(throws: NodeError.chatName(.invite)) { try Chat(invite: "inkling:\(name)#" + Self.secret) }
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
