import InklingWire

extension Catalogue {
    static let handshakeCases: [Case] = [
        Case("L-8.1", "a valid initiation is answered, and pings make a link", also: "W-17", "W-18", "L-67") { trial in
            let (program, peer) = try trial.startLinked()
        },
        Case("L-8.2", "the same initiation again gets the same response") { trial in
            let program = try trial.start()
            let peer = try trial.peer()
            peer.habits.takesResponses = false
            let opening = try peer.begin(to: program)
            try trial.wait(.seconds(1), for: "a response", until: { peer.responses.first })
            peer.transmit(opening)
            let second = try trial.wait(
                .seconds(1), for: "a second response", until: { peer.responses.dropFirst().first })
            try expect(
                second.bytes == peer.responses[0].bytes, "the bytes \(peer.responses[0].bytes.hex)",
                actual: second.bytes.hex)
        },
        Case("L-8.3", "the same initiation from another address gets the same response, there") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            peer.habits.takesResponses = false
            let opening = try peer.begin(to: program)
            let first = try trial.wait(.seconds(1), for: "a response", until: { peer.responses.first })
            let other = try trial.peer()
            other.habits = .none
            other.sendBytes(opening.bytes, to: program.address)
            let second = try trial.wait(
                .seconds(1), for: "a response where the copy came from", until: { other.responses.first })
            try expect(second.bytes == first.bytes, "the bytes \(first.bytes.hex)", actual: second.bytes.hex)
        },
        Case("L-8.4", "an initiation for another chat gets nothing") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let other = ChatKeys(open: trial.chatName + "-other")
            peer.chat = other
            try expectNothing(for: try peer.makeOpening(to: program), of: peer, from: program)
        },
        Case("L-8.5", "an initiation to another static key gets nothing") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let other = trial.identity(thatIsSmaller: true, than: program.key).publicKey
            try expectNothing(for: try peer.makeOpening(to: program, key: other), of: peer, from: program)
        },
        Case("L-8.6", "an initiation whose index was changed gets nothing", also: "W-17") { trial in
            try expectNothing(forChangedByte: 4, of: trial)
        },
        Case("L-8.7", "an initiation whose ephemeral key was changed gets nothing") { trial in
            try expectNothing(forChangedByte: 20, of: trial)
        },
        Case("L-8.8", "an initiation whose static key was changed gets nothing") { trial in
            try expectNothing(forChangedByte: 50, of: trial)
        },
        Case("L-8.9", "an initiation whose last bytes were changed gets nothing") { trial in
            try expectNothing(forChangedByte: 108, of: trial)
        },
        Case("L-8.10", "an initiation of a blocked key gets nothing", also: "L-36") { trial in
            let program = try trial.start(needs: .block)
            let peer = try trial.peer()
            peer.habits = .quiet
            program.tell(["do": "block", "user": .string(peer.user)])
            trial.run(for: .milliseconds(300))
            try expectNothing(for: try peer.makeOpening(to: program), of: peer, from: program)
        },
        Case("L-8.11", "a member of a secret chat is not met by one with another secret") { trial in
            let secret = ChatSecret(using: &trial.generator)
            let program = try trial.start(ProgramArguments(chat: trial.chatName, secret: secret.base32))
            try program.need(.secret)
            let stranger = try trial.peer(in: ChatKeys(secret: ChatSecret(using: &trial.generator)))
            stranger.habits = .quiet
            try stranger.begin(to: program)
            try trial.never(for: .milliseconds(700), "no handshake that completes, and no `peer`") {
                !stranger.sessions.isEmpty || !program.events("peer").isEmpty
            }
            try trial.peer(in: ChatKeys(secret: secret)).open(to: program)
        },
        Case("L-8.12", "a response that was lost is sent again for the next transmission") { trial in
            let program = try trial.start()
            let peer = try trial.peer()
            peer.habits.takesResponses = false
            let opening = try peer.begin(to: program)
            for count in 1...3 {
                try trial.wait(.seconds(2), for: "response \(count)", when: { peer.responses.count >= count })
                if count == 3 { peer.habits.takesResponses = true }
                peer.transmit(opening)
            }
            try trial.wait(.seconds(3), for: "a session", until: { peer.session(of: opening) })
            try program.awaitPresence("online", of: peer.user)
        },
        Case("L-8.13", "without load a node answers an initiation with any cookie") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let opening = try peer.makeOpening(to: program)
            peer.openings.append(opening)
            peer.sendBytes(opening.bytes + peer.trial.noise(16), to: program.address)
            let session = try trial.wait(.seconds(3), for: "a response", until: { peer.session(of: opening) })
            try peer.bringUp(session, at: program)
        },
        Case("L-12.1", "an initiation that a stranger repeats changes nothing that a user sees") { trial in
            let (program, peer, session) = try trial.startInSession()
            let stranger = try trial.peer(named: "Mallory")
            stranger.habits = .none
            for opening in peer.openings { stranger.sendBytes(opening.bytes, to: program.address) }
            let start = trial.now
            try trial.never(for: .seconds(2), "no `peer`") { !program.events("peer", since: start).isEmpty }
            let pong = try peer.ping()
            try expect(
                pong.session === session && pong.destination == peer.address, "a pong on the session of the link",
                actual: "it came to \(pong.destination)")
            try expect(
                stranger.received.isEmpty, "no sealed datagram to the stranger",
                actual: "\(stranger.received.count) came")
        },
        Case("L-12.2", "a handshake that nothing follows is not shown") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let session = try peer.openSession(to: program)
            try trial.never(for: .seconds(2), "no `peer`, no sealed datagram") {
                !program.events("peer").isEmpty || session.isComplete
            }
            try peer.bringUp(session, at: program)
        },
        Case("L-12.3", "an unconfirmed session is dropped after 5 s") { trial in
            let (program, late) = try trial.startWithQuietPeer()
            let timely = try trial.peer(named: "Bob")
            timely.habits = .quiet
            let lateSession = try late.openSession(to: program)
            let timelySession = try timely.openSession(to: program)
            trial.run(for: .milliseconds(4_300))
            try timely.bringUp(timelySession, at: program)
            timely.habits = .all
            trial.run(for: lateSession.createdAt + .milliseconds(5_500) - trial.now)
            late.sendPing(on: lateSession)
            try trial.never(for: .milliseconds(700), "nothing on a session that is over") {
                lateSession.isComplete || program.presence(of: late.user) != nil
            }
            try late.bringUp(try late.openSession(to: program), at: program)
        },
        Case("W-16.1", "the indices that it gives out as responder are random and differ", also: "S-6") { trial in
            let program = try trial.start()
            var indices: [UInt32] = []
            for number in 0..<10 {
                let peer = try trial.peer(named: "Peer \(number)")
                peer.habits = .none
                peer.habits.takesResponses = true
                indices.append(try peer.openSession(to: program).remoteIndex)
            }
            try checkRandom(indices)
        },
        Case("W-16.2", "the indices of its own handshakes are random and differ", also: "L-4") { trial in
            var peers: [Peer] = []
            for number in 0..<10 { peers.append(try trial.peer(named: "Peer \(number)")) }
            for peer in peers { peer.habits.answersInitiations = false }
            let program = try trial.start(ProgramArguments(chat: trial.chatName, peers: peers.map(\.address)))
            try program.need(.peer)
            try trial.wait(
                .seconds(8), for: "an initiation to each of ten peers",
                when: { peers.allSatisfy { !$0.initiations.isEmpty } })
            try checkRandom(peers.compactMap { $0.initiations.first?.value.senderIndex })
        },
        Case("W-16.3", "0 is an index like any other") { trial in
            let program = try trial.start()
            let peer = try trial.peer()
            let session = try peer.openSession(peer.makeOpening(to: program, index: 0))
            try peer.awaitNamed(on: session)
            try peer.ping()
        },
        Case("W-17.1", "an initiation is answered only under the prologue of its own header") { trial in
            let program = try trial.start(needs: .chats)
            program.tell(["do": "join", "chat": .string(trial.chatName + "-b")])
            let (stranger, witness) = try trial.strangerAndWitness(of: program)
            let opening = try stranger.makeOpening(to: program)
            let noise = opening.initiation.noise
            let index = opening.initiation.senderIndex
            let other = ChatKeys(open: trial.chatName + "-b")
            let samples = [
                Sample(
                    "an initiation with another sender index",
                    stranger.chat.initiation(senderIndex: index ^ 1, noise: noise).encode()),
                Sample(
                    "an initiation with the check of another chat of the node",
                    other.initiation(senderIndex: index, noise: noise).encode()),
            ]
            try trial.expectSilence(to: samples, from: stranger, at: program, witness: witness)
            stranger.habits = .all
            _ = try stranger.openSession(opening)
        },
        Case(
            "W-17.2", "its own initiations open under the prologue, and name a run and the epoch 0", also: "W-18",
            "W-38", "L-59"
        ) { trial in
            let peer = try trial.peer()
            peer.habits.answersInitiations = false
            let program = try trial.start(peers: [peer], needs: .peer)
            let initiation = try trial.wait(.seconds(5), for: "an initiation", until: { peer.initiations.first })
            guard let read = peer.read(initiation.value) else {
                throw Finding(expected: "Noise message 1 opens under the prologue", actual: initiation.bytes.hex)
            }
            try expect(
                read.peer.epoch == 0 && read.remote == program.key, "the epoch 0, and the key of `ready`",
                actual: "the epoch \(read.peer.epoch), and the key \(read.remote.bytes.hex)")
            peer.habits.answersInitiations = true
            try peer.awaitLink(from: program)
        },
        Case("W-18.1", "its response carries the index under which it takes sealed datagrams") { trial in
            let program = try trial.start()
            let peer = try trial.peer()
            let session = try peer.openSession(to: program)
            try peer.await("a sealed datagram on the session of that index") { $0.session === session }
        },
    ]

    /// Sends an initiation that the program must not answer, and then a genuine one. Fails if the program answers the
    /// first or not the second.
    private static func expectNothing(for opening: PeerOpening, of peer: Peer, from program: Program) throws {
        let before = peer.datagramCount
        peer.transmit(opening)
        try peer.trial.never(
            for: .milliseconds(600), "no answer",
            actual: {
                "a datagram came: \(peer.responses.last?.bytes.hex ?? peer.unreadable.last?.bytes.hex ?? "sealed")"
            },
            when: { peer.datagramCount > before })
        try peer.trial.peer(named: "Bob").open(to: program)
    }

    private static func expectNothing(forChangedByte offset: Int, of trial: Trial) throws {
        let (program, peer) = try trial.startWithQuietPeer()
        var bytes = try peer.makeOpening(to: program).bytes
        bytes[offset] ^= 1
        peer.sendBytes(bytes, to: program.address)
        try trial.never(for: .milliseconds(600), "no answer") { peer.datagramCount > 0 }
        try trial.peer(named: "Bob").open(to: program)
    }

    private static func checkRandom(_ indices: [UInt32]) throws {
        let sorted = indices.sorted()
        let gaps = zip(sorted, sorted.dropFirst()).map { $1 - $0 }
        // That ten random numbers of 32 bits are all within 2^24 of their neighbours, or that two are equal, happens
        // once in 10^8 runs.
        try expect(
            Set(indices).count == indices.count && gaps.contains(where: { $0 > 1 << 24 }),
            "random indices, each of them different", actual: "\(indices)")
    }
}
