import InklingWire

extension Catalogue {
    static let loadCases: [Case] = [
        Case("L-9.1", "with more than 100 initiations a second one without a cookie gets a retry alone", load: .heavy) {
            trial in
            let (program, peer) = try loaded(trial)
            peer.habits.obeysRetries = false
            let opening = try peer.begin(to: program)
            flood(program, from: trial, for: .milliseconds(300))
            guard let retry = peer.retries.first, peer.responses.isEmpty else {
                throw Finding(
                    expected: "a retry and no response",
                    actual: "\(peer.retries.count) retries and \(peer.responses.count) responses")
            }
            try expect(
                retry.value.receiverIndex == opening.initiation.senderIndex && retry.bytes.count == 21,
                "a retry for the index \(opening.initiation.senderIndex)", actual: retry.bytes.hex)
        },
        Case("L-9.2", "an initiation with the cookie of its retry is answered under load", also: "L-8", load: .heavy) {
            trial in
            let (program, peer) = try loaded(trial)
            let opening = try peer.begin(to: program)
            flood(program, from: trial, for: .milliseconds(400))
            guard let session = peer.session(of: opening), !peer.retries.isEmpty else {
                throw Finding(
                    expected: "a retry, and a response to the same initiation with its cookie",
                    actual: "\(peer.retries.count) retries and \(peer.responses.count) responses")
            }
            try peer.bringUp(session, at: program)
        },
        Case("L-9.3", "when the flood is over initiations are answered without a cookie", load: .heavy) { trial in
            let (program, peer) = try loaded(trial)
            trial.run(for: .milliseconds(1_500))
            try peer.bringUp(try peer.openSession(to: program), at: program)
            try expect(peer.retries.isEmpty, "no retry 1.5 s after the flood", actual: "\(peer.retries.count) retries")
        },
        Case("L-9.4", "with 64 unconfirmed sessions an initiation without a cookie gets a retry", load: .heavy) {
            trial in
            let (program, crowd) = try trial.startWithQuietPeer()
            try program.need(.load)
            try open(64, of: crowd, to: program, hosts: [])
            try trial.wait(
                .seconds(2), for: "64 responses to 64 initiations in less than a second",
                actual: { "\(crowd.responses.count) responses and \(crowd.retries.count) retries" },
                when: { crowd.sessions.count >= 64 })
            let peer = try trial.peer(named: "Bob")
            peer.habits = .quiet
            let session = try peer.openSession(to: program)
            try expect(!peer.retries.isEmpty, "a retry before the response", actual: "a response at once")
            try peer.bringUp(session, at: program)
        },
        Case("L-96.1", "at most 500 retries a second go out to unknown addresses", load: .heavy) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            try program.need(.load)
            peer.habits = .none
            let end = trial.now + .milliseconds(1_400)
            while trial.now < end {
                for _ in 0..<20 { peer.sendBytes(noise(of: peer, in: peer.chat), to: program.address) }
                trial.run(for: .milliseconds(10))
            }
            trial.run(for: .milliseconds(300))
            let times = peer.retries.map(\.at)
            var (most, first) = (0, 0)
            for (last, time) in times.enumerated() {
                while time - times[first] >= .seconds(1) { first += 1 }
                most = max(most, last - first + 1)
            }
            // The check allows a quarter more, because the network may bring datagrams closer together.
            try expect(
                (100...625).contains(most), "at most 500 retries within a second to 2,000 initiations",
                actual: "\(most) of them")
        },
        Case("L-8.14", "copies, and initiations for other chats, count against no limit", load: .heavy) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            peer.habits.takesResponses = false
            let opening = try peer.begin(to: program)
            let other = ChatKeys(open: trial.chatName + "-other")
            for number in 0..<300 {
                peer.transmit(opening)
                peer.sendBytes(noise(of: peer, in: other), to: program.address)
                if number % 6 == 5 { trial.run(for: .milliseconds(10)) }
            }
            let late = try trial.peer(named: "Bob")
            late.habits = .quiet
            let session = try late.openSession(to: program)
            try expect(
                late.retries.isEmpty && peer.retries.isEmpty, "no retry",
                actual: "\(late.retries.count + peer.retries.count) retries")
            try late.bringUp(session, at: program)
        },
        Case(
            "L-97.1", "with cookies, a socket of the program's own user is answered without the limit of a source",
            also: "L-78", load: .heavy
        ) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            try program.need(.load)
            _ = try beginWithCookies(60, of: peer, to: program, hosts: ["127.0.0.2"])
            let start = trial.now
            flood(program, from: trial, for: .seconds(1))
            let count = peer.responses.count { $0.at >= start - .milliseconds(100) }
            try expect(count == 60, "60 responses to 60 initiations", actual: "\(count) responses")
        },
        Case(
            "L-10.1", "unknown addresses get at most half of 200 answers a second, and known ones get theirs",
            load: .heavy
        ) { trial in
            let program = try trial.start(needs: .load)
            let friend = try trial.peer(named: "Bob")
            try friend.open(to: program)
            let peer = try trial.peer()
            (peer.habits, peer.habits.takesResponses) = (.quiet, false)
            let start = try beginWithCookies(200, of: peer, to: program, hosts: (2...15).map { "127.0.0.\($0)" })
            let opening = try friend.begin(to: program)
            for _ in 0..<2 {
                flood(program, from: trial, for: .milliseconds(200))
                friend.transmit(opening)
            }
            let count = peer.responses.count
            let elapsed = trial.now - start
            // The limit allows a second of answers, plus a second for each whole second that the handshakes took.
            let limit = 120 * (1 + elapsed.milliseconds / 1_000)
            try expect(
                (60...limit).contains(count),
                "about 100 responses a second to 200 initiations with cookies, \(limit) at most",
                actual: "\(count) in \(elapsed.text)")
            try trial.wait(
                .milliseconds(500), for: "a response to the address of a live link",
                actual: { "\(friend.retries.count) retries came" }, until: { friend.session(of: opening) })
        },
        Case("L-11.1", "a cookie is worthless for another port, address, index or ephemeral key", load: .heavy) {
            trial in
            let (program, peer) = try loaded(trial)
            peer.habits.obeysRetries = false
            let opening = try peer.begin(to: program)
            flood(program, from: trial, for: .milliseconds(200))
            guard let retry = peer.retries.first else {
                throw Finding(expected: "a retry under load", actual: "\(peer.responses.count) responses")
            }
            var own = opening.initiation
            own.cookie = retry.value.cookie
            var foreign = own
            foreign.cookie = peer.trial.noise(16)
            var index = peer.chat.initiation(senderIndex: own.senderIndex ^ 1, noise: own.noise)
            index.cookie = own.cookie
            var ephemeral = peer.chat.initiation(
                senderIndex: own.senderIndex, noise: peer.trial.noise(32) + own.noise.dropFirst(32))
            ephemeral.cookie = own.cookie
            let changed = [
                ("another index", index), ("another ephemeral key", ephemeral), ("no retry's cookie", foreign),
            ]
            let misuses =
                changed.map { ($0, $1, peer.address) } + [
                    ("another port", own, try peer.addAddress()),
                    ("another address", own, try peer.addAddress(host: "127.0.0.2")),
                ]
            for (words, initiation, source) in misuses {
                let count = peer.retries.count
                peer.sendBytes(initiation.encode(), to: program.address, from: source)
                flood(program, from: trial, for: .milliseconds(200))
                try expect(
                    peer.retries.count == count + 1 && peer.responses.isEmpty,
                    "a retry, and no response, to an initiation with \(words)",
                    actual: "\(peer.retries.count - count) retries, \(peer.responses.count) responses")
            }
            peer.sendBytes(own.encode(), to: program.address)
            flood(program, from: trial, for: .milliseconds(200))
            try expect(
                peer.session(of: opening) != nil, "a response to the initiation that the cookie is for",
                actual: "none came")
        },
        Case("L-12.4", "of more than 128 unconfirmed sessions the oldest is dropped", load: .heavy) { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            try program.need(.load)
            try open(134, of: peer, to: program, hosts: (2...9).map { "127.0.0.\($0)" })
            try trial.wait(
                .milliseconds(1_500), for: "134 responses to initiations with cookies",
                actual: { "\(peer.sessions.count) came" }, when: { peer.sessions.count >= 134 })
            guard let first = peer.sessions.first, let last = peer.sessions.last else { return }
            peer.send([.ping(1)], on: first)
            try trial.never(for: .milliseconds(300), "nothing on the oldest session") { first.isComplete }
            try peer.bringUp(last, at: program)
        },
    ]

    /// Brings the program under load with more than 100 initiations a second. Returns the program, and a peer that sent
    /// none of them.
    private static func loaded(_ trial: Trial) throws -> (program: Program, peer: Peer) {
        let (program, peer) = try trial.startWithQuietPeer()
        try program.need(.load)
        flood(program, from: trial, for: .milliseconds(900))
        return (program, peer)
    }

    /// Returns a well-formed initiation that no chat's node can decrypt.
    private static func noise(of peer: Peer, in chat: ChatKeys) -> [UInt8] {
        let index = UInt32(truncatingIfNeeded: peer.trial.generator.next())
        return chat.initiation(senderIndex: index, noise: peer.trial.noise(108)).encode()
    }

    /// Sends 300 initiations a second that no node can decrypt.
    private static func flood(_ program: Program, from trial: Trial, for duration: Duration) {
        guard let attacker = trial.peers.first(where: { $0.name == "Mallory" }) ?? (try? trial.peer(named: "Mallory"))
        else { return }
        attacker.habits = .none
        let end = trial.now + duration
        while trial.now < end {
            for _ in 0..<3 { attacker.sendBytes(noise(of: attacker, in: attacker.chat), to: program.address) }
            trial.run(for: .milliseconds(10))
        }
    }

    /// Begins handshakes, about 90 a second, alternately from the peer's address and other addresses.
    private static func open(_ count: Int, of peer: Peer, to program: Program, hosts: [String]) throws {
        let sources = [peer.address] + (try hosts.map { try peer.addAddress(host: $0) })
        for number in 0..<count {
            try peer.begin(to: program, from: sources[number % sources.count])
            peer.trial.run(for: .milliseconds(11))
        }
    }

    /// Brings the program under load, gets cookies for `count` handshakes, and sends all of these at once.
    ///
    /// - Returns: The time when the peer began to get cookies.
    private static func beginWithCookies(
        _ count: Int, of peer: Peer, to program: Program, hosts: [String]
    ) throws -> Duration {
        let sources = try hosts.map { try peer.addAddress(host: $0) }
        peer.habits.obeysRetries = false
        var openings = try (0..<count).map { try peer.makeOpening(to: program, from: sources[$0 % sources.count]) }[...]
        flood(program, from: peer.trial, for: .seconds(1))
        let start = peer.trial.now
        // 400 initiations a second keep the program under load, even on a slow machine.
        while !openings.isEmpty {
            peer.trial.run(for: .milliseconds(10))
            let due = (peer.trial.now - start).milliseconds * 400 / 1_000 - (count - openings.count)
            for opening in openings.prefix(due) { peer.begin(opening) }
            openings = openings.dropFirst(due)
        }
        try peer.trial.wait(
            .milliseconds(600), for: "a retry to each of \(count) initiations under load",
            actual: { "\(peer.retries.count) retries and \(peer.responses.count) responses" },
            when: { peer.retries.count >= count })
        for retry in peer.retries {
            guard let opening = peer.openings.first(where: { $0.index == retry.value.receiverIndex }) else { continue }
            peer.sendBytes(opening.bytes + retry.value.cookie, to: program.address, from: opening.source)
        }
        return start
    }
}
