import InklingWire

/// Invite records in both directions: M-45 to M-48.
extension Catalogue {
    static let invitationCases: [Case] =
        [
            Case(
                "M-45.1", "an invite goes out once on each link of its person in one chat, and to nobody else",
                also: "A-38", "W-11"
            ) { trial in
                let (program, alice) = try trial.startInviting()
                let device = try trial.peer(identity: alice.identity)
                let bob = try trial.peer(named: "Bob")
                for peer in [device, bob] { try peer.open(to: program) }
                try program.ask(["do": "join", "chat": "second", "confirm": true], expecting: "ok")
                let elsewhere = try trial.peer(in: ChatKeys(open: "second"), identity: alice.identity)
                try elsewhere.open(to: program, in: "second")
                let invite = try program.join("a team", trial.newSecret())
                trial.run(for: .milliseconds(300))
                try expect(
                    [alice, device, bob, elsewhere].allSatisfy(\.invites.isEmpty), "no invite before the user's word",
                    actual: "one came")
                let sent = try program.ask(
                    ["do": "invite", "chat": "a team", "key": alice.keyText], expecting: "sent")
                try expect(sent["to"]?.integer == 1, "`to` is 1", actual: program.describe(sent))
                let carriers = sent["chat"]?.string == "second" ? [elsewhere] : [alice, device]
                let record = try carriers[0].awaitInvite()
                try expect(
                    record.body == Array(invite.text.utf8), "the invite \(invite.text)", actual: record.body.hex)
                try program.awaitDelivered(to: alice.user)
                trial.run(for: .milliseconds(500))
                for peer in [alice, device, bob, elsewhere] {
                    let count = carriers.contains { $0 === peer } ? 1 : 0
                    try expect(
                        peer.invites.count == count, "\(count) invites at \(peer.address)",
                        actual: "\(peer.invites.count)")
                }
            },
            Case("M-45.2", "an invite that nobody acknowledges fails as a message does, and its number is its own") {
                trial in
                let (program, alice) = try trial.startInviting()
                _ = try program.join("team", trial.newSecret())
                alice.habits.acknowledges = false
                program.send("a text")
                let sent = try program.ask(["do": "invite", "chat": "team", "key": alice.keyText], expecting: "sent")
                try expect(
                    sent["message"]?.integer == 2 && sent["chat"]?.string == trial.chatName,
                    "message 2 in \(trial.chatName)", actual: program.describe(sent))
                _ = try alice.awaitInvite()
                alice.bye(.quit)
                try program.await("failed", "`failed` of both messages", where: { $0["message"]?.integer == 2 })
                let outcomes = program.outcomes(for: alice.user).map { "\($0.kind) \($0.message ?? 0) \($0.why ?? "")" }
                try expect(
                    outcomes == ["failed 1 bye", "failed 2 bye"], "`failed` with `bye` for both",
                    actual: "\(outcomes)")
            },
            Case("M-45.3", "an invite goes behind a message under way, and not within", also: "M-27") { trial in
                let (program, alice) = try trial.startInviting()
                _ = try program.join("team", trial.newSecret())
                alice.habits.acknowledges = false
                program.send(String(repeating: "x", count: 20 * 1_167))
                try alice.await("a record of the message", since: .zero) { $0.text != nil }
                try program.ask(["do": "invite", "chat": "team", "key": alice.keyText], expecting: "sent")
                program.send("behind")
                trial.run(for: .milliseconds(200))
                alice.habits.acknowledges = true
                alice.sendAck()
                try program.awaitDelivered(3, to: alice.user, within: .seconds(10))
                let first = alice.distinctTexts.map(\.number).min() ?? 0
                let invite = try alice.awaitInvite()
                try expect(
                    invite.number == first + 20 && alice.distinctTexts.last?.number == first + 21,
                    "the invite as record \(first + 20), and the second message behind it",
                    actual: "the invite is record \(invite.number)")
            },
            Case(
                "M-46.1", "an invite before the peer's name is acknowledged and passed over", also: "M-24", "M-26"
            ) { trial in
                let program = try trial.startAnswering(needs: .invitations, .chats, .secret, .messages)
                let peer = try trial.peer()
                peer.habits.sendsName = false
                _ = try peer.openSession(to: program)
                try trial.wait(.seconds(3), for: "the link is up", when: { peer.state.isUp && peer.state.hasName })
                try peer.sendInvite(to: "team", trial.newSecret())
                try trial.wait(.seconds(3), for: "an ack of record 0", when: { peer.state.acknowledged == 1 })
                try trial.never(for: .milliseconds(300), "no `invited`") { !program.invitations().isEmpty }
                let named = try trial.peer(named: "Bob")
                try named.open(to: program)
                try named.sendInvite(to: "team", trial.newSecret())
                try program.awaitInvitation(from: named, to: "team")
            },
            Case("M-46.2", "an invite to a chat with an owner counts from its owner alone", also: "W-9") { trial in
                let (program, alice) = try trial.startInviting()
                let bob = try trial.peer(named: "Bob")
                try bob.open(to: program)
                for owner in [bob.identity.publicKey, program.key] {
                    let start = trial.now
                    try alice.sendInvite(to: "team", trial.newSecret(), owner: owner)
                    try program.expectNoInvitation(from: alice, since: start, "an invite of another owner")
                }
                try alice.sendInvite(to: "team", trial.newSecret(), owner: alice.identity.publicKey)
                let invitation = try program.awaitInvitation(from: alice, to: "team")
                try expect(
                    invitation["owner"] == alice.keyText, "`owner` is the sender", actual: program.describe(invitation))
            },
            Case("M-46.3", "an invite within a message changes nothing of it", also: "M-26", "M-27") { trial in
                let (program, alice) = try trial.startInviting()
                let first = alice.state.nextOwnRecord
                alice.sendRecord(first, "one ", first: true, last: false)
                alice.state.nextOwnRecord = first + 1
                try alice.sendInvite(to: "team", trial.newSecret())
                alice.sendRecord(first + 2, "two", first: false, last: true)
                try program.await("message", "the message of both records", where: { $0["text"]?.string == "one two" })
                try program.awaitInvitation(from: alice, to: "team")
            },
            Case("M-47.1", "an invite joins no chat before the user accepts", also: "A-40", "A-41", "W-11") { trial in
                let (program, alice) = try trial.startInviting()
                let secret = trial.newSecret()
                try alice.sendInvite(to: "caf\u{E9} #1", secret)
                let invitation = try program.awaitInvitation(from: alice, to: "caf\u{E9} #1")
                let early = try trial.peer(in: ChatKeys(secret: secret), identity: alice.identity)
                early.habits = .quiet
                try early.begin(to: program)
                try trial.never(for: .milliseconds(500), "no answer in the chat before `accept`") {
                    early.datagramCount > 0
                }
                let chats = try program.chatNames()
                try expect(chats == [trial.chatName], "the first chat alone", actual: "\(chats)")
                let answer = try program.ask(
                    ["do": "accept", "invitation": invitation["invitation"] ?? .null], expecting: "ok")
                try expect(
                    answer["chat"]?.string == "caf\u{E9} #1", "the chat \"caf\u{E9} #1\"",
                    actual: program.describe(answer))
                early.habits = .all
                try early.open(to: program, in: "caf\u{E9} #1")
            },
            Case("M-47.2", "a repeated invite, and one to a chat of the node, are passed over", needs: .node) { trial in
                let (program, alice) = try trial.startInviting()
                let bob = try trial.peer(named: "Bob")
                try bob.open(to: program)
                let (secret, other) = (trial.newSecret(), trial.newSecret())
                _ = try program.join("mine", other)
                try alice.sendInvite(to: "team", secret)
                try program.awaitInvitation(from: alice, to: "team")
                let start = trial.now
                try alice.sendInvite(to: "team", secret)
                try alice.sendInvite(to: "another label", secret)
                try alice.sendInvite(to: "yours", other)
                try program.expectNoInvitation(from: alice, since: start, "repeats, and an invite to a chat of it")
                try bob.sendInvite(to: "team", secret)
                try program.awaitInvitation(from: bob, to: "team")
                let open = try program.openInvitations()
                try expect(open == [1, 2], "the invitations 1 and 2", actual: "\(open)")
                try program.ask(["do": "decline", "invitation": 1], expecting: "ok")
                let declined = trial.now
                try alice.sendInvite(to: "team", secret)
                try program.awaitInvitation(from: alice, to: "team", since: declined)
            },
            Case("M-48.1", "of people who are neither verified nor met, three invitations are held", needs: .node) {
                trial in
                let (program, alice) = try trial.startInviting()
                let bob = try trial.peer(named: "Bob")
                try bob.open(to: program)
                for number in 1...2 {
                    try alice.sendInvite(to: "team \(number)", trial.newSecret())
                    try program.awaitInvitation(from: alice, to: "team \(number)")
                }
                bob.sendInvite([])
                try program.awaitInvitation(from: bob, to: nil)
                for peer in [alice, bob] {
                    let start = trial.now
                    try peer.sendInvite(to: "one more", trial.newSecret())
                    try program.expectNoInvitation(from: peer, since: start, "a fourth invite")
                }
                var open = try program.openInvitations()
                try expect(open == [1, 2, 3], "the first three invitations", actual: "\(open)")
                try program.ask(["do": "decline", "invitation": 2], expecting: "ok")
                try bob.sendInvite(to: "room again", trial.newSecret())
                try program.awaitInvitation(from: bob, to: "room again")
                open = try program.openInvitations()
                try expect(open == [1, 3, 4], "the invitations 1, 3 and 4", actual: "\(open)")
            },
            Case(
                "M-48.2",
                "ten invitations are held, and those of verified people replace those of others, oldest first",
                needs: .node
            ) { trial in
                let (program, stranger) = try trial.startInviting(named: "Stranger", needs: .people)
                let friend = try trial.peer(named: "Friend")
                try friend.open(to: program)
                try program.ask(["do": "verify", "key": friend.keyText], expecting: "ok")
                for peer in [friend, stranger] {
                    for number in 1...3 {
                        try peer.sendInvite(to: "of \(peer.name) \(number)", trial.newSecret())
                        try program.awaitInvitation(from: peer, to: "of \(peer.name) \(number)")
                    }
                }
                // The strangers' invitations are 4, 5 and 6.
                for number in 7...13 {
                    try friend.sendInvite(to: "friend \(number)", trial.newSecret())
                    let invitation = try program.awaitInvitation(from: friend, to: "friend \(number)")
                    try expect(
                        invitation["invitation"]?.integer == number && invitation["verified"]?.boolean == true,
                        "invitation \(number), of a verified person", actual: program.describe(invitation))
                    let open = try program.openInvitations()
                    let expected = (1...number).filter { $0 < 4 || $0 > 6 || $0 > number - 7 }
                    try expect(open.sorted() == expected, "the invitations \(expected)", actual: "\(open)")
                    if number > 10 {
                        try program.awaitEnd(of: ["invitation": .number(Double(number - 7))], because: "replaced")
                    }
                    if number == 11 {
                        let start = trial.now
                        try stranger.sendInvite(to: "too late", trial.newSecret())
                        try program.expectNoInvitation(from: stranger, since: start, "a stranger's invite beside ten")
                    }
                }
                for peer in [friend, stranger] {
                    let start = trial.now
                    try peer.sendInvite(to: "one more", trial.newSecret())
                    try program.expectNoInvitation(from: peer, since: start, "an eleventh invite")
                }
            },
        ] + inviteRecordCases

