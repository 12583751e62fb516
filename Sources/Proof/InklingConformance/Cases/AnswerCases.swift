import InklingWire

extension Catalogue {
    /// Valid values of `id`, of each type and at its bounds.
    private static let goodIDs: [JSONValue] = [
        0, 7, .number(9_007_199_254_740_991), "7", "x", " ", "\u{0}\"\\\n",
        .string(String(repeating: "\u{E9}", count: 32)),
    ]
    /// Values that are not an `id`, as JSON.
    private static let badIDs = [
        "-1", "1.5", "7.0", "1e3", "9007199254740992", "123456789012345678901234567890", "\"\"", "null", "true", "[1]",
        "{}", "\"\\ud800\"", "\"" + String(repeating: "x", count: 65) + "\"",
        "\"" + String(repeating: "\u{E9}", count: 33) + "\"",
    ]

    /// Requests that every program answers, each with the `type` of its answer.
    private static func requests(of program: Program) -> [(members: [String: JSONValue], kind: String)] {
        let chat: JSONValue = .string(program.arguments.chat)
        return [
            (["do": "compose", "text": "h"], "ok"), (["do": "compose", "text": "", "chat": chat], "ok"),
            (["do": "open", "chat": chat], "ok"), (["do": "away"], "ok"), (["do": "back"], "ok"),
            (["do": "block", "user": "aaaaaaaaaaaaaaaa"], "ok"),
            (["do": "unblock", "user": "aaaaaaaaaaaaaaaa"], "ok"), (["do": "who"], "who"), (["do": "stats"], "stats"),
            (["do": "send", "text": "x"], "sent"), (["do": "chats"], "chats"), (["do": "status"], "status"),
            (["do": "identity"], "identity"), (["do": "invite"], "invite"),
            (["do": "fingerprint", "key": .string(program.key.base64url)], "fingerprint"),
            (["do": "join", "chat": "another"], "ok"), (["do": "leave", "chat": "another"], "ok"),
        ]
    }

