import InklingWire

extension Catalogue {
    static let openingCases: [Case] = [
        Case("L-1.1", "the smaller key opens at once when it learns the peer's key", also: "D-11") { trial in
            let (_, peer) = try trial.startByHand(programIsSmaller: true, habits: .none)
            let told = try peer.tellKey()
            try trial.judge("an initiation", try peer.awaitInitiation(since: told).at - told, from: .zero)
        },
        Case("L-1.2", "the larger key opens 300 ms after it learned the peer's key", also: "D-11") { trial in
            let (_, peer) = try trial.startByHand(programIsSmaller: false, habits: .none)
            let told = try peer.tellKey()
            let first = try peer.awaitInitiation(since: told)
            try trial.judge("an initiation", first.at - told, from: .milliseconds(300))
        },
        Case("L-1.3", "the smaller key opens at once after its link fell silent", also: "L-102") { trial in
            let (program, peer) = try trial.startByHand(programIsSmaller: true)
            let down = try fallSilent(peer, program)
            let again = try peer.awaitInitiation(since: down - .milliseconds(100))
            try trial.judge("an initiation", again.at - down, from: .zero)
        },
        Case("L-1.4", "the larger key opens 300 ms after its link fell silent") { trial in
            let (program, peer) = try trial.startByHand(programIsSmaller: false)
            let down = try fallSilent(peer, program)
            let again = try peer.awaitInitiation(since: down - .milliseconds(100))
            try trial.judge("an initiation", again.at - down, from: .milliseconds(300))
        },
        Case("L-2.1", "a response completes the handshake, whichever address it comes from") { trial in
            let (program, peer) = try trial.startByHand(habits: .quiet)
            let other = try peer.addAddress()
            try peer.tellKey()
            let session = try peer.answer(try peer.awaitInitiation(), from: other)
            try peer.hear(on: session)
            try peer.bringUp(session, at: program)
        },
        Case("L-3.1", "an address that a live link has is not opened to") { trial in
            let (program, peer) = try trial.startByHand(programIsSmaller: false)
            peer.habits.answersInitiations = false
            try peer.tellKey()
            try peer.open(to: program)
            let start = trial.now + .milliseconds(100)
            try trial.never(for: .seconds(6), "no initiation to the address of the link") {
                peer.initiations.contains { $0.at > start }
            }
            try peer.ping()
        },
        Case("L-3.2", "an address that was added twice is opened to by one handshake at a time") { trial in
            let peer = try trial.peer()
            peer.habits.answersInitiations = false
            let program = try trial.start(peers: [peer, peer], needs: .peer)
            try peer.awaitInitiation(within: .seconds(8), since: .zero)
            trial.run(for: .seconds(4))
            let starts = peer.attempts.compactMap(\.first?.at)
            for (earlier, later) in zip(starts, starts.dropFirst()) where later - earlier < .milliseconds(2_970) {
                throw Finding(
                    expected: "a second handshake not before the first one is over, after 3 s",
                    actual: "it began \((later - earlier).text) after the first")
            }
            peer.habits.answersInitiations = true
            try peer.awaitLink(from: program)
        },
    ]

    /// Lets the program make a link, and then lets the peer fall silent. Returns the time when the link is down.
    private static func fallSilent(_ peer: Peer, _ program: Program) throws -> Duration {
        try peer.tellKey()
        try peer.awaitLink(from: program)
        return try peer.fallSilent() + .seconds(3)
    }
}
