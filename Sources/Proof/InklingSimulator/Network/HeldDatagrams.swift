import InklingCore

/// A path whose datagrams are held back.
struct Hold: Hashable {
    let from: Int
    let to: Int
}

/// An attacker on the path who keeps a node's last datagrams and delivers them long after the node crashed.
extension Simulation {
    /// The time after which held datagrams are older than a pong may be, with the time for a name (L-80, L-86).
    private static let age = Duration.seconds(17)
    private static let mostReleased = 8

    /// Returns whether the attacker keeps a datagram.
    func hold(_ packet: Packet, to target: Int) -> Bool {
        let path = Hold(from: packet.sender, to: target)
        guard held[path] != nil, hasFaults else { return false }
        held[path]?.append(packet)
        return true
    }

    /// Crashes the sender, and delivers its held datagrams one by one.
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
