import InklingCore

/// A path on which datagrams are held back.
struct Hold: Hashable {
    let from: Int
    let to: Int
}

/// Somebody on the path keeps what a node sent last, and lets it through long after the node is dead.
extension Simulation {
    /// How long what was held back is older than a pong may be, with what a name may take (L-80, L-86).
    private static let age = Duration.seconds(17)
    private static let mostReleased = 8

    /// Whether a datagram does not come now.
    func hold(_ packet: Packet, to target: Int) -> Bool {
        let path = Hold(from: packet.sender, to: target)
        guard held[path] != nil, hasFaults else { return false }
        held[path]?.append(packet)
        return true
    }

    /// The sender ends without a word, and what was held back comes, one after the other.
    func endHold(from: Int, to: Int) {
        guard let packets = held.removeValue(forKey: Hold(from: from, to: to)) else { return }
        actOnMachine(hosts[from], .crash(will: false))
        var at = now + Simulation.age
        for packet in packets.prefix(Simulation.mostReleased) {
            events.add(.release(packet), at: at)
            at = at + holdPause
        }
    }
}
