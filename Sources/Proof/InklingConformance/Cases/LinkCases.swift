import InklingWire

// The ways to make a link, which all other cases need.
extension Catalogue {
    static let linkCases: [Case] = [
        Case(
            "L-80.1", "a link that a peer opens comes up, and shows when the names were exchanged", also: "L-67",
            "L-85", "T-28"
        ) { trial in
            let (program, peer) = try trial.startLinked()
            try peer.ping()
        },
        Case("L-80.2", "a link that the program opens to an address by hand comes up and shows", also: "D-11", "L-67") {
            trial in
            let peer = try trial.peer()
            let program = try trial.start(peers: [peer], needs: .peer)
            try peer.awaitLink(from: program)
            try peer.ping()
        },
    ]
}
