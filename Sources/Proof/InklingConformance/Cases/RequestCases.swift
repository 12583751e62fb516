import InklingWire

extension Catalogue {
    static let requestCases: [Case] = [
        Case("A-6.1", "`join` takes an invite in place of name and secret", also: "W-11") { trial in
            let program = try trial.startAnswering(needs: .chats, .secret)
            let forms = [
                ("inkling:a%20b%25%23c#", "a b%#c"), ("INKLING:aZ0-._~#", "aZ0-._~"),
                ("inkling:caf%c3%a9#", "caf\u{E9}"),
                ("inkling:cafe%CC%81s#", "caf\u{E9}s"), ("inkling:na\u{EF}ve#", "na\u{EF}ve"),
                ("inkling:%70arlour#", "parlour"),
            ]
            for (form, name) in forms {
                let secret = ChatSecret(using: &trial.generator)
                let answer = try program.ask(["do": "join", "invite": .string(form + secret.base32)], expecting: "ok")
                guard let chat = answer["chat"]?.string, Array(chat.utf8) == Array(name.utf8),
                    let invite = answer["invite"]?.string, invite.hasSuffix("#" + secret.base32)
                else {
                    throw Finding(expected: "the chat \(name) and its invite", actual: program.describe(answer))
                }
                _ = try trial.peer(in: ChatKeys(secret: secret)).open(to: program, in: name)
            }
        },
        Case(
            "A-6.2", "an invite that is not valid, or beside a name or secret, is refused, and nothing is joined",
            also: "W-11", "W-34"
        ) { trial in
            let program = try trial.startAnswering(needs: .chats, .secret)
            let secret = ChatSecret(using: &trial.generator).base32
            let invites = [
                "lobby#" + secret, "inkling:lobby", "inkling:lob%6#" + secret, "inkling:lob%zz#" + secret,
                "inkling:%ff#" + secret, "inkling:a%00b#" + secret, "inkling:#" + secret,
                "inkling:" + String(repeating: "x", count: 65) + "#" + secret, "inkling:lobby#sesame",
                "inkling:lobby#" + secret.uppercased(), "inkling:lobby##" + secret.dropLast(),
                " inkling:lobby#" + secret, "inkling:inkling%3Ax#" + secret, "inkling:lobby#" + secret + "@x",
            ]
            for invite in invites {
                let join: [String: JSONValue] = ["do": "join", "invite": .string(invite), "confirm": true]
                let answer = try program.ask(join, expecting: "error")
                let code = answer["code"]?.string ?? "none"
                try expect(
                    ["bad-invite", "bad-chat-name", "bad-secret"].contains(code),
                    "bad-invite, bad-chat-name or bad-secret for \(invite)", actual: "the code \(code)")
            }
            let good: JSONValue = .string("inkling:lobby#" + secret)
            try program.ask(["do": "join", "invite": good, "chat": "lobby"], refusedWith: "bad-command")
            try program.ask(["do": "join", "invite": good, "secret": .string(secret)], refusedWith: "bad-command")
            try program.ask(["do": "join", "invite": 7], refusedWith: "bad-command")
            let chats = try program.ask(["do": "chats"], expecting: "chats")
            try expect(chats["chats"]?.array?.count == 1, "the first chat alone", actual: program.describe(chats))
        },
        Case("A-7.1", "whom the user verified is so at once, and after a restart") { trial in
            let peer = try trial.peer()
            let arguments = ProgramArguments(chat: trial.chatName, state: "verifies")
            let program = try trial.startAnswering(arguments, needs: [.people, .who])
            try peer.open(to: program)
            let key: JSONValue = .string(peer.identity.publicKey.base64url)
            let stranger: JSONValue = .string(KeyPair(using: &trial.generator).publicKey.base64url)
            for known in [key, stranger] { try program.ask(["do": "verify", "key": known], expecting: "ok") }
            let who = try program.ask(["do": "who"], expecting: "who")
            try expect(
                who["peers"]?.array?.first(where: { $0["key"] == key })?["verified"]?.boolean == true,
                "\(peer.user) as verified", actual: program.describe(who))
            program.tell(["do": "quit"])
            _ = try program.awaitExit()
            let again = try trial.startAnswering(arguments, needs: [])
            for known in [key, stranger] {
                let person = try again.person(known)
                try expect(
                    person?["verified"]?.boolean == true && person?["blocked"]?.boolean == false,
                    "the key as verified, and not blocked", actual: person.map(again.describe) ?? "it is not listed")
            }
            try again.ask(["do": "unverify", "key": key], expecting: "ok")
            try expect(
                try again.person(key)?["verified"]?.boolean != true, "the key as no longer verified",
                actual: "it is verified")
        },
        Case("A-7.2", "whom the user blocked by key stays blocked over a restart, until unblocked") { trial in
            let peer = try trial.peer()
            let arguments = ProgramArguments(chat: trial.chatName, state: "blocks")
            let program = try trial.startAnswering(arguments, needs: [.people])
            try peer.open(to: program)
            let key: JSONValue = .string(peer.identity.publicKey.base64url)
            try program.ask(["do": "block", "key": key], expecting: "ok")
            let event = try program.awaitPresence("offline", of: peer.user)
            try expect(
                event.value["why"]?.string == "blocked", "`why` is blocked", actual: program.describe(event.value))
            program.tell(["do": "quit"])
            _ = try program.awaitExit()
            let again = try trial.startAnswering(arguments, needs: [])
            let blocked = try again.ask(["do": "people", "blocked": true], expecting: "people")
            try expect(
                blocked["people"]?.array?.compactMap({ $0["key"] }) == [key], "the one whom the user blocked",
                actual: again.describe(blocked))
            peer.restart()
            let responses = peer.responses.count
            let opening = try peer.begin(to: again)
            trial.run(for: .milliseconds(300))
            peer.transmit(opening)
            try trial.never(for: .milliseconds(500), "no response to a blocked key") {
                peer.responses.count > responses
            }
            try trial.peer(named: "Bob").open(to: again)
            try again.ask(["do": "unblock", "key": key], expecting: "ok")
            peer.restart()
            try peer.open(to: again)
        },
        Case("A-7.3", "the own key, no key, and a key beside a user ID are refused") { trial in
            let program = try trial.startAnswering(needs: .people, .block)
            for word in ["verify", "unverify", "block", "unblock"] {
                try program.ask(
                    ["do": .string(word), "key": .string(program.key.base64url)], refusedWith: "unknown-peer")
                for key: JSONValue in ["", "sesame", .string(String(repeating: "A", count: 42) + "B"), 7, .null] {
                    try program.ask(["do": .string(word), "key": key], refusedWith: "bad-command")
                }
                try program.ask(["do": .string(word)], refusedWith: "bad-command")
            }
            let key: JSONValue = .string(KeyPair(using: &trial.generator).publicKey.base64url)
            for word in ["block", "unblock"] {
                try program.ask(
                    ["do": .string(word), "key": key, "user": "aaaaaaaaaaaaaaaa"], refusedWith: "bad-command")
            }
        },
        Case("A-8.1", "a fingerprint is made of both keys, whichever is smaller") { trial in
            let program = try trial.startAnswering()
            for isSmaller in [true, false] {
                let key = trial.identity(thatIsSmaller: isSmaller, than: program.key).publicKey
                let answer = try program.ask(
                    ["do": "fingerprint", "key": .string(key.base64url)], expecting: "fingerprint")
                let groups = fingerprint(of: isSmaller ? [key, program.key] : [program.key, key])
                try expect(
                    answer["groups"]?.array?.compactMap(\.string) == groups && answer["key"]?.string == key.base64url,
                    "the groups \(groups.joined(separator: " "))", actual: program.describe(answer))
            }
            try program.ask(["do": "fingerprint"], refusedWith: "bad-command")
        },
        Case("A-9.1", "`nick` changes the name for all, and no name of more than 64 bytes is taken", also: "M-24") {
            trial in
            let program = try trial.startAnswering(needs: .nick)
            let peer = try trial.peer()
            try peer.open(to: program)
            // Record 0 also counts for the limit of one name a second.
            trial.run(for: .milliseconds(1_200))
            for (name, latest) in [("Zo\u{EB}", Duration.zero), ("Zoey", .seconds(1))] {
                let start = trial.now
                try program.ask(["do": "nick", "name": .string(name)], expecting: "ok")
                let record = try trial.wait(
                    .seconds(3), for: "a record of the name \(name)",
                    actual: { "the last one has the name \(peer.names.last?.value.displayName ?? "")" },
                    until: { peer.names.first { $0.at >= start && $0.value.displayName == name } })
                // The second name must wait until a second after the first (M-24).
                try trial.judge("a record of the name \(name)", record.at - start, from: .zero, to: latest)
            }
            try program.ask(["do": "nick"], refusedWith: "bad-command")
            for name in ["", String(repeating: "\u{E9}", count: 32) + "x"] {
                try program.ask(["do": "nick", "name": .string(name)], refusedWith: "bad-name")
            }
            let identity = try program.ask(["do": "identity"], expecting: "identity")
            try expect(identity["name"]?.string == "Zoey", "the name Zoey", actual: program.describe(identity))
            let longest = String(repeating: "\u{E9}", count: 32)
            try program.ask(["do": "nick", "name": .string(longest)], expecting: "ok")
            try trial.wait(
                .seconds(3), for: "a record of a name of 64 bytes",
                until: { peer.names.first { $0.value.displayName == longest } })
        },
        Case("A-70.1", "a secret chat is found by its name until `leave`, and a kill after `ok` changes nothing") {
            trial in
            let arguments = ProgramArguments(chat: trial.chatName, state: "kept")
            let first = try trial.startAnswering(arguments, needs: [.secret])
            let invite = try first.join(Trial.team, trial.newSecret(), owner: first.key)
            let join: [String: JSONValue] = ["do": "join", "chat": .string(Trial.team)]
            let second = try trial.restart(first)
            let found = try second.ask(join, expecting: "ok")
            try expect(found["invite"]?.string == invite.text, "\(invite.text)", actual: second.describe(found))
            try second.ask(["do": "leave", "chat": .string(Trial.team)], expecting: "ok")
            let third = try trial.restart(second)
            let gone = try third.ask(join)
            try expect(gone["invite"] == nil, "no secret chat of that name", actual: third.describe(gone))
        },
        Case("A-10.1", "a person has a key, and whether the user verified or blocked them") { trial in
            let program = try trial.startAnswering(needs: .who)
            let peer = try trial.peer()
            try peer.open(to: program)
            let who = try program.ask(["do": "who"], expecting: "who")
            guard let event = program.peerEvents(peer.user).last?.value, let listed = who["peers"]?.array?.first else {
                throw Finding(expected: "one person", actual: program.describe(who))
            }
            for person in [event, listed] {
                try expect(
                    person["user"]?.string == peer.user && person["name"]?.string == peer.name
                        && person["presence"]?.string == "online"
                        && person["key"]?.string == peer.identity.publicKey.base64url
                        && person["verified"]?.boolean == false && person["blocked"]?.boolean == false,
                    "user, name, presence, key, verified and blocked", actual: program.describe(person))
            }
        },
        Case("A-31.1", "what `unsupported` names yields `unsupported`, and nothing else does") { trial in
            let program = try trial.startAnswering()
            let left = Set((program.readyLine["unsupported"]?.array ?? []).compactMap(\.string))
            for feature in [Feature.invitations, .moves, .nick, .people, .sightings] {
                for command in commands(of: feature, chat: trial.chatName) {
                    guard case .object(let members) = command else { continue }
                    let answer = try program.ask(members)
                    try expect(
                        (answer["code"]?.string == "unsupported") == left.contains(feature.rawValue),
                        left.contains(feature.rawValue) ? "the code `unsupported`" : "an answer",
                        actual: program.describe(answer))
                }
            }
        },
    ]

    /// Returns the fingerprint that two people compare (A-8), with the smaller key first.
    private static func fingerprint(of keys: [PublicKey]) -> [String] {
        let label = Array("inkling fingerprint 1 pair".utf8)
        // The decimal digits of the hash as one big-endian number, the lowest first.
        var digits: [UInt8] = []
        var number = SHA256.hash(label + keys.flatMap(\.bytes))
        while digits.count < 60 {
            var remainder = 0
            for index in number.indices {
                (number[index], remainder) = (
                    UInt8((remainder << 8 + Int(number[index])) / 10), (remainder << 8 + Int(number[index])) % 10
                )
            }
            digits.append(UInt8(remainder))
        }
        let text = digits.reversed().map { String($0) }.joined()
        return stride(from: 0, to: 60, by: 5).map { String(text.dropFirst($0).prefix(5)) }
    }
}

extension Program {
    /// Returns the entry of a key in `people`; nil if there is none.
    fileprivate func person(_ key: JSONValue) throws -> JSONValue? {
        try ask(["do": "people"], expecting: "people")["people"]?.array?.first { $0["key"] == key }
    }
}
