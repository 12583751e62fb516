import InklingWire

/// A program that moves its own chat: M-65, M-89, M-92 and M-93.
extension Catalogue {
    static let departureCases: [Case] = [
        Case(
            "M-65.1", "chosen keys get the successor and then a bye, and all others a bye at once",
            also: "M-100", "A-42", "A-44", "M-89", "M-92"
        ) { trial in
            let (program, invite) = try trial.startOwning()
            let alice = try trial.member("Alice", of: invite, at: program)
            let bob = try trial.member("Bob", of: invite, at: program)
            let carol = try trial.member("Carol", of: invite, at: program)
            let start = trial.now
            let answer = try program.move(choosing: [alice], removing: [bob])
            let successor = try alice.awaitSuccessor()
            for peer in [alice, carol] { try peer.awaitLeaving(since: start) }
            try bob.awaitLeaving(since: start, .removed)
            try expect(
                successor.owner == program.key
                    && successor.removed == [bob.identity.publicKey],
                "the program's key, and Bob as removed",
                actual: "\(successor.removed.count) removed")
            let next = Trial.invite(to: successor)
            try expect(
                answer["invite"]?.string == next.text && answer["owner"]?.string == program.key.base64url
                    && answer["chat"]?.string == Trial.team && successor.secret != invite.secret,
                "the invite \(next.text) in the answer", actual: program.describe(answer))
            try expect(
                bob.successors.isEmpty && carol.successors.isEmpty, "no successor to others", actual: "one came")
            for peer in [alice, bob, carol] { try program.awaitPresence("offline", of: peer.user, in: Trial.team) }
            (bob.chat, bob.habits) = (next.keys, .quiet)
            try program.awaitMoved(to: successor, since: start)
            try bob.expectNoAnswer(from: program, "a removed key in the new chat")
            try trial.member("Alice", of: next, at: program, identity: alice.identity).ping()
        },
        Case("M-65.2", "a successor goes behind a message that has begun, and messages behind that fail", also: "A-44")
        {
            trial in
            let (program, invite) = try trial.startOwning(needs: .messages)
            let alice = try trial.member("Alice", of: invite, at: program)
            alice.habits.acknowledges = false
            let chat = Trial.team
            program.send(String(repeating: "x", count: 20 * 1_167), chat: chat)
            try alice.await("a record of the message", since: .zero) { $0.text != nil }
            program.send("behind", chat: chat)
            try program.move(choosing: [alice])
            try program.await("failed", "`failed` of message 2", where: { $0["message"]?.integer == 2 })
            try alice.needLink()
            alice.habits.acknowledges = true
            alice.sendAck()
            try alice.awaitSuccessor(within: .seconds(10))
            try program.awaitDelivered(to: alice.user)
            let first = alice.distinctTexts.map(\.number).min() ?? 0
            let record = alice.records.first { $0.value.type == .successor }?.value
            try expect(
                record?.number == first + 20 && alice.distinctTexts.count == 20,
                "the successor as record \(first + 20), behind 20 of text",
                actual: "record \(record?.number ?? 0), behind \(alice.distinctTexts.count)")
            let outcomes = program.outcomes(for: alice.user).map { "\($0.kind) \($0.message ?? 0) \($0.why ?? "")" }
            try expect(
                outcomes.sorted() == ["delivered 1 ", "failed 2 left"],
                "`delivered` of 1, and `failed` with `left` of 2",
                actual: "\(outcomes)")
        },
        Case("M-65.3", "a successor is repeated until it is acknowledged, and the bye follows the ack") { trial in
            let (program, invite) = try trial.startOwning()
            let alice = try trial.member("Alice", of: invite, at: program)
            alice.habits.acknowledges = false
            let start = trial.now
            try program.move(choosing: [alice])
            try trial.wait(
                .seconds(5), for: "three transmissions of the successor",
                when: { alice.records.count { $0.value.type == .successor } >= 3 })
            try expect(
                alice.byes.isEmpty && alice.successors.count == 1, "one successor, and no bye before the ack",
                actual: "\(alice.successors.count) successors, \(alice.byes.count) byes")
            alice.habits.acknowledges = true
            try alice.awaitLeaving(since: start)
        },
        Case(
            "M-65.4", "a chosen key that comes later gets the successor, also after a kill and a restart", also: "A-42"
        ) { trial in
            let (program, invite) = try trial.startOwning()
            let peers = try ["Alice", "Bob", "Eve"].map { try trial.peer(named: $0, in: invite.keys) }
            let answer = try program.move(choosing: [peers[0], peers[1]])
            let again = try trial.restart(program)
            for (peer, running) in [(peers[0], again), (peers[1], again)] {
                let start = trial.now
                try peer.openUnseen(to: running)
                let successor = try peer.awaitSuccessor()
                try expect(
                    Trial.invite(to: successor).text == answer["invite"]?.string, "the invite of the answer",
                    actual: Trial.invite(to: successor).text)
                try peer.awaitLeaving(since: start)
            }
            peers[2].habits = .quiet
            try peers[2].expectNoAnswer(from: again, "a key that is not chosen")
        },
        Case("M-65.5", "a program opens to a chosen key in the old chat, and to no other", also: "M-92") { trial in
            let peers = try ["Alice", "Bob"].map { try trial.peer(named: $0) }
            for peer in peers { peer.habits.answersAsks = false }
            let (program, invite) = try trial.startOwning(peers: peers, needs: .peer)
            try program.move(choosing: [peers[0]])
            for peer in peers { (peer.chat, peer.habits.answersAsks) = (invite.keys, true) }
            try peers[0].awaitSuccessor(within: .seconds(15))
            try trial.wait(
                .seconds(8), for: "an ask of the old chat to the other",
                when: { peers[1].asks.contains { invite.keys.fits($0.value) } })
            try trial.never(for: .seconds(1), "no initiation to a key that is not chosen") {
                !peers[1].initiations.isEmpty
            }
        },
        Case("T-29.2", "when a chat moves, failed messages come before the absence of their recipient") {
            trial in
            let (program, invite) = try trial.startOwning(needs: .messages)
            let peers = try ["Alice", "Bob"].map { try trial.member($0, of: invite, at: program) }
            for peer in peers { peer.habits.acknowledges = false }
            // The records of the first message fill the window, so that the second one has not begun.
            for text in [String(repeating: "x", count: 20 * 1_167), "behind"] { program.send(text, chat: Trial.team) }
            try peers[0].await("a record of the message", since: .zero) { $0.text != nil }
            try program.move(choosing: [peers[0]])
            for peer in peers {
                try program.awaitPresence("offline", of: peer.user, in: Trial.team)
                let kinds = program.lines.compactMap { line -> String? in
                    guard line.value?["user"]?.string == peer.user else { return nil }
                    if line.value?["presence"]?.string == "offline" { return "offline" }
                    return line.kind == "failed" && line.value?["message"]?.integer == 2 ? "failed" : nil
                }
                try expect(kinds == ["failed", "offline"], "`failed` of message 2, then `peer`", actual: "\(kinds)")
            }
        },
        Case(
            "M-92.1", "in a departed chat, a program answers asks, and no initiation but of chosen keys",
            also: "M-91", "D-13"
        ) { trial in
            let (program, invite) = try trial.startOwning()
            let bob = try trial.member("Bob", of: invite, at: program)
            let alice = try trial.peer(in: invite.keys)
            let next = try Trial.invite(in: program.move(choosing: [alice], removing: [bob]))
            trial.run(for: .milliseconds(300))
            let other = try trial.peer(named: "Carol", in: invite.keys)
            for (peer, why) in [(bob, "a removed key"), (other, "a key that is not chosen")] {
                peer.habits = .quiet
                try peer.expectNoAnswer(from: program, why)
            }
            other.sendBytes(invite.keys.ask(token: 7).encode(), to: program.address)
            try trial.wait(.seconds(2), for: "a tell in the old chat", when: { other.tells.count == 1 })
            other.sendBytes(next.keys.ask(token: 8).encode(), to: program.address)
            try trial.wait(.seconds(2), for: "a tell in the new chat", when: { other.tells.count == 2 })
        },
        Case(
            "M-92.2", "a departed chat shows nobody, and its links carry no message and no typing"
        ) { trial in
            let (program, invite) = try trial.startOwning(needs: .messages, .who, .away)
            let alice = try trial.peer(in: invite.keys)
            alice.habits.acknowledges = false
            try program.move(choosing: [alice])
            let start = trial.now
            try alice.openUnseen(to: program)
            // The name alone is acknowledged: while it is not, the successor may have no room in the window (M-35).
            alice.send([.ack(Ack(next: 1))])
            try alice.awaitSuccessor()
            try alice.needLink()
            alice.announce(typing: true)
            program.tell(["do": "away"])
            program.compose("hello", chat: Trial.team)
            let sent = try program.ask(["do": "send", "chat": .string(Trial.team), "text": "hello"], expecting: "sent")
            try expect(sent["to"]?.integer == 0, "a message to nobody", actual: program.describe(sent))
            program.compose("again", chat: Trial.team)
            try trial.never(for: .milliseconds(1_500), "no `peer` and no typing of Alice") {
                !program.peerEvents(alice.user, in: Trial.team).isEmpty
                    || program.shows(typing: alice.user, in: Trial.team)
            }
            let who = try program.ask(["do": "who", "chat": .string(Trial.team)], expecting: "who")
            let isShown = (who["peers"]?.array ?? []).contains {
                $0["user"]?.string == alice.user && $0["presence"]?.string != "offline"
            }
            try expect(!isShown, "Alice as offline in `who`, or not", actual: program.describe(who))
            let wrong = alice.received(since: start).filter {
                $0.text != nil || $0.status?.isTyping == true || $0.status?.isAway == true
            }
            try expect(
                wrong.isEmpty && alice.successors.count == 1, "one successor, no text, and the statuses 0x00 and 0x04",
                actual: "\(wrong.count) others, and \(alice.successors.count) successors")
        },
        Case("M-92.3", "after the ack of a run, its initiations get no answer, and those of another run get one") {
            trial in
            let (program, invite) = try trial.startOwning()
            let alice = try trial.member("Alice", of: invite, at: program)
            let start = trial.now
            try program.move(choosing: [alice])
            try alice.awaitSuccessor()
            try alice.awaitLeaving(since: start)
            for _ in 1...3 { try alice.expectNoAnswer(from: program, "the run that acknowledged") }
            alice.restart()
            let second = trial.now
            try alice.openUnseen(to: program)
            try alice.awaitSuccessor(2)
            try alice.awaitLeaving(since: second)
        },
        Case("M-92.4", "in a departed chat, a text and an invite get no ack") { trial in
            let (program, invite) = try trial.startOwning(needs: .messages)
            let peers = try ["Alice", "Bob"].map { try trial.peer(named: $0, in: invite.keys) }
            try program.move(choosing: peers)
            for (peer, type) in zip(peers, [RecordType.text, .invite]) {
                peer.habits.acknowledges = false
                try peer.openUnseen(to: program)
                peer.send([.ack(Ack(next: 1))])
                try peer.awaitSuccessor()
                let (number, start) = (peer.state.nextOwnRecord, trial.now)
                let body = Array((type == .text ? "late" : "").utf8)
                peer.send([.typing(peer.status), .record(Record(number: number, type: type, body: body))])
                try peer.await("an ack of what came before", since: start) { $0.ack?.next == number }
                try trial.never(for: .milliseconds(300), "no ack of the \(type)") {
                    peer.received(since: start).contains { $0.ack.map { $0.next > number } ?? false }
                }
            }
            try expect(program.events("message").isEmpty, "no `message`", actual: "one came")
        },
        Case("M-93.1", "each departed chat keeps its successor, for the keys that each later move chose") { trial in
            let (program, invite) = try trial.startOwning()
            let names = ["Alice", "Bob", "Carol"]
            let peers = try names.map { try trial.peer(named: $0, in: invite.keys) }
            let first = try program.move(choosing: [peers[0], peers[1]])
            let next = try Trial.invite(in: first)
            let second = try program.move(choosing: [peers[0], peers[2]])
            let between = try trial.peer(named: "Alice", in: next.keys, identity: peers[0].identity)
            for (peer, answer) in [(peers[0], first), (between, second)] {
                try peer.openUnseen(to: program)
                let successor = try peer.awaitSuccessor()
                try expect(
                    Trial.invite(to: successor).text == answer["invite"]?.string, "the invite of that move",
                    actual: Trial.invite(to: successor).text)
            }
            for (peer, chats) in [(peers[1], [invite.keys, next.keys]), (peers[2], [invite.keys])] {
                for chat in chats {
                    (peer.chat, peer.habits) = (chat, .quiet)
                    try peer.expectNoAnswer(from: program, "a key that one of the moves did not choose")
                }
            }
        },
        Case("M-93.2", "a key that a later move does not choose gets the bye on its links in departed chats") { trial in
            let (program, invite) = try trial.startOwning()
            let alice = try trial.member("Alice", of: invite, at: program)
            let bob = try trial.member("Bob", of: invite, at: program)
            for peer in [alice, bob] { peer.habits.acknowledges = false }
            try program.move(choosing: [alice, bob])
            for peer in [alice, bob] { try peer.awaitSuccessor() }
            let start = trial.now
            try program.move(choosing: [alice])
            try bob.awaitLeaving(since: start)
            bob.habits = .quiet
            try bob.expectNoAnswer(from: program, "a key that is chosen no more")
            try expect(alice.byes.isEmpty, "no bye to Alice before her ack", actual: "a bye")
            alice.habits.acknowledges = true
            try alice.awaitLeaving(since: start)
            try expect(alice.successors.count == 1, "one successor", actual: "\(alice.successors.count)")
        },
        Case("M-93.3", "a member by hand who comes late follows two moves", also: "D-13", "M-92") { trial in
            let (program, invite) = try trial.startOwning()
            var alice = try trial.peer(in: invite.keys)
            for _ in 1...2 { try program.move(choosing: [alice]) }
            for token: UInt64 in 1...2 {
                let start = trial.now
                alice.sendBytes(alice.chat.ask(token: token).encode(), to: program.address)
                try trial.wait(.seconds(2), for: "a tell in each chat", when: { alice.tells.count == 1 })
                try alice.openUnseen(to: program)
                let next = try alice.awaitSuccessor()
                try alice.awaitLeaving(since: start)
                alice = try trial.peer(in: next.keys, identity: alice.identity)
            }
            try alice.open(to: program, in: Trial.team)
        },
        Case("M-89.1", "an owner hands its chat over, and follows the new owner", also: "A-42", "M-90") { trial in
            let (program, invite) = try trial.startOwning()
            let heir = try trial.member("Heidi", of: invite, at: program)
            let answer = try program.move(choosing: [heir], owner: heir)
            let successor = try heir.awaitSuccessor()
            try expect(
                successor.owner == heir.identity.publicKey && answer["owner"] == heir.keyText, "Heidi as the owner",
                actual: program.describe(answer))
            let next = Trial.invite(to: successor)
            let request: [String: JSONValue] = ["do": "move", "chat": .string(Trial.team), "keys": [heir.keyText]]
            try program.ask(request, refusedWith: "not-owner")
            let owner = try trial.member("Heidi", of: next, at: program, identity: heir.identity)
            let further = trial.newSuccessor(owner: owner)
            try owner.sendSuccessor(further.body)
            try program.awaitMoved(to: further)
        },
    ]
}
