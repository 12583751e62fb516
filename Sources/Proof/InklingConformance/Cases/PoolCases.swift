import InklingWire

/// The room for incomplete messages: M-39 to M-42. `M-20.1` fills it.
extension Catalogue {
    /// Sends a record on a session, and returns the ack that answers it.
    private static func ack(
        of number: UInt32, first: Bool = true, last: Bool = true, on session: PeerSession, of peer: Peer
    ) throws -> Ack {
        for _ in 0..<3 {
            let start = peer.trial.now
            peer.sendRecord(number, "text", first: first, last: last, on: session)
            func answer() -> Ack? { peer.received(since: start).last { $0.session === session && $0.ack != nil }?.ack }
            if let ack = try? peer.trial.wait(.milliseconds(600), for: "", until: answer) { return ack }
        }
        throw Finding(expected: "an ack of record \(number)", actual: "none came to three of them")
    }

    static let poolCases: [Case] = [
        Case(
            "M-40.1",
            "strangers' records beyond the expected one are held while less than 2 MiB are taken, and acks say so",
            also: "M-39", "M-41", "M-42", load: .heavy
        ) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            try program.need(.messages)
            let sessions = try crowd(33, of: peer, at: program)
            let probe = sessions[32]
            let before = try ack(of: 2, on: probe, of: peer)
            try expect(
                before.next == 1 && before.bitmap == 1, "an ack that names record 2 as held, while there is room",
                actual: "next \(before.next), bitmap \(before.bitmap)")
            for session in sessions.prefix(32) {
                let taken = try ack(of: 1, last: false, on: session, of: peer)
                try expect(
                    taken.next == 2, "room for 32 messages of 65,792 bytes", actual: "an ack that expects \(taken.next)"
                )
            }
            let full = try ack(of: 4, on: probe, of: peer)
            try expect(
                full.next == 1 && full.bitmap & 0b100 == 0,
                "an ack that does not name record 4, with 2,105,344 bytes taken",
                actual: "next \(full.next), bitmap \(full.bitmap)")
            // The next expected message still has room.
            let turn = try ack(of: 1, on: probe, of: peer)
            try expect(turn.next == 3, "an ack that expects record 3", actual: "it expects \(turn.next)")
            let start = trial.now
            for session in sessions.prefix(8) {
                let whole = try ack(of: 2, first: false, on: session, of: peer)
                try expect(whole.next == 3, "an ack that expects record 3", actual: "it expects \(whole.next)")
            }
            try peer.await("an ack that nothing asked for, when there is room again", since: start) {
                $0.session === probe && $0.ack?.next == 3
            }
            let after = try ack(of: 4, on: probe, of: peer)
            try expect(
                after.next == 3 && after.bitmap & 1 == 1, "an ack that names record 4",
                actual: "next \(after.next), bitmap \(after.bitmap)")
        },
        Case(
            "M-42.1", "people of one secret chat who are not verified hold a quarter: 31 messages begun", also: "M-39",
            "M-41", load: .heavy
        ) { trial in
            let secret = ChatSecret(using: &trial.generator)
            let program = try trial.startInSecretChat(secret, needs: .messages)
            let peer = try trial.peer(in: ChatKeys(secret: secret))
            let sessions = try crowd(36, of: peer, at: program)
            var (taken, refused): ([PeerSession], [PeerSession]) = ([], [])
            for session in sessions {
                let answer = try ack(of: 1, last: false, on: session, of: peer)
                if answer.next == 2 { taken.append(session) } else { refused.append(session) }
            }
            try expect(taken.count == 31, "31 messages begun in 2 MiB", actual: "\(taken.count)")
            let start = trial.now
            // 15 links use less than half of the room.
            for session in taken.prefix(16) { _ = try ack(of: 2, first: false, on: session, of: peer) }
            for session in refused {
                try peer.await("an ack that nothing asked for, when half is free again", since: start) {
                    $0.session === session && $0.ack?.next == 1
                }
                let answer = try ack(of: 1, last: false, on: session, of: peer)
                try expect(answer.next == 2, "room for the record", actual: "an ack that expects \(answer.next)")
            }
        },
    ]
}
