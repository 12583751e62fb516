import InklingWire

/// Talks of two keys: W-41, L-104 and A-39.
extension Catalogue {
    static let talkCases: [Case] = [
        Case("W-41.1", "both keys compute a talk's secret, whichever is smaller", also: "W-9", "A-39") { trial in
            for isSmaller in [true, false] {
                let program = try trial.startAnswering(
                    ProgramArguments(chat: trial.chatName, state: "smaller \(isSmaller)"),
                    needs: [.invitations, .chats, .secret, .messages])
                let identity = trial.identity(thatIsSmaller: isSmaller, than: program.key)
                let peer = try trial.peer(in: trial.talk(of: identity, with: program), identity: identity)
                let answer = try program.ask(["do": "talk", "key": peer.keyText, "chat": "Alice"], expecting: "ok")
                try expect(
                    answer["chat"]?.string == "Alice" && answer["with"] == peer.keyText && answer["invite"] == nil,
                    "`chat` Alice and `with`, without an `invite`", actual: program.describe(answer))
                try peer.open(to: program, in: "Alice")
                peer.sendMessage("hello")
                try program.await("message", where: { $0["chat"]?.string == "Alice" && $0["text"]?.string == "hello" })
                program.send("hello, Alice", chat: "Alice")
                try peer.await("the program's text", since: .zero) { $0.text != nil }
            }
        },
        Case("W-41.2", "the key with which a talk would have a secret of zeros has none", also: "W-4", "A-39") {
            trial in
            let program = try trial.startAnswering(needs: .invitations, .chats, .secret)
            for vector in Vector.invalidTalks {
                guard let key = PublicKey(vector.bytes("publicKey")) else {
                    throw Untried(reason: "\(vector.name) breaks W-3")
                }
                try program.ask(["do": "talk", "key": .string(key.base64url)], refusedWith: "unknown-peer")
            }
            let chats = try program.chatNames()
            try expect(chats == [trial.chatName], "the first chat alone", actual: "\(chats)")
        },
        Case("L-104.1", "a third key that knows a talk's secret gets no link in it", also: "L-36", "W-41") { trial in
            let program = try trial.startAnswering(needs: .invitations, .chats, .secret)
            let alice = try trial.peer()
            try program.ask(["do": "talk", "key": alice.keyText, "chat": "Alice"], expecting: "ok")
            let chat = try trial.talk(of: alice.identity, with: program)
            let thief = try trial.peer(named: "Mallory", in: chat)
            thief.habits = .quiet
            for _ in 1...2 {
                try thief.begin(to: program)
                try trial.never(for: .milliseconds(500), "no response to a third key") { !thief.responses.isEmpty }
            }
            alice.chat = chat
            try alice.open(to: program, in: "Alice")
            try thief.begin(to: program)
            try trial.never(for: .milliseconds(500), "no response beside the link") { !thief.responses.isEmpty }
            try alice.ping()
        },
        Case("L-104.2", "in a talk the node opens to nobody but its person", also: "L-36", "D-12") { trial in
            let (alice, thief) = (try trial.peer(), try trial.peer(named: "Mallory"))
            for peer in [alice, thief] { peer.habits.answersAsks = false }
            let program = try trial.startAnswering(
                ProgramArguments(chat: trial.chatName, peers: [alice.address, thief.address]),
                needs: [.invitations, .chats, .secret, .peer])
            try program.ask(["do": "talk", "key": alice.keyText, "chat": "Alice"], expecting: "ok")
            let chat = try trial.talk(of: alice.identity, with: program)
            for peer in [thief, alice] {
                (peer.chat, peer.habits.answersAsks) = (chat, true)
                try trial.wait(
                    .seconds(12), for: "an ask in the talk", when: { peer.asks.contains { chat.fits($0.value) } })
            }
            try trial.wait(
                .seconds(8), for: "a link of the talk",
                when: { alice.sessions.contains { $0.role == .responder && $0.isComplete } })
            try trial.never(for: .milliseconds(1_500), "no initiation to a third key") { !thief.initiations.isEmpty }
        },
        Case(
            "A-39.1", "`talk` knocks at the person in another chat, and at nobody else", also: "M-45", "M-46", "W-41"
        ) { trial in
            let (program, alice) = try trial.startInviting()
            let bob = try trial.peer(named: "Bob")
            try bob.open(to: program)
            let absent = KeyPair(using: &trial.generator).publicKey
            try program.ask(["do": "talk", "key": .string(absent.base64url)], expecting: "ok")
            trial.run(for: .milliseconds(300))
            try expect(alice.invites.isEmpty && bob.invites.isEmpty, "no knock at others", actual: "one came")
            let answer = try program.ask(["do": "talk", "key": alice.keyText], expecting: "ok")
            let knock = try alice.awaitInvite()
            try expect(knock.body.isEmpty, "an invite without a body", actual: knock.body.hex)
            let name = answer["chat"]?.string ?? ""
            let chats = try program.ask(["do": "chats"], expecting: "chats")["chats"]?.array ?? []
            let talk = chats.first { $0["with"] == alice.keyText }
            try expect(
                talk?["chat"]?.string == name && talk?["secret"]?.boolean == true && chats.first?["with"] == nil,
                "the talk in `chats`, with `with`", actual: program.describe(.array(chats)))
            try trial.peerOfTalk(alice, with: program).open(to: program, in: name)
            let other = try program.ask(["do": "talk", "key": bob.keyText, "chat": "Bob the builder"], expecting: "ok")
            try expect(
                other["chat"]?.string == "Bob the builder", "the given name", actual: program.describe(other))
            _ = try bob.awaitInvite()
            trial.run(for: .milliseconds(300))
            try expect(alice.invites.count == 1, "one knock at each", actual: "\(alice.invites.count)")
        },
        Case(
            "A-39.2", "`talk` refuses the own key, no key and a bad name; `talk` again knocks again", also: "W-2",
            needs: .node
        ) {
            trial in
            let (program, alice) = try trial.startInviting()
            let own: JSONValue = .string(program.key.base64url)
            try program.ask(["do": "talk", "key": own], refusedWith: "unknown-peer")
            for key: JSONValue in ["", "sesame", .string(String(repeating: "A", count: 42) + "B"), 7, .null] {
                try program.ask(["do": "talk", "key": key], refusedWith: "bad-command")
            }
            try program.ask(["do": "talk"], refusedWith: "bad-command")
            try program.ask(["do": "talk", "key": alice.keyText, "chat": 7], refusedWith: "bad-command")
            try program.ask(["do": "talk", "key": alice.keyText, "keep": true], refusedWith: "unsupported")
            for name in ["", "a\nb", trial.chatName, "inkling:x"] {
                try program.ask(["do": "talk", "key": alice.keyText, "chat": .string(name)], expecting: "error")
            }
            trial.run(for: .milliseconds(300))
            try expect(alice.invites.isEmpty, "no knock for a request that is refused", actual: "one came")
            try program.ask(["do": "talk", "key": alice.keyText, "chat": "Alice"], expecting: "ok")
            try program.ask(["do": "talk", "key": alice.keyText, "chat": "Alice"], expecting: "ok")
            trial.run(for: .milliseconds(300))
            try expect(alice.invites.count == 2, "two knocks", actual: "\(alice.invites.count)")
            let chats = try program.chatNames()
            try expect(chats == [trial.chatName, "Alice"], "both chats", actual: "\(chats)")
        },
    ]
}
