import InklingWire

extension Catalogue {
    static let sealedCases: [Case] = [
        Case("W-22.1", "a datagram under a counter that has come is dropped", group: .sealed) { trial in
            let program = try trial.start(needs: .messages)
            let peer = try trial.peer()
            try peer.open(to: program)
            let bytes = peer.send([.ping(7)])
            try peer.await("a pong to the first ping") { $0.pong == 7 }
            let start = trial.now
            peer.sendBytes(bytes, to: program.address)
            try trial.never(for: .milliseconds(300), "no pong to the repeated datagram") {
                peer.received(since: start).contains { $0.pong == 7 }
            }
            peer.send([.ping(8)])
            try peer.await("a pong to the next ping") { $0.pong == 8 }
        }
    ]
}
