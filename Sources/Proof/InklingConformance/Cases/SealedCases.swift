import InklingWire

extension Catalogue {
    static let sealedCases: [Case] = [
        Case("W-19.1", "what is not sealed as the text says is dropped", also: "W-23") { trial in
            let (program, peer, session) = try trial.startInSession()
            let counter = session.state.nextCounter + 3
            let header = [0x23] + session.remoteIndex.bigEndianBytes + counter.bigEndianBytes
            let nonce = UInt64(counter)
            let token = trial.token()
            let plaintext = Frames.encode([.typing(Status(isTyping: true, isAway: false)), .ping(token)])
            let keys = session.keys
            let key = CipherKey(bytes: trial.noise(32))
            let bodies = [
                (
                    "the counter big-endian in the nonce",
                    keys.send.seal(plaintext, counter: nonce.byteSwapped, associatedData: header)
                ),
                ("no associated data", keys.send.seal(plaintext, counter: nonce, associatedData: [])),
                (
                    "the first byte left out of the associated data",
                    keys.send.seal(plaintext, counter: nonce, associatedData: Array(header.dropFirst()))
                ),
                (
                    "the key of the other direction",
                    keys.receive.seal(plaintext, counter: nonce, associatedData: header)
                ),
                (
                    "another counter in the nonce",
                    keys.send.seal(plaintext, counter: nonce + 1, associatedData: header)
                ),
                ("another key", key.seal(plaintext, counter: nonce, associatedData: header)),
            ]
            for (what, body) in bodies {
                peer.sendBytes(header + body, to: program.address)
                try peer.ping()
                try trial.never(
                    for: .milliseconds(60), "a datagram sealed with \(what) is dropped",
                    when: { peer.hasPong(token) || program.shows(typing: peer.user) })
            }
            peer.sendPlaintext(plaintext)
            try trial.wait(.seconds(3), for: "the same, well sealed, is applied", when: { peer.hasPong(token) })
        },
        Case("W-19.2", "what it sends opens under the session's keys, nonce and header") { trial in
            let (program, peer) = try trial.startLinked()
            for _ in 0..<5 { try peer.ping() }
            trial.run(for: .seconds(1))
            try expect(
                peer.unreadable.isEmpty, "every sealed datagram opens",
                actual: "this one does not: \(peer.unreadable[0].bytes.hex)")
        },
        Case("W-20.1", "its counters begin at 0 and grow by 1") { trial in
            let (program, peer, session) = try trial.startInSession(needs: .messages)
            program.compose("h")
            for number in 0..<6 {
                program.send("message \(number)")
                try peer.ping()
            }
            trial.run(for: .seconds(2))
            var bytes: [UInt32: [UInt8]] = [:]
            for datagram in peer.received where datagram.session === session {
                if let other = bytes[datagram.counter], other != datagram.bytes {
                    throw Finding(
                        expected: "no counter twice for different datagrams",
                        actual: "the counter \(datagram.counter) twice")
                }
                bytes[datagram.counter] = datagram.bytes
            }
            let counters = bytes.keys.sorted()
            try expect(
                counters == Array(0..<UInt32(counters.count)), "the counters 0, 1, 2 and so on",
                actual: "the counters \(counters)")
        },
        Case("W-20.2", "2^32 - 3 is the last ordinary counter, and 2^32 - 2 is dropped", also: "W-22") { trial in
            let (program, peer, session) = try trial.startInSession()
            peer.habits.heartbeat = nil
            let (dropped, taken) = (trial.token(), trial.token())
            peer.send([.ping(dropped)], counter: UInt32.max - 1)
            // If the program had marked that counter, the next counter would be too old.
            try peer.ping(on: session)
            peer.send([.ping(taken)], counter: UInt32.max - 2)
            try trial.wait(.seconds(3), for: "a pong to a ping under 2^32 - 3", when: { peer.hasPong(taken) })
            try expect(!peer.hasPong(dropped), "no pong to a ping under 2^32 - 2", actual: "a pong came")
        },
        Case("W-21.1", "under the last will's counter exactly one bye is taken") { trial in
            let (program, peer) = try trial.startLinked()
            let will = UInt32.max
            let token = trial.token()
            let bad: [[UInt8]] = [
                Frames.encode([.ping(token)]), Frames.encode([peer.heartbeatFrame]), [8, 3, 2, 0], [2, 0, 8, 3],
                [8, 3, 0x40, 0, 0], [0x40, 0, 0, 8, 3], [8, 3, 8, 3], [8], [0x40, 0, 2, 8, 3],
                [6] + token.bigEndianBytes + [8, 3],
            ]
            for plaintext in bad { peer.sendPlaintext(plaintext, counter: will) }
            // The program accepts the next counters, so the last will's counter never enters the window.
            try peer.ping()
            trial.run(for: .milliseconds(200))
            try expect(
                !peer.hasPong(token) && program.presence(of: peer.user) == "online",
                "nothing but one bye is taken under the counter 2^32 - 1",
                actual: peer.hasPong(token) ? "a ping was answered" : "the peer went offline")
            peer.send([.bye(.lastWill)], counter: will)
            let event = try program.awaitPresence("offline", of: peer.user, within: .seconds(2))
            try expect(event.value["why"]?.string == "will", "the reason `will`", actual: program.describe(event.value))
            peer.forget()
            try peer.open(to: program)
        },
        Case("W-22.1", "a datagram under a counter that has come is dropped") { trial in
            let (program, peer) = try trial.startLinked()
            let token = trial.token()
            let bytes = peer.send([.ping(token)])
            try trial.wait(.seconds(3), for: "a pong to the first ping", when: { peer.hasPong(token) })
            for _ in 0..<3 { peer.sendBytes(bytes, to: program.address) }
            try peer.ping()
            peer.sendBytes(bytes, to: program.address)
            try peer.ping()
            trial.run(for: .milliseconds(200))
            let count = peer.received.count { $0.pong == token }
            try expect(count == 1, "one pong to a repeated datagram", actual: "\(count) pongs")
        },
        Case("W-22.2", "a counter 1,023 below the highest is taken, one 1,024 below is dropped") { trial in
            try window(
                trial,
                [
                    (5_000, true), (3_976, false), (3_977, true), (3_977, false), (4_500, true), (4_500, false),
                    (5_000, false),
                ])
        },
        Case("W-22.3", "counters that come out of order are taken once each") { trial in
            try window(
                trial,
                [
                    (64, true), (0, true), (63, true), (1, true), (62, true), (64, false), (63, false), (1, false),
                    (65, true),
                ])
        },
        Case("W-22.4", "a far jump keeps what lies within the window, and nothing else") { trial in
            try window(
                trial,
                [
                    (10, true), (1_000, true), (1_033, true), (10, false), (11, true), (9, false), (1_000_000, true),
                    (1_033, false), (998_976, false), (998_977, true), (999_999, true), (998_977, false),
                    (1_000_001, true),
                ])
        },
        Case("W-23.2", "a datagram that does not authenticate marks no counter", also: "W-22") { trial in
            let (program, peer, session) = try trial.startInSession()
            peer.habits.heartbeat = nil
            let counter = session.state.nextCounter
            let token = trial.token()
            let right = session.seal(Frames.encode([.ping(token)]), counter: counter)
            var forged = right
            forged[forged.count - 1] ^= 1
            peer.sendBytes(forged, to: program.address)
            // If the program marked this counter, all counters in use would lie below the window.
            let far = [0x23] + session.remoteIndex.bigEndianBytes + UInt32(1_000_000).bigEndianBytes + trial.noise(40)
            peer.sendBytes(far, to: program.address)
            trial.run(for: .milliseconds(50))
            peer.sendBytes(right, to: program.address)
            try trial.wait(
                .seconds(3), for: "a pong to the right datagram under the same counter",
                actual: { "no pong came" }, when: { peer.hasPong(token) })
            session.state.nextCounter = counter + 1
            try peer.ping()
        },
        Case("W-23.3", "a datagram whose frames do not parse marks its counter", also: "W-22", "W-24") { trial in
            let (program, peer, session) = try trial.startInSession()
            peer.habits.heartbeat = nil
            let counter = session.state.nextCounter
            let token = trial.token()
            peer.sendPlaintext([0x06, 0x00, 0x09], counter: counter)
            peer.sendPlaintext([0x0A, 0x09], counter: counter + 2_000)
            // The program has marked both counters. The first one now lies below the window.
            peer.send([.ping(token)], counter: counter)
            peer.send([.ping(token)], counter: counter + 2_000)
            peer.send([.ping(token)], counter: counter + 900)
            try peer.ping()
            try trial.never(
                for: .milliseconds(200), "no pong under counters that were marked or are too old",
                when: { peer.hasPong(token) })
        },
    ]

    /// Sends pings with these counters plus 100 on a new link. Judges which of the pings the program accepts.
    static func window(_ trial: Trial, _ counters: [(counter: UInt32, isTaken: Bool)]) throws {
        let (_, peer, session) = try trial.startInSession()
        peer.habits.heartbeat = nil
        peer.habits.answersPings = false
        peer.habits.comesUp = false
        let base: UInt32 = 100
        for (counter, isTaken) in counters {
            let token = trial.token()
            peer.send([.ping(token)], on: session, counter: base + counter)
            let expected = "a ping under the counter \(base + counter) is \(isTaken ? "taken" : "dropped")"
            if isTaken {
                try trial.wait(.seconds(3), for: expected, actual: { "no pong came" }, when: { peer.hasPong(token) })
            } else {
                try trial.never(
                    for: .milliseconds(120), expected, actual: { "a pong came" }, when: { peer.hasPong(token) })
            }
        }
        try peer.ping(on: session)
    }
}
