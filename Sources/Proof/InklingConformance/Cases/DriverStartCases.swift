import InklingWire

extension Catalogue {
    static let driverStartCases: [Case] = [
        Case("J-10.1", "`quit` ends it with bye and exit status 0", also: "L-32") { trial in
            try end(trial) { $0.tell(["do": "quit"]) }
        },
        Case("J-10.2", "the end of its input ends it with bye and exit status 0", also: "L-32") { trial in
            try end(trial) { $0.closeInput() }
        },
        Case("J-10.3", "SIGTERM ends it with bye and exit status 0", also: "L-32") { trial in
            try end(trial) { $0.signal(.terminate) }
        },
        Case("J-10.4", "SIGINT ends it with bye and exit status 0", also: "L-32") { trial in
            try end(trial) { $0.signal(.interrupt) }
        },
        Case("J-10.5", "lines before the end of input are carried out", also: "J-5") { trial in
            let program = try trial.start(needs: .who)
            program.tell(["do": "who"])
            program.closeInput()
            try program.await("who")
            let status = try program.awaitExit()
            try expect(status == .exited(0), "exit status 0", actual: "\(status)")
        },
        Case("J-11.1", "a usage error exits with status 64") { trial in
            let lists = [
                ["--there-is-no-such-option"], ["--port", "none"], ["--port", "65536"], ["--port"], ["--name"],
                ["another", "chat"],
            ]
            for list in lists { try expectUsageError(list, trial) }
        },
        Case("J-11.3", "a `--peer` that is not HOST:PORT is a usage error", also: "J-12") { trial in
            for peer in ["127.0.0.1", "127.0.0.1:none", "127.0.0.1:65536"] {
                try expectUsageError(["--peer", peer], trial)
            }
        },
        Case("J-11.2", "a failure to start exits with status 1 and one line on standard error") { trial in
            // A peer already uses the port.
            let peer = try trial.peer()
            let program = try trial.launch(ProgramArguments(chat: trial.chatName, port: peer.address.port))
            try trial.wait(
                Program.startLimit, for: "it fails to bind port \(peer.address.port)", actual: { "it runs" },
                until: { program.exit == nil && program.events("ready").isEmpty ? nil : true })
            try expect(program.events("ready").isEmpty, "exit status 1, as the port is in use", actual: "it got ready")
            let status = try program.awaitExit()
            let lines = program.diagnostics.filter { !$0.isEmpty }
            try expect(
                status == .exited(1) && lines.count == 1, "exit status 1 and one line on standard error",
                actual: "\(status), and the lines \(lines)")
        },
        Case("J-12.1", "the arguments come in any order") { trial in
            let peer = try trial.peer()
            for isReversed in [false, true] {
                var arguments = ProgramArguments(
                    chat: trial.chatName, name: "Any Order", peers: [peer.address], state: "order \(isReversed)")
                arguments.isReversed = isReversed
                let program = try trial.start(arguments)
                try expect(
                    program.readyLine["name"]?.string == "Any Order"
                        && program.readyLine["chat"]?.string == trial.chatName, "the name and chat as given",
                    actual: program.describe(program.readyLine))
                try trial.peer(named: "Bob").open(to: program)
            }
        },
        Case("J-12.2", "`--port` is the port that it binds, on all local addresses", also: "J-3") { trial in
            // The port was free a moment ago.
            let first = try trial.start(ProgramArguments(chat: trial.chatName, state: "first"))
            let port = first.address.port
            first.tell(["do": "quit"])
            _ = try first.awaitExit()
            let program = try trial.start(ProgramArguments(chat: trial.chatName, port: port, state: "second"))
            try expect(program.address.port == port, "the port \(port)", actual: program.describe(program.readyLine))
            let peer = try trial.peer()
            let ask = peer.chat.ask(token: 77)
            for _ in 0..<3 where peer.tells.isEmpty {
                peer.sendBytes(ask.encode(), to: program.address(at: "127.0.0.3"))
                trial.run(for: .milliseconds(300))
            }
            try expect(!peer.tells.isEmpty, "a tell to an ask that went to another local address", actual: "none")
        },
        Case("J-12.3", "`--state-dir` keeps its identity, and an empty one gives a new identity") { trial in
            var keys: [PublicKey] = []
            for state in ["one", "one", "two"] {
                let program = try trial.start(ProgramArguments(chat: trial.chatName, state: state))
                keys.append(program.key)
                program.tell(["do": "quit"])
                _ = try program.awaitExit()
            }
            try expect(
                keys[0] == keys[1] && keys[0] != keys[2], "the same key twice, and then another",
                actual: "\(keys.map(\.base64url))")
        },
        Case("J-12.4", "`--peer` is taken as often as wanted", also: "D-11") { trial in
            let peers = try ["Alice", "Bob", "Carol"].map { try trial.peer(named: $0) }
            let program = try trial.start(ProgramArguments(chat: trial.chatName, peers: peers.map(\.address)))
            try program.need(.peer)
            for peer in peers { try peer.awaitLink(from: program) }
        },
        Case("J-12.5", "`--name` is the name in its record 0", also: "M-24") { trial in
            let program = try trial.start(ProgramArguments(chat: trial.chatName, name: "Zo\u{EB} \u{1F95E}"))
            let peer = try trial.peer()
            try peer.open(to: program)
            let names = peer.records.filter { $0.value.type == .name }.map(\.value.displayName)
            try expect(Set(names) == ["Zo\u{EB} \u{1F95E}"], "the name Zo\u{EB} \u{1F95E}", actual: "\(names)")
        },
        Case("J-12.6", "`--secret` makes the chat a secret one", also: "W-9") { trial in
            let secret = ChatSecret(using: &trial.generator)
            let program = try trial.startInSecretChat(secret)
            try trial.peer(in: ChatKeys(secret: secret)).open(to: program)
        },
        Case(
            "J-13.1",
            "`unsupported` holds known words, and the commands that it leaves out yield the error `unsupported`"
        ) { trial in
            let program = try trial.start()
            guard let unsupported = program.readyLine["unsupported"] else { return try program.answersAll() }
            let words = (unsupported.array ?? []).compactMap(\.string)
            guard let list = unsupported.array, list.count == words.count,
                words.allSatisfy({ Feature(rawValue: $0).map { $0 != .interface } ?? false })
            else {
                throw Finding(expected: "an array of words of the table", actual: program.describe(program.readyLine))
            }
            // If the program leaves out these features, the case checks its words for them by A-31.
            let others: [Feature] = [.invitations, .moves, .nick, .people, .sightings]
            for word in words.compactMap(Feature.init(rawValue:)) where !others.contains(word) {
                for command in commands(of: word, chat: trial.chatName) {
                    program.tell(command)
                    let error = try program.await("error", where: { $0["line"]?.integer == program.written })
                    try expect(
                        error.value["code"]?.string == "unsupported", "the code `unsupported`",
                        actual: program.describe(error.value))
                }
            }
        },
    ]