    static let answerCases: [Case] = [
        Case("A-1.1", "`ready` has the member `interface`, the number 1") { trial in
            let program = try trial.startAnswering()
            try expect(
                program.readyLine["interface"]?.integer == 1, "`interface` is 1",
                actual: program.describe(program.readyLine))
        },
        Case("A-2.1", "an `id` comes back as it was given, a number as a number and a text as a text") { trial in
            let program = try trial.startAnswering(needs: .who)
            for id in goodIDs {
                let request: JSONValue = ["do": "who", "id": id]
                program.tell(request)
                _ = try program.awaitAnswer(id, to: request)
            }
            trial.run(for: .milliseconds(200))
            try expect(
                program.answers.map(\.id) == goodIDs && program.events("error").isEmpty,
                "one answer to each of \(goodIDs.count) requests", actual: "\(program.answers.count)")
        },
        Case("A-2.2", "a line with an `id` that is not valid yields a `bad-command`, and changes nothing") { trial in
            let program = try trial.startAnswering()
            let peer = try trial.peer()
            try peer.open(to: program)
            for id in badIDs {
                program.feed(Array("{\"do\":\"compose\",\"text\":\"h\",\"id\":\(id)}".utf8))
                let error = try program.await(
                    "error", "an `error` for the `id` \(id)", where: { $0["line"]?.integer == program.written })
                try expect(
                    error.value["code"]?.string == "bad-command" && error.value["id"] == nil,
                    "`bad-command` without an `id` for the `id` \(id)", actual: program.describe(error.value))
            }
            trial.run(for: .milliseconds(300))
            try expect(
                !peer.received.contains(where: { $0.status?.isTyping == true }), "no typing",
                actual: "a line with an `id` that is not valid was carried out")
        },
        Case("A-3.1", "each request with an `id` is answered by one line that has it, and one without gets no `ok`") {
            trial in
            let program = try trial.startAnswering(needs: .away, .block, .chats, .messages, .stats, .who)
            let requests = requests(of: program)
            for (members, kind) in requests { try program.ask(members, expecting: kind) }
            trial.run(for: .milliseconds(200))
            try expect(
                program.answers.count == requests.count, "\(requests.count) lines with an `id`",
                actual: "\(program.answers.count) of them")
            let before = program.lines.count
            for (members, _) in requests { program.tell(.object(members)) }
            try program.ask(["do": "who"], expecting: "who")
            let lines = program.lines.dropFirst(before)
            for kind in Set(requests.map(\.kind)).subtracting(["ok"]) {
                // The last `who` was a request with an `id`.
                let expected = requests.count { $0.kind == kind } + (kind == "who" ? 1 : 0)
                let count = lines.count { $0.kind == kind }
                try expect(count == expected, "\(expected) lines `\(kind)`", actual: "\(count)")
            }
            try expect(
                !lines.contains(where: { $0.kind == "ok" }) && program.answers.count == requests.count + 1,
                "no `ok`, and no `id`, for requests without one",
                actual: "\(lines.count { $0.kind == "ok" }) lines `ok`")
        },
        Case("A-3.2", "no line but the answer has the `id`, and an `id` can be used again") { trial in
            let program = try trial.startAnswering(needs: .messages)
            let peer = try trial.peer()
            try peer.open(to: program)
            for count in 1...3 {
                program.tell(["do": "send", "text": "x", "tag": "t", "id": "again"])
                try program.await("delivered", where: { $0["message"]?.integer == count })
            }
            let kinds = program.answers.compactMap { $0.value["on"]?.string }
            try expect(
                kinds == ["sent", "sent", "sent"] && program.answers.allSatisfy({ $0.value["tag"]?.string == "t" }),
                "three `sent` with the `id`, and their tags", actual: "\(kinds)")
        },
        Case("A-3.3", "results have the members that the tables name") { trial in
            let program = try trial.startAnswering(needs: .away, .chats, .secret)
            try trial.peer().open(to: program)
            try program.judgeResults()
        },
        Case("A-35.1", "a chat is `looking` for 3 s after it was joined") { trial in
            let program = try trial.startAnswering(needs: .chats)
            func expectLooking(_ looking: [Bool]) throws {
                let chats = try program.ask(["do": "chats"], expecting: "chats")["chats"]?.array ?? []
                let actual = chats.map { $0["looking"]?.boolean }
                try expect(actual == looking, "\(looking)", actual: "\(actual)")
            }
            try expectLooking([true])
            trial.run(for: .milliseconds(3_200))
            try expectLooking([false])
            try program.ask(["do": "join", "chat": "another"], expecting: "ok")
            try expectLooking([false, true])
        },
        Case("A-36.1", "an `open` without `chat` ends the typing and leaves no chat current", also: "T-10") { trial in
            let program = try trial.startAnswering(needs: .chats)
            let peer = try trial.peer()
            try peer.open(to: program)
            program.compose("hello")
            try peer.awaitTyping(true)
            try program.ask(["do": "open"], expecting: "ok")
            try peer.awaitTyping(false)
            let answer = try program.ask(["do": "compose", "text": "x"])
            try expect(
                answer["code"]?.string == "bad-command", "`bad-command` for a `compose` without a current chat",
                actual: program.describe(answer))
            try program.ask(["do": "open", "chat": .string(trial.chatName)], expecting: "ok")
            program.compose("hello again")
            try peer.awaitTyping(true)
        },
        Case("A-3.4", "`quit` and `stop` are answered, and end it with a bye", also: "J-10") { trial in
            for word in ["quit", "stop"] {
                let program = try trial.startAnswering(ProgramArguments(chat: trial.chatName, state: word), needs: [])
                let peer = try trial.peer()
                try peer.open(to: program)
                try program.ask(["do": .string(word)], expecting: "ok")
                try trial.wait(.seconds(3), for: "a bye", until: { peer.byes.isEmpty ? nil : true })
                let status = try program.awaitExit()
                try expect(status == .exited(0), "exit status 0", actual: "\(status)")
            }
        },
        Case("A-4.1", "answers come in the order of their requests") { trial in
            let program = try trial.startAnswering(needs: .chats, .messages, .stats, .who)
            let kinds = ["who", "chats", "status", "stats", "identity", "send", "compose", "dance"]
            let count = 200
            for number in 0..<count {
                program.tell(["do": .string(kinds[number % kinds.count]), "text": "x", "id": .number(Double(number))])
            }
            try trial.wait(
                .seconds(10), for: "\(count) answers", actual: { "\(program.answers.count)" },
                when: { program.answers.count >= count })
            let order = program.answers.compactMap(\.id.integer)
            try expect(order == Array(0..<count), "the ids from 0 to \(count - 1) in order", actual: "\(order)")
        },
        Case("A-4.2", "an answer comes before the lines on what its request brought about") { trial in
            let program = try trial.startAnswering(needs: .chats, .messages, .block)
            let peer = try trial.peer()
            try peer.open(to: program)
            func judge(_ request: [String: JSONValue], before kind: String) throws {
                let count = program.lines.count
                let answer = try program.ask(request)
                try trial.wait(
                    .seconds(5), for: "a line `\(kind)` after \(program.describe(answer))",
                    when: { program.lines.dropFirst(count).contains { $0.kind == kind } })
                let lines = program.lines.dropFirst(count)
                guard let answered = lines.firstIndex(where: { $0.value == answer }),
                    let told = lines.firstIndex(where: { $0.kind == kind }), answered < told
                else { throw Finding(expected: "the answer before the line `\(kind)`", actual: "it came after it") }
            }
            try judge(["do": "join", "chat": "another"], before: "notice")
            try judge(["do": "send", "text": "x"], before: "delivered")
            try judge(["do": "block", "user": .string(peer.user)], before: "peer")
        },
        Case("A-5.1", "an `error` has the `id` of its line, whatever else is wrong with that") { trial in
            let program = try trial.startAnswering(needs: .chats, .messages, .block, .who)
            let lines = [
                "{\"id\":1}", "{\"id\":2,\"do\":null}", "{\"id\":3,\"do\":\"dance\"}",
                "{\"id\":4,\"do\":\"compose\"}", "{\"id\":5,\"do\":\"compose\",\"text\":[\"x\"]}",
                "{\"do\":\"send\",\"text\":null,\"id\":6}",
                "{\"do\":\"send\",\"text\":\"x\",\"tag\":5,\"id\":7}", "{\"do\":\"send\",\"text\":\"\",\"id\":8}",
                "{\"do\":\"open\",\"chat\":\"a chat that it is not in\",\"id\":9}",
                "{\"do\":\"join\",\"chat\":\"x\",\"secret\":\"sesame\",\"id\":10}",
                "{\"do\":\"block\",\"user\":null,\"id\":11}", "{\"chat\":7,\"do\":\"who\",\"id\":12}",
            ]
            for (index, line) in lines.enumerated() {
                program.feed(Array(line.utf8))
                let error = try program.await(
                    "error", "an `error` for \(line)", where: { $0["line"]?.integer == program.written })
                try expect(
                    error.value["id"]?.integer == index + 1, "the `id` \(index + 1)",
                    actual: program.describe(error.value))
            }
            for line in ["[{\"id\":1}]", "{\"do\":\"dance\",\"id\":1"] {
                program.feed(Array(line.utf8))
                let error = try program.await("error", where: { $0["line"]?.integer == program.written })
                try expect(error.value["id"] == nil, "no `id` for \(line)", actual: program.describe(error.value))
            }
            let head = Array("{\"do\":\"compose\",\"id\":1,\"text\":\"".utf8)
            program.feed(head + [UInt8](repeating: 0x78, count: 1_100_000) + [0x22, 0x7D])
            let error = try program.await(
                "error", within: .seconds(10), where: { $0["line"]?.integer == program.written })
            try expect(
                error.value["id"] == nil, "no `id` for a line of more than 1 MiB", actual: program.describe(error.value)
            )
        },
    ]
}