    private static let inviteRecordCases = [
        Case(
            "M-46.v1", "of the invite records of the vectors, the valid ones are reported, and no other",
            also: "W-34", "W-41"
        ) { trial in
            guard let key = senderOfRecords.flatMap(Vector.privateKey) else {
                throw Untried(reason: "the vectors lack the sender's private key")
            }
            let (program, alice) = try trial.startInviting(identity: Peer.identity(privateKey: key))
            for vector in Vector.inviteRecords {
                let start = trial.now
                let takes = vector.string("takes")
                alice.sendInvite(vector.bytes("body"))
                guard takes != "nothing" else {
                    try program.expectNoInvitation(from: alice, since: start, vector.name)
                    continue
                }
                let invitation = try trial.wait(
                    .seconds(3), for: "`invited` for \(vector.name)", until: { program.invitations(since: start).first }
                )
                try expect(
                    (invitation["to"] == nil) == (takes == "knock"), "\(takes) for \(vector.name)",
                    actual: program.describe(invitation))
                try program.ask(
                    ["do": "decline", "invitation": invitation["invitation"] ?? .null], expecting: "ok")
            }
        }
    ]

    private static let senderOfRecords: [UInt8]? = Vector.inviteRecords.first.flatMap {
        try? PublicKey(base64url: $0.string("sender")).bytes
    }
}

/// Requests and notices about invitations: A-38, A-40 and A-41.
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
