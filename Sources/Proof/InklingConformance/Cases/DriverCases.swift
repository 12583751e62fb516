import InklingWire

extension Catalogue {
    static let driverCases: [Case] = [
        Case("J-1.1", "every line on standard output is a JSON object in UTF-8, and nothing else is there") { trial in
            let (program, peer) = try trial.startLinked(named: "Zo\u{EB} \u{1F95E}\n\u{1B}[1m", needs: .messages, .who)
            peer.announce(typing: true)
            peer.sendMessage("line\nfeed \u{7} \u{2028} \"quoted\" \\ \u{202E}")
            program.compose("h")
            program.send("hello")
            program.tell(["do": "who"])
            program.feed(Array("not JSON".utf8))
            program.tell(["do": "stats"])
            try program.await("message")
            try program.await("delivered")
            program.tell(["do": "quit"])
            _ = try program.awaitExit()
            for line in program.lines {
                guard case .object = line.value, String(validating: line.bytes, as: UTF8.self) != nil else {
                    throw Finding(
                        expected: "JSON objects alone", actual: String(decoding: line.bytes.prefix(300), as: UTF8.self))
                }
            }
        },
        Case("J-1.2", "each line is written as soon as it is made", also: "T-14") { trial in
            let (program, peer) = try trial.startLinked()
            for isTyping in [true, false, true, false] {
                let start = trial.now
                peer.announce(typing: isTyping)
                try trial.wait(
                    trial.late + .milliseconds(100), for: "a line `typing` after the status",
                    when: { program.typingChanges(of: peer.user, since: start).last?.shown == isTyping })
                trial.run(for: .milliseconds(50))
            }
        },
        Case("J-2.1", "each object has `on`, and `at` in seconds since 1970 with microseconds") { trial in
            let (program, peer) = try trial.startLinked()
            for number in 0..<8 {
                peer.announce(typing: number % 2 == 0)
                trial.run(for: .milliseconds(130 + 40 * number))
            }
            program.feed(Array("{}".utf8))
            try program.await("error")
            var offsets: [Double] = []
            var fractions = 0
            for line in program.lines {
                guard line.kind != nil, let at = line.value?["at"]?.number, (1e9..<1e11).contains(at) else {
                    throw Finding(
                        expected: "`on`, and `at` in seconds since 1970",
                        actual: String(decoding: line.bytes.prefix(300), as: UTF8.self))
                }
                if line.kind == "typing" { offsets.append(at - line.at.seconds) }
                if Int((at * 1_000_000).rounded()) % 1_000 != 0 { fractions += 1 }
            }
            guard let least = offsets.min(), let most = offsets.max(), most - least < 0.5 else {
                throw Finding(
                    expected: "times that pass as fast as those of the lines",
                    actual: "they differ from those by \(offsets)")
            }
            try expect(fractions > 0, "microseconds", actual: "whole milliseconds alone")
        },
        Case("J-3.1", "the first line is `ready`, with user, name, port, chat, version and key") { trial in
            let program = try trial.start(ProgramArguments(chat: trial.chatName, name: "Zo\u{EB}"))
            let ready = program.readyLine
            for (member, expected) in [("name", "Zo\u{EB}"), ("chat", trial.chatName), ("user", program.user)] {
                try expect(
                    ready[member]?.string == expected, "`\(member)` is \(expected)", actual: program.describe(ready))
            }
            try expect(ready["version"]?.string != nil, "a text `version`", actual: program.describe(ready))
        },
        Case("J-3.2", "when it is ready, the socket is bound") { trial in
            for number in 0..<3 {
                let program = try trial.start(ProgramArguments(chat: trial.chatName, state: "state \(number)"))
                let peer = try trial.peer()
                let ask = peer.chat.ask(token: UInt64(number))
                peer.sendBytes(ask.encode(), to: program.address)
                try trial.wait(
                    .seconds(2), for: "a tell to an ask that was sent once, after `ready`", until: { peer.tells.first })
                try expect(
                    program.events("ready").count == 1, "`ready` once", actual: "\(program.events("ready").count) times"
                )
            }
        },
        Case("J-5.1", "`compose` and `send` act in the order of their lines", also: "M-9", "T-10") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            trial.run(for: .milliseconds(300))
            let start = trial.now
            program.compose("one")
            for text in ["one", "two", "three"] { program.send(text) }
            program.compose("f")
            try trial.wait(
                .seconds(3), for: "three messages",
                when: { Set(peer.texts.map(\.value.number)).count >= 3 })
            trial.run(for: .milliseconds(700))
            let texts = peer.distinctTexts.map(\.text)
            try expect(texts == ["one", "two", "three"], "the records one, two, three", actual: "\(texts)")
            var words: [String] = []
            for datagram in peer.received.sorted(by: { $0.counter < $1.counter }) where datagram.at >= start {
                guard let status = datagram.typing else { continue }
                let word = status.isTyping ? "start" : "stop"
                if words.last != word { words.append(word) }
            }
            // Once 500 ms have passed since the first start, the program may announce the next (T-5).
            try expect(
                words == ["start", "stop", "start"], "typing frames that say start, stop, start", actual: "\(words)")
        },
        Case("J-6.1", "a `send` yields one `sent`, and then one `delivered` or `failed` for each person", also: "M-17")
        { trial in
            let program = try trial.start(needs: .messages)
            program.send("to nobody", tag: "first")
            let sent = try program.await("sent")
            try expect(
                sent.value["message"]?.integer == 1 && sent.value["tag"]?.string == "first"
                    && sent.value["to"]?.integer == 0, "message 1 with its tag to 0 people",
                actual: program.describe(sent.value))
            let alice = try trial.peer()
            let bob = try trial.peer(named: "Bob")
            bob.habits.acknowledges = false
            try alice.open(to: program)
            try bob.open(to: program)
            program.send("to two")
            let second = try program.await("sent", where: { $0["message"]?.integer == 2 })
            try expect(
                second.value["to"]?.integer == 2 && second.value["tag"] == nil, "message 2 to 2 people, without a tag",
                actual: program.describe(second.value))
            try program.await("delivered", where: { $0["message"]?.integer == 2 && $0["user"]?.string == alice.user })
            bob.send([.bye(.quit)])
            bob.forget()
            try program.await(
                "failed",
                where: { $0["message"]?.integer == 2 && $0["user"]?.string == bob.user && $0["why"]?.string == "bye" })
            trial.run(for: .milliseconds(500))
            let outcomes = program.events("delivered").count + program.events("failed").count
            try expect(
                outcomes == 2 && program.events("sent").count == 2, "two `sent` and two outcomes",
                actual: "\(program.events("sent").count) `sent` and \(outcomes) outcomes")
        },
        Case(
            "J-6.2", "a `send` that is refused yields one `error` with its tag, and nothing is sent", also: "J-4", "M-1"
        ) { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            for (number, text) in ["", String(repeating: "x", count: 65_537)].enumerated() {
                program.send(text, tag: "tag \(number)")
                let error = try program.await("error", where: { $0["line"]?.integer == program.written })
                try expect(
                    error.value["tag"]?.string == "tag \(number)", "the tag in the error",
                    actual: program.describe(error.value))
            }
            program.tell(["do": "send", "text": "x", "chat": "a chat that it is not in", "tag": "tag 2"])
            let unknown = try program.await("error", where: { $0["line"]?.integer == program.written })
            try expect(
                unknown.value["tag"]?.string == "tag 2" && unknown.value["code"]?.string == "unknown-chat",
                "the code `unknown-chat` and the tag", actual: program.describe(unknown.value))
            trial.run(for: .milliseconds(300))
            try expect(
                program.events("sent").isEmpty && peer.texts.isEmpty && program.events("error").count == 3,
                "three errors, and nothing sent", actual: "\(program.events("sent").count) `sent`")
            program.send(String(repeating: "x", count: 65_536))
            try program.await("delivered")
        },
        Case("J-7.1", "`peer` and `typing` are written on a change and only then", also: "T-20") { trial in
            let program = try trial.start()
            let alice = try trial.peer()
            let bob = try trial.peer(named: "Bob")
            for peer in [alice, bob] {
                try peer.open(to: program)
                peer.habits.heartbeat = .milliseconds(300)
            }
            trial.run(for: .milliseconds(400))
            let start = trial.now
            alice.announce(typing: true)
            trial.run(for: .milliseconds(400))
            bob.announce(typing: true)
            trial.run(for: .milliseconds(400))
            for peer in [alice, bob] { peer.sendName() }
            trial.run(for: .milliseconds(400))
            alice.announce(typing: false)
            trial.run(for: .milliseconds(400))
            bob.announce(typing: false)
            trial.run(for: .milliseconds(600))
            let lists = program.events("typing", since: start).map { event in
                (event.value["users"]?.array ?? []).compactMap { $0["name"]?.string }
            }
            try expect(
                lists == [["Alice"], ["Bob", "Alice"], ["Bob"], []], "the lists Alice; Bob, Alice; Bob; nobody",
                actual: "\(lists)")
            for event in program.events("typing", since: start) {
                let isEmpty = event.value["users"]?.array?.isEmpty ?? true
                guard let text = event.value["text"]?.string, text.isEmpty == isEmpty else {
                    throw Finding(
                        expected: "a `text` that is empty when nobody types, and only then",
                        actual: program.describe(event.value))
                }
            }
            try expect(
                program.events("peer", since: start).isEmpty, "no `peer` without a change",
                actual: program.describe(program.events("peer", since: start)[0].value))
        },
        Case("J-7.2", "`peer` is written when a person's name changes", also: "M-24") { trial in
            let (program, peer) = try trial.startLinked()
            peer.sendName("Alicia")
            let event = try program.await("peer", where: { $0["name"]?.string == "Alicia" })
            try expect(
                event.value["presence"]?.string == "online" && event.value["why"]?.string == "hello",
                "`online`, because of `hello`", actual: program.describe(event.value))
            peer.sendName("Alicia")
            try peer.ping()
            trial.run(for: .milliseconds(200))
            try expect(
                program.peerEvents(peer.user).count == 2, "two lines `peer`",
                actual: "\(program.peerEvents(peer.user).count)")
        },
        Case("J-8.1", "names and texts are given as they were sent") { trial in
            let program = try trial.start(needs: .messages)
            let odd =
                "a\u{0}\u{7}\u{1B}[31m\u{9B}\u{202E}\u{2067}\u{FEFF}\"\\/\r\n\te\u{301} \u{E9}\u{1F468}\u{200D}\u{1F469}"
            let peer = try trial.peer(named: odd)
            try peer.open(to: program)
            peer.sendMessage(odd)
            let message = try program.await("message")
            let texts = [message.value["text"]?.string, message.value["from"]?["name"]?.string]
            for text in texts + [program.peerEvents(peer.user).last?.value["name"]?.string] {
                guard let text, Array(text.utf8) == Array(odd.utf8) else {
                    throw Finding(
                        expected: "the bytes \(Array(odd.utf8).hex)",
                        actual: text.map { Array($0.utf8).hex } ?? "no text")
                }
            }
        },
        Case("J-9.1", "`who` is answered with one line, also where nobody is there") { trial in
            let program = try trial.start(needs: .who)
            program.tell(["do": "who"])
            let answer = try program.await("who")
            try expect(
                answer.value["peers"]?.array?.isEmpty == true, "an empty list `peers`",
                actual: program.describe(answer.value))
            try trial.never(for: .milliseconds(500), "one answer", actual: { "a second one came" }) {
                program.events("who").count > 1
            }
        },
        Case("J-9.2", "`who` lists people with their name and presence") { trial in
            let program = try trial.start(needs: .who)
            let peers = [try trial.peer(), try trial.peer(named: "Bob")]
            for peer in peers { try peer.open(to: program) }
            peers[1].announce(away: true)
            try program.awaitPresence("away", of: peers[1].user)
            program.tell(["do": "who", "chat": .string(trial.chatName)])
            let answer = try program.await("who")
            let listed = answer.value["peers"]?.array ?? []
            for (peer, presence) in zip(peers, ["online", "away"]) {
                try expect(
                    listed.contains(where: {
                        $0["user"]?.string == peer.user && $0["name"]?.string == peer.name
                            && $0["presence"]?.string == presence
                    }), "\(peer.name), \(presence)", actual: program.describe(answer.value))
            }
            try expect(
                listed.count == 2 && answer.value["chat"]?.string == trial.chatName, "two people and the chat",
                actual: program.describe(answer.value))
        },
        Case("J-9.3", "`who` is answered without a chat where none is open") { trial in
            let program = try trial.start(needs: .who, .chats)
            program.tell(["do": "leave", "chat": .string(trial.chatName)])
            program.tell(["do": "who"])
            let answer = try program.await("who")
            try expect(answer.value["chat"] == nil, "no member `chat`", actual: program.describe(answer.value))
        },
        Case("J-9.4", "each `stats` is answered with one line") { trial in
            let program = try trial.start(needs: .stats)
            for _ in 0..<3 { program.tell(["do": "stats"]) }
            try trial.wait(.seconds(3), for: "three answers", when: { program.events("stats").count >= 3 })
            try trial.never(for: .milliseconds(300), "three answers", when: { program.events("stats").count > 3 })
        },
    ]
}

