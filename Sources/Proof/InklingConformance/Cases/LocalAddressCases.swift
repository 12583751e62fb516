import InklingWire

/// The source addresses of the program. Its machine has all addresses of 127.0.0.0/8, and the program must answer from
/// the address to which a datagram was sent.
extension Catalogue {
    static let localAddressCases: [Case] = [
        Case("L-50.1", "a tell leaves from the address that the ask was sent to") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let other = elsewhere(program)
            try expectReply(from: other, "a tell") {
                peer.sendBytes(peer.chat.ask(token: 9).encode(), to: other)
                return try trial.wait(.seconds(1), for: "a tell", until: { peer.tells.first }).source
            }
        },
        Case("L-50.2", "a response leaves from the address that the initiation was sent to") { trial in
            let (program, peer) = try trial.startWithQuietPeer()
            let other = elsewhere(program)
            peer.habits.takesResponses = false
            let opening = try peer.makeOpening(to: program)
            for count in 1...2 {
                // The second response is a copy of the first.
                try expectReply(from: other, "response \(count)") {
                    peer.sendBytes(opening.bytes, to: other)
                    return try trial.wait(
                        .seconds(1), for: "response \(count)", until: { peer.responses.dropFirst(count - 1).first }
                    ).source
                }
            }
        },
        Case("L-50.3", "a pong leaves from the address that the ping was sent to") { trial in
            let (program, peer, session) = try trial.startInSession()
            let other = elsewhere(program)
            session.destination = other
            try expectReply(from: other, "a pong") { try peer.ping(on: session).source }
        },
    ]

    /// Returns another address of the program's machine, with the program's port.
    private static func elsewhere(_ program: Program) -> UDPAddress {
        UDPAddress(host: "127.0.0.9", port: program.address.port)
    }

    private static func expectReply(from address: UDPAddress, _ what: String, _ answer: () throws -> UDPAddress) throws
    {
        let source = try answer()
        guard source != address else { return }
        throw Finding(expected: "\(what) from \(address), where the question went", actual: "it came from \(source)")
    }
}
