import InklingWire

extension Catalogue {
    static let discoveryCases: [Case] = publishingCases + takingCases + recordCases + crowdCases

    private static let publishingCases: [Case] = [
        Case("D-1.1", "a chat has one service instance, with the node's port", also: "D-2") { trial in
            let chat = ChatKeys(open: trial.chatName)
            try trial.stage.browse()
            let program = try startWithDiscovery(trial)
            let found = try awaitService(trial, of: chat, since: .zero)
            try judgePort(of: found, program)
            trial.run(for: .seconds(3))
            let names = Set(trial.services.map(\.service.instance).filter { nonce(of: $0, in: chat) != nil })
            try expect(names.count == 1, "one instance", actual: "\(names.count): \(names.sorted())")
        },
        Case("D-1.2", "a second chat has an instance of its own", also: "D-2") { trial in
            let (first, second) = (ChatKeys(open: trial.chatName), ChatKeys(open: trial.chatName + "-2"))
            try trial.stage.browse()
            let program = try startWithDiscovery(trial)
            try program.need(.chats)
            program.tell(["do": "join", "chat": .string(trial.chatName + "-2")])
            let found = try [first, second].map { try awaitService(trial, of: $0, since: .zero) }
            for service in found { try judgePort(of: service, program) }
            try expect(found[0].instance != found[1].instance, "another name for each chat", actual: found[0].instance)
        },
        Case("D-2.1", "the name of an instance is new for each run") { trial in
            let chat = ChatKeys(open: trial.chatName)
            try trial.stage.browse()
            let program = try startWithDiscovery(trial)
            let first = try awaitService(trial, of: chat, since: .zero)
            program.tell(["do": "quit"])
            _ = try program.awaitExit()
            trial.run(for: .seconds(2))
            let start = trial.now
            _ = try startWithDiscovery(trial)
            let second = try awaitService(trial, of: chat, since: start)
            try expect(
                second.instance != first.instance, "another name in another run", actual: "\(first.instance) again")
        },
        Case("D-2.2", "name and nonce are new for each registration", also: "D-3") { trial in
            let secret = ChatSecret(using: &trial.generator)
            let chat = ChatKeys(secret: secret)
            try trial.stage.browse()
            let program = try startWithDiscovery(trial)
            try program.need(.chats, .secret)
            let name = JSONValue.string(trial.chatName + "-secret")
            var found: [ServiceInstance] = []
            for _ in 0..<2 {
                let start = trial.now
                program.tell(["do": "join", "chat": name, "secret": .string(secret.base32)])
                found.append(try awaitService(trial, of: chat, since: start))
                program.tell(["do": "leave", "chat": name])
                trial.run(for: .seconds(2))
            }
            try expect(found[0].instance != found[1].instance, "another name", actual: "\(found[0].instance) again")
        },
        Case("D-3.1", "the TXT record has txtvers=2, then the key, sealed under the nonce of the name", also: "W-10") {
            trial in
            let chat = ChatKeys(open: trial.chatName)
            try trial.stage.browse()
            let program = try startWithDiscovery(trial)
            try judgeRecord(try awaitService(trial, of: chat, since: .zero), of: program, in: chat)
        },
        Case("D-3.2", "the same in a secret chat", also: "W-10") { trial in
            let secret = ChatSecret(using: &trial.generator)
            let chat = ChatKeys(secret: secret)
            try trial.stage.browse()
            let program = try startWithDiscovery(trial, secret: secret)
            try program.need(.secret)
            try judgeRecord(try awaitService(trial, of: chat, since: .zero), of: program, in: chat)
        },
    ]

