import InklingService
import InklingModel
import Testing

@Suite("Invitations in the service")
struct ServiceInvitationTests {
    private static func talk() throws -> Chat {
        try Chat("@Bob", talkWith: Somebody.key, secret: Secret("aaaaaaaaaaaaaaaaaaaaaaaaaa"))
    }

    @Test("a talk is joined by its key, and again, which knocks each time; other front ends join it too (A-39)")
    func talk() throws {
        let stage = ServiceStage()
        let talk = try Self.talk()
        stage.sources[.talk(Somebody.key)] = talk
        let (one, two) = (stage.frontEnd(), stage.frontEnd())
        let request = ServiceRequest.enter(.talk(Somebody.key), name: nil)
        #expect(one.ask(request) == .joined(talk, []))
        #expect(stage.node.takeRequests().contains(.join(talk, isConfirmed: false)))
        #expect(one.ask(request) == .joined(talk, []))
        #expect(stage.node.takeRequests().contains(.knock(key: Somebody.key)))
        #expect(two.ask(request) == .joined(talk, []))
        let named = ServiceRequest.enter(.talk(Somebody.key), name: "us")
        #expect(one.ask(named) == .joined(try talk.named("us"), []), "the node decides about a second name")
        #expect(one.ask(.enter(.invitation(7), name: nil)) == .failed(.unknownInvitation(0)))
    }

    @Test("the chat of an invitation is kept if the front end asks for that (A-41)")
    func accept() throws {
        let stage = ServiceStage()
        let team = try Chat(invite: "inkling:team#aaaaaaaaaaaaaaaaaaaaaaaaaa")
        stage.sources[.invitation(3)] = team
        let frontEnd = stage.frontEnd()
        let answer = frontEnd.ask(.enter(.invitation(3), name: "work", isKept: true, isConfirmed: true))
        #expect(answer == .joined(try team.named("work"), []))
        #expect(stage.kept.last == [try team.named("work")])
        #expect(stage.node.takeRequests().contains(.join(try team.named("work"), isConfirmed: true)))
    }

    @Test("a chat, also that of an invitation, whose name looks like another's is joined only after the user's word")
    func similarName() throws {
        let stage = ServiceStage()
        let family = try Chat(invite: "inkling:f%D0%B0mily#aaaaaaaaaaaaaaaaaaaaaaaaaa")
        let refusal = ServiceAnswer.failed(.other(code: "similar-name", text: "It looks like another."))
        stage.sources[.invitation(3)] = family
        stage.node.answers[.join(family, isConfirmed: false)] = refusal
        let frontEnd = stage.frontEnd()
        //
        #expect(frontEnd.ask(.enter(.invitation(3), name: nil, isKept: true)) == refusal)
        #expect(frontEnd.ask(.join(family, isKept: true)) == refusal && frontEnd.ask(.join(family)) == refusal)
        #expect(stage.kept.isEmpty && stage.node.chats.isEmpty)
        let confirmed = frontEnd.ask(.enter(.invitation(3), name: nil, isKept: true, isConfirmed: true))
        #expect(confirmed == .joined(family, []))
    }

    @Test("the outcome of an invite goes to the front end that sent it (A-38)")
    func outcome() throws {
        let stage = ServiceStage()
        let (one, two) = (stage.frontEnd(), stage.frontEnd())
        let request = ServiceRequest.invite(chat: "team", key: Somebody.key)
        stage.node.answers[request] = .invited(message: 9, via: "kitchen")
        #expect(one.ask(request) == .invited(message: 9, via: "kitchen"))
        one.forget()
        let outcome = Event.delivered(.init(chat: "kitchen", message: 9, user: Somebody.bob.user))
        stage.node.tell(outcome)
        #expect(one.take() == [.event(TimedEvent(at: 1.5, event: outcome))])
        #expect(two.take().isEmpty)
        stage.node.tell(outcome)
        #expect(one.take().isEmpty, "there is one outcome")
    }

    @Test("an open invitation reaches a front end that comes later, and one that is over does not (A-40)")
    func later() throws {
        let stage = ServiceStage()
        let invited = Notice.invited(
            Invitation(
                number: 1, chat: "kitchen", sender: Somebody.bob, key: Somebody.key, isVerified: true, name: "team",
                owner: nil))
        stage.node.tell(.notice(invited))
        #expect(stage.frontEnd().take().contains { $0.notice == invited })
        stage.node.tell(.notice(.invitationOver(1, .declined)))
        #expect(!stage.frontEnd().take().contains { $0.notice != nil })
    }
}

extension ServiceOutput {
    fileprivate var notice: Notice? {
        if case .event(let timed) = self, case .notice(let notice) = timed.event { notice } else { nil }
    }
}
