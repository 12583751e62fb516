import InklingWire

/// A program that follows the owner of its chat: W-42 and M-88 to M-91.
extension Catalogue {
    static let followingCases: [Case] = [
        Case("M-89.v1", "of the successors of the vectors, the valid ones are taken, and no other", also: "W-3") {
            trial in
            let program = try trial.startAnswering(needs: .moves, .chats, .secret)
            for vector in Vector.successors {
                let owner = try trial.peer(named: "Olga")
                let invite = try program.join(Trial.team, trial.newSecret(), owner: owner.identity.publicKey)
                owner.chat = invite.keys
                try owner.open(to: program, in: Trial.team)
                guard let successor = try? Successor(vector.bytes("body")) else {
                    throw Untried(reason: "the suite refuses \(vector.name)")
                }
                try owner.sendSuccessor(vector.bytes("body"))
                try program.awaitMoved(to: NextChat(successor, in: invite.keys))
                try program.ask(["do": "leave", "chat": .string(Trial.team)], expecting: "ok")
            }
            let owner = try trial.peer(named: "Olga")
            let invite = try program.join(Trial.team, trial.newSecret(), owner: owner.identity.publicKey)
            owner.chat = invite.keys
            try owner.open(to: program, in: Trial.team)
            for vector in Vector.invalidSuccessors {
                let start = trial.now
                try owner.sendSuccessor(vector.bytes("body"))
                try program.expectNoMove(after: vector.name, of: owner, since: start)
            }
        },
        Case(
            "W-42.1", "a body leads to another chat from each chat, so nobody moves the chat of another owner",
            also: "M-90"
        ) { trial in
            let (program, owner, invite) = try trial.startFollowing()
            let eve = try trial.peer(named: "Eve")
            let club = try program.join("club", trial.newSecret(), owner: eve.identity.publicKey)
            eve.chat = club.keys
            try eve.open(to: program, in: "club")
            let first = trial.newSuccessor(owner: owner)
            try owner.sendSuccessor(first.body)
            try program.awaitMoved(to: first)
            try eve.sendSuccessor(first.body)
            try program.awaitMoved("club", to: NextChat(first.successor, in: club.keys))
            let again = try trial.member("Olga", of: Trial.invite(to: first), at: program, identity: owner.identity)
            let second = NextChat(first.successor, in: first.keys)
            try again.sendSuccessor(first.body)
            try program.awaitMoved(to: second)
            try expect(
                second.secret != first.secret && second.secret != invite.secret, "a third chat", actual: "a loop")
        },
        Case("M-90.1", "a successor counts from the owner's key alone, and is acknowledged from all", also: "M-26") {
            trial in
            let (program, owner, invite) = try trial.startFollowing(needs: .messages)
            let bob = try trial.member("Bob", of: invite, at: program)
            let start = trial.now
            try bob.sendSuccessor(trial.newSuccessor(owner: owner).body)
            try bob.sendSuccessor(trial.newSuccessor(owner: bob).body)
            try program.expectNoMove(after: "a member's successor", of: bob, since: start)
            try trial.wait(.seconds(3), for: "an ack of all four records", when: { bob.state.acknowledged == 4 })
            let successor = trial.newSuccessor(owner: owner)
            try owner.sendSuccessor(successor.body)
            try program.awaitMoved(to: successor)
        },
        Case("M-97.1", "a removal counts from the chat's owner alone, and from anybody else as a bye", also: "X-2") {
            trial in
            let (program, owner, invite) = try trial.startFollowing()
            let bob = try trial.member("Bob", of: invite, at: program)
            for (peer, why) in [(bob, "bye"), (owner, "removed")] {
                peer.bye(.removed)
                let gone = try program.awaitPresence("offline", of: peer.user, in: Trial.team)
                try expect(
                    gone.value["why"]?.string == why, "`why` is `\(why)` for \(peer.name)",
                    actual: program.describe(gone.value))
            }
        },
        Case("M-90.2", "in a chat without an owner no successor counts") { trial in
            let program = try trial.startAnswering(needs: .moves, .chats, .secret, .messages)
            let alice = try trial.peer()
            try alice.open(to: program)
            let invite = try program.join(Trial.team, trial.newSecret())
            let bob = try trial.member("Bob", of: invite, at: program)
            for peer in [alice, bob] {
                let start = trial.now
                try peer.sendSuccessor(trial.newSuccessor(owner: peer).body)
                try program.expectNoMove(after: "the successor of \(peer.name)", of: peer, since: start)
            }
        },
        Case(
            "M-88.1", "a program follows eight moves at once, and the next after 10 s: the first of two that came",
            also: "M-90", load: .long
        ) { trial in
            var (program, owner, _) = try trial.startFollowing(needs: .messages)
            let sent = trial.now
            var begun: Duration?
            for _ in 1...8 {
                let next = trial.newSuccessor(owner: owner)
                try owner.sendSuccessor(next.body)
                let moved = try program.awaitMoved(to: next)
                begun = begun ?? moved.at - sent
                owner = try trial.member("Olga", of: Trial.invite(to: next), at: program, identity: owner.identity)
            }
            let start = trial.now
            let successors = (0..<2).map { _ in trial.newSuccessor(owner: owner) }
            for (what, successor) in zip(["a ninth move", "another ninth one"], successors) {
                try owner.sendSuccessor(successor.body)
                try program.expectNoMove(after: what, of: owner, since: start)
            }
            try trial.wait(.seconds(3), for: "an ack of all five records", when: { owner.state.acknowledged == 5 })
            let moved = try program.awaitMoved(to: successors[0], within: .seconds(12), since: start)
            // The first move was between the record and the notice.
            try trial.judge(
                "the ninth move", moved.at - sent, from: .seconds(10), to: .seconds(10) + (begun ?? .zero))
            try trial.member(
                "Olga", of: Trial.invite(to: successors[0]), at: program, identity: owner.identity
            ).ping()
        },
        Case(
            "M-91.1", "a program follows to the new chat, and says bye in the old one, which it answers no more",
            also: "L-32", "M-90", "A-44"
        ) { trial in
            let (program, owner, invite) = try trial.startFollowing(needs: .messages)
            let bob = try trial.member("Bob", of: invite, at: program)
            let successor = trial.newSuccessor(owner: owner)
            let start = trial.now
            try owner.sendSuccessor(successor.body)
            let moved = try program.awaitMoved(to: successor)
            for peer in [owner, bob] {
                try peer.awaitLeaving(since: start)
                try expect(
                    program.peerEvents(peer.user, in: Trial.team, since: start).first?.value["presence"]?.string
                        == "offline"
                        && program.peerEvents(peer.user, in: Trial.team, since: start)[0].at <= moved.at,
                    "\(peer.name) as offline before `moved`", actual: "no such `peer`")
            }
            let late = try trial.peer(named: "Late", in: invite.keys)
            late.habits = .quiet
            try late.expectNoAnswer(from: program, "an initiation in the old chat")
            let carol = try trial.member("Carol", of: Trial.invite(to: successor), at: program)
            try program.ask(["do": "send", "chat": .string(Trial.team), "text": "here"], expecting: "sent")
            try carol.await("a message in the new chat", since: start) { $0.text != nil }
            let chats = try program.chatNames()
            try expect(chats == [trial.chatName, Trial.team], "the two chats", actual: "\(chats)")
        },
        Case("M-91.2", "in the new chat, removed keys get no answer and no link", also: "L-36") { trial in
            let names = ["Bob", "Carol"]
            let peers = try names.map { try trial.peer(named: $0) }
            for peer in peers { peer.habits.answersAsks = false }
            let (program, owner, _) = try trial.startFollowing(peers: peers, needs: .peer)
            let successor = trial.newSuccessor(owner: owner, removed: [peers[0].identity.publicKey])
            try owner.sendSuccessor(successor.body)
            try program.awaitMoved(to: successor)
            for peer in peers { (peer.chat, peer.habits.answersAsks) = (successor.keys, true) }
            try peers[0].expectNoAnswer(from: program, "a removed key")
            try trial.wait(
                .seconds(12), for: "asks in the new chat",
                when: { peers.allSatisfy { $0.asks.contains { successor.keys.fits($0.value) } } })
            try peers[1].awaitLink(from: program, in: Trial.team)
            try trial.never(for: .seconds(1), "no initiation to a removed key") { !peers[0].initiations.isEmpty }
        },
        Case(
            "M-91.3", "removed keys hold after a restart, when the chat is joined by its invite"
        ) { trial in
            let (program, owner, _) = try trial.startFollowing(needs: .messages)
            let bob = try trial.peer(named: "Bob")
            let successor = trial.newSuccessor(owner: owner, removed: [bob.identity.publicKey])
            try owner.sendSuccessor(successor.body)
            try program.awaitMoved(to: successor)
            let again = try trial.restart(program)
            let invite = try again.join(Trial.team, successor.secret, owner: successor.owner)
            (bob.chat, bob.habits) = (successor.keys, .quiet)
            try bob.expectNoAnswer(from: again, "a removed key after a restart")
            let returned = try trial.member("Olga", of: invite, at: again, identity: owner.identity)
            let next = trial.newSuccessor(owner: returned)
            try returned.sendSuccessor(next.body)
            try again.awaitMoved(to: next)
        },
        Case(
            "M-91.4", "a program that is in the new chat already ends the links of removed keys there", also: "L-36"
        ) { trial in
            let (program, owner, _) = try trial.startFollowing()
            let bob = try trial.peer(named: "Bob")
            let next = trial.newSuccessor(owner: owner, removed: [bob.identity.publicKey])
            let invite = try program.join("later", next.secret, owner: next.owner)
            bob.chat = invite.keys
            try bob.open(to: program, in: "later")
            let start = trial.now
            try owner.sendSuccessor(next.body)
            try program.awaitMoved(to: next)
            try bob.awaitLeaving(since: start)
            bob.habits = .quiet
            try bob.expectNoAnswer(from: program, "a removed key")
            let chats = try program.chatNames()
            // A program may keep the old name until its user leaves the chat.
            try expect(
                chats.filter { $0 != Trial.team } == [trial.chatName, "later"], "the new chat once",
                actual: "\(chats)")
        },
        Case("M-91.5", "a program joins no chat again that it left by a move", also: "A-45") { trial in
            let (program, owner, _) = try trial.startFollowing()
            let next = trial.newSuccessor(owner: owner)
            let last = trial.newSuccessor(owner: owner, in: next.keys)
            let between = try program.join("later", next.secret, owner: next.owner)
            let there = try trial.peer(named: "Olga", in: between.keys, identity: owner.identity)
            try there.open(to: program, in: "later")
            try there.sendSuccessor(last.body)
            try program.awaitMoved("later", to: last)
            try owner.sendSuccessor(next.body)
            try program.awaitMoved(to: next)
            let chats = try program.chatNames()
            try expect(
                chats.filter { $0 != Trial.team } == [trial.chatName, "later"], "the last chat alone",
                actual: "\(chats)")
            let late = try trial.peer(named: "Late", in: next.keys)
            late.habits = .quiet
            try late.expectNoAnswer(from: program, "an initiation in the chat between")
        },
        Case("M-91.6", "a program with a peer by hand follows that peer through two moves", also: "D-11", load: .long) {
            trial in
            let owner = try trial.peer(named: "Olga")
            let program = try trial.startAnswering(
                ProgramArguments(chat: trial.chatName, peers: [owner.address], state: "moves"),
                needs: [.moves, .chats, .secret, .peer])
            owner.chat = try program.join(Trial.team, trial.newSecret(), owner: owner.identity.publicKey).keys
            for step in 0...2 {
                let session = try trial.wait(
                    .seconds(12), for: "a link in the chat",
                    until: { owner.sending?.isComplete == true ? owner.sending : nil })
                try owner.awaitNamed(on: session)
                try program.awaitPresence("online", of: owner.user, in: Trial.team)
                guard step < 2 else { return }
                let next = trial.newSuccessor(owner: owner)
                let start = trial.now
                try owner.sendSuccessor(next.body)
                try program.awaitMoved(to: next)
                try owner.awaitLeaving(since: start)
                owner.restart()
                owner.chat = next.keys
            }
        },
        Case("M-90.3", "after a move to another owner, that owner's key alone moves the chat") { trial in
            let (program, owner, _) = try trial.startFollowing(needs: .messages)
            let heir = try trial.peer(named: "Heidi")
            let successor = trial.newSuccessor(owner: heir, in: owner.chat)
            try owner.sendSuccessor(successor.body)
            try program.awaitMoved(to: successor)
            let chat = try program.team()
            try expect(
                chat?["owner"] == heir.keyText, "the new owner in `chats`",
                actual: chat.map(program.describe) ?? "no chat")
            let invite = Trial.invite(to: successor)
            let former = try trial.member("Olga", of: invite, at: program, identity: owner.identity)
            heir.chat = invite.keys
            try heir.open(to: program, in: Trial.team)
            let start = trial.now
            try former.sendSuccessor(trial.newSuccessor(owner: owner).body)
            try program.expectNoMove(after: "the former owner's successor", of: former, since: start)
            let next = trial.newSuccessor(owner: heir)
            try heir.sendSuccessor(next.body)
            try program.awaitMoved(to: next)
        },
    ]
}