    private static let takingCases: [Case] = [
        Case("D-4.1", "an instance of another chat is not opened to", also: "D-21") { trial in
            let (program, peer) = try start(trial)
            let nonce = trial.generator.next()
            let other = ChatKeys(open: trial.chatName + "-other")
            try trial.stage.advertise(
                ServiceInstance(
                    instance: other.instanceName(nonce: nonce), port: peer.address.port,
                    txt: ServiceRecord.encode(key: peer.identity.publicKey, nonce: nonce, for: peer.chat)))
            try trial.never(for: .seconds(4), "no initiation") { !peer.initiations.isEmpty }
            try advertise(peer, in: trial)
            try awaitLink(peer, from: program)
        },
        Case("D-21.1", "a name in capitals, with more behind its 26 characters, is taken") { trial in
            let (program, peer) = try start(trial)
            let nonce = trial.generator.next()
            let name = peer.chat.instanceName(nonce: nonce).uppercased() + " (2)"
            try advertise(peer, in: trial, nonce: nonce, instance: name)
            try awaitLink(peer, from: program)
        },
        Case("D-21.2", "a name of 25 characters, or with another check, is ignored") { trial in
            let (program, peer) = try start(trial)
            let nonce = trial.generator.next()
            let name = peer.chat.instanceName(nonce: nonce)
            // Character 20 belongs only to the check in the name.
            let place = name.index(name.startIndex, offsetBy: 19)
            var changed = name
            changed.replaceSubrange(place...place, with: name[place] == "a" ? "b" : "a")
            for wrong in [String(name.dropLast()), changed] {
                try advertise(peer, in: trial, nonce: nonce, instance: wrong)
            }
            try trial.never(for: .seconds(4), "no initiation") { !peer.initiations.isEmpty }
            try advertise(peer, in: trial, nonce: nonce)
            try awaitLink(peer, from: program)
        },
        Case("D-7.1", "an instance with the node's own key is not opened to") { trial in
            let (program, peer) = try start(trial)
            let nonce = trial.generator.next()
            let key = base64url(peer.chat.instanceKey(of: program.key, nonce: nonce))
            try expectIgnored(["txtvers=2", "k=" + key], nonce, peer, program)
        },
        Case("D-9.1", "a peer found in several families is one, and gets the same initiation on all", also: "L-2") {
            trial in
            let (program, peer) = try start(trial)
            peer.habits = .quiet
            try advertise(peer, in: trial)
            let first = try peer.awaitInitiation(within: .seconds(10), since: .zero)
            trial.run(for: .milliseconds(1_500))
            let attempt = peer.initiations.filter { $0.at < first.at + .milliseconds(2_500) }
            guard Set(attempt.map(\.source.host)).count > 1 else {
                throw Untried(reason: "discovery finds one address of this machine alone")
            }
            try expect(
                attempt.allSatisfy({ $0.bytes == first.bytes }), "the same bytes to all addresses",
                actual: "\(Set(attempt.map(\.bytes)).count) different initiations")
            peer.habits = .all
            try awaitLink(peer, from: program)
            trial.run(for: .seconds(3))
            try expect(
                program.peerEvents(peer.user).count == 1, "one person",
                actual: "\(program.peerEvents(peer.user).count) `peer`")
        },
        Case("L-106.1", "a listed peer is tried again 5 s after the bye for lack of a name", also: "L-86", load: .long)
        { trial in
            let (program, peer) = try start(trial)
            peer.habits.sendsName = false
            try advertise(peer, in: trial)
            let bye = try peer.await("a bye", within: .seconds(24)) { $0.bye != nil }
            peer.forget()
            peer.habits.sendsName = true
            let next = try trial.wait(
                .seconds(8), for: "an initiation when the 5 s are over",
                until: { peer.initiations.first { $0.at > bye.at + .seconds(1) } })
            try trial.judge(
                "the initiation", at: next.at, after: bye.at, is: .seconds(5), late: .milliseconds(300) + trial.late)
            try program.awaitPresence("online", of: peer.user)
        },
        Case("D-9.2", "a fifth instance of a key takes the place of one that was tried in vain", also: "D-22") {
            trial in
            let (_, peer) = try start(trial)
            peer.habits = .none
            let peers = [peer] + (try (0..<5).map { _ in try twin(of: peer, trial) })
            for peer in peers.prefix(4) { try advertise(peer, in: trial) }
            try trial.wait(
                .seconds(15), for: "an initiation to each of four instances",
                when: { peers.prefix(4).allSatisfy { !$0.initiations.isEmpty } })
            // An attempt ends after 3 s.
            trial.run(for: .milliseconds(3_500))
            for later in peers.dropFirst(4) {
                try advertise(later, in: trial)
                try later.awaitInitiation(within: .seconds(15))
            }
        },
        Case("L-2.4", "instances of one key that share a candidate are opened to by one attempt at a time") { trial in
            let (program, peer) = try start(trial)
            peer.habits = .none
            for _ in 0..<2 { try advertise(peer, in: trial) }
            _ = try peer.awaitInitiation(within: .seconds(10), since: .zero)
            trial.run(for: .seconds(4))
            let starts = peer.attempts.compactMap(\.first?.at)
            for (earlier, later) in zip(starts, starts.dropFirst()) where later - earlier < .milliseconds(2_970) {
                throw Finding(
                    expected: "a second attempt not before the first one is over, after 3 s",
                    actual: "it began \((later - earlier).text) after the first")
            }
            peer.habits = .all
            try awaitLink(peer, from: program)
        },
        Case("L-41.1", "when discovery gives other candidates the link is pinged") { trial in
            let (program, peer) = try start(trial)
            let nonce = trial.generator.next()
            let instance = try advertise(peer, in: trial, nonce: nonce)
            try awaitLink(peer, from: program)
            trial.run(for: .seconds(1))
            let other = try trial.stage.bind(host: peer.address.host)
            try trial.stage.withdraw(instance: instance)
            // A service that returns within a second does not count as withdrawn.
            trial.run(for: .seconds(3))
            let start = trial.now
            try advertise(peer, in: trial, nonce: nonce, port: other.port)
            try peer.await("a ping", within: .seconds(12), since: start) { $0.ping != nil }
        },
    ]

