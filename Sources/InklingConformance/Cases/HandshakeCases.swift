import InklingWire

extension Catalogue {
    static let handshakeCases: [Case] = [
        Case(
            "L-8.1", "a valid initiation is answered, and hellos make a link", also: "W-17", "W-18", "L-16",
            group: .handshake
        ) {
            trial in
            let program = try trial.start()
            let peer = try trial.peer()
            try peer.open(to: program)
        },
        Case("L-8.2", "the same initiation again gets the same response", group: .handshake) { trial in
            let program = try trial.start()
            let peer = try trial.peer()
            peer.habits.takesResponses = false
            let opening = try peer.begin(to: program)
            try trial.wait(.seconds(1), for: "a response", until: { peer.responses.first })
            peer.transmit(opening)
            let second = try trial.wait(
                .seconds(1), for: "a second response", until: { peer.responses.dropFirst().first })
            guard second.bytes == peer.responses[0].bytes else {
                throw Finding(expected: "the bytes \(peer.responses[0].bytes.hex)", actual: second.bytes.hex)
            }
        },
    ]
}