extension Catalogue {
    /// Lines that are not commands, and the reasons.
    private static let badLines: [(what: String, line: [UInt8])] = [
        ("text that is not JSON", Array("hello".utf8)), ("an array", Array("[1,2]".utf8)),
        ("a string", Array("\"who\"".utf8)),
        ("a number", Array("7".utf8)), ("null", Array("null".utf8)),
        ("an object that is cut off", Array("{\"do\":\"who\"".utf8)),
        ("two objects", Array("{\"do\":\"away\"}{\"do\":\"away\"}".utf8)), ("no `do`", Array("{\"text\":\"x\"}".utf8)),
        ("an unknown `do`", Array("{\"do\":\"dance\"}".utf8)), ("a `do` in capitals", Array("{\"do\":\"AWAY\"}".utf8)),
        ("a `do` that is null", Array("{\"do\":null}".utf8)), ("a `do` that is a number", Array("{\"do\":7}".utf8)),
        ("compose without a text", Array("{\"do\":\"compose\"}".utf8)),
        ("compose of a number", Array("{\"do\":\"compose\",\"text\":7}".utf8)),
        ("compose of null", Array("{\"do\":\"compose\",\"text\":null}".utf8)),
        ("compose in the chat null", Array("{\"do\":\"compose\",\"text\":\"x\",\"chat\":null}".utf8)),
        ("bytes that are not UTF-8", Array("{\"do\":\"compose\",\"text\":\"".utf8) + [0xFF] + Array("\"}".utf8)),
        ("100,000 brackets", [UInt8](repeating: 0x5B, count: 100_000)),
    ]

