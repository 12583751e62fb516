import InklingWire

extension Catalogue {
    static let malformedCases: [Case] = [
        Case("W-13.3", "no truncation of a datagram of any kind is answered", also: "W-15", "S-3") { trial in
            let program = try trial.start()
            let (stranger, witness) = try trial.strangerAndWitness(of: program)
            let opening = try stranger.makeOpening(to: program)
            var samples: [Sample] = []
            for size in 0..<opening.bytes.count {
                samples.append(Sample("\(size) bytes of an initiation", Array(opening.bytes.prefix(size))))
            }
            let long = opening.bytes + trial.noise(16)
            for size in 122..<137 {
                samples.append(Sample("\(size) bytes of an initiation with a cookie", Array(long.prefix(size))))
            }
            let index = UInt32(truncatingIfNeeded: trial.generator.next())
            let wholes: [(String, [UInt8])] = [
                ("a response", Response(receiverIndex: index, noise: trial.noise(64)).encode()),
                ("a retry", Retry(receiverIndex: index, cookie: trial.noise(16)).encode()),
                ("an ask", stranger.chat.ask(token: 7).encode()),
                ("a tell", stranger.chat.tell(token: 7, nonce: 0, key: stranger.identity.publicKey).encode()),
            ]
            for (what, bytes) in wholes {
                for size in 1..<bytes.count {
                    samples.append(Sample("\(size) bytes of \(what)", Array(bytes.prefix(size))))
                }
            }
            try trial.expectSilence(to: samples, from: stranger, at: program, witness: witness)
            stranger.habits = .all
            _ = try stranger.openSession(opening)
        },
        Case("W-13.4", "no truncation of a sealed datagram is applied", also: "W-23", "W-15") { trial in
            let (program, peer, session) = try trial.startInSession()
            peer.habits.heartbeat = nil
            let token = trial.token()
            let whole = session.seal(
                Frames.encode([.typing(Status(isTyping: true, isAway: false)), .ping(token)]),
                counter: session.state.nextCounter)
            for size in 0..<whole.count { peer.sendBytes(Array(whole.prefix(size)), to: program.address) }
            try trial.never(
                for: .milliseconds(300), "nothing is applied of a truncated datagram",
                when: { peer.hasPong(token) || program.shows(typing: peer.user) })
            peer.sendBytes(whole, to: program.address)
            try trial.wait(
                .seconds(3), for: "a pong and typing after the whole datagram",
                when: { peer.hasPong(token) && program.shows(typing: peer.user) })
        },
        Case("W-15.2", "garbage behind every first byte is not answered", also: "W-12", "W-13") { trial in
            let program = try trial.start()
            let (stranger, witness) = try trial.strangerAndWitness(of: program)
            var samples: [Sample] = []
            for first in UInt8.min...UInt8.max {
                for size in [1, 2, 3, 9, 21, 26, 27, 65, 69, 121, 137, 300, 1_200, 1_400] {
                    samples.append(
                        Sample("\(size) bytes that begin with 0x\([first].hex)", [first] + trial.noise(size - 1)))
                }
            }
            try trial.expectSilence(to: samples, from: stranger, at: program, witness: witness)
            try trial.expectAnswers(to: stranger, from: program)
        },
        Case("W-15.3", "garbage in the form of initiations and asks is not answered", also: "L-8", "W-14", "W-37") {
            trial in
            let program = try trial.start()
            let (stranger, witness) = try trial.strangerAndWitness(of: program)
            var samples: [Sample] = []
            for size in [108, 124] {
                for _ in 0..<25 {
                    let head = [0x21] + trial.noise(12)
                    samples.append(Sample("an initiation with \(size) bytes of garbage", head + trial.noise(size)))
                }
            }
            for _ in 0..<25 {
                let token = stranger.chat.ask(token: trial.generator.next()).encode().prefix(9)
                let zeros = [UInt8](repeating: 0, count: 48)
                samples.append(Sample("an ask with a wrong check", token + trial.noise(8) + zeros))
            }
            try trial.expectSilence(
                to: samples, from: stranger, at: program, witness: witness, batch: 5, pause: .milliseconds(80))
            try trial.expectAnswers(to: stranger, from: program)
        },
        Case("W-15.4", "no initiation with one bit flipped is answered", also: "W-17", "W-12", "W-37") { trial in
            let program = try trial.start()
            let (stranger, witness) = try trial.strangerAndWitness(of: program)
            let opening = try stranger.makeOpening(to: program)
            let flips = flipped(opening.bytes, "an initiation")
            // Fewer than 100 a second give the program no reason for a retry (L-9).
            let (free, counted) = (flips.prefix(13 * 8), flips.dropFirst(13 * 8))
            try trial.expectSilence(
                to: Array(free), from: stranger, at: program, witness: witness, batch: 8, pause: .milliseconds(60))
            try trial.expectSilence(
                to: Array(counted), from: stranger, at: program, witness: witness, batch: 8, pause: .milliseconds(110))
            trial.run(for: .milliseconds(500))
            stranger.habits = .all
            _ = try stranger.openSession(opening)
        },
        Case("W-15.5", "no response with one bit flipped is answered", also: "L-7", "W-12") { trial in
            let peer = try trial.peer()
            peer.habits.answersInitiations = false
            let program = try trial.start(peers: [peer], needs: .peer)
            let initiation = try trial.wait(.seconds(5), for: "an initiation", until: { peer.initiations.first })
            /// Returns the correct response, with a receiver index that is easy to recognise.
            func right(_ initiation: Initiation) throws -> [UInt8] {
                let own = RunAndEpoch(run: peer.run, epoch: peer.epoch)
                guard
                    let reply = try? peer.read(initiation)?.respond(
                        ephemeral: KeyPair(using: &trial.generator), index: 0x0102_0304, own: own)
                else {
                    throw Finding(
                        expected: "an initiation that its responder can read", actual: initiation.encode().hex)
                }
                return reply.response.encode()
            }
            let start = trial.now
            for (number, sample) in flipped(try right(initiation.value), "a response").enumerated() {
                peer.sendBytes(sample.bytes, to: initiation.source)
                if number % 32 == 31 { trial.run(for: .milliseconds(10)) }
            }
            try trial.never(
                for: .milliseconds(200), "nothing but initiations and asks after responses with a bit flipped",
                actual: { "the answer \(peer.unreadable.last?.bytes.hex ?? "")" },
                when: { peer.unreadable.contains { $0.at >= start } })
            // The program reads only a few responses after each transmission (L-49). The next transmission shows that
            // the handshake is unchanged.
            let mark = trial.now
            let next = try trial.wait(.seconds(5), for: "the initiation once more") {
                peer.initiations.first { $0.at >= mark }
            }
            peer.sendBytes(try right(next.value), to: next.source)
            try trial.wait(
                .seconds(3), for: "a sealed datagram after the right response",
                until: { peer.unreadable.first { $0.bytes.starts(with: [0x23, 1, 2, 3, 4]) } })
        },
        Case("W-23.1", "no sealed datagram with one bit flipped is applied", also: "W-12", "W-19", "W-15") { trial in
            let (program, peer, session) = try trial.startInSession(needs: .messages)
            let token = trial.token()
            let record = Record(number: 1, text: "not to be seen before its turn")
            let frames: [Frame] = [.typing(Status(isTyping: true, isAway: false)), .ping(token), .record(record)]
            let right = session.seal(Frames.encode(frames), counter: session.state.nextCounter)
            session.state.nextCounter += 1
            let flips = flipped(right, "a sealed datagram")
            for (number, sample) in flips.enumerated() {
                peer.sendBytes(sample.bytes, to: program.address)
                if number % 24 == 23 {
                    try peer.ping()
                    try expect(
                        !peer.hasPong(token) && !program.shows(typing: peer.user)
                            && program.messages(from: peer.user).isEmpty,
                        "a sealed datagram with a bit flipped is dropped",
                        actual: "one of the flips up to \(sample.what) was applied")
                }
            }
            try trial.never(
                for: .milliseconds(300), "no sealed datagram with a bit flipped is applied",
                when: { peer.hasPong(token) || program.shows(typing: peer.user) })
            peer.sendBytes(right, to: program.address)
            try trial.wait(
                .seconds(3), for: "the datagram is applied as it was sealed",
                when: { peer.hasPong(token) && program.messages(from: peer.user) == [record.text] })
        },
        Case("W-24.1", "garbage that is well sealed changes nothing", also: "W-25", "W-27", "W-28", "W-40") { trial in
            let (program, peer) = try trial.startLinked()
            var samples: [Sample] = []
            while samples.count < 500 {
                let first = UInt8(truncatingIfNeeded: trial.generator.next()) & 0x0F
                let bytes = [first] + trial.noise(1 + Int(trial.generator.next() % 80))
                let token: [UInt8] = [0x06, 0, 0]
                if (try? Frames.parse(token + bytes)) == nil {
                    samples.append(Sample("the frames \(bytes.hex)", bytes))
                }
            }
            let start = trial.now
            try trial.expectParsing(of: samples, areValid: false, by: program, from: peer)
            try expect(
                program.typingChanges(of: peer.user, since: start).isEmpty
                    && program.peerEvents(peer.user, since: start).isEmpty, "nothing changes that a user can see",
                actual: "typing or presence changed")
        },
    ]

    /// Returns all datagrams that differ from one datagram in a single bit.
    static func flipped(_ bytes: [UInt8], _ what: String) -> [Sample] {
        (0..<bytes.count * 8).map { bit in
            var copy = bytes
            copy[bit / 8] ^= 1 << UInt8(bit % 8)
            return Sample("\(what) with bit \(bit % 8) of byte \(bit / 8) flipped", copy)
        }
    }
}
