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
            "A-45.1", "a chat that moved is joined no more, and invites to it are passed over, also after a restart",
            also: "M-46", "M-91"
        ) { trial in
            let (program, owner, invite) = try trial.startFollowing(needs: .invitations, .messages)
            let successor = trial.newSuccessor(owner: owner)
            try owner.sendSuccessor(successor.body)
            try program.awaitMoved(to: successor)
            func refuse(_ program: Program) throws {
                try program.ask(["do": "join", "invite": .string(invite.text)], refusedWith: "chat-moved")
                let other = Invite(name: try ChatName("label"), secret: invite.secret, owner: invite.owner)
                try program.ask(["do": "join", "invite": .string(other.text)], refusedWith: "chat-moved")
                let lobby = try trial.peer(named: "Olga", identity: owner.identity)
                try lobby.open(to: program)
                let start = trial.now
                lobby.sendInvite(Array(invite.text.utf8))
                try program.expectNoInvitation(from: lobby, since: start, "an invite to the old chat")
            }
            try refuse(program)
            try program.ask(["do": "leave", "chat": .string(Trial.team)], expecting: "ok")
            try refuse(program)
            let again = try trial.restart(program)
            try refuse(again)
            _ = try again.join(Trial.team, successor.secret, owner: successor.owner)
        },
        Case("A-45.2", "an owner joins the chat that it moved no more, also after a restart", also: "A-42") { trial in
            let (program, invite) = try trial.startOwning()
            try program.move(choosing: [])
            try program.ask(["do": "join", "invite": .string(invite.text)], refusedWith: "chat-moved")
            let again = try trial.restart(program)
            try again.ask(["do": "join", "invite": .string(invite.text)], refusedWith: "chat-moved")
            let chats = try again.chatNames()
            try expect(chats == [trial.chatName], "no departed chat in `chats`", actual: "\(chats)")
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
