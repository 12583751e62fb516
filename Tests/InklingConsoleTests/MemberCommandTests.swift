import InklingConsole
import InklingModel
import InklingText
import Testing

@Suite("The members of a private chat at the prompt")
struct MemberCommandTests {
    private static let carol = StagePerson(name: "Carol", letter: "c", isVerified: true)

    private static func team(owner: Character?) -> Chat {
        guard let chat = try? Chat("team", secret: ChatStage.secret, owner: owner.map { ChatStage.key($0) }) else {
            preconditionFailure("not a chat's name")
        }
        return chat
    }

    /// A stage in the private chat `team`, with Bob and the verified Carol.
    private static func stage(owner: Character? = "a") -> ChatStage {
        var stage = ChatStage(team(owner: owner))
        stage.begin()
        stage.come(.bob, in: "team")
        stage.come(carol, in: "team")
        stage.advance(by: 3_000)
        _ = (stage.newLines(), stage.newRequests())
        return stage
    }

    @Test("/remove shows who moves, and moves exactly those after ok")
    func remove() {
        var stage = Self.stage()
        #expect(
            stage.enter("/remove Bob") == [
                "* This removes Bob: team moves to a new secret, which they do not get.",
                "* These move with you, as soon as they are here: Carol \(Labels.verifiedMark)",
                "* Nobody else moves. To do so: /remove Bob ok",
            ])
        #expect(stage.newRequests().allSatisfy { if case .move = $0 { false } else { true } })
        // Dora was not shown, so she does not move.
        stage.come(.dora, in: "team")
        stage.node.joined = Self.team(owner: "a")
        #expect(
            stage.enter("/remove Bob ok")
                == ["* Bob is removed from team. The others show when their nodes have moved"])
        let move = ServiceRequest.move(chat: "team", keys: [Self.carol.key], removed: [StagePerson.bob.key])
        #expect(stage.newRequests().contains(move))
    }

    @Test("without the list before, ok only shows the list, which holds for this person and this command")
    func confirmation() {
        var stage = Self.stage()
        stage.node.joined = Self.team(owner: "a")
        #expect(stage.enter("/remove Bob ok").last == "* Nobody else moves. To do so: /remove Bob ok")
        #expect(stage.enter("/remove Carol ok").last == "* Nobody else moves. To do so: /remove Carol ok")
        #expect(stage.enter("/owner Carol ok").last == "* Nobody else moves. To do so: /owner Carol ok")
        #expect(stage.enter("/remove Nobody") == ["! Nobody here is called Nobody; /who lists everybody"])
        #expect(stage.enter("/remove") == ["! /remove needs a name: /remove NAME [ok]"])
        #expect(stage.newRequests().allSatisfy { if case .move = $0 { false } else { true } })
    }

    @Test("/owner hands the chat over, to somebody unverified only by the user ID")
    func handOver() {
        var stage = Self.stage()
        #expect(
            stage.enter("/owner Bob") == [
                "! Bob is not verified, and an owner can remove everybody. Compare first: /verify Bob. Or say whom you "
                    + "mean: /owner bbbbbbbbbbbbbbbb"
            ])
        #expect(
            stage.enter("/owner bbbbbbbbbbbbbbbb") == [
                "* This makes Bob the owner: then only they invite, remove, and hand the chat over.",
                "* team moves to a new secret with these, as soon as they are here: "
                    + "Bob (not verified, bbbbbbbbbbbbbbbb), Carol \(Labels.verifiedMark)",
                "* Nobody else moves. To do so: /owner bbbbbbbbbbbbbbbb ok",
            ])
        stage.node.joined = Self.team(owner: "b")
        #expect(
            stage.enter("/owner bbbbbbbbbbbbbbbb ok")
                == ["* Bob owns team now. The others show when their nodes have moved"])
        let keys = [StagePerson.bob.key, Self.carol.key]
        #expect(stage.newRequests().contains(.move(chat: "team", keys: keys, owner: StagePerson.bob.key)))
    }

    @Test(
        "a chat of somebody else, of nobody, or open to anybody can't be moved",
        arguments: [
            (Self.team(owner: "b"), "This chat belongs to Bob. Only its owner removes members and hands it over"),
            (
                Self.team(owner: nil),
                "Nobody owns this chat, so /remove does not work in it. To make one of your own, and invite who is here: "
                    + "/own"
            ),
        ])
    func obstacles(_ chat: Chat, _ text: String) {
        var stage = ChatStage(chat)
        stage.begin()
        stage.come(.bob, in: "team")
        stage.advance(by: 3_000)
        #expect(stage.enter("/remove Bob") == ["! " + text])
    }

    @Test("/remove and /owner say why an open chat and a talk have no owner")
    func withoutOwner() throws {
        var open = ChatStage.begun([.bob])
        #expect(
            open.enter("/remove Bob") == [
                "! Anybody can join an open chat, so nobody can be removed from it. Make a private chat: /invite NAME"
            ])
        #expect(
            open.enter("/owner Bob")
                == ["! An open chat has no owner, so nobody can get it. Make a private chat: /invite NAME"])
        let key = StagePerson.bob.key
        var talk = ChatStage(try Chat("@Bob", talkWith: key, secret: ChatStage.secret))
        talk.begin()
        talk.come(.bob, in: "@Bob")
        #expect(
            talk.enter("/remove Bob") == ["! A talk is for two. To be left alone by somebody: /block NAME"])
        #expect(
            talk.enter("/owner Bob")
                == ["! A talk has no owner, so nobody can get it. Make a private chat: /invite NAME"])
    }

    @Test("/own makes a chat of one's own beside one without an owner, and invites who is there")
    func own() {
        var stage = Self.stage(owner: nil)
        #expect(
            stage.enter("/own") == [
                "* This makes the private chat team 2, which you own. Invited: Bob (not verified, bbbbbbbbbbbbbbbb), "
                    + "Carol \(Labels.verifiedMark)",
                "* team stays as it is. To do so: /own ok",
            ])
        #expect(stage.enter("/own club").last == "* team stays as it is. To do so: /own club ok")
        _ = stage.newRequests()
        stage.node.invited = .invited(message: 9, via: "team")
        #expect(stage.enter("/own club ok").contains("12:00 * You are now in club"))
        let requests = stage.newRequests()
        let joins = requests.compactMap { if case .join(let chat, _, _) = $0 { chat } else { nil } }
        #expect(joins.map(\.name) == ["club"] && joins.map(\.owner) == [ChatStage.key("a")])
        #expect(requests.suffix(2) == [StagePerson.bob, Self.carol].map { .invite(chat: "club", key: $0.key) })
        #expect(stage.enter("/own") == ["! This chat is yours already: /remove NAME removes somebody"])
    }

    @Test("a chat that has moved keeps its name and its lines, and is joined as the new one")
    func moved() throws {
        var stage = Self.stage(owner: "b")
        let moved = try Chat("team", secret: Secret("bbcdefghijklmnopqrstuvwxya"), owner: StagePerson.bob.key)
        stage.receive(.notice(.moved(moved)))
        #expect(stage.newLines() == ["12:00 * team has moved to a new secret. Its owner is Bob"])
        #expect(stage.enter("/invite").contains { $0.contains("#bbcdefghijklmnopqrstuvwxya@") })
    }

    @Test("a chat that has moved forgets a removed person, and keeps one who moves and is offline")
    func movedPeople() throws {
        var stage = Self.stage()
        stage.come(.dora, in: "team")
        for person in [.bob, Self.carol, .dora] { stage.come(person, .offline, in: "team") }
        stage.node.gone[Self.carol.user] = nil
        stage.receive(.notice(.moved(Self.team(owner: "a"))))
        stage.come(.bob, in: "team")
        #expect(stage.enter("/whois Carol") == ["! Nobody here is called Carol; /who lists everybody"])
        #expect(stage.enter("/whois Dora").first?.hasPrefix("* Dora: Last seen") == true)
        #expect(stage.enter("/whois Bob").first == "* Bob: Active now")
        for person in [StagePerson.bob, .dora] {
            stage.come(person, .offline, in: "team")
            stage.node.gone[person.user] = nil
        }
        stage.receive(.notice(.moved(Self.team(owner: "a"))))
        #expect(stage.model.prompt == "team> ")
    }

    @Test("somebody who looks for a chat that has moved is shown, and admitted by identity or name")
    func newcomers() {
        var stage = Self.stage()
        let (dora, unknown) = (StagePerson.dora.key.userID, ChatStage.key("e").userID)
        stage.receive(.notice(.newcomer(Newcomer(chat: "team", key: StagePerson.dora.key, name: "Dora"))))
        stage.receive(.notice(.newcomer(Newcomer(chat: "team", key: ChatStage.key("e"), name: nil))))
        #expect(
            stage.newLines() == [
                "12:00 * Dora (not verified, \(dora)) looks for team, which has moved without them. To let them follow: "
                    + "/admit \(dora)",
                "12:00 * \(unknown) looks for team, which has moved without them. To let them follow: /admit \(unknown)",
            ])
        #expect(stage.enter("/admit dora") == ["* Dora may follow to team"])
        #expect(stage.newRequests().contains(.admit(chat: "team", key: StagePerson.dora.key)))
        #expect(stage.enter("/admit Dora") == ["! Nobody called Dora looks for a chat that you have moved"])
    }

    // A-46, R42
    @Test("a look-alike who looks for a chat that has moved is told apart, and a verified person is marked")
    func newcomerAlike() {
        var stage = Self.stage()
        let key = ChatStage.key("e")
        let user = key.userID.description
        let bob = Peer.Namesake(user: StagePerson.bob.user, names: ["Bob"], isVerified: true)
        stage.receive(
            .notice(
                .newcomer(
                    Newcomer(chat: "team", key: key, name: "B\u{43E}b \u{2713}", namesakes: [bob.user], namesake: bob)))
        )
        let shown = "B\u{43E}b ~\(user.prefix(4))"
        #expect(
            stage.newLines() == [
                "12:00 * \(shown) (not verified, \(user)) looks for team, which has moved without them. They are not the "
                    + "Bob you verified. To let them follow: /admit \(user)"
            ])
        stage.receive(
            .notice(
                .newcomer(Newcomer(chat: "team", key: StagePerson.dora.key, name: "Dora", isVerified: true))))
        #expect(stage.newLines().first?.hasPrefix("12:00 * Dora \(Labels.verifiedMark) looks for team") == true)
        #expect(stage.enter("/admit bob") == ["! Nobody called bob looks for a chat that you have moved"])
        #expect(stage.enter("/admit \(shown)") == ["* \(shown) may follow to team"])
    }
}
