import InklingConsole
import InklingModel
import InklingText
import Testing

@Suite("Invitations at the prompt")
struct InvitationCommandTests {
    private static let verified = StagePerson(name: "Bob", letter: "b", isVerified: true)

    private static func invitation(_ number: Int, name: String? = "team", isVerified: Bool = true) -> Notice {
        .invited(
            Invitation(
                number: number, chat: "kitchen", sender: StagePerson.bob.person, key: StagePerson.bob.key,
                isVerified: isVerified, name: name, owner: nil))
    }

    /// A stage with Bob in the kitchen, and the private chat `team` beside it.
    private static func stage(_ bob: StagePerson) -> ChatStage {
        var stage = ChatStage.begun([bob])
        _ = stage.enter("/join inkling:team#abcdefghijklmnopqrstuvwxya")
        _ = stage.enter("/open kitchen")
        _ = stage.newRequests()
        return stage
    }

    @Test("/invite with a verified person and a chat sends the invite; its failure is reported")
    func invite() {
        var stage = Self.stage(Self.verified)
        stage.node.invited = .invited(message: 9, via: "kitchen")
        #expect(
            stage.enter("/invite Bob team")
                == ["* Bob \(Labels.verifiedMark) is invited to team, and may accept or decline"])
        #expect(stage.newRequests().last == .invite(chat: "team", key: Self.verified.key))
        stage.fail(9, to: Self.verified)
        #expect(
            stage.newLines().last
                == "12:00 ! The invitation to team may not have reached Bob. To send it again: /invite bbbbbbbbbbbbbbbb team"
        )
        stage.fail(9, to: Self.verified)
        #expect(stage.newLines().isEmpty)
    }

    @Test("/invite of a removed member says that the chat refuses them, and how to get them back")
    func removed() {
        let text =
            "! Bob \(Labels.verifiedMark) was removed from team, which lets them in no more. Invite them to another "
            + "private chat. To make one: /invite NAME"
        for error in [
            NodeError.removed(Self.verified.user, chat: "team"), .other(code: "removed", text: "It refuses them."),
        ] {
            var stage = Self.stage(Self.verified)
            stage.node.failures = [error]
            #expect(stage.enter("/invite Bob team") == [text])
        }
    }

    @Test("/invite wants the user ID of somebody unverified, and a chat beside a person")
    func unverified() {
        var stage = Self.stage(.bob)
        #expect(
            stage.enter("/invite Bob team") == [
                "! Bob is not verified, and whoever gets the invite can join for good. Compare first: /verify Bob. Or say "
                    + "whom you mean: /invite bbbbbbbbbbbbbbbb team"
            ])
        #expect(stage.newRequests().allSatisfy { if case .invite(_, _?) = $0 { false } else { true } })
        stage.node.invited = .invited(message: 9, via: "kitchen")
        #expect(stage.enter("/invite bbbbbbbbbbbbbbbb team") == ["* Bob is invited to team, and may accept or decline"])
        #expect(stage.enter("/invite Bob") == ["! To invite Bob, name one of your private chats: /invite Bob CHAT"])
        #expect(stage.enter("/invite Nobody team") == ["! Nobody here is called Nobody; /who lists everybody"])
        #expect(
            stage.enter("/invite Bob garden") == [
                "! You have no private chat called garden. To invite Bob there, make it first: /invite garden"
            ])
        #expect(stage.enter("/invite club").first == "12:00 * You are now in club")
        #expect(stage.enter("/invite Bob") == ["! To invite Bob to this chat: /invite Bob club"])
    }

    @Test("a command about a person finds somebody who is in another chat alone")
    func otherChat() {
        var stage = Self.stage(.bob)
        #expect(stage.enter("/invite club").first == "12:00 * You are now in club")
        _ = stage.enter("/verify Bob")
        #expect(stage.newRequests().last == .fingerprint(key: StagePerson.bob.key))
        #expect(stage.enter("/whois Bob").contains("* identity bbbbbbbbbbbbbbbb"))
        _ = stage.enter("/block Bob")
        #expect(stage.newRequests().contains(.setBlocked(true, .key(StagePerson.bob.key))))
    }

    @Test("the name of a chat in an invitation has no mark of the program, and is quoted if it could be read as more")
    func invitationNames() {
        var stage = ChatStage.begun([Self.verified])
        let names = [
            ("Club \u{2713} \u{1F6E1}", "\"Club\""),
            ("Club, a private chat of Carol", "\"Club, a private chat of Carol\""), ("Caf\u{E9} 2", "Caf\u{E9} 2"),
        ]
        for (name, shown) in names {
            stage.receive(.notice(Self.invitation(1, name: name)))
            let line = stage.newLines().last ?? ""
            #expect(line.contains("invites you to \(shown), a private chat"), "\(line)")
        }
    }

    @Test("an invitation shows once, and is accepted or declined by its number, or without one if it is the only one")
    func answers() {
        var stage = ChatStage.begun([Self.verified])
        #expect(stage.enter("/accept") == ["! Nobody has invited you"])
        stage.receive(.notice(Self.invitation(1)))
        stage.receive(.notice(Self.invitation(1)))
        let line = "* Bob \(Labels.verifiedMark) invites you to team, a private chat: /accept 1 or /decline 1"
        #expect(stage.newLines() == ["12:00 " + line])
        stage.receive(.notice(Self.invitation(2, name: nil, isVerified: false)))
        let knock =
            "* Bob \(Labels.verifiedMark) (not verified, bbbbbbbbbbbbbbbb) asks to talk with you alone: /accept 2 or "
            + "/decline 2"
        #expect(stage.newLines() == ["12:00 " + knock])
        #expect(stage.enter("/accept") == [line, knock])
        #expect(stage.enter("/accept 7") == ["! There is no open invitation 7", line, knock])
        #expect(stage.enter("/accept work").first?.hasPrefix("! /accept needs the number") == true)
        #expect(stage.enter("/decline 2") == ["* You have declined invitation 2"])
        #expect(stage.newRequests().last == .decline(invitation: 2))
        _ = stage.enter("/accept")
        #expect(stage.newRequests().contains(.enter(.invitation(1), name: nil)))
        stage.receive(.notice(.invitationOver(1, .accepted)))
        #expect(stage.enter("/decline") == ["! Nobody has invited you"])
        stage.receive(.notice(Self.invitation(3)))
        stage.receive(.notice(.invitationOver(3, .replaced)))
        #expect(stage.newLines().last == "12:00 * Invitation 3 is over, because somebody whom you know invited you")
    }

    @Test("an invitation joins under the name that is given, and says so if its own name is taken")
    func names() {
        var stage = ChatStage.begun([Self.verified])
        stage.receive(.notice(Self.invitation(1)))
        stage.node.failures = [.chatExists("team")]
        #expect(
            stage.enter("/accept 1").last
                == "! That name could mean another chat of yours. Choose another name for this chat: /accept 1 NAME")
        for code in ["open-name", "similar-name"] {
            stage.node.failures = [.other(code: code, text: "It looks like another.")]
            #expect(stage.enter("/accept 1").last?.hasSuffix(" for this chat: /accept 1 NAME") == true, "\(code)")
        }
        stage.node.failures = [.other(code: "similar-name", text: "It looks like another.")]
        let join = stage.enter("/join inkling:f%D0%B0mily#aaaaaaaaaaaaaaaaaaaaaaaaaa")
        #expect(join.last?.hasSuffix("Choose another name for this chat: /join INVITE NAME") == true, "A-69")
        stage.node.joined = ChatStage.chat("our work")
        #expect(stage.enter("/accept 1 our work").first == "12:00 * You are now in our work (open)")
        #expect(stage.newRequests().contains(.enter(.invitation(1), name: "our work")))
    }

    @Test("/talk joins the talk with somebody, and goes to it the next time; nobody is invited there")
    func talk() throws {
        var stage = ChatStage.begun([Self.verified])
        stage.node.joined = try Chat("@Bob", talkWith: Self.verified.key, secret: ChatStage.secret)
        let lines = stage.enter("/talk Bob")
        #expect(
            lines.prefix(2) == [
                "12:00 * You are now in @Bob", "12:00 * @Bob is a talk: only the two of you can join and read.",
            ])
        #expect(stage.newRequests().contains(.enter(.talk(Self.verified.key), name: nil)))
        #expect(stage.enter("/invite") == ["! A talk is for two. For more people make a private chat: /invite NAME"])
        _ = stage.enter("/open kitchen")
        #expect(stage.enter("/talk Bob").first == "* You are now in @Bob")
        #expect(stage.newRequests().contains(.enter(.talk(Self.verified.key), name: "@Bob")))
        #expect(stage.enter("/talk Nobody") == ["! Nobody here is called Nobody; /who lists everybody"])
    }

    @Test("what a muted person invites to is not shown")
    func muted() {
        var stage = ChatStage.begun([Self.verified])
        _ = stage.enter("/mute Bob")
        stage.receive(.notice(Self.invitation(1)))
        #expect(stage.newLines().isEmpty)
    }
}