    /// Returns the commands that a program without a feature does not know.
    static func commands(of feature: Feature, chat: String) -> [JSONValue] {
        let user: JSONValue = "aaaaaaaaaaaaaaaa"
        let key: JSONValue = .string(String(repeating: "A", count: 42) + "E")
        return switch feature {
        case .away: [["do": "away"], ["do": "back"]]
        case .block: [["do": "block", "user": user], ["do": "unblock", "user": user]]
        case .chats:
            [
                ["do": "join", "chat": "x"], ["do": "leave", "chat": .string(chat)],
                ["do": "open", "chat": .string(chat)],
            ]
        case .messages: [["do": "send", "text": "x"]]
        case .stats: [["do": "stats"]]
        case .who: [["do": "who"]]
        case .nick: [["do": "nick", "name": "x"]]
        case .people:
            [["do": "people"]]
                + ["verify", "unverify", "block", "unblock"].map { ["do": .string($0), "key": key] }
        case .moves:
            [["do": "move", "keys": [key]], ["do": "admit", "key": key]]
        case .sightings: [["do": "sightings", "chat": .string(chat)]]
        case .invitations:
            [
                ["do": "invite", "chat": .string(chat), "key": key], ["do": "talk", "key": key],
                ["do": "invitations"], ["do": "accept", "invitation": 1], ["do": "decline", "invitation": 1],
            ]
        case .discovery, .interface, .lastWill, .load, .peer, .secret, .suspend: []
        }
    }

    /// Starts the program with further, wrong arguments.
    private static func expectUsageError(_ list: [String], _ trial: Trial) throws {
        let program = try trial.launch(ProgramArguments(chat: trial.chatName, state: "refused", others: list))
        try trial.wait(
            Program.startLimit, for: "it refuses \(list)", actual: { "it runs" },
            until: { program.exit == nil && program.events("ready").isEmpty ? nil : true })
        try expect(program.events("ready").isEmpty, "exit status 64 for \(list)", actual: "it got ready")
        let status = try program.awaitExit()
        try expect(
            status == .exited(64) && program.lines.isEmpty,
            "exit status 64 for \(list), and nothing on standard output",
            actual: "\(status), and \(program.lines.count) lines")
    }

    /// Ends the program, and waits for its bye and its exit.
    private static func end(_ trial: Trial, _ act: (Program) -> Void) throws {
        let (program, peer) = try trial.startLinked()
        act(program)
        try trial.wait(.seconds(3), for: "a bye", until: { peer.byes.isEmpty ? nil : true })
        let status = try program.awaitExit()
        try expect(status == .exited(0), "exit status 0", actual: "\(status)")
    }
}

extension Program {
    /// Checks that a program with all features knows all commands.
    fileprivate func answersAll() throws {
        for command in ["away", "back", "who", "stats"] { tell(["do": .string(command)]) }
        try self.await("who")
        try self.await("stats")
        if let error = events("error").first {
            throw Finding(expected: "no error, as nothing is left out", actual: describe(error.value))
        }
    }
}