    private static let crowdCases: [Case] = [
        Case("D-17.1", "an address at which more than four keys are listed is asked for its own") { trial in
            // Hears nothing by IPv6: a lookup that a busy machine delays leaves fewer keys at one of two addresses.
            let (program, peer) = try start(trial, at: "127.0.0.1")
            (peer.habits.answersAsks, peer.habits.answersInitiations) = (false, false)
            try advertise(peer, in: trial)
            for _ in 0..<6 { try forge(peer, trial) }
            try trial.wait(
                .seconds(20), for: "an ask to an address at which seven keys are listed",
                until: { peer.asks.first })
            // An attempt that began before the fifth instance was listed may continue.
            trial.run(for: .milliseconds(3_500))
            let count = peer.initiations.count
            try trial.never(for: .seconds(6), "no initiation before the tell") { peer.initiations.count > count }
            (peer.habits.answersAsks, peer.habits.answersInitiations) = (true, true)
            try awaitLink(peer, from: program)
        },
        Case(
            "L-54.1", "an address that never answers gets 40 initiations at once at most, and 4 a second", load: .heavy
        ) { trial in
            let (program, peer) = try start(trial)
            try program.need(.chats)
            peer.habits = .none
            for number in 1...16 {
                let name = trial.chatName + "-\(number)"
                program.tell(["do": "join", "chat": .string(name)])
                for _ in 0..<4 { try forge(peer, trial, in: ChatKeys(open: name)) }
            }
            try trial.wait(.seconds(20), for: "an initiation", until: { peer.initiations.first })
            trial.run(for: .seconds(8))
            let elapsed = trial.now - (peer.initiations.first?.at ?? trial.now)
            // For each address of the peer, the program uses another source address.
            let counts = Dictionary(grouping: peer.initiations, by: \.source.host).mapValues(\.count)
            let limit = 48 + 4 * (elapsed.milliseconds / 1_000 + 1)
            guard let most = counts.values.max(), most <= limit else {
                throw Finding(
                    expected: "at most \(limit) initiations to an address in \(elapsed.text)", actual: "\(counts)")
            }
        },
    ]

    /// Advertises a key at the peer's port that no node there has.
    private static func forge(_ peer: Peer, _ trial: Trial, in chat: ChatKeys? = nil) throws {
        let chat = chat ?? peer.chat
        let nonce = trial.generator.next()
        let key = KeyPair(using: &trial.generator).publicKey
        try trial.stage.advertise(
            ServiceInstance(
                instance: chat.instanceName(nonce: nonce), port: peer.address.port,
                txt: ServiceRecord.encode(key: key, nonce: nonce, for: chat)))
    }

    // MARK: Parts of cases

