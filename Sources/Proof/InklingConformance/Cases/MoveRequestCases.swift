import InklingWire

/// Requests and notices about moves.
extension Catalogue {
    static let moveRequestCases: [Case] = [
        Case("A-42.1", "`move` is refused in the chats of others, and with members that are not valid", also: "M-89") {
            trial in
            let (program, invite) = try trial.startOwning()
            let alice = try trial.member("Alice", of: invite, at: program)
            _ = try program.join("no owner", trial.newSecret())
            _ = try program.join("of Alice", trial.newSecret(), owner: alice.identity.publicKey)
            let key = alice.keyText
            for name in [trial.chatName, "no owner", "of Alice"] {
                try program.ask(["do": "move", "chat": .string(name), "keys": [key]], refusedWith: "not-owner")
            }
            try program.ask(["do": "move", "chat": "nowhere", "keys": [key]], refusedWith: "unknown-chat")
            let many = JSONValue.array(Array(repeating: key, count: 1_025))
            let other = JSONValue.string(KeyPair(using: &trial.generator).publicKey.base64url)
            let wrong: [[String: JSONValue]] = [
                [:], ["keys": .null], ["keys": key], ["keys": [7]], ["keys": ["sesame"]], ["keys": many],
                ["keys": [key], "removed": .null], ["keys": [key], "removed": ["sesame"]],
                ["keys": [], "removed": .array(Array(repeating: key, count: 33))],
                ["keys": [key], "owner": .null], ["keys": [key], "owner": "sesame"], ["keys": [key], "owner": other],
            ]
            for members in wrong {
                let request = members.merging(["do": "move", "chat": .string(Trial.team)]) { $1 }
                try program.ask(request, refusedWith: "bad-command")
            }
            trial.run(for: .milliseconds(300))
            try alice.ping()
            let chat = try program.team()
            try expect(
                chat?["present"]?.integer == 1 && alice.successors.isEmpty, "the chat as it was",
                actual: chat.map(program.describe) ?? "no chat")
        },
        Case(
            "A-42.2", "removed keys stay removed over moves and a restart, at most the last 32, unless chosen",
            also: "M-89", "M-91", "A-6"
        ) { trial in
            let (program, invite) = try trial.startOwning()
            let alice = try trial.member("Alice", of: invite, at: program)
            let crowd = try (0..<40).map { _ in try trial.peer(named: "Crowd", in: invite.keys) }
            let keys = crowd.map(\.identity.publicKey)
            func check(_ expected: [PublicKey], at peer: Peer) throws {
                let successor = try peer.awaitSuccessor()
                try expect(
                    successor.removed == expected, "\(expected.count) removed keys, the oldest first",
                    actual: "\(successor.removed.count) keys")
            }
            let first = try Trial.invite(in: program.move(choosing: [alice], removing: Array(crowd[..<20])))
            try check(Array(keys[..<20]), at: alice)
            let again = try trial.restart(program)
            _ = try again.join(Trial.team, first.secret, owner: first.owner)
            let chat = try again.team()
            try expect(
                chat?["owner"]?.string == again.key.base64url, "the own key as `owner` in `chats`",
                actual: chat.map(again.describe) ?? "no chat")
            let second = try trial.member("Alice", of: first, at: again, identity: alice.identity)
            let next = try Trial.invite(in: again.move(choosing: [second, crowd[19]], removing: Array(crowd[20...])))
            let expected = Array((keys[..<19] + keys[20...]).suffix(32))
            try check(expected, at: second)
            try trial.member("Back", of: next, at: again, identity: crowd[19].identity).ping()
        },
        Case(
            "A-42.4", "a chat that needs room ends the oldest departed one, and takes the place of no other",
            also: "L-39"
        ) { trial in
            let (program, invite) = try trial.startOwning()
            let alice = try trial.peer(in: invite.keys)
            try program.move(choosing: [alice])
            // With the first chat, `team` and the departed one, these are 32.
            for number in 1...29 { _ = try program.join("chat \(number)", trial.newSecret()) }
            try alice.openUnseen(to: program)
            try alice.awaitSuccessor()
            _ = try program.join("one more", trial.newSecret())
            alice.restart()
            alice.habits = .quiet
            try alice.expectNoAnswer(from: program, "a chosen key after the end of the departed chat")
            let last = Invite(name: try ChatName("too many"), secret: trial.newSecret())
            try program.ask(["do": "join", "invite": .string(last.text)], expecting: "error")
        },
        Case(
            "A-42.5", "a ninth move at once is refused, and later ends the oldest of nine departed chats",
            also: "M-88", "M-93", load: .long
        ) { trial in
            let (program, invite) = try trial.startOwning()
            let alice = try trial.peer(in: invite.keys)
            var chats = [invite]
            let start = trial.now
            for _ in 1...8 { chats.append(try Trial.invite(in: program.move(choosing: [alice]))) }
            let request: [String: JSONValue] = ["do": "move", "chat": .string(Trial.team), "keys": [alice.keyText]]
            try program.ask(request, refusedWith: "moved-too-often")
            let asked = try program.ask(["do": "invite", "chat": .string(Trial.team)], expecting: "invite")
            try expect(
                asked["invite"]?.string == chats[8].text, "the chat of the eighth move", actual: program.describe(asked)
            )
            alice.habits = .quiet
            alice.chat = invite.keys
            trial.run(for: .milliseconds(10_300) - (trial.now - start))
            chats.append(try Trial.invite(in: program.move(choosing: [alice])))
            try alice.expectNoAnswer(from: program, "a chosen key in the oldest of nine")
            alice.habits = .all
            for place in [1, 8] {
                alice.restart()
                alice.chat = chats[place].keys
                let count = alice.successors.count
                try alice.openUnseen(to: program)
                let successor = try alice.awaitSuccessor(count + 1)
                try expect(
                    successor.secret == chats[place + 1].secret, "the chat that follows chat \(place)",
                    actual: Trial.invite(to: successor).text)
            }
        },
        Case(
            "A-42.6", "a chat that needs room ends the oldest departed chat of the chain that has most", also: "L-39"
        ) { trial in
            let (program, invite) = try trial.startOwning()
            let other = try program.join("other", trial.newSecret(), owner: program.key)
            let alice = try trial.peer(in: other.keys)
            try program.move("other", choosing: [alice])
            let next = try Trial.invite(in: program.move(choosing: [alice]))
            try program.move(choosing: [alice])
            // With the first chat, the two that moved and three departed ones, these are 32.
            for number in 1...26 { _ = try program.join("chat \(number)", trial.newSecret()) }
            _ = try program.join("one more", trial.newSecret())
            for chat in [other.keys, next.keys] {
                alice.chat = chat
                try alice.openUnseen(to: program)
                try alice.awaitSuccessor()
                alice.restart()
            }
            alice.chat = invite.keys
            alice.habits = .quiet
            try alice.expectNoAnswer(from: program, "a chosen key in the oldest departed chat of `team`")
        },
        Case("A-43.1", "`admit` gives the successor to a further key, also after a restart", also: "M-65") { trial in
            let (program, invite) = try trial.startOwning()
            let alice = try trial.peer(in: invite.keys)
            let bob = try trial.peer(named: "Bob", in: invite.keys)
            let admit: (Peer) -> [String: JSONValue] = {
                ["do": "admit", "chat": .string(Trial.team), "key": $0.keyText]
            }
            try program.ask(admit(alice), refusedWith: "not-moved")
            let answer = try program.move(choosing: [], removing: [bob])
            try program.ask(admit(bob), refusedWith: "removed")
            for key: JSONValue in [.null, "sesame", 7] {
                try program.ask(["do": "admit", "chat": .string(Trial.team), "key": key], refusedWith: "bad-command")
            }
            try program.ask(["do": "admit", "chat": "nowhere", "key": alice.keyText], refusedWith: "unknown-chat")
            alice.habits = .quiet
            try alice.expectNoAnswer(from: program, "a key that is not admitted")
            try program.ask(admit(alice), expecting: "ok")
            alice.habits = .all
            try alice.openUnseen(to: program)
            let successor = try alice.awaitSuccessor()
            try expect(
                Trial.invite(to: successor).text == answer["invite"]?.string, "the invite of the answer",
                actual: Trial.invite(to: successor).text)
            let again = try trial.restart(program)
            alice.restart()
            try alice.openUnseen(to: again)
            try alice.awaitSuccessor(2)
            bob.habits = .quiet
            try bob.expectNoAnswer(from: again, "a removed key")
        },
        Case("A-43.2", "a removed key comes back by a move and an invite, and no departed chat chooses it") { trial in
            let (program, invite) = try trial.startOwning()
            let bob = try trial.peer(named: "Bob", in: invite.keys)
            let first = try Trial.invite(in: program.move(choosing: [], removing: [bob]))
            let second = try Trial.invite(in: program.move(choosing: [bob]))
            let admit: [String: JSONValue] = ["do": "admit", "chat": .string(Trial.team), "key": bob.keyText]
            try program.ask(admit, refusedWith: "removed")
            bob.habits = .quiet
            for chat in [invite, first] {
                bob.chat = chat.keys
                try bob.expectNoAnswer(from: program, "a key that a move removed")
            }
            try trial.member("Bob", of: second, at: program, identity: bob.identity).ping()
        },
        Case("A-44.1", "queued messages fail as after `leave`, and the chat stays current", also: "M-18", "M-91") {
            trial in
            let (program, owner, invite) = try trial.startFollowing(needs: .messages)
            let bob = try trial.member("Bob", of: invite, at: program)
            try program.ask(["do": "open", "chat": .string(Trial.team)], expecting: "ok")
            bob.habits.acknowledges = false
            try program.ask(["do": "send", "text": "lost"], expecting: "sent")
            let successor = trial.newSuccessor(owner: owner)
            try owner.sendSuccessor(successor.body)
            let moved = try program.awaitMoved(to: successor)
            let failure = try program.awaitFailure("left", for: bob.user)
            try expect(failure.at <= moved.at + .milliseconds(100), "the failure at the move", actual: "later")
            let next = Trial.invite(to: successor)
            let carol = try trial.member("Carol", of: next, at: program)
            let sent = try program.ask(["do": "send", "text": "to the new chat"], expecting: "sent")
            try expect(
                sent["chat"]?.string == Trial.team && sent["to"]?.integer == 1, "a message to Carol in `team`",
                actual: program.describe(sent))
            try carol.await("the message", since: .zero) { $0.text != nil }
            let invited = try program.ask(["do": "invite"], expecting: "invite")
            try expect(
                invited["invite"]?.string == next.text, "the new invite", actual: program.describe(invited))
            let chat = try program.team()
            try expect(
                chat?["owner"]?.string == successor.owner.base64url, "the owner in `chats`",
                actual: chat.map(program.describe) ?? "no chat")
        },
        Case(
            "A-45.3", "the invite of a chat that moved leads to the newest chat, or yields `chat-moved` after a leave",
            also: "M-46", "M-91"
        ) { trial in
            let (program, owner, invite) = try trial.startFollowing(needs: .invitations, .messages)
            var peer = owner
            var next = invite
            for _ in 1...2 {
                let successor = trial.newSuccessor(owner: peer)
                try peer.sendSuccessor(successor.body)
                try program.awaitMoved(to: successor)
                next = Trial.invite(to: successor)
                peer = try trial.member("Olga", of: next, at: program, identity: owner.identity)
            }
            func passesOver(_ program: Program) throws {
                let lobby = try trial.peer(named: "Olga", identity: owner.identity)
                try lobby.open(to: program)
                let start = trial.now
                lobby.sendInvite(Array(invite.text.utf8))
                try program.expectNoInvitation(from: lobby, since: start, "an invite to the old chat")
            }
            func refuses(_ program: Program) throws {
                let other = Invite(name: try ChatName("label"), secret: invite.secret, owner: invite.owner)
                for invite in [invite, other] {
                    try program.ask(["do": "join", "invite": .string(invite.text)], refusedWith: "chat-moved")
                }
            }
            let join: [String: JSONValue] = ["do": "join", "invite": .string(invite.text)]
            func leads(_ program: Program) throws {
                let answer = try program.ask(join, expecting: "ok")
                try expect(answer["invite"]?.string == next.text, "the newest chat", actual: program.describe(answer))
            }
            try passesOver(program)
            let again = try trial.restart(program)
            try leads(again)
            try passesOver(again)
            try again.ask(["do": "leave", "chat": .string(Trial.team)], expecting: "ok")
            try refuses(again)
            let last = try trial.restart(again)
            try refuses(last)
            _ = try last.join(Trial.team, next.secret, owner: next.owner)
            try leads(trial.restart(last))
        },
        Case("A-45.4", "an owner's old invite leads to the newest chat, also after a restart", also: "A-42") { trial in
            let (program, invite) = try trial.startOwning()
            let next = try Trial.invite(in: program.move(choosing: []))
            let join: [String: JSONValue] = ["do": "join", "invite": .string(invite.text)]
            try program.ask(join, expecting: "error")
            let again = try trial.restart(program)
            let chats = try again.chatNames()
            try expect(chats == [trial.chatName], "no departed chat in `chats`", actual: "\(chats)")
            let answer = try again.ask(join, expecting: "ok")
            try expect(answer["invite"]?.string == next.text, "the newest chat", actual: again.describe(answer))
        },
        Case(
            "A-46.1", "a key that is neither chosen nor removed is reported once, present or later", also: "M-95"
        ) { trial in
            let (program, invite) = try trial.startOwning()
            let alice = try trial.member("Alice", of: invite, at: program)
            let bob = try trial.member("Bob", of: invite, at: program)
            let carol = try trial.member("Carol", of: invite, at: program)
            try program.move(choosing: [alice], removing: [bob])
            let dave = try trial.peer(named: "Dave", in: invite.keys)
            for peer in [carol, dave, bob] {
                peer.habits = .quiet
                for _ in 1...2 { try peer.expectNoAnswer(from: program, peer.name) }
            }
            let reported = program.notices("newcomer")
            try expect(
                reported.count == 2 && reported.map { $0["key"] } == [carol.keyText, dave.keyText]
                    && reported.map { $0["user"]?.string } == [carol.user, dave.user]
                    && reported.allSatisfy { $0["chat"]?.string == Trial.team && $0["text"]?.string != nil }
                    && reported[0]["name"]?.string == "Carol",
                "`newcomer` of Carol and of Dave, once each", actual: program.describe(.array(reported)))
        },
        Case("A-46.2", "of keys that nobody verified, 32 are reported", also: "M-95") { trial in
            let (program, invite) = try trial.startOwning()
            try program.move(choosing: [])
            let crowd = try trial.peer(named: "Crowd", in: invite.keys)
            crowd.habits = .quiet
            for _ in 1...40 {
                crowd.identity = KeyPair(using: &trial.generator)
                try crowd.begin(to: program)
                trial.run(for: .milliseconds(20))
            }
            trial.run(for: .milliseconds(500))
            let count = program.notices("newcomer").count
            try expect(count == 32, "32 notices", actual: "\(count)")
        },
    ]
}
