import InklingWire

/// Requests and notices about invitations.
extension Catalogue {
    static let invitationRequestCases: [Case] = [
        Case("A-38.1", "`invite` with `key` is refused where there is no invite, and nobody to get it") { trial in
            let (program, alice) = try trial.startInviting()
            let bob = try trial.peer(named: "Bob")
            try bob.open(to: program)
            let secret = trial.newSecret()
            _ = try program.join("team", secret)
            _ = try program.join("of Bob", trial.newSecret(), owner: bob.identity.publicKey)
            let own = try program.join("of the program", trial.newSecret(), owner: program.key)
            try program.ask(["do": "talk", "key": bob.keyText, "chat": "Bob"], expecting: "ok")
            _ = try bob.awaitInvite()
            func refuse(_ chat: String, _ key: JSONValue, _ code: String) throws {
                try program.ask(["do": "invite", "chat": .string(chat), "key": key], refusedWith: code)
            }
            for name in [trial.chatName, "of Bob", "Bob"] { try refuse(name, alice.keyText, "no-invite") }
            try program.ask(["do": "invite", "chat": "Bob"], refusedWith: "no-invite")
            try refuse("team", .string(KeyPair(using: &trial.generator).publicKey.base64url), "unknown-peer")
            try refuse("team", .string(program.key.base64url), "unknown-peer")
            try refuse("team", "sesame", "bad-command")
            try refuse("nowhere", alice.keyText, "unknown-chat")
            let member = try trial.peer(in: ChatKeys(secret: secret), identity: alice.identity)
            try member.open(to: program, in: "team")
            try refuse("team", alice.keyText, "already-there")
            trial.run(for: .milliseconds(300))
            try expect(
                alice.invites.isEmpty && member.invites.isEmpty && bob.invites.count == 1,
                "no invite for a request that is refused", actual: "one came")
            try program.ask(["do": "invite", "chat": "of the program", "key": bob.keyText], expecting: "sent")
            try trial.wait(.seconds(3), for: "the owner's invite", when: { bob.invites.count == 2 })
            try expect(
                bob.invites.last?.body == Array(own.text.utf8), "the invite \(own.text)",
                actual: bob.invites.last?.body.hex ?? "none")
        },
        Case("A-40.1", "an invitation has its members, in the notice and in the list", also: "M-47") { trial in
            let (program, alice) = try trial.startInviting()
            try alice.sendInvite(to: "team", trial.newSecret(), owner: alice.identity.publicKey)
            alice.sendInvite([])
            var notices: [JSONValue] = []
            for (number, name) in ["team", nil].enumerated() {
                let notice = try program.awaitInvitation(from: alice, to: name)
                notices.append(notice)
                try expect(
                    notice["invitation"]?.integer == number + 1 && notice["user"]?.string == alice.user
                        && notice["name"]?.string == alice.name && notice["verified"]?.boolean == false
                        && notice["chat"]?.string == trial.chatName && notice["text"]?.string != nil
                        && notice["owner"] == (name == nil ? nil : alice.keyText),
                    "the members of invitation \(number + 1)", actual: program.describe(notice))
            }
            let listed = try program.ask(["do": "invitations"], expecting: "invitations")["invitations"]?.array ?? []
            let members = ["invitation", "user", "name", "key", "verified", "chat", "to", "owner"]
            try expect(
                listed.count == 2
                    && zip(listed, notices).allSatisfy { pair in members.allSatisfy { pair.0[$0] == pair.1[$0] } },
                "both in `invitations`, with the same members", actual: program.describe(.array(listed)))
        },
        Case("A-40.2", "an invitation that is declined, or whose sender is blocked, is over", also: "L-36") { trial in
            let (program, alice) = try trial.startInviting(needs: .block)
            let bob = try trial.peer(named: "Bob")
            try bob.open(to: program)
            var invitations: [JSONValue] = []
            for (peer, name) in [(alice, "one"), (bob, "two"), (alice, "three")] {
                try peer.sendInvite(to: name, trial.newSecret())
                invitations.append(try program.awaitInvitation(from: peer, to: name))
            }
            try program.ask(["do": "decline", "invitation": 1], expecting: "ok")
            try program.awaitEnd(of: invitations[0], because: "declined")
            for request in ["decline", "accept"] {
                try program.ask(["do": .string(request), "invitation": 1], refusedWith: "unknown-invitation")
                try program.ask(["do": .string(request), "invitation": 99], refusedWith: "unknown-invitation")
                for number: JSONValue in ["2", .null, true, .number(1.5)] {
                    try program.ask(["do": .string(request), "invitation": number], refusedWith: "bad-command")
                }
                try program.ask(["do": .string(request)], refusedWith: "bad-command")
            }
            try program.ask(["do": "block", "user": .string(alice.user)], expecting: "ok")
            try program.awaitEnd(of: invitations[2], because: "blocked")
            let open = try program.openInvitations()
            try expect(open == [2], "the invitation of the other person", actual: "\(open)")
        },
        Case("A-41.1", "`accept` joins the chat under its name or another, and an error leaves the invitation") {
            trial in
            let (program, alice) = try trial.startInviting()
            let secrets = [trial.newSecret(), trial.newSecret()]
            _ = try program.join("team", trial.newSecret())
            for secret in secrets { try alice.sendInvite(to: "team", secret) }
            let first = try program.awaitInvitation(from: alice, to: "team")
            try trial.wait(.seconds(3), for: "both invitations", when: { program.invitations().count == 2 })
            try program.ask(["do": "accept", "invitation": 1], expecting: "error")
            for name in ["", "a\nb"] {
                try program.ask(["do": "accept", "invitation": 1, "chat": .string(name)], expecting: "error")
            }
            var open = try program.openInvitations()
            try expect(open == [1, 2], "both invitations after the errors", actual: "\(open)")
            let answer = try program.ask(["do": "accept", "invitation": 1, "chat": "the team"], expecting: "ok")
            let invite = Invite(name: try ChatName("the team"), secret: secrets[0])
            try expect(
                answer["chat"]?.string == "the team" && answer["invite"]?.string == invite.text
                    && answer["peers"]?.array == [],
                "the chat `the team` with its people and its invite", actual: program.describe(answer))
            try program.awaitEnd(of: first, because: "accepted")
            try trial.peer(in: ChatKeys(secret: secrets[0]), identity: alice.identity).open(to: program, in: "the team")
            open = try program.openInvitations()
            try expect(open == [2], "the other invitation", actual: "\(open)")
        },
        Case("A-41.2", "`accept` of a knock joins the talk", also: "M-46", "W-41", "L-104") { trial in
            let (program, alice) = try trial.startInviting()
            alice.sendInvite([])
            let knock = try program.awaitInvitation(from: alice, to: nil)
            let answer = try program.ask(["do": "accept", "invitation": 1], expecting: "ok")
            try expect(
                answer["with"] == alice.keyText && answer["invite"] == nil && answer["chat"]?.string != nil,
                "`with` and no `invite`", actual: program.describe(answer))
            try program.awaitEnd(of: knock, because: "accepted")
            let name = answer["chat"]?.string ?? ""
            try trial.peerOfTalk(alice, with: program).open(to: program, in: name)
            let thief = try trial.peer(named: "Mallory", in: trial.talk(of: alice.identity, with: program))
            thief.habits = .quiet
            try thief.begin(to: program)
            try trial.never(for: .milliseconds(500), "no response to a third key") { !thief.responses.isEmpty }
            let start = trial.now
            alice.sendInvite([])
            try program.expectNoInvitation(from: alice, since: start, "a knock at a talk of the node")
        },
        Case("A-41.3", "an invitation ends when the node joins its chat otherwise", also: "M-47", "A-39") { trial in
            let (program, alice) = try trial.startInviting()
            let secret = trial.newSecret()
            let bob = try trial.peer(named: "Bob")
            try bob.open(to: program)
            try alice.sendInvite(to: "team", secret)
            let first = try program.awaitInvitation(from: alice, to: "team")
            try bob.sendInvite(to: "team", secret)
            let second = try program.awaitInvitation(from: bob, to: "team")
            bob.sendInvite([])
            let knock = try program.awaitInvitation(from: bob, to: nil)
            _ = try program.join("our team", secret)
            for invitation in [first, second] { try program.awaitEnd(of: invitation, because: "accepted") }
            try program.ask(["do": "talk", "key": bob.keyText], expecting: "ok")
            try program.awaitEnd(of: knock, because: "accepted")
            let open = try program.openInvitations()
            try expect(open == [], "no invitation", actual: "\(open)")
        },
    ]
}