    static func startWithDiscovery(_ trial: Trial, secret: ChatSecret? = nil) throws -> Program {
        let program = try trial.start(
            ProgramArguments(chat: trial.chatName, secret: secret?.base32, usesDiscovery: true))
        try program.need(.discovery)
        return program
    }

    /// Starts the program with discovery, and a peer. Without a host, the peer has one socket for both families where
    /// there are two.
    static func start(_ trial: Trial, at host: String? = nil) throws -> (program: Program, peer: Peer) {
        let peer = try (try? trial.peer(host: host ?? "::")) ?? trial.peer(host: "0.0.0.0")
        // Without a daemon, this ends the case before the program starts.
        try trial.stage.browse()
        return (try startWithDiscovery(trial), peer)
    }

    /// Returns a peer of the same identity and run at another port.
    private static func twin(of peer: Peer, _ trial: Trial) throws -> Peer {
        let twin = try trial.peer(identity: peer.identity, host: peer.address.host)
        twin.habits = .none
        return twin
    }

    /// Advertises a peer, and returns the name of the instance.
    @discardableResult
    static func advertise(
        _ peer: Peer, in trial: Trial, nonce: UInt64? = nil, instance: String? = nil, port: Int? = nil,
        txt: [UInt8]? = nil
    ) throws -> String {
        let nonce = nonce ?? trial.generator.next()
        let instance = instance ?? peer.chat.instanceName(nonce: nonce)
        try trial.stage.advertise(
            ServiceInstance(
                instance: instance, port: port ?? peer.address.port,
                txt: txt ?? ServiceRecord.encode(key: peer.identity.publicKey, nonce: nonce, for: peer.chat)))
        return instance
    }

    static func awaitLink(_ peer: Peer, from program: Program) throws {
        try peer.awaitLink(from: program, within: .seconds(12))
    }

    /// Advertises a TXT record. Fails if the program opens to the instance, or if it then does not open to one with a
    /// good record.
    static func expectIgnored(_ strings: [String], _ nonce: UInt64, _ peer: Peer, _ program: Program) throws {
        let trial = peer.trial
        peer.habits.answersInitiations = false
        try advertise(peer, in: trial, nonce: nonce, txt: record(strings))
        try trial.never(for: .seconds(5), "no initiation", actual: { "one came" }) { !peer.initiations.isEmpty }
        peer.habits.answersInitiations = true
        try advertise(peer, in: trial)
        try awaitLink(peer, from: program)
    }

    /// Returns the nonce in an instance's name, which must belong to the chat.
    private static func nonce(of instance: String, in chat: ChatKeys) -> UInt64? {
        try? chat.nonce(ofInstance: instance)
    }

    private static func awaitService(_ trial: Trial, of chat: ChatKeys, since start: Duration) throws -> ServiceInstance
    {
        try trial.wait(
            .seconds(12), for: "a service instance whose name is of the chat",
            until: {
                trial.services.first { $0.at >= start && nonce(of: $0.service.instance, in: chat) != nil }?.service
            })
    }

    private static func judgePort(of service: ServiceInstance, _ program: Program) throws {
        try expect(
            service.port == program.address.port, "the port \(program.address.port) in SRV", actual: "\(service.port)")
    }

    private static func judgeRecord(_ service: ServiceInstance, of program: Program, in chat: ChatKeys) throws {
        let strings = strings(of: service.txt)
        guard let nonce = nonce(of: service.instance, in: chat), service.instance.count == 26,
            service.txt.count <= 400, strings.first == "txtvers=2", strings.dropFirst().first?.hasPrefix("k=") == true,
            let key = try? ServiceRecord.parse(service.txt, nonce: nonce, for: chat), key == program.key
        else {
            throw Finding(
                expected: "a name of 26 characters, and txtvers=2 and k= with the program's key, in 400 bytes at most",
                actual: "\(service.instance): \(strings.joined(separator: ", ")), in \(service.txt.count) bytes")
        }
    }

    /// The strings of a TXT record.
    private static func strings(of txt: [UInt8]) -> [String] {
        var strings: [String] = []
        var rest = txt[...]
        while let length = rest.popFirst() {
            strings.append(String(decoding: rest.prefix(Int(length)), as: UTF8.self))
            rest = rest.dropFirst(Int(length))
        }
        return strings
    }
}