extension Program {
    /// Checks the members of all results, in the chat of the program's start, where one other person is present.
    fileprivate func judgeResults() throws {
        func judge(_ result: JSONValue, _ what: String, _ isRight: Bool) throws {
            try expect(isRight, what, actual: describe(result))
        }
        let identity = try ask(["do": "identity"], expecting: "identity")
        try judge(
            identity, "user, name, key and port of `ready`, and `temporary`",
            ["user", "name", "key", "port"].allSatisfy { identity[$0] == readyLine[$0] }
                && identity["temporary"]?.boolean != nil)
        let secret = String(repeating: "a", count: 26)
        let joined = try ask(["do": "join", "chat": "caf\u{65}\u{301}", "secret": .string(secret)], expecting: "ok")
        try judge(
            joined, "the name of the chat in NFC, its people and its invite",
            joined["chat"]?.string.map { Array($0.utf8) } == Array("caf\u{E9}".utf8) && joined["peers"]?.array == []
                && joined["invite"]?.string == "inkling:caf%C3%A9#" + secret)
        let chats = try ask(["do": "chats"], expecting: "chats")
        let listed = chats["chats"]?.array ?? []
        try judge(
            chats, "both chats in their order, with all members",
            listed.map { $0["chat"]?.string } == [arguments.chat, "caf\u{E9}"]
                && listed.map { $0["secret"]?.boolean } == [false, true]
                && listed.map { $0["kept"]?.boolean } == [false, false]
                && listed.map { $0["present"]?.integer } == [1, 0] && listed.map { $0["unread"]?.integer } == [0, 0]
                && listed.allSatisfy { $0["looking"]?.boolean != nil })
        for isAway in [true, false] {
            tell(["do": isAway ? "away" : "back"])
            let status = try ask(["do": "status"], expecting: "status")
            try judge(
                status, "the members of `status`",
                ["user", "name", "version", "interface"].allSatisfy { status[$0] == readyLine[$0] }
                    && status["away"]?.boolean == isAway && status["frontEnds"]?.integer == 1
                    && status["chats"]?.array == listed && (status["since"]?.number ?? 0) > 1e9)
        }
        let invite = try ask(["do": "invite", "chat": "caf\u{E9}"], expecting: "invite")
        try judge(
            invite, "the invite of the secret chat",
            invite["invite"]?.string == "inkling:caf%C3%A9#" + secret && invite["chat"]?.string == "caf\u{E9}")
        let none = try ask(["do": "invite"], expecting: "invite")
        try judge(none, "no invite of an open chat", none["invite"] == nil && none["chat"]?.string == arguments.chat)
    }
}