    static let driverLineCases: [Case] = [
        Case("J-4.1", "a line that is no command yields one `error` with its number, and changes nothing") { trial in
            let (program, peer) = try trial.startLinked()
            trial.run(for: .milliseconds(300))
            let start = trial.now
            for (what, line) in badLines {
                program.feed(line)
                try program.await(
                    "error", "an `error` with the line \(program.written) for \(what)",
                    where: {
                        $0["line"]?.integer == program.written && $0["code"]?.string != nil && $0["text"]?.string != nil
                    })
            }
            trial.run(for: .milliseconds(500))
            try expect(
                program.events("error").count == badLines.count, "\(badLines.count) errors",
                actual: "\(program.events("error").count)")
            let statuses = peer.received(since: start).compactMap(\.status)
            try expect(
                !statuses.contains(where: { $0.isTyping || $0.isAway }), "no change of the status",
                actual: "a status that says typing or away")
            program.compose("h")
            try peer.await("typing after a good line") { $0.status?.isTyping == true }
        },
        Case("J-4.2", "a member that is missing or not valid yields an `error`, whichever the command") { trial in
            let program = try trial.start(needs: .chats, .messages, .block, .who)
            let lines = [
                "{\"do\":\"send\"}", "{\"do\":\"send\",\"text\":\"\\ud800\"}", "{\"do\":\"send\",\"text\":null}",
                "{\"do\":\"send\",\"text\":[\"x\"]}",
                "{\"do\":\"send\",\"text\":\"x\",\"tag\":5}", "{\"do\":\"send\",\"text\":\"x\",\"tag\":null}",
                "{\"do\":\"send\",\"text\":\"x\",\"chat\":7}", "{\"do\":\"join\"}", "{\"do\":\"join\",\"chat\":null}",
                "{\"do\":\"join\",\"chat\":\"\"}", "{\"do\":\"join\",\"chat\":\"x\",\"secret\":null}",
                "{\"do\":\"join\",\"chat\":\"x\",\"secret\":\"sesame\"}", "{\"do\":\"leave\"}",
                "{\"do\":\"open\",\"chat\":null}",
                "{\"do\":\"open\",\"chat\":true}", "{\"do\":\"block\"}", "{\"do\":\"block\",\"user\":null}",
                "{\"do\":\"block\",\"user\":\"nobody\"}", "{\"do\":\"unblock\"}", "{\"do\":\"who\",\"chat\":7}",
                "{\"do\":\"move\"}", "{\"do\":\"move\",\"keys\":null}", "{\"do\":\"move\",\"keys\":[7]}",
                "{\"do\":\"admit\"}", "{\"do\":\"admit\",\"key\":null}",
                "{\"do\":\"hold\"}", "{\"do\":\"waiting\",\"chat\":7}", "{\"do\":\"forget\",\"entry\":\"x\"}",
            ]
            for line in lines {
                program.feed(Array(line.utf8))
                try program.await("error", "an `error` for \(line)", where: { $0["line"]?.integer == program.written })
            }
            program.tell(["do": "who"])
            try program.await("who")
            try expect(
                program.events("error").count == lines.count && program.events("sent").isEmpty,
                "\(lines.count) errors, and nothing sent", actual: "\(program.events("error").count) errors")
            // Without the secret of chat x, the program must not open the open chat x.
            let peer = try trial.peer(in: ChatKeys(open: "x"))
            _ = try peer.begin(to: program)
            try trial.never(for: .milliseconds(400), "no chat x", when: { peer.datagramCount > 0 })
        },
        Case("J-4.3", "a line of more than 1 MiB yields an `error`, and a shorter one is taken") { trial in
            let (program, peer) = try trial.startLinked()
            let head = Array("{\"do\":\"compose\",\"text\":\"".utf8)
            program.feed(head + [UInt8](repeating: 0x78, count: 1_100_000) + [0x22, 0x7D])
            try program.await("error", within: .seconds(10), where: { $0["line"]?.integer == program.written })
            trial.run(for: .milliseconds(300))
            try expect(
                !peer.received.contains(where: { $0.status?.isTyping == true }) && program.events("error").count == 1,
                "one error, and no typing", actual: "\(program.events("error").count) errors")
            program.feed(head + [UInt8](repeating: 0x78, count: 1_000_000) + [0x22, 0x7D])
            try peer.await("typing after a line of 1,000,028 bytes", within: .seconds(10), since: .zero) {
                $0.status?.isTyping == true
            }
            program.feed(Array("{".utf8))
            try program.await("error", where: { $0["line"]?.integer == program.written })
        },
        Case("J-4.4", "a blank line is skipped, but counted") { trial in
            let program = try trial.start()
            for count in [1, 3, 10] {
                for _ in 0..<count { program.feed([]) }
                program.feed(Array("?".utf8))
                try program.await(
                    "error", "an `error` for line \(program.written)",
                    where: {
                        $0["line"]?.integer == program.written
                    })
            }
            try expect(
                program.events("error").count == 3, "no error for a blank line",
                actual: "\(program.events("error").count) errors")
        },
        Case("J-4.5", "unknown members are ignored") { trial in
            let (program, peer) = try trial.startLinked()
            program.feed(
                Array("{\"at\":1.5,\"x\":{\"y\":[null,{}]},\"do\":\"compose\",\"mood\":null,\"text\":\"h\"}".utf8))
            try peer.await("typing", since: .zero) { $0.status?.isTyping == true }
            try expect(
                program.events("error").isEmpty, "no error", actual: program.describe(program.events("error")[0].value))
        },
        Case("J-4.6", "escapes in a line stand for their characters", also: "J-1") { trial in
            let (program, peer) = try trial.startLinked(needs: .messages)
            program.feed(
                Array(" {\t\"text\" : \"\\u0063af\\u00e9 \\ud83e\\udd5e\\n\\\"\\/\" , \"do\":\"s\\u0065nd\"} ".utf8))
            let datagram = try peer.await("a message", since: .zero) { $0.text != nil }
            try expect(
                datagram.record?.text == "caf\u{E9} \u{1F95E}\n\"/", "the text with its escapes undone",
                actual: datagram.record?.text ?? "")
        },
        Case("J-4.7", "a command about a chat that the node is not in yields an `error`", also: "J-5") { trial in
            let program = try trial.start(needs: .chats, .who)
            for command in ["leave", "open", "who", "compose"] {
                program.tell(["do": .string(command), "chat": "another chat", "text": "x"])
                let error = try program.await("error", where: { $0["line"]?.integer == program.written })
                try expect(
                    error.value["code"]?.string == "unknown-chat", "the code `unknown-chat` for `\(command)`",
                    actual: program.describe(error.value))
            }
            try expect(program.events("who").isEmpty, "no `who`", actual: "one came")
        },
    ]
}
