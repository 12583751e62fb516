import InklingWire

extension Catalogue {
    static let datagramCases: [Case] = [
        Case("W-12.1", "empty datagrams, other versions and unknown kinds are dropped", also: "W-15", "X-6") { trial in
            let program = try trial.start()
            let (stranger, witness) = try trial.strangerAndWitness(of: program)
            let opening = try stranger.makeOpening(to: program)
            var samples = [Sample("an empty datagram", [])]
            for first in UInt8.min...UInt8.max where first != 0x21 {
                let what = "an initiation whose first byte is 0x\([first].hex)"
                samples.append(Sample(what, [first] + opening.bytes.dropFirst()))
            }
            for first in UInt8.min...UInt8.max where first != 0x25 {
                let ask = stranger.chat.ask(token: 7).encode()
                samples.append(Sample("an ask whose first byte is 0x\([first].hex)", [first] + ask.dropFirst()))
            }
            try trial.expectSilence(to: samples, from: stranger, at: program, witness: witness)
            stranger.habits = .all
            _ = try stranger.openSession(opening)
        },
        Case("W-13.1", "datagrams a byte too long are dropped", also: "W-15") { trial in
            let program = try trial.start()
            let (stranger, witness) = try trial.strangerAndWitness(of: program)
            let opening = try stranger.makeOpening(to: program)
            let ask = stranger.chat.ask(token: 9).encode()
            var samples: [Sample] = []
            for extra in [1, 2, 8, 15, 17, 32] {
                let tail = [UInt8](repeating: 0, count: extra)
                samples.append(Sample("an initiation with \(extra) bytes more", opening.bytes + tail))
                samples.append(Sample("an ask with \(extra) bytes more", ask + tail))
            }
            let cookie = [UInt8](repeating: 1, count: 16)
            samples.append(Sample("an initiation with a cookie and a byte more", opening.bytes + cookie + [0]))
            try trial.expectSilence(to: samples, from: stranger, at: program, witness: witness)
            stranger.habits = .all
            _ = try stranger.openSession(opening)
        },
        Case("W-13.2", "a sealed datagram of 1,200 bytes is taken, one of 1,201 is dropped") { trial in
            let (program, peer) = try trial.startLinked()
            // The datagram has a ping, and a record so far beyond the expected one that the program does not hold it
            // (M-16).
            let message: [UInt8] = [0x04, 0, 0, 1, 0, 3]
            func plaintext(_ size: Int, token: UInt16) -> [UInt8] {
                let text = [UInt8](repeating: 0x78, count: size - 3 - message.count)
                return [0x06] + token.bigEndianBytes + message + text
            }
            let (good, bad) = (trial.token(), trial.token())
            peer.sendPlaintext(plaintext(1_175, token: good))
            try trial.wait(.seconds(3), for: "a pong to 1,200 bytes", when: { peer.hasPong(good) })
            peer.sendPlaintext(plaintext(1_176, token: bad))
            try peer.ping()
            try trial.never(for: .milliseconds(200), "no pong to 1,201 bytes", when: { peer.hasPong(bad) })
        },
        Case("W-14.1", "an ask whose last 48 bytes are not zero draws no tell", also: "W-15") { trial in
            let program = try trial.start()
            let (stranger, witness) = try trial.strangerAndWitness(of: program)
            let ask = stranger.chat.ask(token: 0x0A0B_0C0D).encode()
            var samples: [Sample] = []
            for position in 17..<65 {
                for bit in [0, 3, 7] {
                    var bytes = ask
                    bytes[position] = 1 << UInt8(bit)
                    samples.append(Sample("an ask with bit \(bit) of byte \(position) set", bytes))
                }
            }
            try trial.expectSilence(
                to: samples, from: stranger, at: program, witness: witness, batch: 8, pause: .milliseconds(20))
            _ = try trial.ask(by: stranger, at: program)
        },
        Case("W-14.2", "its own asks end in 48 zero bytes", also: "D-11") { trial in
            let peer = try trial.peer()
            peer.habits.answersAsks = false
            let program = try trial.start(peers: [peer], needs: .peer)
            let bytes = try trial.wait(
                .seconds(5), for: "an ask",
                until: { peer.asks.first?.bytes ?? peer.unreadable.first { $0.bytes.first == 0x25 }?.bytes })
            try expect(
                bytes.count == 65 && bytes[17...].allSatisfy({ $0 == 0 }), "65 bytes, the last 48 zero",
                actual: bytes.hex)
            peer.habits.answersAsks = true
            try peer.awaitLink(from: program)
        },
        Case("W-15.1", "datagrams for indices that it does not hold are not answered") { trial in
            let program = try trial.start()
            let (stranger, witness) = try trial.strangerAndWitness(of: program)
            var samples: [Sample] = []
            for _ in 0..<60 {
                let index = UInt32(truncatingIfNeeded: trial.generator.next())
                let response = Response(receiverIndex: index, noise: trial.noise(64))
                samples.append(Sample("a response to nothing", response.encode()))
                samples.append(
                    Sample("a retry of nothing", Retry(receiverIndex: index, cookie: trial.noise(16)).encode()))
                let sealed = SealedDatagram(receiverIndex: index, counter: 0, ciphertext: trial.noise(40))
                samples.append(Sample("a sealed datagram of no session", sealed.encode()))
                let tell = stranger.chat.tell(token: 7, nonce: 0, key: stranger.identity.publicKey)
                samples.append(Sample("a tell that was not asked for", tell.encode()))
            }
            try trial.expectSilence(to: samples, from: stranger, at: program, witness: witness)
            try trial.expectAnswers(to: stranger, from: program)
        },
    ]
}

extension Trial {
    /// Random bytes.
    func noise(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) } }
}
